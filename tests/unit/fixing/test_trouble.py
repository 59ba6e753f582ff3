"""Trouble, cost and permissions of executors, read from recorded output of real agents."""

from __future__ import annotations

import json
import os
import time
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.fixing.agents import make_executor
from pytest_ralph.fixing.agents.agent import Agent
from pytest_ralph.fixing.agents.base import REASONS, Job, Outcome, Trouble, Usage
from pytest_ralph.fixing.agents.live import IdleWatch, LiveReader, last_retry
from pytest_ralph.fixing.agents.reset_time import reset_time
from pytest_ralph.running.runner import Runner
from pytest_ralph.running.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ralph.fixing.agents.events import Event

SAMPLES = Path(__file__).parents[2] / "samples" / "agents"
JOB = Job(task_id="1.3.1", prompt="Fix it.", timeout=30)
NOW = datetime(2026, 3, 4, 12, 0).astimezone().timestamp()


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    root = tmp_path / "project"
    root.mkdir()
    with closing(Runner(root=root, environ=os.environ, logs=root / ".ralph" / "logs")) as runner:
        yield runner


def sample(preset: str, name: str) -> Path:
    return next((SAMPLES / preset).glob(f"{name}.*"))


def replay(
    preset: str, name: str, runner: Runner, tmp_path: Path, *, status: int = 0, job: Job = JOB
) -> Outcome:
    """Run the preset with a program that prints a recorded output."""
    program = tmp_path / "program.sh"
    program.write_text(f"#!/bin/sh\ncat {sample(preset, name)}\nexit {status}\n")
    program.chmod(0o755)
    executor = make_executor(preset, {"program": str(program)})
    return executor.run(job, runner)


@pytest.mark.parametrize(
    ("preset", "name", "reason"),
    [
        ("claude", "invalid_key", "login"),
        ("claude", "rate_limited", "rate_limit"),
        ("claude", "quota", "quota"),
        ("claude", "usage_limit", "quota"),
        ("claude", "overloaded", "overload"),
        ("claude", "no_credit", "billing"),
        ("claude", "no_network", "network"),
        ("codex", "invalid_key", "login"),
        ("codex", "rate_limited", "rate_limit"),
        ("codex", "quota", "quota"),
        ("codex", "usage_limit", "quota"),
        ("codex", "overloaded", "overload"),
        ("codex", "no_credit", "billing"),
        ("codex", "no_network", "network"),
        ("gemini", "invalid_key", "login"),
        ("gemini", "no_credit", "billing"),
        ("goose", "invalid_key", "login"),
        ("goose", "quota", "quota"),
        ("goose", "overloaded", "overload"),
        ("goose", "no_credit", "billing"),
        ("goose", "no_network", "network"),
        ("opencode", "invalid_key", "login"),
        ("opencode", "no_credit", "billing"),
        ("aider", "invalid_key", "login"),
        ("aider", "quota", "quota"),
        ("cursor-agent", "usage_limit", "quota"),
    ],
)
def test_trouble_is_read_from_each_agent(
    preset: str, name: str, reason: str, runner: Runner, tmp_path: Path
) -> None:
    outcome = replay(preset, name, runner, tmp_path)

    assert outcome.trouble is not None, outcome.note
    assert outcome.trouble.reason == reason
    assert outcome.trouble.message
    assert "\n" not in str(outcome.trouble)
    assert not outcome.completed
    assert not outcome.progress


@pytest.mark.parametrize(
    ("preset", "name"),
    [
        ("claude", "well"),
        ("claude", "context"),
        ("claude", "max_turns"),
        ("claude", "empty"),
        ("claude", "no_session"),
        ("codex", "context"),
        ("gemini", "context"),
        ("gemini", "max_turns"),
        ("gemini", "empty"),
        ("goose", "empty"),
        ("goose", "context"),
        ("opencode", "context"),
        ("aider", "context"),
        ("aider", "gave_up"),
    ],
)
def test_other_ends_are_no_trouble(preset: str, name: str, runner: Runner, tmp_path: Path) -> None:
    assert replay(preset, name, runner, tmp_path).trouble is None


