"""Trouble of an executor is no failure of the project: no fix task, no attempt, one plain line."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

LOGIN = "echo 'Invalid API key · Please run /login'; exit 1"


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        ("echo 'API Error: 529 Overloaded'", "service overloaded"),
        ("echo 'API Error: 529 Overloaded'; exit 1", "service overloaded"),
        (LOGIN, "not logged in"),
        ("echo 'Credit balance is too low'; exit 1", "billing problem"),
        ("no-such-agent --fix", "not installed"),
        ("if then fi (", "refused to start"),
    ],
)
def test_no_fix_task_is_left(one_task: Project, trouble: str, reason: str) -> None:
    before = one_task.tasks.read_bytes()
    result = one_task.run("-q", executor=one_task.shell(trouble))

    assert result.ret == 1
    assert one_task.tasks.read_bytes() == before
    assert one_task.state["fixTaskMap"] == {}
    assert one_task.state["totalTasks"] == 2
    result.stdout.fnmatch_lines([f"*executor sh executor.sh is unavailable*: {reason}: *"])
    assert one_task.calls == ["1.3.1"]


@pytest.mark.parametrize("options", [(), ("-q",), ("-v",)])
def test_the_note_has_a_line_of_its_own(one_task: Project, options: tuple[str, ...]) -> None:
    result = one_task.run(*options, "--ralph-keep-going", executor=one_task.shell(LOGIN))
    (note,) = (line for line in result.outlines if line.startswith("ralph: executor "))
    assert note.endswith("Invalid API key · Please run /login")


def test_the_reason_is_given_once_per_task(one_task: Project) -> None:
    result = one_task.run(executor=one_task.shell(LOGIN))
    failures = result.stdout.str().partition(" FAILURES ")[2]
    assert failures.count("Please run /login") == 1


def test_the_task_keeps_its_own_failure(one_task: Project) -> None:
    one_task.run("--junitxml", "junit.xml", executor=one_task.shell(LOGIN))

    junit = (one_task.root / "junit.xml").read_text()
    assert '<property name="ralph.failure.kind" value="task_incomplete"' in junit
    assert '<property name="ralph.attempts" value="1"' in junit
    assert "not logged in" in junit


def test_no_executor_is_used_again(project: Project) -> None:
    project.write("one.txt", "")
    project.spec("""\
        - [ ] 1.1 One
          - **Verify**: `grep -q fixed one.txt`
        - [ ] 1.2 Two
          - **Verify**: `grep -q fixed two.txt`
    """)
    result = project.run("--ralph-keep-going", executor=project.shell(LOGIN))

    assert result.ret == 1
    assert project.calls == ["1.1.1"]
    assert list(project.boxes) == ["1.1", "1.2"]


def test_the_next_executor_takes_over(one_task: Project) -> None:
    fixes = 'Path("parser.txt").write_text("fixed"); Path("prompt.2").write_text(prompt)'
    second = one_task.executor(fixes, name="second.py")
    first = one_task.shell(f"echo half > parser.txt; {LOGIN}")
    result = one_task.run(
        "--ralph-executor", first, "--ralph-executor", second, "--junitxml=out.xml"
    )

    assert result.ret == 0
    junit = ElementTree.parse(one_task.root / "out.xml")
    trouble = junit.find(".//property[@name='ralph.trouble']")
    assert trouble is not None
    assert "not logged in: Invalid API key" in trouble.attrib["value"]
    assert one_task.calls == ["1.3.1", "1.3.1"]
    assert one_task.boxes == {"1.3": True, "1.3.1": True, "1.4": True}
    assert one_task.state["fixTaskMap"]["1.3"]["attempts"] == 1
    assert "left unfinished\n\n- 1.3.1: " in one_task.prompt(2)
    assert "different approach" not in one_task.prompt(2)


def test_an_agent_that_is_not_installed(one_task: Project) -> None:
    one_task.write("pytest.ini", "[pytest]\nralph_executor_program = /nowhere/claude\n")
    result = one_task.run(executor="claude")

    how = "npm install -g @anthropic-ai/claude-code"
    missing = f"/nowhere/claude is not on PATH (to install it: {how})"
    result.stdout.fnmatch_lines(
        [
            f"ralph: executor claude: {missing}",
            f"*executor claude is unavailable (not used for the rest of this run)*{missing}",
            f"  Fix task 1.3 *, or install /nowhere/claude: {how}",
        ]
    )


def test_the_chain_can_be_set_in_the_ini_file(one_task: Project) -> None:
    second = one_task.executor('Path("parser.txt").write_text("fixed")', name="second.py")
    first = one_task.shell(LOGIN)
    one_task.write("pytest.ini", f"[pytest]\nralph_executor =\n    {first}\n    {second}\n")

    assert one_task.run().ret == 0


def test_it_waits_for_a_limit_to_pass(one_task: Project) -> None:
    limited = one_task.shell(
        "[ $call = 1 ] && { echo 'API Error: 529 Overloaded'; exit 0; }; echo fixed > parser.txt"
    )
    started = time.monotonic()
    result = one_task.run("--ralph-wait", "2", executor=limited)

    assert result.ret == 0
    assert time.monotonic() - started > 2
    assert one_task.calls == ["1.3.1", "1.3.1"]
    assert one_task.state["fixTaskMap"]["1.3"]["attempts"] == 1


def test_a_plugin_that_leaves_it_to_an_executor_in_trouble(one_task: Project) -> None:
    one_task.write("conftest.py", "def pytest_ralph_execute():\n    return None\n")
    result = one_task.run(executor=one_task.shell(LOGIN))

    result.stdout.fnmatch_lines(["*given up: executor sh executor.sh is unavailable: not logged*"])
    assert list(one_task.boxes) == ["1.3", "1.4"]


def test_a_plugin_in_trouble_is_asked_once(one_task: Project) -> None:
    one_task.write(
        "conftest.py",
        """\
        from pytest_ralph.fixing.agents.base import Outcome, Trouble

        calls = []

        def pytest_ralph_execute():
            calls.append(1)
            assert len(calls) == 1
            return Outcome(completed=False, trouble=Trouble("rate_limit", "slow down"))
        """,
    )
    result = one_task.run("--ralph-executor=none")

    result.stdout.fnmatch_lines(["*given up: a plugin cannot carry it out: rate limit: slow down"])
    assert list(one_task.boxes) == ["1.3", "1.4"]


def test_each_executor_is_waited_for(one_task: Project) -> None:
    overloaded = "echo 'API Error: 529 Overloaded'"
    first = one_task.shell(overloaded)
    second = one_task.write(
        "second.sh",
        f"echo second >> calls.txt; [ $(grep -c second calls.txt) = 1 ] && {overloaded} ||"
        " echo fixed > parser.txt\n",
    )
    chain = ("--ralph-executor", first, "--ralph-executor", f"sh {second.name}")
    result = one_task.run("--ralph-wait=0.2", *chain)

    assert result.ret == 0
    assert one_task.calls == ["1.3.1", "1.3.1", "second", "second"]


def test_what_does_not_pass_is_not_waited_for(one_task: Project) -> None:
    started = time.monotonic()
    one_task.run("--ralph-wait", "60", executor=one_task.shell(LOGIN))

    assert time.monotonic() - started < 50


def test_trouble_when_a_task_is_carried_out(one_task: Project) -> None:
    before = one_task.tasks.read_bytes()
    result = one_task.run("--ralph-execute", executor=one_task.shell(LOGIN))

    assert result.ret == 1
    assert one_task.calls == ["1.3"]
    assert one_task.tasks.read_bytes() == before
    result.stdout.fnmatch_lines(["*executor sh executor.sh is unavailable*: not logged in: *"])


def test_a_silent_executor_is_run_once(one_task: Project) -> None:
    before = one_task.tasks.read_bytes()
    result = one_task.run("--ralph-executor-timeout", "0.5", executor="sleep 60")

    assert result.ret == 1
    assert one_task.tasks.read_bytes() == before
    result.stdout.fnmatch_lines(["*executor sleep 60 is unavailable*: no progress: *"])
    assert one_task.history("kind", "what = 'execute'") == ["timeout"]


def test_one_that_works_for_a_sibling_is_kept(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 [P] One
          - **Files**: `one.txt`
          - **Verify**: `test -e one.txt`

        - [ ] 1.2 [P] Two
          - **Files**: `two.txt`
          - **Verify**: `sleep 1; grep -q second two.txt`
    """)
    project.repository()
    executor = project.write(
        "agent.sh",
        """\
        [ $RALPH_FIX_FOR = 1.1 ] && exec sleep 60
        [ $RALPH_TASK_ID = 1.2.1 ] && echo first > two.txt || echo second > two.txt
    """,
    )
    options = ("--ralph-isolate=worktree", "--ralph-executor-timeout=0.5", "--ralph-jobs=2")
    project.run(*options, "--ralph-max-fixes=2", executor=f"sh {executor}")

    assert project.boxes["1.2"]
    assert not project.boxes["1.1"]


