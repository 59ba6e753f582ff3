"""`.ralph-state.json` during recovery: counts, attempts, position, and foreign fields."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

HELPS_AT_LAST = (
    '[ $task = 1.3.3 ] && echo fixed > parser.txt || echo "broken by $task" > parser.txt'
)
NEVER_HELPS = 'echo "broken by $task" > parser.txt'


def given(project: Project, **fields: Any) -> None:
    project.state_path.write_text(json.dumps(fields))


def test_a_spec_without_a_state_gets_one_with_every_field(one_task: Project) -> None:
    one_task.run(executor=one_task.shell("echo fixed > parser.txt"))

    assert one_task.state == {
        "source": "spec",
        "name": "demo",
        "basePath": "specs/demo",
        "phase": "execution",
        "taskIndex": 3,
        "totalTasks": 3,
        "taskIteration": 1,
        "maxTaskIterations": 2,
        "recoveryMode": True,
        "maxFixTasksPerOriginal": 3,
        "maxFixTaskDepth": 3,
        "globalIteration": 1,
        "maxGlobalIterations": 100,
        "fixTaskMap": {
            "1.3": {
                "attempts": 1,
                "fixTaskIds": ["1.3.1"],
                "lastError": "`grep -q fixed parser.txt` exited with status 1",
            }
        },
        "taskResults": one_task.state["taskResults"],
    }


def test_every_attempt_of_a_task_that_recovers_is_recorded(one_task: Project) -> None:
    one_task.run(executor=one_task.shell(HELPS_AT_LAST))

    result = one_task.state["taskResults"]["1.3"]
    assert (result["status"], result["attempt"], result["max_attempts"]) == ("complete", 4, 4)
    assert list(result["error"]) == ["attempt_1", "attempt_2", "attempt_3", "resolved_on_retry"]
    assert result["error"]["resolved_on_retry"] is True
    assert all(set(result["error"][f"attempt_{n}"]) == {"type", "message"} for n in (1, 2, 3))


def test_every_attempt_of_a_task_that_does_not_recover_is_recorded(one_task: Project) -> None:
    one_task.run(executor=one_task.shell(NEVER_HELPS))

    result = one_task.state["taskResults"]["1.3"]
    assert (result["status"], result["attempt"]) == ("failed", 4)
    assert list(result["error"]) == ["attempt_1", "attempt_2", "attempt_3", "attempt_4", "final"]
    assert result["error"]["final"] == "Failed after maximum retries"


def test_a_fix_that_claimed_success_is_recorded_as_a_mismatch(one_task: Project) -> None:
    one_task.run(
        "--ralph-max-fixes", "1", executor=one_task.shell("echo TASK_COMPLETE; touch done.txt")
    )

    fix, original = (one_task.state["taskResults"][task] for task in ("1.3.1", "1.3"))
    assert fix["error"]["attempt_1"]["type"] == "verification_mismatch"
    assert original["error"]["attempt_2"]["type"] != "verification_mismatch"


def test_the_index_does_not_move_while_a_task_is_being_fixed(one_task: Project) -> None:
    look = (
        "grep -E 'taskIndex|totalTasks' specs/demo/.ralph-state.json | tr -dc '0-9\\n"
        "' | paste -sd' ' >> seen.txt"
    )
    one_task.run(executor=one_task.shell(f"{look}\n{HELPS_AT_LAST}"))

    assert (one_task.root / "seen.txt").read_text().splitlines() == ["0 3", "0 4", "0 5"]
    assert (one_task.state["taskIndex"], one_task.state["totalTasks"]) == (5, 5)


def test_the_total_in_the_front_matter_follows(one_task: Project) -> None:
    one_task.tasks.write_text(
        "---\nspec: demo\ntotal_tasks: 2 # so far\n---\n" + one_task.tasks.read_text()
    )
    one_task.run(executor=one_task.shell(HELPS_AT_LAST))

    assert one_task.tasks.read_text().startswith("---\nspec: demo\ntotal_tasks: 5 # so far\n---\n")


def test_fields_of_others_are_kept(one_task: Project) -> None:
    theirs = {
        "relatedSpecs": [{"name": "é", "score": 0.5}],
        "awaitingApproval": False,
        "granularity": None,
    }
    given(
        one_task, **theirs, recoveryMode=False, fixTaskMap={"9.9": {"attempts": 0, "note": "mine"}}
    )
    one_task.run(executor=one_task.shell("echo fixed > parser.txt"))

    assert {name: one_task.state[name] for name in theirs} == theirs
    assert one_task.state["fixTaskMap"]["9.9"]["note"] == "mine"
    assert one_task.state["recoveryMode"] is True


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"fixTaskMap": 3}', '{"taskIndex": -1}', "\x00"]
)
def test_a_corrupt_state_is_one_clear_line_and_is_left_as_it_is(
    one_task: Project, damage: str
) -> None:
    one_task.state_path.write_text(damage)
    result = one_task.run()

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["ERROR: State file missing or corrupt at *specs/demo/.ralph-state.json (it is corrupt: *"]
    )
    assert one_task.state_path.read_text() == damage
    assert list(one_task.boxes) == ["1.3", "1.4"]


def test_a_corrupt_state_leaves_other_specs_alone(one_task: Project) -> None:
    one_task.state_path.write_text("{")
    one_task.write("specs/other/tasks.md", "- [ ] 1.1 A\n  - **Verify**: `true`\n")
    one_task.write("test_it.py", "def test_it(): pass\n")
    result = one_task.pytester.runpytest("--ralph-recovery", "specs", "test_it.py")

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*ERROR: State file missing or corrupt at *demo/.ralph-state*"])
    assert one_task.state_path.read_text() == "{"


def test_where_state_and_document_disagree_the_document_is_right_and_it_is_said(
    one_task: Project,
) -> None:
    given(one_task, taskIndex=7, totalTasks=40, taskResults={"1.4": {"status": "complete"}})
    result = one_task.run(executor=one_task.shell("echo fixed > parser.txt"))

    result.stdout.fnmatch_lines(
        ["*1.4 counts as open, as in tasks.md; the state file said complete*"]
    )
    assert (one_task.state["taskIndex"], one_task.state["totalTasks"]) == (3, 3)


def test_limits_in_the_state_hold_where_no_option_is_given(one_task: Project) -> None:
    given(one_task, maxFixTasksPerOriginal=2, maxFixTaskDepth=1)
    result = one_task.run(executor=one_task.shell(NEVER_HELPS))
    result.stdout.fnmatch_lines(["ERROR: Max fix attempts (2) reached for task 1.3"])

    result = one_task.run("--ralph-max-fixes", "1", executor=one_task.shell(NEVER_HELPS))
    result.stdout.fnmatch_lines(["ERROR: Max fix attempts (1) reached for task 1.3"])

    result = one_task.run(executor=one_task.shell("exit 1"))
    result.stdout.fnmatch_lines(["ERROR: Max fix task depth (1) exceeded for task 1.3.*"])


def test_a_failed_attempt_is_on_record_with_its_number_its_bound_and_its_error(
    one_task: Project,
) -> None:
    one_task.run("--ralph-max-fixes=1", executor=one_task.shell("true"))

    record = one_task.state["taskResults"]["1.3"]
    assert (record["attempt"], record["max_attempts"]) == (2, 2)
    assert "grep -q fixed parser.txt" in str(record)


def test_a_spec_stands_at_its_first_task_while_that_fails(one_task: Project) -> None:
    one_task.run("--ralph-executor", "none")

    assert one_task.state["taskIndex"] == 0