def test_gemini_keeps_the_message_of_its_error(runner: Runner, tmp_path: Path) -> None:
    outcome = replay("gemini", "empty", runner, tmp_path)

    assert outcome.failure is not None
    assert outcome.failure.error.startswith("The model returned an empty response")


def test_work_before_the_trouble_is_progress(runner: Runner, tmp_path: Path) -> None:
    both = sample("claude", "well").read_text().splitlines()[:-1]
    both.append(sample("claude", "rate_limited").read_text().splitlines()[-1])
    program = tmp_path / "claude"
    (tmp_path / "output").write_text("\n".join(both) + "\n")
    program.write_text(f"#!/bin/sh\ncat {tmp_path / 'output'}\nexit 1\n")
    program.chmod(0o755)
    executor = make_executor("claude", {"program": str(program)})

    outcome = executor.run(JOB, runner)

    assert outcome.trouble is not None
    assert outcome.trouble.reason == "rate_limit"
    assert outcome.progress
    assert outcome.tools == {"Bash": 1, "Edit": 1}


def test_the_log_explains_a_silent_failure(runner: Runner, tmp_path: Path) -> None:
    program = tmp_path / "claude"
    words = "--dangerously-skip-permissions cannot be used with root/sudo privileges"
    program.write_text(f"#!/bin/sh\necho '{words}' >&2\nexit 1\n")
    program.chmod(0o755)
    executor = make_executor("claude", {"program": str(program)})

    outcome = executor.run(JOB, runner)

    assert outcome.trouble == Trouble("refused", words)


BANNER = "printf '%s\\n' '=====' 'Agent v1.2.3 (model x)' 'Model: gpt-5' 'Starting session'"


@pytest.mark.parametrize(
    ("preset", "prints"),
    [
        ("goose", f"cat {sample('goose', 'hang')}"),
        ("claude", "true"),
        ("codex", BANNER),
        ("", f"{BANNER}; echo v0.1 >&2"),
    ],
)
def test_a_hanging_model_is_trouble(
    preset: str, prints: str, runner: Runner, tmp_path: Path
) -> None:
    program = tmp_path / "agent"
    program.write_text(f"#!/bin/sh\n{prints}\nexec sleep 60\n")
    program.chmod(0o755)
    executor = make_executor(preset or str(program), {"program": str(program)})

    outcome = executor.run(Job(task_id="1", prompt="x", timeout=1.0), runner)

    assert outcome.trouble is not None
    assert outcome.trouble.reason == "hung"
    assert not outcome.progress


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("echo 'litellm.RateLimitError: Rate limit reached'", "rate_limit"),
        ("echo 'Invalid API key · Please run /login' >&2; exit 1", "login"),
        ("echo 'Credit balance is too low'; exit 1", "billing"),
        ("echo 'Error: Unable to connect to API (ECONNREFUSED)'; exit 1", "network"),
        ("echo 'API Error: Connection error.'; exit 1", "network"),
        ("echo 'exceeded retry limit, last status: 429'; exit 1", "rate_limit"),
        ("echo 'stream disconnected before completion: timeout'; exit 1", "network"),
        ('echo "You\'ve hit your usage limit. Try again at 2:18 AM."; exit 1', "quota"),
        ("echo '--yolo cannot be used with root privileges' >&2; exit 1", "refused"),
        ("echo 'Error: stdin is not a terminal' >&2; exit 1", "refused"),
        ("echo 'Error: goose configure requires an interactive terminal.'; exit 1", "refused"),
        ("echo 'Please set an Auth method or specify GEMINI_API_KEY'; exit 1", "login"),
        ("no-such-agent --fix", "not_installed"),
        ("echo 'if then fi (' > agent.sh; sh agent.sh", "refused"),
        ("echo 'if (' > agent.py; python agent.py", "refused"),
        ("if then fi (", "refused"),
        ("echo 'build.sh: line 2: syntax error near `)`' >&2; exit 2", None),
        ("echo 'connect ECONNREFUSED 127.0.0.1:5432'; exit 1", None),
        ("echo 'Error: prompt is too long: 21 > 20 tokens'", None),
        ("exit 3", None),
    ],
)
def test_trouble_behind_a_shell_command(command: str, reason: str | None, runner: Runner) -> None:
    executor = make_executor(command)

    trouble = executor.run(JOB, runner).trouble

    assert (trouble.reason if trouble else None) == reason


