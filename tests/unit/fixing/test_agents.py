"""Executors as real processes: the protocol, command lines, and outcomes of every kind of end."""

from __future__ import annotations

import errno
import json
import os
import shlex
import stat
import sys
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import psutil
import pytest

from pytest_ralph.fixing.agents import PRESETS, make_executor
from pytest_ralph.fixing.agents.base import Executor, Job, Outcome
from pytest_ralph.fixing.agents.launch import Launch, allowed_commands
from pytest_ralph.fixing.repairs.declared import read_table
from pytest_ralph.running.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Iterator

JOB = Job(
    task_id="1.3.1",
    fix_for="1.3",
    spec_path="specs/demo",
    kind="test_failure",
    files=("app.py",),
    attempt=2,
    prompt="Fix the thing.\nTASK_COMPLETE\n",
    timeout=30,
)
RATE_LIMIT = "litellm.RateLimitError: Rate limit reached"


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    (tmp_path / "project").mkdir()
    logs = tmp_path / "project" / ".ralph" / "logs"
    with closing(Runner(root=tmp_path / "project", environ=os.environ, logs=logs)) as runner:
        yield runner


def shell(command: str) -> Executor:
    return make_executor(command)


def run_shell(command: str, runner: Runner, job: Job = JOB) -> Outcome:
    return shell(dedent(command)).run(job, runner)


def fake_agent(preset: str, tmp_path: Path, body: str, **options: str) -> Executor:
    """A preset whose program is a Python script of ours."""
    program = tmp_path / f"fake-{preset}"
    program.write_text(f"#!{sys.executable}\n{dedent(body)}")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return make_executor(preset, {"program": str(program), **options})


RECORD = """
import json, os, pathlib, sys
told = pathlib.Path(os.environ["RALPH_PROMPT_FILE"]).read_text()
variables = {name: value for name, value in os.environ.items() if name.startswith("RALPH_")}
record = {"argv": sys.argv[1:], "cwd": os.getcwd(), "stdin": sys.stdin.read()}
record.update(file=told, env=variables)
pathlib.Path("record.json").write_text(json.dumps(record))
print("Approach: did it")
print("TASK_COMPLETE")
"""


@pytest.mark.parametrize("name", [*PRESETS, "shell"])
def test_the_protocol_is_kept(name: str, tmp_path: Path, runner: Runner) -> None:
    if name == "shell":
        (tmp_path / "record.py").write_text(RECORD)
        executor = shell(
            f"{shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / 'record.py'))} && true"
        )
    else:
        executor = fake_agent(name, tmp_path, RECORD)

    executor.run(JOB, runner)

    record = json.loads((runner.root / "record.json").read_text())
    assert record["cwd"] == str(runner.root)
    assert record["stdin"] == record["file"] == JOB.prompt
    assert (
        record["env"].items()
        >= {
            "RALPH_TASK_ID": "1.3.1",
            "RALPH_FIX_FOR": "1.3",
            "RALPH_SPEC_PATH": "specs/demo",
            "RALPH_KIND": "test_failure",
            "RALPH_ATTEMPT": "2",
        }.items()
    )


def arguments(
    preset: str, tmp_path: Path, runner: Runner, job: Job = JOB, **options: str
) -> list[str]:
    fake_agent(preset, tmp_path, RECORD, **options).run(job, runner)
    words: list[str] = json.loads((runner.root / "record.json").read_text())["argv"]
    return words


COMMAND_LINES = {
    "claude": "-p --output-format stream-json --verbose --permission-mode acceptEdits",
    "codex": "exec --json --skip-git-repo-check --sandbox workspace-write -",
    "gemini": "--output-format stream-json --approval-mode auto_edit",
    "opencode": "run --format json",
    "goose": "run --instructions - --output-format stream-json --name",
    "amp": "--execute --stream-json",
    "cursor-agent": "--print --output-format stream-json --force --trust",
    "aider": "--message-file",
}


