"""--ralph-execute: the executor does each unchecked task, and Verify checks what it claims."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

DO_IT = """\
    case $task in
        1.1) echo one > one.txt;;
        1.2) echo two > two.txt;;
    esac
"""


@pytest.fixture
def two(project: Project) -> Project:
    project.spec("""\
        - [ ] 1.1 Make one
          - **Do**: Write one.txt
          - **Files**: `one.txt`
          - **Verify**: `grep -q one one.txt`
          - **Commit**: `feat(demo): add one`

        - [ ] 1.2 Make two
          - **Do**: Write two.txt
          - **Files**: `two.txt`
          - **Verify**: `grep -q two two.txt`
          - **Commit**: `feat(demo): add two`
    """)
    return project


def test_every_unchecked_task_is_handed_over_and_then_verified(two: Project) -> None:
    result = two.run("--ralph-execute", executor=two.shell(DO_IT))

    result.assert_outcomes(passed=2)
    assert two.calls == ["1.1", "1.2"]
    assert two.boxes == {"1.1": True, "1.2": True}
    assert "Write one.txt" in two.prompt(1)
    assert "ALL_TASKS_COMPLETE" in result.stdout.str()


def test_what_is_checked_is_only_verified(two: Project) -> None:
    two.tasks.write_text(two.tasks.read_text().replace("- [ ] 1.1", "- [x] 1.1"))
    two.write("one.txt", "one\n")
    two.run("--ralph-execute", executor=two.shell(DO_IT))

    assert two.calls == ["1.2"]


def test_a_task_that_fails_is_tried_once_more_with_the_error_in_hand(two: Project) -> None:
    executor = two.shell("[ $call = 1 ] && exit 0\n" + DO_IT)
    result = two.verify("--ralph-execute", executor=executor)

    assert result.ret == 0
    assert two.calls == ["1.1", "1.1", "1.2"]
    retry = two.prompt(2)
    for line in (
        "The previous attempt failed. This is attempt 2 of 2, and the last one.",
        "- Previous error type: task_incomplete",
        "- Previous error message: ",
        "- Previous error details: ",
        "- Tasks completed: 0 of 2",
        "- Retry guidance: The previous executor reported success but verification failed.",
    ):
        assert line in retry
    result.stdout.fnmatch_lines(["*1 passed, 1 recovered*"])


def test_without_recovery_two_tries_are_all_and_nothing_is_written(two: Project) -> None:
    before = two.tasks.read_bytes()
    result = two.verify("--ralph-execute", executor=two.shell("true"))

    result.stdout.fnmatch_lines(["*ERROR: Max retries reached for task 1.1 after 2 attempts"])
    assert two.calls == ["1.1", "1.1", "1.2", "1.2"]
    assert two.tasks.read_bytes() == before
    assert not two.state_path.exists()


def test_the_state_says_how_many_tries_there_are(two: Project) -> None:
    two.state_path.write_text(json.dumps({"maxTaskIterations": 3}))
    result = two.verify("--ralph-execute", "-x", executor=two.shell("true"))

    result.stdout.fnmatch_lines(["*ERROR: Max retries reached for task 1.1 after 3 attempts"])
    assert two.calls == ["1.1"] * 3


def test_with_recovery_a_fix_follows_at_once(two: Project) -> None:
    helps = "[ $task = 1.1.1 ] && echo one > one.txt; [ $task = 1.2 ] && echo two > two.txt; true"
    result = two.run("--ralph-execute", executor=two.shell(helps))

    assert result.ret == 0
    assert two.calls == ["1.1", "1.1.1", "1.2"]
    assert two.boxes == {"1.1": True, "1.1.1": True, "1.2": True}


def test_an_executor_that_says_it_failed_while_verify_passes_is_noted(two: Project) -> None:
    result = two.run(
        "--ralph-execute",
        "-vv",
        executor=two.shell(DO_IT + "\necho 'Task '$task': it FAILED'; exit 1"),
    )

    assert result.ret == 0
    assert two.calls == ["1.1", "1.2"]
    result.stdout.fnmatch_lines(["*1.1: the executor says it failed, but Verify passes"])


def test_what_cannot_be_helped_by_trying_again_is_not(two: Project) -> None:
    result = two.verify("--ralph-execute", "-x", "-v", executor="no-such-agent --do-it")

    result.stdout.fnmatch_lines(["*executor * is unavailable*: not installed: *"])
    assert two.history("COUNT(*)", "what = 'execute'") == [1]


def test_a_task_out_of_context_is_continued_and_that_is_no_try(two: Project) -> None:
    exhausted = 'echo "Error: Maximum context length (128k tokens) exceeded"; exit 1'
    result = two.run(
        "--ralph-execute", executor=two.shell(f"[ $call -lt 4 ] && {{ {exhausted}; }}\n" + DO_IT)
    )

    assert result.ret == 0
    assert two.calls == ["1.1", "1.1", "1.1", "1.1", "1.2"]
    assert "fixTaskMap" not in two.state or not two.state["fixTaskMap"]


def test_the_budget_ends_executing_too(two: Project) -> None:
    result = two.verify("--ralph-execute", "--ralph-budget", "1", executor=two.shell("true"))

    assert two.calls == ["1.1"]
    result.stdout.fnmatch_lines(["*ERROR: Max global iterations (1) reached"])


def test_open_fixes_of_an_earlier_run_are_not_done_again_once_their_original_passes(
    two: Project,
) -> None:
    two.run("--ralph-executor", "none")
    assert list(two.boxes) == ["1.1", "1.1.1", "1.2"]
    two.run("--ralph-execute", executor=two.shell(DO_IT))

    assert two.calls == ["1.1", "1.2"]
    assert all(two.boxes.values())


# Commits


def test_without_commits_nothing_is_committed(two: Project) -> None:
    two.repository()
    two.run("--ralph-execute", executor=two.shell(DO_IT))

    assert two.git("rev-list", "--count", "HEAD") == "1"


def test_auto_commits_each_task_that_newly_passes_with_its_message(two: Project) -> None:
    two.write(".gitignore", "calls.txt\nprompt.*\n.ralph/\n")
    two.shell(DO_IT)
    two.repository()
    two.write("unrelated.txt", "somebody's work in progress\n")
    two.run("--ralph-execute", "--ralph-commit", "auto", executor="sh executor.sh")

    assert two.git("log", "--format=%s").splitlines() == [
        "feat(demo): add two",
        "feat(demo): add one",
        "the beginning",
    ]
    one = two.git("show", "--format=", "--name-only", "HEAD~1").split()
    assert "one.txt" in one
    assert "specs/demo/tasks.md" in one
    assert "two.txt" not in one
    assert "unrelated.txt" in two.git("status", "--porcelain")
    commit = two.git("rev-parse", "HEAD~1")
    assert f"- [x] 1.1 Make one - {commit[:12]}" in two.progress


def test_message_only_leaves_a_script_that_makes_the_same_commits(two: Project) -> None:
    two.write(".gitignore", "calls.txt\nprompt.*\n.ralph/\n")
    two.shell(DO_IT)
    two.repository()
    two.run("--ralph-execute", "--ralph-commit", "message-only", executor="sh executor.sh")

    assert two.git("rev-list", "--count", "HEAD") == "1"
    script = two.root / ".ralph" / "commits-demo.sh"
    assert "feat(demo): add one" in script.read_text()
    two.pytester.run("sh", str(script))
    assert two.git("log", "--format=%s").splitlines() == [
        "feat(demo): add two",
        "feat(demo): add one",
        "the beginning",
    ]


def test_without_recovery_what_is_done_is_checked_off_and_nothing_else_is_written(
    two: Project,
) -> None:
    before = two.tasks.read_text()
    only_one = two.shell("[ $task = 1.1 ] && echo one > one.txt")

    first = two.verify("--ralph-execute", executor=only_one)

    assert "ALL_TASKS_COMPLETE" not in first.stdout.str()
    assert two.boxes == {"1.1": True, "1.2": False}
    assert two.tasks.read_text() == before.replace("- [ ] 1.1", "- [x] 1.1")
    assert {path.name for path in two.directory.iterdir()} == {"tasks.md"}

    calls = len(two.calls)
    second = two.verify("--ralph-execute", executor=two.shell(DO_IT))

    assert two.calls[calls:] == ["1.2"]
    assert two.boxes == {"1.1": True, "1.2": True}
    second.stdout.fnmatch_lines(["ALL_TASKS_COMPLETE: demo"])


# Carrying out the original again after a fix


COUNTER = """\
    case $task in
        1.1)
            count=$(($(cat counter 2>/dev/null || echo 0) + 1))
            echo $count > counter
            [ $count -ge 3 ] && { echo TASK_COMPLETE; exit 0; }
            echo "Task 1.1: Count FAILED"
            echo "- Error: the counter is at $count"
            exit 1;;
        *) echo "looked at $task" >> notes.txt; echo TASK_COMPLETE;;
    esac