def test_a_busy_executor_is_run_twice(one_task: Project) -> None:
    busy = one_task.shell("echo thinking; sleep 60")
    result = one_task.run("--ralph-executor-timeout", "0.5", executor=busy)

    assert result.ret == 1
    assert one_task.calls == ["1.3.1", "1.3.1"]
    result.stdout.fnmatch_lines(["*the executor did not finish in 1 s"])


def test_runs_in_trouble_leave_the_budget_alone(one_task: Project) -> None:
    second = one_task.executor('Path("parser.txt").write_text("fixed")', name="second.py")
    first = one_task.shell(LOGIN)
    result = one_task.run(
        "--ralph-budget", "1", "--ralph-executor", first, "--ralph-executor", second
    )

    assert result.ret == 0
    assert one_task.calls == ["1.3.1", "1.3.1"]


def test_two_workers_share_an_outage(project: Project) -> None:
    project.directory.rmdir()
    # The second spec fails after the first worker has reported the outage.
    waits = "until ls .ralph/runs/*/outages; do sleep 0.1; done; test -e two.txt"
    for name, verify in (("one", "test -e one.txt"), ("two", waits)):
        spec = project.root / "specs" / name / "tasks.md"
        spec.parent.mkdir()
        spec.write_text(f"- [ ] 1.1 Make it\n  - **Verify**: `{verify}`\n")
    executor = project.shell(LOGIN)
    result = project.pytester.runpytest(
        "--ralph-recovery", "--ralph-executor", executor, "-n2", "-q", "specs"
    )

    assert result.ret == 1
    assert project.calls == ["1.1.1"]
    result.stdout.fnmatch_lines(["ralph: executor sh executor.sh is unavailable *: not logged in*"])
    for name in ("one", "two"):
        assert "[FIX" not in (project.root / "specs" / name / "tasks.md").read_text()