def test_a_crash_of_the_executor_tells_nothing(runner: Runner) -> None:
    executor = make_executor("echo '{}[1]' > agent.py; python agent.py")

    outcome = executor.run(JOB, runner)

    assert not outcome.completed
    assert outcome.uninformative


def test_a_shell_command_tells_when_its_limit_ends(runner: Runner) -> None:
    executor = make_executor("echo 'Claude AI usage limit reached|4000000000'; exit 1")

    trouble = executor.run(JOB, runner).trouble

    assert trouble is not None
    assert trouble.resets_at == 4_000_000_000


def test_a_missing_program_is_trouble(runner: Runner) -> None:
    executor = make_executor("claude", {"program": "/nowhere/claude"})

    trouble = executor.run(JOB, runner).trouble

    assert trouble is not None
    assert trouble.reason == "not_installed"
    assert not trouble.can_pass


def test_every_reason_has_words() -> None:
    for reason, words in REASONS.items():
        assert str(Trouble(reason, "m")) == f"{words}: m"


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Claude AI usage limit reached|1800000000", 1_800_000_000 - NOW),
        ("Please retry in 35.5s", 35.5),
        ("Rate limited, try again in 1 hour 5 minutes", 3900),
        ("try again in 2 days", 172_800),
        ("Limit 30000. Please try again in 6m0.5s. Visit the page about limits.", 360.5),
        ("retry after 1h30m", 5400),
        ("Please try again in 20ms.", None),
        ("You've hit your limit · resets 3pm", 3 * 3600),
        ("or try again at 2:18 AM.", 14 * 3600 + 18 * 60),
        ("Overloaded, try again in a moment", None),
        ("resets soon", None),
    ],
)
def test_the_end_of_a_limit_is_read(message: str, seconds: float | None) -> None:
    found = reset_time(message, NOW)

    assert (None if found is None else found - NOW) == seconds


