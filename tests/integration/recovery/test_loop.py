"""The loop, as `pytest --ralph-recovery` shows it: fixes, siblings, nested ones, limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

FIX_IT = 'Path("parser.txt").write_text("fixed\\n")'


def test_a_task_is_recovered_by_its_first_fix(one_task: Project) -> None:
    result = one_task.run(executor=one_task.executor(FIX_IT))

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["*- Task 1.3: 1 fix attempted (1.3.1) - Final: PASS", "*1 passed, 1 recovered*"]
    )
    assert result.ret == 0
    assert one_task.boxes == {"1.3": True, "1.3.1": True, "1.4": True}
    assert "ALL_TASKS_COMPLETE" in result.stdout.str()
    assert one_task.calls == ["1.3.1"]


def test_a_task_is_recovered_by_its_third_fix(one_task: Project) -> None:
    helps_at_last = (
        f'if task == "1.3.3": {FIX_IT}\n'
        'else: Path("parser.txt").write_text(f"broken by {task}\\n")'
    )
    result = one_task.run(executor=one_task.executor(helps_at_last))

    assert result.ret == 0
    assert one_task.calls == ["1.3.1", "1.3.2", "1.3.3"]
    assert one_task.boxes == {"1.3": True, "1.3.1": True, "1.3.2": True, "1.3.3": True, "1.4": True}
    assert "- Task 1.3: 3 fixes attempted (1.3.1, 1.3.2, 1.3.3) - Final: PASS" in one_task.progress
    assert one_task.state["fixTaskMap"]["1.3"]["attempts"] == 3


def test_a_fix_whose_executor_fails_is_itself_fixed(one_task: Project) -> None:
    fails_first = f"""
        if task == "1.3.1":
            print("Task 1.3.1: fix it FAILED")
            print("- Error: no idea")
            print("- Attempted fix: Thought about it")
            print("- Status: Blocked, needs manual intervention")
            sys.exit(1)
        {FIX_IT}
    """
    result = one_task.run(executor=one_task.executor(fails_first))

    assert result.ret == 0
    assert one_task.calls == ["1.3.1", "1.3.1.1"]
    assert one_task.boxes == {"1.3": True, "1.3.1": True, "1.3.1.1": True, "1.4": True}
    text = one_task.tasks.read_text()
    assert "1.3.1.1 [FIX 1.3.1] Fix: no idea" in text
    assert "1. Analyze the failure: Thought about it" in text


def test_the_limit_of_fixes_stops_the_task_and_says_so(one_task: Project) -> None:
    result = one_task.run(executor=one_task.executor("Path('parser.txt').write_text(task)"))

    result.stdout.fnmatch_lines(
        [
            "ERROR: Max fix attempts (3) reached for task 1.3",
            "Fix attempts: 1.3.1, 1.3.2, 1.3.3",
        ]
    )
    assert result.ret == 1
    assert "ALL_TASKS_COMPLETE" not in result.stdout.str()
    assert one_task.boxes == {
        "1.3": False,
        "1.3.1": False,
        "1.3.2": False,
        "1.3.3": False,
        "1.4": False,
    }
    assert (
        "- Task 1.3: 3 fixes attempted (1.3.1, 1.3.2, 1.3.3) - Final: FAIL (max limit)"
        in one_task.progress
    )


def test_the_depth_of_fixes_of_fixes_is_limited(one_task: Project) -> None:
    result = one_task.run(executor=one_task.executor("sys.exit(1)"))

    result.stdout.fnmatch_lines(["ERROR: Max fix task depth (3) exceeded for task 1.3.1.1.1"])
    assert one_task.calls == ["1.3.1", "1.3.1.1", "1.3.1.1.1"]
    assert "Final: FAIL (max depth)" in one_task.progress


@pytest.mark.parametrize(
    ("option", "line"),
    [
        (("--ralph-max-fixes", "1"), "ERROR: Max fix attempts (1) reached for task 1.3"),
        (("--ralph-budget", "2"), "ERROR: Max global iterations (2) reached"),
    ],
)
def test_limits_can_be_set(one_task: Project, option: tuple[str, str], line: str) -> None:
    result = one_task.run(
        *option, executor=one_task.executor("Path('parser.txt').write_text(task)")
    )

    result.stdout.fnmatch_lines([line])


def test_two_originals_each_have_their_own_count(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 [P] One
          - **Files**: `one.txt`
          - **Verify**: `grep -q fixed one.txt`
        - [ ] 1.2 [P] Two
          - **Files**: `two.txt`
          - **Verify**: `grep -q fixed two.txt`
    """)
    for name in ("one.txt", "two.txt"):
        (project.pytester.path / name).write_text("broken\n")
    body = """
        name = "one.txt" if task.startswith("1.1") else "two.txt"
        Path(name).write_text("fixed" if task in ("1.1.1", "1.2.2") else task)
    """
    result = project.run("--ralph-jobs", "2", executor=project.executor(body))

    assert result.ret == 0
    attempts = {task: entry["attempts"] for task, entry in project.state["fixTaskMap"].items()}
    assert attempts == {"1.1": 1, "1.2": 2}
    assert "- Task 1.1: 1 fix attempted (1.1.1) - Final: PASS" in project.progress
    assert "- Task 1.2: 2 fixes attempted (1.2.1, 1.2.2) - Final: PASS" in project.progress