@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_is_called_for_unattended_use(
    preset: str, tmp_path: Path, runner: Runner
) -> None:
    words = arguments(preset, tmp_path, runner)

    assert shlex.join(words).startswith(COMMAND_LINES[preset])


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        ("claude", ["--resume", "s-1"]),
        ("codex", ["resume", "s-1", "-"]),
        ("gemini", ["--resume", "s-1"]),
        ("opencode", ["--session", "s-1"]),
        ("amp", ["threads", "continue", "s-1"]),
        ("cursor-agent", ["--resume", "s-1"]),
        ("goose", ["--resume", "--name", "ralph-s-1"]),
        ("aider", ["--chat-history-file", "s-1.history", "--restore-chat-history"]),
    ],
)
def test_a_session_is_continued(
    preset: str, words: list[str], tmp_path: Path, runner: Runner
) -> None:
    job = Job(task_id="1.3.1", prompt="Go on.", timeout=30, session_id="s-1")

    given = arguments(preset, tmp_path, runner, job)

    at = given.index(words[0])
    assert given[at : at + len(words)] == words


@pytest.mark.parametrize("preset", ["goose", "aider"])
def test_a_session_we_named_is_continued(preset: str, tmp_path: Path, runner: Runner) -> None:
    agent = fake_agent(preset, tmp_path, RECORD)
    first = agent.run(JOB, runner)
    words = json.loads((runner.root / "record.json").read_text())["argv"]

    again = agent.run(
        Job(task_id="1.3.1", prompt="Go on.", timeout=30, session_id=first.session_id), runner
    )
    words_again = json.loads((runner.root / "record.json").read_text())["argv"]

    flag = {"goose": "--name", "aider": "--chat-history-file"}[preset]
    assert words[words.index(flag) + 1] == words_again[words_again.index(flag) + 1]
    assert again.session_id == first.session_id


@pytest.mark.parametrize("preset", PRESETS)
def test_model_and_arguments_are_passed_on(preset: str, tmp_path: Path, runner: Runner) -> None:
    words = arguments(preset, tmp_path, runner, model="the-model", args="--extra 'two words'")

    flag = "--mode" if preset == "amp" else "--model"
    assert words[words.index(flag) + 1] == "the-model"
    assert words[words.index("--extra") + 1] == "two words"


@pytest.mark.parametrize(
    ("preset", "own", "ours"),
    [
        ("claude", "--dangerously-skip-permissions", "--permission-mode"),
        ("claude", "--permission-mode=plan", "acceptEdits"),
        ("codex", "--dangerously-bypass-approvals-and-sandbox", "--sandbox"),
        ("codex", "-s danger-full-access", "workspace-write"),
        ("gemini", "--yolo", "--approval-mode"),
        ("cursor-agent", "--yolo", "--force"),
        ("aider", "--map-tokens 1024", "0"),
    ],
)
def test_permissions_of_the_project_replace_the_default(
    preset: str, own: str, ours: str, tmp_path: Path, runner: Runner
) -> None:
    words = arguments(preset, tmp_path, runner, args=own)

    assert ours not in words
    assert own.split(maxsplit=1)[0] in words


def with_verify(*commands: str) -> Job:
    return Job(task_id="1.3.1", prompt="x", timeout=30, verify=commands)


def test_claude_may_run_exactly_the_verify_commands(tmp_path: Path, runner: Runner) -> None:
    words = arguments("claude", tmp_path, runner, with_verify("pytest -q", "ruff check ."))

    at = words.index("--allowedTools")
    assert words[at + 1 :] == ["Bash(pytest -q)", "Bash(ruff check .)"]


def test_claude_gets_difficult_commands_as_settings(tmp_path: Path, runner: Runner) -> None:
    words = arguments("claude", tmp_path, runner, with_verify('python -c "print(1, 2)"'))

    settings = json.loads(words[words.index("--settings") + 1])
    assert settings == {"permissions": {"allow": ['Bash(python -c "print\\(1, 2\\)")']}}
    assert "--allowedTools" not in words


