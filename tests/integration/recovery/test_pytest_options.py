"""pytest's own options with recovery on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

NEVER_HELPS = "echo $task > parser.txt"
FIX_IT = "echo fixed > parser.txt"


@pytest.fixture
def three(project: Project) -> Project:
    """1.1 and 1.3 fail until their file says `fixed`; 1.2 passes; none needs another."""
    project.spec("""\
        - [ ] 1.1 One
          - **Depends on**: none
          - **Verify**: `grep -q fixed one.txt`

        - [ ] 1.2 Two
          - **Depends on**: none
          - **Verify**: `true`

        - [ ] 1.3 Three
          - **Depends on**: none
          - **Verify**: `grep -q fixed three.txt`
    """)
    for name in ("one.txt", "three.txt"):
        project.write(name, "broken\n")
    return project


def test_last_failed_runs_only_what_was_not_recovered(three: Project) -> None:
    helps_one = three.shell(
        "case $task in 1.1*) echo fixed > one.txt;; *) echo $task > three.txt;; esac"
    )
    three.run("-p", "cacheprovider", executor=helps_one).assert_outcomes(passed=1, failed=1)

    result = three.run("--lf", executor=three.shell("echo fixed > three.txt"))
    result.stdout.fnmatch_lines(["*1 recovered*"])
    assert result.ret == 0
    assert three.calls[-1] == "1.3.4"

    three.run("--lf").stdout.fnmatch_lines(["run-last-failure: no previously failed tests*"])


def test_stepwise_stops_at_a_task_that_was_not_recovered_and_goes_on_there(three: Project) -> None:
    result = three.run("--sw", executor=three.shell("echo $task > one.txt"))
    result.assert_outcomes(failed=1)

    result = three.run("--sw", executor=three.shell("echo fixed > one.txt; echo fixed > three.txt"))
    assert result.ret == 0
    assert three.boxes["1.1"] is three.boxes["1.3"] is True


def test_exitfirst_stops_only_when_recovery_is_over(three: Project) -> None:
    result = three.run(
        "-x",
        executor=three.shell(
            "case $task in 1.1*) echo fixed > one.txt;; *) echo $task > three.txt;; esac"
        ),
    )

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*1 recovered*"])
    assert three.boxes["1.1"] is True


def test_reruns_verify_again_and_start_no_new_fixes(one_task: Project) -> None:
    result = one_task.run("--reruns", "1", executor=one_task.shell(NEVER_HELPS))

    result.stdout.fnmatch_lines(["*1 failed*1 rerun*"])
    assert one_task.calls == ["1.3.1", "1.3.2", "1.3.3"]
    assert (
        "- Task 1.3: 3 fixes attempted (1.3.1, 1.3.2, 1.3.3) - Final: FAIL (max limit)"
        in one_task.progress
    )


def test_without_a_terminal_plugin_everything_is_done_all_the_same(one_task: Project) -> None:
    result = one_task.run("-p", "no:terminal", executor=one_task.shell(FIX_IT))

    assert result.ret == 0
    assert result.stdout.str() == ""
    assert one_task.boxes == {"1.3": True, "1.3.1": True, "1.4": True}


def test_one_task_by_its_node_id_is_recovered_alone(one_task: Project) -> None:
    result = one_task.pytester.runpytest(
        "--ralph-recovery", "--ralph-executor", one_task.shell(FIX_IT), "specs/demo/tasks.md::1.3"
    )

    assert result.ret == 0
    assert one_task.boxes == {"1.3": True, "1.3.1": True, "1.4": False}
