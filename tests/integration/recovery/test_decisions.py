"""The rows of the decision table, each with a real process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

NEVER_HELPS = 'echo "$task" > note.txt'


def failing(project: Project, printed: str, status: int = 1) -> None:
    """One task whose Verify prints this and fails, until note.txt says `fixed`."""
    project.write("out.txt", printed + "\n")
    project.write("note.txt", "broken\n")
    project.spec(
        "- [ ] 1.1 Work\n  - **Do**: it\n  - **Files**: `note.txt`\n"
        f"  - **Verify**: `grep -q fixed note.txt || {{ cat out.txt; exit {status}; }}`\n"
    )


def test_an_assertion_is_fixed_with_a_different_approach_up_to_the_limit(project: Project) -> None:
    failing(project, "AssertionError: Expected 200 but got 404")
    result = project.run(
        executor=project.shell(f"{NEVER_HELPS}; echo 'Approach: turn it off and on, take $call'")
    )

    result.stdout.fnmatch_lines(["*ERROR: Max fix attempts (3) reached for task 1.1"])
    assert "Tried before" not in project.prompt(1)
    assert "- 1.1.1: turn it off and on" in project.prompt(2)
    assert "Use a different approach from these." in project.prompt(2)


def test_an_unknown_error_gets_one_fix_and_then_a_person(project: Project) -> None:
    failing(project, "Error: Connection refused to database server")
    result = project.run(executor=project.shell(NEVER_HELPS))

    assert project.calls == ["1.1.1"]
    result.stdout.fnmatch_lines(["*given up: a fix did not help, and the error is of unknown type"])
    assert "- Task 1.1: 1 fix attempted (1.1.1) - Final: FAIL (unknown error)" in project.progress


def test_an_unknown_error_is_recovered_by_its_one_fix(project: Project) -> None:
    failing(project, "Error: Connection refused to database server")

    assert project.run(executor=project.shell("echo fixed > note.txt")).ret == 0


def test_a_missing_command_gets_one_fix_from_an_agent(project: Project) -> None:
    failing(project, "sh: 1: frobnicate: not found", 127)
    result = project.run(executor=project.shell(NEVER_HELPS))

    assert project.calls == ["1.1.1"]
    result.stdout.fnmatch_lines(
        ["*given up: command not found (frobnicate): trying again cannot help"]
    )
    assert "Final: FAIL (not retryable)" in project.progress


@pytest.mark.parametrize("executor", ["repair", "none"])
def test_a_missing_command_without_an_agent_is_for_a_person_at_once(
    project: Project, executor: str
) -> None:
    failing(project, "sh: 1: frobnicate: not found", 127)
    result = project.run("--ralph-executor", executor)

    result.stdout.fnmatch_lines(
        ["*given up: command not found (frobnicate): trying again cannot help"]
    )
    assert list(project.boxes) == ["1.1"]


def test_the_budget_of_executor_runs_is_for_the_whole_run(project: Project) -> None:
    failing(project, "AssertionError: Expected 200 but got 404")
    result = project.run("--ralph-budget", "2", executor=project.shell(NEVER_HELPS))

    result.stdout.fnmatch_lines(["*ERROR: Max global iterations (2) reached"])
    assert project.calls == ["1.1.1", "1.1.2"]
    assert "Final: FAIL (budget)" in project.progress


def test_every_decision_is_shown_and_stored_with_its_reason(project: Project) -> None:
    failing(project, "AssertionError: Expected 200 but got 404")
    fails = "[ $task = 1.1.1 ] && { echo no idea; exit 1; }; echo fixed > note.txt"
    result = project.run("-v", executor=project.shell(fails))

    result.stdout.fnmatch_lines(["*1.1: verification failed; creating a fix task"])
    stored = project.history("decision, outcome", "what = 'decide'")
    assert stored[0] == ("fix: verification failed; creating a fix task", "decided")
    assert len(stored) == 2


def test_giving_up_is_stored_too(project: Project) -> None:
    failing(project, "sh: 1: frobnicate: not found", 127)
    project.run()

    assert project.history("decision, outcome, kind", "what = 'decide'") == [
        (
            "escalate: command not found (frobnicate): trying again cannot help",
            "escalated",
            "command_not_found",
        )
    ]


# What an executor says


def test_an_executor_that_lacked_context_is_asked_again_with_more_of_it(one_task: Project) -> None:
    (one_task.root / "pyproject.toml").write_text("[project]\nname = 'demo'\n")
    (one_task.root / "tests").mkdir()
    result = one_task.run(
        executor=one_task.shell("""\
            if [ $call = 1 ]; then
                echo "Task $task: Fix FAILED"
                echo "- Error: Cannot find 'the auth file' mentioned in prompt"
                echo "- Status: missing context"
                exit 1
            fi
            echo fixed > parser.txt
        """)
    )

    assert result.ret == 0
    assert one_task.calls == ["1.3.1", "1.3.1"]
    assert "Additional Context" not in one_task.prompt(1)
    for line in (
        "## Additional Context",
        "- Project root:",
        "- Configuration: pyproject.toml",
        "- Test directory: tests",
    ):
        assert line in one_task.prompt(2)


def test_context_is_added_once_and_no_more(one_task: Project) -> None:
    lacks = (
        'echo "Task $task: Fix FAILED"; echo "- Error: Cannot find \'the auth file\' mentioned in '
        'prompt"; exit 1'
    )
    result = one_task.run(executor=one_task.shell(lacks))

    assert result.ret == 1
    assert one_task.calls == ["1.3.1", "1.3.1"]
    result.stdout.fnmatch_lines(["*missing information*: trying again cannot help"])


REPORT = """\
Child agent failed: Implemented feature but tests fail with import error

