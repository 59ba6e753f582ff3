"""Time limits: more time after progress; without progress smaller steps, or a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project


def spec(verify: str, do: str = "it") -> str:
    return (
        f"- [ ] 1.1 Take long\n  - **Do**: {do}\n  - **Timeout**: 0.4\n  - **Verify**: `{verify}`\n"
    )


def test_a_verify_that_printed_something_gets_twice_the_time(project: Project) -> None:
    project.spec(spec("echo working; sleep 0.6"))
    result = project.run()

    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*still making progress after 0.4 s: trying again with 0.8 s", "*1 recovered*"]
    )
    assert project.history("timeout", "what = 'verify'") == [0.4, 0.8]
    assert list(project.boxes) == ["1.1"]


def test_a_verify_that_wrote_a_file_gets_twice_the_time(project: Project) -> None:
    project.spec(spec("sleep 0.1; touch built.o; sleep 0.5"))

    assert project.run().ret == 0


def test_the_time_is_doubled_only_once(project: Project) -> None:
    project.spec(spec("echo working; sleep 9").replace("0.4", "0.1"))
    result = project.run("--ralph-executor", "none")

    assert result.ret == 1
    assert project.history("timeout", "what = 'verify'") == [0.1, 0.2]


def test_a_second_timeout_gets_a_fix(project: Project) -> None:
    """More time is no fix that could have been tried in vain."""
    project.spec(spec("echo working; test -e fixed || sleep 9").replace("0.4", "0.2"))
    project.repository()

    assert project.run(executor=project.shell("touch fixed")).ret == 0
    assert project.calls == ["1.1.1"]


def test_a_verify_that_hangs_gets_one_fix(project: Project) -> None:
    project.spec(spec("sleep 9"))
    result = project.run(executor=project.shell("true"))

    result.stdout.fnmatch_lines(["*no progress in 0.4 s: more time would not help"])
    assert project.calls == ["1.1.1"]
    assert list(project.boxes) == ["1.1", "1.1.1"]


def test_a_verify_that_hangs_without_an_agent(project: Project) -> None:
    project.spec(spec("sleep 9"))
    result = project.run()

    result.stdout.fnmatch_lines(["*no progress in 0.4 s: more time would not help"])
    assert list(project.boxes) == ["1.1"]


def test_a_verify_without_progress_is_split_into_its_steps(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 Take long
          - **Do**:
            1. Make the first
               with care
            2. Make the second
          - **Files**: `one.txt`
          - **Timeout**: 0.4
          - **Verify**: `test -e second.txt || sleep 9`

        - [ ] 1.2 Next
          - **Verify**: `true`
    """)
    look = 'echo "$task $RALPH_FIX_FOR" >> seen.txt; [ $task = 1.1.2 ] && touch second.txt || true'
    result = project.run("--ralph-executor-timeout", "20", executor=project.shell(look))

    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "*carried out 2 times by sh executor.sh, changed *",
            "*1.1: no progress in 0.4 s: split into its 2 steps",
            "*1.1 is split into 1.1.1, 1.1.2",
        ]
    )
    assert (project.root / "seen.txt").read_text().splitlines() == ["1.1.1 1.1", "1.1.2 1.1"]
    assert project.boxes == {"1.1": True, "1.1.1": True, "1.1.2": True, "1.2": True}
    assert (
        "- [x] 1.1.1 [SPLIT 1.1] Make the first\n  - **Do**: Make the first\n"
        in project.tasks.read_text()
    )
    assert project.tasks.read_text().count("- **Timeout**: 10\n") == 2
    assert "Make the second" in project.prompt(2)
    assert "ALL_TASKS_COMPLETE" in result.stdout.str()
    assert project.state["splitTaskMap"] == {"1.1": {"partIds": ["1.1.1", "1.1.2"]}}
    assert project.state["totalTasks"] == 4
    assert "fixTaskMap" not in project.state or not project.state["fixTaskMap"]
    assert "fix" not in project.progress.lower()


def test_parts_that_wait_are_used_again_and_never_made_twice(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 Take long
          - **Do**:
            1. One
            2. Two
          - **Timeout**: 0.4
          - **Verify**: `test -e two.txt || sleep 9`
    """)
    result = project.run(executor=project.shell("[ $task = 1.1.1 ] || { echo no idea; exit 1; }"))
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1.1.2 did not complete: *"])

    result = project.run(executor=project.shell("touch two.txt"))
    assert result.ret == 0
    assert project.calls == ["1.1.1", "1.1.2", "1.1.2"]
    assert list(project.boxes) == ["1.1", "1.1.1", "1.1.2"]


def test_a_task_whose_parts_did_not_help_is_not_split_again(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 Take long
          - **Do**:
            1. One
            2. Two
          - **Timeout**: 0.4
          - **Verify**: `sleep 9`
    """)
    result = project.run(executor=project.shell("true"))

    result.stdout.fnmatch_lines(["*no progress in 0.4 s: more time would not help"])
    assert project.calls == ["1.1.1", "1.1.2"]


def test_an_executor_that_made_progress_gets_twice_the_time(one_task: Project) -> None:
    slow = one_task.shell("[ $call = 1 ] && { touch half.txt; sleep 9; }; echo fixed > parser.txt")
    result = one_task.run("--ralph-executor-timeout", "0.5", executor=slow)

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*still making progress after 0.5 s: trying again with 1 s"])
    assert one_task.calls == ["1.3.1", "1.3.1"]


FAKE_CLAUDE = """#!/bin/sh
echo "$@" >> arguments.txt
echo '{"type": "assistant", "session_id": "s-1", "message": {"content": "Let me look."}}'
[ -e half.txt ] || { touch half.txt; exec sleep 9; }
echo fixed > parser.txt
echo '{"type": "result", "is_error": false, "session_id": "s-1", "result": "TASK_COMPLETE"}'
"""


def test_more_time_goes_to_the_same_session(one_task: Project) -> None:
    program = one_task.root / "fake-claude"
    program.write_text(FAKE_CLAUDE)
    program.chmod(0o755)
    (one_task.root / "pytest.ini").write_text(f"[pytest]\nralph_executor_program = {program}\n")

    result = one_task.run("--ralph-executor-timeout", "2", executor="claude")

    assert result.ret == 0
    first, second = (one_task.root / "arguments.txt").read_text().splitlines()
    assert "--resume" not in first
    assert "--resume s-1" in second


@pytest.mark.parametrize("limit", ["1e9", "1e300", "9" * 20])
def test_time_limits_of_any_size(one_task: Project, limit: str) -> None:
    limits = (f"--ralph-timeout={limit}", f"--ralph-executor-timeout={limit}")
    assert one_task.run(*limits, executor="echo fixed > parser.txt").ret == 0


@pytest.mark.parametrize("digits", [12, 400])
def test_timeout_fields_of_any_size(project: Project, digits: int) -> None:
    project.spec(f"- [ ] 1.1 A\n  - **Timeout**: {'9' * digits}h\n  - **Verify**: `true`\n")
    assert project.run().ret == 0


def test_more_time_is_no_fix_of_an_earlier_run(project: Project) -> None:
    project.spec(spec("echo working; cat nap && sleep $(cat nap)"))
    project.run("--ralph-max-fixes=1", executor=project.shell("true"))
    assert list(project.boxes) == ["1.1", "1.1.1"]
    project.write("nap", "0.6")
    result = project.run()

    result.stdout.fnmatch_lines(["*passed when tried again"])
    result.stdout.no_fnmatch_line("*recovered by*")