EMPTY_ANSWER = """\
echo '{"type": "message", "message": {"role": "assistant", "content": [{"type": "text",
"text": "The model returned an empty response. Please resend your message."}]}}' | tr -d '\\n'
echo
"""


@pytest.mark.parametrize(
    ("agent", "script"), [("claude", "true\n"), ("goose", EMPTY_ANSWER)], ids=["silent", "empty"]
)
def test_missing_answer_gets_no_fix_task(one_task: Project, agent: str, script: str) -> None:
    program = one_task.write("agent", f"#!/bin/sh\necho $RALPH_TASK_ID >> calls.txt\n{script}")
    program.chmod(0o755)
    result = one_task.run("-o", f"ralph_executor_program={program}", executor=agent)

    assert result.ret == 1
    assert one_task.calls == ["1.3.1", "1.3.2", "1.3.3"]
    text = one_task.tasks.read_text()
    assert "did not complete" not in text
    assert "empty response" not in text
    assert "[FIX 1.3.1]" not in text


USAGE = """\
echo 'Usage: claude [options]' >&2
echo "error: unknown option '--bogus'" >&2
exit 1
"""


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (USAGE, "error: unknown option '--bogus'"),
        ("exit 1\n", "exited with 1 and printed nothing"),
        ("echo 'Usage: claude' >&2; exit 2\n", "exited with 2: Usage: claude"),
    ],
)
def test_an_agent_that_does_not_start(one_task: Project, script: str, reason: str) -> None:
    before = one_task.tasks.read_bytes()
    program = one_task.write("agent", f"#!/bin/sh\n{script}")
    program.chmod(0o755)
    result = one_task.run("-o", f"ralph_executor_program={program}", executor="claude")

    assert result.ret == 1
    assert one_task.tasks.read_bytes() == before
    result.stdout.fnmatch_lines([f"*claude is unavailable*: refused to start: {reason}"])


def test_denied_actions_are_reported(one_task: Project) -> None:
    denial = '{"tool_name": "Bash", "tool_input": {"command": "npm test"}}'
    event = f'{{"type": "result", "result": "TASK_COMPLETE", "permission_denials": [{denial}]}}'
    program = one_task.write("agent", f"#!/bin/sh\necho fixed > parser.txt\necho '{event}'\n")
    program.chmod(0o755)
    result = one_task.run("-o", f"ralph_executor_program={program}", executor="claude")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*not permitted: Bash npm test*"])