"""


def test_the_original_is_carried_out_again(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 Count to three
          - **Do**: Add one to `counter`. Fail while it is below 3.
          - **Files**: `counter`
          - **Verify**: `test "$(cat counter 2>/dev/null)" = 3`
    """)
    result = project.run("--ralph-execute", executor=project.shell(COUNTER))

    assert result.ret == 0
    assert project.calls == ["1.1", "1.1.1", "1.1", "1.1.2", "1.1"]
    assert project.boxes == {"1.1": True, "1.1.1": True, "1.1.2": True}
    assert "- Task 1.1: 2 fixes attempted (1.1.1, 1.1.2) - Final: PASS" in project.progress


def test_a_failed_fix_is_carried_out_again(project: Project) -> None:
    """A fix of a fix."""
    project.spec("""\
        - [ ] 1.3 Add parser
          - **Do**: Write `parser.txt` from `draft.txt`
          - **Files**: `parser.txt`
          - **Verify**: `grep -q parser parser.txt`
    """)
    nested = project.shell("""\
        case $task in
            1.3) [ -e draft.txt ] && cp draft.txt parser.txt && exit 0;;
            1.3.1) [ -e pen.txt ] && echo parser > draft.txt && exit 0;;
            1.3.1.1) echo ink > pen.txt; exit 0;;
        esac
        echo "Task $task: It FAILED"
        echo "- Error: something is missing for $task"
        exit 1
    """)
    result = project.run("--ralph-execute", executor=nested)

    assert result.ret == 0
    assert project.calls == ["1.3", "1.3.1", "1.3.1.1", "1.3.1", "1.3"]
    assert project.boxes == {"1.3": True, "1.3.1": True, "1.3.1.1": True}
    result.stdout.fnmatch_lines(["*✓ 1.3.1 Fix: *", "*✓ 1.3.1.1 Fix: *"])