@pytest.mark.parametrize(
    ("verify", "commands"),
    [
        ("pytest -q", ("pytest -q",)),
        ("cd web && npm test", ("cd web && npm test", "cd web", "npm test")),
        (
            "grep -c 'a && b' f | wc -l",
            ("grep -c 'a && b' f | wc -l", "grep -c 'a && b' f", "wc -l"),
        ),
        ('python -c "a; b" 2>&1', ('python -c "a; b" 2>&1',)),
        ("echo a\\;b", ("echo a\\;b",)),
        ("A=1 make && make x", ("A=1 make && make x", "A=1 make", "make x")),
        ("(cd a; make) # b; c", ("(cd a; make) # b; c", "cd a", "make")),
    ],
)
def test_parts_of_a_verify_are_allowed(verify: str, commands: tuple[str, ...]) -> None:
    assert allowed_commands(with_verify(verify)) == commands


def test_gemini_gets_a_policy_for_the_verify(tmp_path: Path, runner: Runner) -> None:
    words = arguments("gemini", tmp_path, runner, with_verify('python -c "print(1)"'))

    policy = read_table(Path(words[words.index("--policy") + 1]))
    assert policy["rule"][0]["commandPrefix"] == 'python -c "print(1)"'
    assert policy["rule"][0]["decision"] == "allow"


def test_opencode_gets_permission_for_the_verify(
    tmp_path: Path, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENCODE_PERMISSION", raising=False)
    body = "import os, pathlib\npathlib.Path('seen').write_text(os.environ['OPENCODE_PERMISSION'])"

    fake_agent("opencode", tmp_path, body).run(with_verify("pytest -q"), runner)

    permissions = json.loads((runner.root / "seen").read_text())
    assert permissions == {"edit": "allow", "bash": {"*": "deny", "pytest -q": "allow"}}


def test_aider_reads_tests_and_the_spec(
    tmp_path: Path, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (runner.root / "tests").mkdir()
    (runner.root / "tests" / "test_app.py").write_text("")
    files = ("app.py", "tests/test_app.py", "tests/test_new.py", "tests", "-odd.py")
    job = Job(task_id="1", prompt="x", timeout=30, files=files, spec_path="specs/demo")

    words = arguments("aider", tmp_path, runner, job)

    pairs = list(pairwise(words))
    assert ("--file", "app.py") in pairs
    assert ("--read", "tests/test_app.py") in pairs
    assert ("--file", "tests/test_new.py") in pairs
    assert ("--read", "specs/demo/tasks.md") in pairs
    assert ("--file", "./-odd.py") in pairs
    # aider does not start if one of several files is a directory.
    assert "tests" not in words


def test_a_program_may_be_a_command_line(tmp_path: Path, runner: Runner) -> None:
    (tmp_path / "fake.py").write_text(RECORD)
    executor = make_executor("codex", {"program": f"{sys.executable} {tmp_path / 'fake.py'}"})

    executor.run(JOB, runner)

    assert json.loads((runner.root / "record.json").read_text())["argv"][0] == "exec"


@pytest.mark.parametrize(
    ("prompt", "argument"),
    [
        ("- Fix it.", "\n- Fix it."),
        ("Fix \ud800 it.", "Fix ? it."),
        ("Fix \0 it.", "Follow the instructions in the file "),
        ("é" * 70_000, "Follow the instructions in the file "),
    ],
    ids=["dash", "surrogate", "null", "long"],
)
def test_cursor_gets_any_prompt(prompt: str, argument: str, tmp_path: Path, runner: Runner) -> None:
    words = arguments("cursor-agent", tmp_path, runner, Job(task_id="1", prompt=prompt))

    assert words[-1].startswith(argument)


def test_an_executor_beside_python_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    name = Path(sys.executable).name

    assert make_executor(name).available() is None
    assert make_executor("aider", {"program": name}).available() is None


@pytest.mark.parametrize("preset", PRESETS)
def test_a_missing_preset_says_how_to_install_it(
    preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    executor = make_executor(preset)

    why = executor.available()

    assert why is not None
    assert preset in why
    assert "install" in why
    assert "\n" not in why


def test_a_program_that_vanished_is_command_not_found(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = make_executor("claude", {"program": "/nowhere/claude"})

    outcome = executor.run(JOB, runner)

    assert not outcome.completed
    assert outcome.failure is not None
    assert outcome.failure.kind == "command_not_found"
    assert "is not on PATH" in outcome.failure.error
    assert outcome.failure.missing == "/nowhere/claude"
    assert outcome.failure.files == ()


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("cluade", True),
        ("./fix.sh", False),
        ("sh", False),
        ("exit", False),
        ("cat > x", False),
        ("make fix", False),
    ],
)
def test_only_a_single_unknown_word_is_refused(command: str, wrong: bool) -> None:
    why = shell(command).available()

    assert (why is not None) == wrong
    assert why is None or "claude" in why


# However an executor ends


def test_a_shell_command_need_not_say_anything(runner: Runner) -> None:
    outcome = run_shell("cat > seen.txt", runner)

    assert outcome.completed
    assert outcome.failure is None
    assert (runner.root / "seen.txt").read_text() == JOB.prompt


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        pytest.param("exit 3", None, id="exit status"),
        pytest.param("kill -SEGV $$", "crash", id="crash"),
        pytest.param("sh -c 'kill -SEGV $$'; exit $?", "crash", id="crash below"),
        pytest.param("no-such-agent --fix", "command_not_found", id="no such command"),
        pytest.param(f"echo '{RATE_LIMIT}'", "service_unavailable", id="API error and exit 0"),
        pytest.param(
            "echo 'Error: prompt is too long: 21 > 20 tokens'",
            "context_exhausted",
            id="context and exit 0",
        ),
        pytest.param(
            "echo 'Half of it is done; the rest requires manual intervention.'; echo TASK_COMPLETE",
            "verification_mismatch",
            id="lie",
        ),
        pytest.param("printf 'Task 1.3.1: Fix FAILED\\n- Error: boom\\n'", None, id="FAILED block"),
    ],
)
def test_each_bad_end_has_its_kind(command: str, kind: str | None, runner: Runner) -> None:
    outcome = run_shell(command, runner)

    assert not outcome.completed
    assert outcome.failure is not None
    assert kind is None or outcome.failure.kind == kind
    assert outcome.failure.task_id == "1.3.1"
    assert outcome.failure.error
    assert "\n" not in outcome.note