@pytest.mark.parametrize("local", ["UTC", "America/New_York", "Asia/Tokyo"])
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("try again at 16:05 UTC", "16:05"),
        ("You've hit your limit · resets 5pm (Europe/Berlin)", "16:00"),
        ("resets at 11:30 AM (GMT)", "11:30"),
    ],
)
def test_a_limit_may_end_in_another_time_zone(
    message: str, expected: str, local: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", local)
    time.tzset()
    try:
        found = reset_time(message, NOW)
    finally:
        monkeypatch.undo()
        time.tzset()

    assert found is not None
    assert datetime.fromtimestamp(found, timezone.utc).strftime("%H:%M") == expected
    assert 0 < found - NOW <= 86_400


def test_an_unknown_time_zone_is_the_local_one() -> None:
    assert reset_time("resets 3pm (Middle/Earth)", NOW) == reset_time("resets 3pm", NOW)


def test_codex_says_when_its_limit_ends(runner: Runner, tmp_path: Path) -> None:
    trouble = replay("codex", "usage_limit", runner, tmp_path).trouble

    assert trouble is not None
    assert trouble.resets_at is not None
    assert 0 < trouble.resets_at - time.time() <= 86_400


@pytest.mark.parametrize(
    ("preset", "usage"),
    [
        ("claude", Usage(10, 10, 0.00030000000000000003)),
        ("codex", Usage(10, 10)),
        ("gemini", Usage(10, 10)),
        ("goose", Usage(10, 10)),
        ("opencode", Usage(10, 10, 0.0)),
        ("aider", Usage(10, 10, 0.00013)),
    ],
)
def test_tokens_and_cost_are_read(
    preset: str, usage: Usage, runner: Runner, tmp_path: Path
) -> None:
    outcome = replay(preset, "usage", runner, tmp_path)

    assert outcome.completed, outcome.note
    assert outcome.usage == usage


RESULT = {
    "type": "result",
    "total_cost_usd": 0.25,
    "usage": {"input_tokens": 1, "cache_read_input_tokens": 100, "output_tokens": 2},
}


@pytest.mark.parametrize(
    "printed",
    [
        json.dumps(RESULT),
        json.dumps({"list": [{"a": {}}], **RESULT}, indent=1),
        json.dumps([{"type": "system"}, RESULT]),
        f'{{"a": [\n{{"b": 1}}\n],\n{json.dumps(RESULT)[1:]}',
        f'{{"cost": NaN}}\n{json.dumps(RESULT)}',
    ],
    ids=["a line", "indented", "a list", "with an object on a line", "with no amount"],
)
def test_cost_of_an_agent_in_a_script_is_read(printed: str, runner: Runner, tmp_path: Path) -> None:
    (tmp_path / "printed").write_text(printed)

    outcome = make_executor(f"cat {tmp_path}/printed").run(JOB, runner)

    assert outcome.usage == Usage(101, 2, 0.25)


def test_cost_in_words_may_be_large(runner: Runner) -> None:
    outcome = make_executor("echo 'Total cost: $1,234.56'").run(JOB, runner)

    assert outcome.usage.cost == 1234.56


def test_denied_actions_are_reported(runner: Runner, tmp_path: Path) -> None:
    assert replay("claude", "denied", runner, tmp_path).denied == ("Bash pytest -q",)
    assert replay("gemini", "denied", runner, tmp_path).denied == ("Running git checkout -b other",)


def test_codex_commands_are_shown_without_their_shell(runner: Runner, tmp_path: Path) -> None:
    transcript = replay("codex", "command", runner, tmp_path).transcript

    assert transcript is not None
    assert "→ Running git checkout -b other\n" in transcript.read_text()


def test_a_readable_transcript_is_written(runner: Runner, tmp_path: Path) -> None:
    transcript = replay("claude", "well", runner, tmp_path).transcript

    assert transcript is not None
    text = transcript.read_text()
    assert "Let me look" in text
    assert "→ Editing" in text
    assert text.rstrip().endswith("TASK_COMPLETE")


@pytest.mark.parametrize(
    ("command", "preset", "model"),
    [
        ("claude --model opus", True, ["--model", "opus"]),
        ("codex -c model_reasoning_effort=high", True, []),
        ("claude --allowedTools 'Bash(npm test)' \"Read(./**)\"", True, []),
        ('claude --model "$MODEL"', False, []),
        ("claude --model 'opus' | tee log", False, []),
        ("claude -p < $RALPH_PROMPT_FILE", False, []),
        ("claude -p 'Fix it'", False, []),
        ("codex exec -", False, []),
        ("codex -p work -m o3", True, ["-p", "work", "-m", "o3"]),
        ("aider -m 'Fix it'", False, []),
        ("gemini --prompt='Fix it'", False, []),
        ("./claude --model opus", False, []),
    ],
)
def test_arguments_may_follow_a_preset(command: str, preset: bool, model: list[str]) -> None:
    executor = make_executor(command, {"model": "sonnet"})

    assert isinstance(executor, Agent) == preset
    if model:
        assert isinstance(executor, Agent)
        assert list(executor.project_arguments) == model


def test_words_of_the_settings_may_name_the_home_directory() -> None:
    home = str(Path.home())
    executor = make_executor("claude --add-dir ~/a", {"program": "~/claude", "args": "--b ~/c"})

    assert isinstance(executor, Agent)
    assert executor.program == (f"{home}/claude",)
    assert executor.project_arguments == ("--b", f"{home}/c", "--add-dir", f"{home}/a")


class TestIdleWatch:
    """The clock of a real run is too slow for tests, so the limit is small."""

    def test_new_steps_are_progress(self, tmp_path: Path) -> None:
        watch = IdleWatch(tmp_path, 0.05)
        time.sleep(0.1)

        assert watch.goes_on(1)
        time.sleep(0.1)
        assert not watch.goes_on(1)

    def test_a_changed_file_is_progress(self, tmp_path: Path) -> None:
        watch = IdleWatch(tmp_path, 0.2)
        time.sleep(0.3)
        (tmp_path / "tasks.md").write_text("ours")
        assert not watch.goes_on(0)

        (tmp_path / "app.py").write_text("new")
        assert watch.goes_on(0)

    def test_a_running_tool_is_progress(self, tmp_path: Path) -> None:
        watch = IdleWatch(tmp_path, 0.05)
        time.sleep(0.1)

        assert watch.goes_on(0, busy=True)

    def test_a_file_from_the_future_is_no_progress(self, tmp_path: Path) -> None:
        (tmp_path / "app.py").write_text("old")
        tomorrow = time.time() + 86_400
        os.utime(tmp_path / "app.py", (tomorrow, tomorrow))
        watch = IdleWatch(tmp_path, 0.05)
        time.sleep(0.1)

        assert not watch.goes_on(0)

    def test_a_clock_that_is_set_ends_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        watch = IdleWatch(tmp_path, 60)
        later = time.time() + 3600
        monkeypatch.setattr(time, "time", lambda: later)

        assert watch.goes_on(0)


def test_an_idle_run_is_ended_early(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_ralph.fixing.agents.base.SHORTEST_IDLE_LIMIT", 0.0)
    executor = make_executor("sleep 60")

    outcome = executor.run(Job(task_id="1", prompt="x", timeout=7.0), runner)

    assert outcome.ended is not None
    assert outcome.ended.idle
    assert outcome.failure is not None
    assert outcome.failure.error == "executor made no progress for 2 s"
    assert outcome.trouble is not None
    assert outcome.trouble.reason == "hung"


# The log of opencode 1.18.33 while its provider answers with HTTP 429.
OPENCODE_LOG = (
    "timestamp=2026-11-17T03:22:22.702Z level=ERROR run=f1009126 "
    'message="stream error" providerID=scripted small=false agent=build mode=primary '
    'error.error="AI_APICallError: Rate limit reached for requests"'
)


@pytest.mark.parametrize("sample_before", ["", "well"])
def test_log_of_an_idle_agent_names_its_trouble(
    sample_before: str, runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_ralph.fixing.agents.base.SHORTEST_IDLE_LIMIT", 0.0)
    program = tmp_path / "opencode"
    log = tmp_path / "log"
    log.write_text(OPENCODE_LOG + "\n")
    work = f"head -n 3 {sample('opencode', sample_before)}\n" if sample_before else ""
    program.write_text(f"#!/bin/sh\n{work}cat {log} >&2\nexec sleep 60\n")
    program.chmod(0o755)
    executor = make_executor("opencode", {"program": str(program)})
    shown: list[str] = []

    outcome = executor.run(Job(task_id="1", prompt="x", timeout=3.0), runner, shown.append)

    assert outcome.trouble is not None
    assert outcome.trouble.reason == "rate_limit"
    assert outcome.trouble.message == "AI_APICallError: Rate limit reached for requests"
    if not sample_before:
        assert shown == ["AI_APICallError: Rate limit reached for requests"]


def test_last_retry_of_a_log_is_shown() -> None:
    log = "Attempt 1 failed with status 429. Retrying\nAttempt 2 failed with status 429\nother\n"

    assert last_retry(log) == "Attempt 2 failed with status 429"
    assert last_retry("nothing of that kind") == ""


def test_an_event_with_another_line_separator_is_followed_whole(tmp_path: Path) -> None:
    output = tmp_path / "output"
    event = '{"type": "assistant", "text": "one\u2028two"}\n'
    output.write_text(f'{event}{{"type": "resu', encoding="utf-8")
    seen: list[Event | str] = []
    reader = LiveReader(lambda _, event: seen.append(event), IdleWatch(tmp_path, None), None)
    reader([Spool(output, len(event))])
    assert seen == [{"type": "assistant", "text": "one\u2028two"}]
    with output.open("a", encoding="utf-8") as file:
        file.write('lt"}\n')
    reader([Spool(output, len(event))])
    assert seen[1:] == [{"type": "result"}]