def test_after_a_repair_nothing_is_carried_out_again(project: Project) -> None:
    project.spec("""\
        - [ ] 1.3 Add parser
          - **Do**: Write `parser.txt`
          - **Verify**: `test -e parser.txt && ./check.sh`
    """)
    project.write("check.sh", "#!/bin/sh\ngrep -q end parser.txt\n")
    executor = project.shell("""\
        case $task in
            1.3) [ -e draft.txt ] && cp draft.txt parser.txt && exit 0;;
            1.3.1) [ -e pen.txt ] && echo parser > draft.txt && exit 0;;
            1.3.1.1) echo ink > pen.txt; exit 0;;
            1.3.3) echo end >> parser.txt; exit 0;;
        esac
        echo "Task $task: It FAILED"
        echo "- Error: something is missing for $task"
        exit 1
    """)
    result = project.run("--ralph-execute", executor=executor)

    assert result.ret == 0
    # 1.3.2 is the repair of the permissions.
    assert project.calls == ["1.3", "1.3.1", "1.3.1.1", "1.3.1", "1.3", "1.3.3"]


def test_a_task_that_always_fails_reaches_the_limit(project: Project) -> None:
    project.state_path.write_text(
        json.dumps({"recoveryMode": True, "maxFixTasksPerOriginal": 2, "fixTaskMap": {}})
    )
    project.spec("""\
        - [ ] 1.1 Always fail
          - **Do**: Run a command that always fails: `exit 1`
          - **Verify**: `false` (always fails)
    """)
    obeys = '[ $task = 1.1 ] && exit 1; echo "$task" >> notes.txt; echo TASK_COMPLETE'
    result = project.run("--ralph-execute", executor=project.shell(obeys))

    assert result.ret == 1
    assert project.calls == ["1.1", "1.1.1", "1.1", "1.1.2", "1.1"]
    result.stdout.fnmatch_lines(
        ["*ERROR: Max fix attempts (2) reached for task 1.1", "*Fix attempts: 1.1.1, 1.1.2"]
    )