def test_the_fields_of_a_failed_block_are_kept(runner: Runner) -> None:
    block = (
        "Task 1.3.1: Fix FAILED\\n- Error: boom\\n- Attempted fix: turned it off\\n"
        "- Status: Blocked\\n"
    )

    failure = run_shell(f"printf '{block}'", runner).failure

    assert failure is not None
    assert (failure.error, failure.attempted_fix, failure.status) == (
        "boom",
        "turned it off",
        "Blocked",
    )


def test_a_failed_block_outranks_the_words_around_it(runner: Runner) -> None:
    words = (
        "429 Too Many Requests is tested.\\nTask 1.3.1: Fix FAILED\\n"
        "- Error: AssertionError: assert 1 == 2\\n"
    )

    failure = run_shell(f"printf '{words}'", runner).failure

    assert failure is not None
    assert (failure.kind, failure.error) == ("test_failure", "AssertionError: assert 1 == 2")


REPORT = """Child agent failed: Implemented feature but tests fail with import error

Category: partial
Duration: 145.2s
Retryable: Yes

Work completed before failure:
  ✓ Implemented authentication logic

Files modified: src/auth.py, tests/test_auth.py

Blocked on: ImportError in tests: cannot import 'bcrypt'

Suggested recovery actions:
  • Add bcrypt to requirements.txt

<task_metadata>
  <session_id>child-1</session_id>
  <status>failed</status>
  <failure_category>partial</failure_category>
  <retryable>true</retryable>
</task_metadata>
"""