Category: partial
Duration: 145.2s
Retryable: Yes

Work completed before failure:
  ✓ Implemented authentication logic
  ✓ Created test file

Files modified: src/auth.py, tests/test_auth.py

Blocked on: assertion in tests: wrong hash

Suggested recovery actions:
  • Compare the hashes

<task_metadata>
  <session_id>child-1</session_id>
  <status>failed</status>
  <failure_category>partial</failure_category>
  <retryable>true</retryable>
</task_metadata>
"""


def test_partial_work_is_continued_with_what_is_done_and_what_blocks(one_task: Project) -> None:
    one_task.write("report.txt", REPORT)
    result = one_task.run(
        executor=one_task.shell(
            "[ $call = 1 ] && { cat report.txt; exit 1; }; echo fixed > parser.txt"
        )
    )

    assert result.ret == 0
    assert one_task.calls == ["1.3.1", "1.3.1.1"]
    for line in (
        "Continue from previous attempt:",
        "✓ Implemented authentication logic",
        "✓ Created test file",
        "Blocker encountered: assertion in tests: wrong hash",
        "1. Address the blocker\n2. Complete the remaining work\n3. Verify everything works",
    ):
        assert line in one_task.prompt(2)


EXHAUSTED = 'echo "Error: Maximum context length (128k tokens) exceeded"; exit 1'


def test_an_executor_out_of_context_is_continued_and_that_is_no_fix(one_task: Project) -> None:
    goes_on = (
        f"[ $call -lt 3 ] && {{ echo part $call >> work.txt; {EXHAUSTED}; }}; "
        "echo fixed > parser.txt"
    )
    result = one_task.run(executor=one_task.shell(goes_on))

    assert result.ret == 0
    assert one_task.calls == ["1.3.1", "1.3.1", "1.3.1"]
    result.stdout.fnmatch_lines(["*out of context: progress kept, continued in a new run (1 of 3)"])
    assert "Continue from previous attempt:" in one_task.prompt(2)
    assert one_task.state["fixTaskMap"]["1.3"]["attempts"] == 1


def test_continuing_has_an_end(one_task: Project) -> None:
    result = one_task.run("--ralph-max-depth", "1", executor=one_task.shell(EXHAUSTED))

    assert result.ret == 1
    assert one_task.calls == ["1.3.1"] * 4
    result.stdout.fnmatch_lines(["*ERROR: Max fix task depth (1) exceeded for task 1.3.1"])


def test_what_was_done_before_the_context_ran_out_is_committed(one_task: Project) -> None:
    one_task.repository()
    one_task.write("mine.txt", "an untracked file of the user\n")
    goes_on = f"""\
        echo part $call >> work.txt
        [ $call -lt 3 ] && {{ {EXHAUSTED}; }}; echo fixed > parser.txt
    """
    result = one_task.run("--ralph-commit", "auto", executor=one_task.shell(goes_on))

    assert result.ret == 0
    subjects = one_task.git("log", "--format=%s").splitlines()
    assert subjects.count("wip(demo): progress on task 1.3") == 2
    assert not subjects[0].startswith("wip")
    assert one_task.git("show", "HEAD:work.txt") == "part 1\npart 2\npart 3"
    files = one_task.git("log", "--name-only", "--format=%s", "--grep=wip").split()
    assert "work.txt" in files
    assert "mine.txt" not in files
    result.stdout.fnmatch_lines(["*progress on 1.3 is kept in commit *"])


def test_a_verify_that_ran_out_of_context_is_continued_without_a_fix_task(project: Project) -> None:
    exhausted = "echo 'Error: Maximum context length (128k tokens) exceeded'; exit 1"
    project.write("ask.sh", f"#!/bin/sh\n[ -e answer.txt ] || {{ {exhausted}; }}\n").chmod(0o755)
    project.spec("- [ ] 1.1 Ask\n  - **Do**: it\n  - **Verify**: `./ask.sh`\n")
    result = project.run(executor=project.shell("touch answer.txt"))

    assert result.ret == 0
    assert project.calls == ["1.1"]
    assert list(project.boxes) == ["1.1"]


CLAUDE = """\
    #!/bin/sh
    cat > /dev/null
    echo "$@" >> arguments.txt
    if [ $(wc -l < arguments.txt) = 1 ]; then
        echo '{"type": "result", "session_id": "abc", "is_error": true, "subtype": "REASON"}'
        exit 1
    fi
    echo fixed > note.txt
    echo '{"type": "result", "session_id": "def", "is_error": false, "result": "done"}'