def test_without_an_executor_the_fix_task_waits_and_the_next_step_is_told(
    one_task: Project,
) -> None:
    result = one_task.run("--ralph-executor", "none")

    result.stdout.fnmatch_lines(["  Do task 1.3.1 (*) in specs/*"])
    assert result.ret == 1
    assert one_task.boxes == {"1.3": False, "1.3.1": False, "1.4": False}


def test_a_fix_done_by_hand_between_two_runs_checks_off_both(one_task: Project) -> None:
    one_task.run()
    (one_task.pytester.path / "parser.txt").write_text("fixed by hand\n")
    result = one_task.run()

    result.assert_outcomes(passed=2)
    assert one_task.boxes == {"1.3": True, "1.3.1": True, "1.4": True}
    assert "- Task 1.3: 1 fix attempted (1.3.1) - Final: PASS" in one_task.progress


def test_an_open_fix_task_is_used_again_and_never_duplicated(one_task: Project) -> None:
    one_task.run()
    one_task.run()
    assert list(one_task.boxes) == ["1.3", "1.3.1", "1.4"]

    result = one_task.run(executor=one_task.executor(FIX_IT))

    assert result.ret == 0
    assert one_task.calls == ["1.3.1"]
    assert list(one_task.boxes) == ["1.3", "1.3.1", "1.4"]


def test_ids_are_never_given_twice_after_a_person_deleted_a_fix_task(one_task: Project) -> None:
    one_task.run(executor=one_task.executor("Path('parser.txt').write_text(task)"))
    text = one_task.tasks.read_text()
    one_task.tasks.write_text(text[: text.index("- [ ] 1.3.1")] + text[text.index("- [ ] 1.4") :])
    one_task.run(executor=one_task.executor(FIX_IT))

    assert list(one_task.boxes) == ["1.3", "1.3.4", "1.4"]


def test_counters_start_again_in_a_new_run_while_ids_go_on(one_task: Project) -> None:
    one_task.run(executor=one_task.executor("Path('parser.txt').write_text(task)"))
    result = one_task.run(executor=one_task.executor("Path('parser.txt').write_text(task)"))

    result.stdout.fnmatch_lines(["Fix attempts: 1.3.4, 1.3.5, 1.3.6"])


def test_without_recovery_the_spec_is_left_untouched(one_task: Project) -> None:
    before = one_task.tasks.read_bytes()
    result = one_task.pytester.runpytest("--ralph", "specs/demo")

    result.assert_outcomes(passed=1, failed=1)
    assert one_task.tasks.read_bytes() == before
    assert sorted(path.name for path in one_task.directory.iterdir()) == ["tasks.md"]


def test_the_state_file_alone_starts_no_recovery(one_task: Project) -> None:
    text = '{"recoveryMode": true, "mine": 1}'
    (one_task.directory / ".ralph-state.json").write_text(text)
    result = one_task.pytester.runpytest("--ralph", "specs/demo")
    assert list(one_task.boxes) == ["1.3", "1.4"]
    assert (one_task.directory / ".ralph-state.json").read_text() == text
    result.stdout.fnmatch_lines(
        ["ralph: verify only", "ralph: specs/demo/tasks.md: recovery is off although *"]
    )


def test_with_recovery_state_the_state_file_decides(one_task: Project) -> None:
    (one_task.directory / ".ralph-state.json").write_text('{"recoveryMode": true, "mine": 1}')
    follow = ("-o", "ralph_recovery=state")
    one_task.pytester.runpytest("--ralph", *follow, "--no-ralph-recovery", "specs/demo")
    assert list(one_task.boxes) == ["1.3", "1.4"]

    result = one_task.pytester.runpytest("--ralph", *follow, "specs/demo")
    result.stdout.no_fnmatch_line("*recovery is off*")
    assert list(one_task.boxes) == ["1.3", "1.3.1", "1.4"]
    assert one_task.state["mine"] == 1


def test_without_an_agent_it_is_said_that_no_repair_applies(one_task: Project) -> None:
    result = one_task.run()

    result.stdout.fnmatch_lines(
        ["*given up: no built-in repair applies; task 1.3.1 waits in tasks.md"]
    )


def test_what_was_learnt_before_is_in_the_prompt(one_task: Project) -> None:
    one_task.write("specs/demo/.progress.md", "## Learnings\n- Mind the gap\n")
    one_task.run(executor=one_task.shell("echo fixed > parser.txt"))

    assert "Mind the gap" in one_task.prompt(1)