def test_the_fields_of_a_report_are_kept(runner: Runner) -> None:
    (runner.root / "report.txt").write_text(REPORT)

    failure = run_shell("cat report.txt", runner).failure

    assert failure is not None
    assert (failure.category, failure.retryable) == ("partial", True)
    assert failure.completed_steps == ("Implemented authentication logic",)
    assert failure.files_modified == ("src/auth.py", "tests/test_auth.py")
    assert failure.blocked_on == "ImportError in tests: cannot import 'bcrypt'"
    assert failure.suggested_actions == ("Add bcrypt to requirements.txt",)


@pytest.mark.parametrize(
    "words",
    [
        "Found 3 errors (3 fixed, 0 remaining).",
        "Added rate limiting to api.py",
        "2 failed, now 0",
        "context length: 12",
    ],
)
def test_words_of_a_successful_command_are_no_failure(words: str, runner: Runner) -> None:
    outcome = run_shell(f"echo '{words}'", runner)

    assert outcome.completed, outcome.note


def test_an_echoed_prompt_is_not_an_answer(runner: Runner) -> None:
    prompt = "Do it.\n\nTask 1.3.1: Fix FAILED\n- Error: boom\n\nIt requires manual work.\n"

    outcome = run_shell(
        "cat; cat $RALPH_PROMPT_FILE >&2", runner, Job(task_id="1.3.1", prompt=prompt, timeout=30)
    )

    assert outcome.completed, outcome.note


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_hanging_executor_is_ended_with_its_children(runner: Runner) -> None:
    job = Job(task_id="1.3.1", prompt="x", timeout=0.5)
    started = time.monotonic()

    outcome = run_shell("echo started; (sleep 60 & echo $! > pid); sleep 60", runner, job)

    assert time.monotonic() - started < 20
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.failure.timed_out) == ("timeout", True)
    assert outcome.failure.error == "executor timed out after 0.5 s"
    assert outcome.failure.suggested_actions[0] == "Retry with timeout=1s"
    assert outcome.progress
    assert not is_running(int((runner.root / "pid").read_text()))


def test_a_silent_hanging_executor_made_no_progress(runner: Runner) -> None:
    outcome = run_shell("sleep 60", runner, Job(task_id="1.3.1", prompt="x", timeout=0.3))

    assert outcome.failure is not None
    assert outcome.failure.kind == "timeout"
    assert not outcome.progress


def test_the_output_of_an_outcome_is_bounded(runner: Runner) -> None:
    outcome = run_shell("yes 'a line of output' | head -c 20000000; echo TASK_COMPLETE", runner)

    assert outcome.completed, outcome.note
    assert len(outcome.output) < 200_000


def test_an_executor_may_delete_the_log_directory(runner: Runner) -> None:
    outcome = run_shell("rm -rf .ralph; echo gone; exit 1", runner)

    assert not outcome.completed
    assert outcome.failure is not None
    assert run_shell("cat > again.txt", runner).completed


def test_an_executor_may_delete_the_prompt_of_another(runner: Runner) -> None:
    launch = Launch.prepare(JOB, runner)
    launch.prompt_file.unlink()

    result = launch.run(runner, command="cat", label="executor")
    assert result.stdout.text() == JOB.prompt


def test_no_prompt_is_written_through_a_link(tmp_path: Path, runner: Runner) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (runner.root / ".ralph").mkdir()
    (runner.root / ".ralph/logs").symlink_to(outside)

    outcome = run_shell("true", runner)

    assert os.strerror(errno.ELOOP) in outcome.note
    assert list(outside.iterdir()) == []


def test_no_transcript_is_written_through_a_link(tmp_path: Path, runner: Runner) -> None:
    body = f"""
        import json, os, time
        print(json.dumps({{"type": "result", "result": "TASK_COMPLETE"}}), flush=True)
        time.sleep(1.2)
        print("{{}}", flush=True)
        time.sleep(0.2)
        os.rename(".ralph/logs", "{tmp_path}/outside")
        os.symlink("{tmp_path}/outside", ".ralph/logs")
    """

    outcome = fake_agent("claude", tmp_path, body).run(JOB, runner)

    assert outcome.output == "TASK_COMPLETE"
    assert outcome.transcript is None
    assert list((tmp_path / "outside").rglob("*.transcript.log")) == []