"""


@pytest.mark.parametrize(
    ("reason", "resumed"), [("prompt_too_long", False), ("error_max_turns", True)]
)
def test_a_session_is_gone_on_with_unless_its_context_is_full(
    project: Project, reason: str, resumed: bool
) -> None:
    failing(project, "AssertionError: Expected 200 but got 404")
    decide = (
        "def pytest_ralph_decide(failure, task, history):\n"
        "    return 'continue' if history.by_executor else None\n"
    )
    project.write("conftest.py", decide)
    program = project.write("claude", CLAUDE.replace("REASON", reason))
    program.chmod(0o755)
    result = project.run("-o", f"ralph_executor_program={program}", executor="claude")

    assert result.ret == 0, result.stdout.str()
    first, second = (project.root / "arguments.txt").read_text().splitlines()
    assert "--resume" not in first
    assert ("--resume abc" in second) is resumed
    assert project.boxes == {"1.1": True, "1.1.1": True}


def test_a_verify_the_shell_cannot_parse_calls_nobody(project: Project) -> None:
    project.spec("- [ ] 1.1 Work\n  - **Do**: it\n  - **Verify**: `if true; then`\n")
    result = project.run(executor=project.shell("true"))

    assert result.ret == 1
    assert project.calls == []
    assert list(project.boxes) == ["1.1"]
    assert project.history("kind", "what = 'verify'") == ["invalid_task"]


def test_an_executor_that_asks_for_a_person(one_task: Project) -> None:
    asks = 'echo "Task $task: Fix FAILED"; echo "- Error: this needs a human with the key"; exit 1'
    result = one_task.run(executor=one_task.shell(asks))

    assert result.ret == 1
    assert one_task.calls == ["1.3.1"]
    result.stdout.fnmatch_lines(["*given up: the executor says: this needs a human with the key"])


def test_a_file_the_executor_blames_is_added(one_task: Project) -> None:
    one_task.write("lib/util.py", "BROKEN = True\n")
    blames = """\
        if [ $call = 1 ]; then
            echo "Task $task: Fix FAILED"
            echo "- Error: lib/util.py:1: BROKEN is the cause"
            exit 1
        fi
        echo fixed > parser.txt
    """
    result = one_task.run(executor=one_task.shell(blames))

    assert result.ret == 0
    assert one_task.calls == ["1.3.1", "1.3.1.1"]
    assert "  - **Files**: `parser.txt`, `lib/util.py`\n" in one_task.tasks.read_text()