# Tasks that no command can verify


UNVERIFIED = """\
    - [ ] 1.1 Describe it
      - **Do**: Write a page
      - **Verify**: Manual: read the page

    - [ ] 1.2 Tidy up
      - **Do**: Remove what is left
"""


def test_unverified_tasks_are_carried_out_too(project: Project) -> None:
    project.spec(UNVERIFIED)
    project.repository()
    executor = project.shell("echo page > page.txt; echo TASK_COMPLETE")
    result = project.run("-v", "--ralph-execute", "--ralph-commit=auto", executor=executor)

    assert result.ret == 0
    assert project.calls == ["1.1", "1.2"]
    assert project.boxes == {"1.1": True, "1.2": True}
    result.stdout.fnmatch_lines(["*1.1*MANUAL*", "*1.2*MANUAL*"])
    assert project.git("log", "--format=%s", "--", "page.txt") == "feat(demo): Describe it"


def test_an_unverified_task_is_recorded_as_completed(project: Project) -> None:
    project.spec(UNVERIFIED)
    project.run("--ralph-execute", executor=project.shell("echo TASK_COMPLETE"))

    assert project.state["taskIndex"] == 2
    assert "- [x] 1.1 Describe it\n- [x] 1.2 Tidy up\n" in project.progress


def test_an_unverified_task_that_failed_stays_open(project: Project) -> None:
    project.spec(UNVERIFIED)
    fails = project.shell("[ $task = 1.1 ] && { echo no paper; exit 1; }; echo TASK_COMPLETE")
    result = project.run("--ralph-execute", executor=fails)

    assert project.boxes == {"1.1": False, "1.2": True}
    result.stdout.fnmatch_lines(["MANUAL demo 1.1 *", "*(the executor failed: no paper)"])


def test_an_unverified_task_is_not_executed_unasked(project: Project) -> None:
    project.spec(UNVERIFIED)
    project.run(executor=project.shell("true"))

    assert project.calls == []
    assert project.boxes == {"1.1": False, "1.2": False}


def test_a_missing_command_gets_one_fix(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 Run what is not there
          - **Do**: Run a command that does not exist
          - **Verify**: `nonexistent-command-1234`
    """)
    says = "echo '- Error: nonexistent-command-1234: command not found'"
    fails = f"[ $task = 1.1 ] && {{ echo 'Task 1.1: Run it FAILED'; {says}; exit 1; }}; true"
    result = project.run("--ralph-execute", executor=project.shell(fails))

    assert result.ret == 1
    assert project.calls == ["1.1", "1.1.1", "1.1"]
    assert list(project.boxes) == ["1.1", "1.1.1"]


def test_what_is_not_verified_is_merged_unverified(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 Draw it
          - **Do**: Draw a button
          - **Verify**: `grep -q glow button.txt` and the button glows softly
    """)
    project.write("pytest.ini", "[pytest]\nralph_strict = true\n")
    project.shell("echo a button > button.txt; echo TASK_COMPLETE")
    project.repository()
    project.run("--ralph-execute", "--ralph-isolate=worktree", executor="sh executor.sh")

    assert project.boxes == {"1.1": True}
    assert (project.root / "button.txt").is_file()