def test_no_executor_starts_after_a_stop(runner: Runner) -> None:
    runner.stop()

    outcome = run_shell("touch ran", runner)

    assert outcome.interrupted
    assert outcome.failure is not None
    assert not (runner.root / "ran").exists()


def claude_result(**more: object) -> str:
    event = {"type": "result", "subtype": "success", "is_error": False, "session_id": "s-1", **more}
    return f"print({json.dumps(event)!r})"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        pytest.param(claude_result(result="All good."), "", id="no marker, yet an answer"),
        pytest.param("print('plain text')", "", id="no JSON at all"),
        pytest.param(claude_result(result=""), "task_incomplete", id="no answer"),
        pytest.param("", "task_incomplete", id="silence"),
        pytest.param(
            claude_result(result="Now with rate limiting: 429 for too many requests."),
            "",
            id="words only",
        ),
        pytest.param(claude_result(result="I could not fix it."), "task_incomplete", id="gave up"),
        pytest.param(
            claude_result(is_error=True, result="API: Overloaded"),
            "service_unavailable",
            id="API error",
        ),
        pytest.param(
            "print('Error: 429 Too Many Requests')", "service_unavailable", id="API error, no JSON"
        ),
        pytest.param(
            claude_result(is_error=True, result="Prompt is too long"),
            "context_exhausted",
            id="context",
        ),
        pytest.param(
            claude_result(result="Requires manual tests.\nTASK_COMPLETE"),
            "verification_mismatch",
            id="lie",
        ),
        pytest.param(
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "crash", id="crash"
        ),
    ],
)
def test_the_exit_status_alone_is_not_trusted(
    body: str, kind: str, tmp_path: Path, runner: Runner
) -> None:
    outcome = fake_agent("claude", tmp_path, body).run(JOB, runner)

    assert (outcome.failure.kind if outcome.failure else "") == kind, outcome.note
    assert outcome.completed == (not kind)


def test_a_failure_lists_what_the_agent_did(tmp_path: Path, runner: Runner) -> None:
    use = {"type": "tool_use", "id": "1", "name": "Edit", "input": {"file_path": "app.py"}}
    done = {"type": "tool_result", "tool_use_id": "1"}
    events = [
        {"type": "assistant", "session_id": "s-1", "message": {"content": [use]}},
        {"type": "user", "session_id": "s-1", "message": {"content": [done]}},
    ]
    body = (
        f"import json, time\nfor event in {events!r}: print(json.dumps(event), flush=True)\n"
        "time.sleep(60)"
    )

    outcome = fake_agent("claude", tmp_path, body).run(
        Job(task_id="1.3.1", prompt="x", timeout=1.5), runner
    )

    failure = outcome.failure
    assert failure is not None
    assert failure.kind == "timeout"
    assert (failure.tool_usage, failure.last_successful_tool) == ({"Edit": 1}, "Edit")
    assert (failure.files_modified, failure.completed_steps) == (("app.py",), ("Changed app.py",))
    assert failure.session_id == outcome.session_id == "s-1"


def test_a_session_with_full_context_is_not_continued(tmp_path: Path, runner: Runner) -> None:
    outcome = fake_agent(
        "claude", tmp_path, claude_result(is_error=True, result="Prompt is too long")
    ).run(JOB, runner)

    assert outcome.session_id == ""
    assert outcome.failure is not None
    assert outcome.failure.session_id == "s-1"


def test_the_live_display_gets_the_last_words(tmp_path: Path, runner: Runner) -> None:
    body = (
        claude_result(result="Looking at app.py")
        + "; import sys, time; sys.stdout.flush(); time.sleep(1.5)"
    )
    told: list[str] = []

    fake_agent("claude", tmp_path, body).run(JOB, runner, told.append)

    assert "Looking at app.py" in told
