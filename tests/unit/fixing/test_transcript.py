"""Transcripts read from the recorded output of each agent: text, session, tools, files, error."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from pytest_ralph.failure.agent_limits import meaning_of_error
from pytest_ralph.fixing.agents import make_executor
from pytest_ralph.fixing.agents.agent import Agent
from pytest_ralph.fixing.agents.base import Usage
from pytest_ralph.fixing.agents.events import parse_line, plain_message, read_events
from pytest_ralph.fixing.agents.transcript import Transcript

SAMPLES = Path(__file__).parents[2] / "samples" / "agents"
PRESETS = sorted(path.name for path in SAMPLES.iterdir())
ROOT = Path("/project")


def agent_of(preset: str) -> Agent:
    agent = make_executor(preset)
    assert isinstance(agent, Agent)
    return agent


def read_output(preset: str, output: Path) -> Transcript:
    agent = agent_of(preset)
    transcript = Transcript()
    for event in read_events(output):
        agent.add_to(transcript, event)
    return transcript


def sample(preset: str, name: str) -> Path:
    return next((SAMPLES / preset).glob(f"{name}.*"))


@pytest.mark.parametrize(
    ("preset", "session", "tools", "last_tool"),
    [
        ("claude", "s-1", {"Bash": 1, "Edit": 1}, "Edit"),
        ("amp", "s-1", {"Bash": 1, "Edit": 1}, "Edit"),
        ("cursor-agent", "c-1", {"shell": 1, "edit": 1}, "edit"),
        ("codex", "th-1", {"shell": 1, "edit": 1}, "edit"),
        ("gemini", "g-1", {"run_shell_command": 1, "read_file": 1, "replace": 1}, "replace"),
        ("opencode", "ses_1", {"bash": 1, "edit": 1}, "edit"),
        (
            "goose",
            "",
            {"developer__shell": 1, "developer__text_editor": 1},
            "developer__text_editor",
        ),
        ("aider", "", {"edit": 1}, "edit"),
    ],
)
def test_a_completed_run_is_read_in_full(
    preset: str, session: str, tools: dict[str, int], last_tool: str
) -> None:
    """In each sample one tool fails, app.py is edited and the agent says that it is done."""
    transcript = read_output(preset, sample(preset, "well"))

    assert transcript.text.rstrip().endswith("Done.\nTASK_COMPLETE")
    assert "Let me look" not in transcript.text
    assert (transcript.session_id, transcript.tools, transcript.last_tool) == (
        session,
        tools,
        last_tool,
    )
    assert transcript.edited_files(ROOT) == ("app.py",)
    assert (transcript.error, transcript.meaning.kind) == ("", "")


GOOSE_CONTEXT = (
    "Failed to compact: the base prompt (system prompt, tool schemas, and conversation) exceeds "
    "the model's effective context window, and there are no tool responses to remove. Use a model "
    "or configuration with a larger usable context, disable some extensions to reduce the "
    "tool-schema payload, or start a new session.."
)


@pytest.mark.parametrize(
    ("preset", "name", "kind", "error"),
    [
        ("claude", "rate_limit", "service_unavailable", "API Error: Request rejected (429)"),
        ("claude", "context", "context_exhausted", "Prompt is too long"),
        ("claude", "max_turns", "task_incomplete", "error_max_turns"),
        ("claude", "no_key", "permission_denied", "Invalid API key · Fix external API key"),
        ("claude", "status_only", "service_unavailable", "Unexpected answer"),
        ("claude", "no_session", "", "No conversation found with session ID: 1"),
        ("cursor-agent", "usage_limit", "service_unavailable", "You've hit your usage limit"),
        (
            "codex",
            "rate_limit",
            "service_unavailable",
            "exceeded retry limit, last status: 429 Too Many Requests",
        ),
        (
            "codex",
            "context",
            "context_exhausted",
            "Your input exceeds the context window of this model.",
        ),
        (
            "gemini",
            "context",
            "context_exhausted",
            "The input token count (12) exceeds the maximum number of tokens allowed (8).",
        ),
        ("gemini", "max_turns", "task_incomplete", "Maximum session turns exceeded"),
        ("opencode", "context", "context_exhausted", "ContextOverflowError: Too much."),
        ("goose", "context", "context_exhausted", GOOSE_CONTEXT),
        ("opencode", "status_only", "permission_denied", "APIError: No."),
        (
            "goose",
            "rate_limit",
            "service_unavailable",
            "Rate limit exceeded: 30,000 input tokens per minute.",
        ),
        ("goose", "no_key", "permission_denied", "Authentication failed"),
        (
            "aider",
            "no_key",
            "permission_denied",
            "AuthenticationError: AuthenticationError: Incorrect",
        ),
        ("aider", "context", "context_exhausted", "Model some/model has hit a token limit!"),
        ("aider", "gave_up", "task_incomplete", "Only 3 reflections allowed, stopping."),
    ],
)
def test_an_error_keeps_the_words_of_the_agent(
    preset: str, name: str, kind: str, error: str
) -> None:
    transcript = read_output(preset, sample(preset, name))

    assert (transcript.meaning.kind, transcript.error) == (kind, error)


@pytest.mark.parametrize(
    ("message", "status", "kind"),
    [
        (
            "This request would exceed your rate limit of 30,000 input tokens per minute",
            None,
            "service_unavailable",
        ),
        ("Rate limit: too many tokens per minute", None, "service_unavailable"),
        ("This model's maximum context length is 128000 tokens", 400, "context_exhausted"),
        ("Internal server error", None, "service_unavailable"),
        ("Credit balance is too low", 400, "service_unavailable"),
        ("fetch failed", None, "service_unavailable"),
        ("Please run /login", None, "permission_denied"),
        ("Reached max turns (5)", None, "task_incomplete"),
        ("Something else", 503, "service_unavailable"),
        ("Something else", 413, "context_exhausted"),
        ("Something else", 403, "permission_denied"),
        ("Something else", 418, ""),
        ("Something else", None, ""),
    ],
)
def test_words_of_an_error_outrank_its_status(message: str, status: int | None, kind: str) -> None:
    assert meaning_of_error(message, status).kind == kind


@pytest.mark.parametrize(
    ("wrapped", "plain"),
    [
        ("as it is", "as it is"),
        ({"error": {"message": "inside"}}, "inside"),
        ('400 {"error": {"message": "inside", "code": 1}} (id 7)', "inside"),
        (
            '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
            "Overloaded",
        ),
        ('{"broken": ', '{"broken":'),
        ({}, ""),
    ],
)
def test_the_message_is_found_inside_json(wrapped: object, plain: str) -> None:
    assert plain_message(wrapped) == plain


@pytest.mark.parametrize("preset", [preset for preset in PRESETS if preset != "aider"])
@pytest.mark.parametrize(
    "event",
    [
        {},
        {"type": None},
        {"type": "assistant"},
        {"type": "assistant", "message": {"content": [7]}},
        {"type": "result"},
        {"type": "item.completed"},
        {"type": "message", "message": None},
        {"type": "message"},
        {"type": "tool_call"},
        {"type": "tool_call", "subtype": "started", "tool_call": {"a": {}, "b": []}},
        {"type": "error", "error": [1]},
        {"type": "result", "result": ["text"], "usage": {"input_tokens": "5"}},
        {"type": "result", "total_cost_usd": 10**400},
        {"type": "text", "part": {"text": ["text"]}},
        {"type": "item.completed", "item": {"type": "file_change", "changes": [{"path": 5}]}},
        {"type": "assistant", "session_id": 5, "thread_id": 5, "sessionID": 5},
    ],
)
def test_an_event_of_unknown_shape_is_skipped(
    preset: str, event: dict[str, Any], tmp_path: Path
) -> None:
    output = tmp_path / "out"
    output.write_text(f"{json.dumps(event)}\n{sample(preset, 'well').read_text()}")

    transcript = read_output(preset, output)

    assert transcript.text.rstrip().endswith("TASK_COMPLETE")
    assert isinstance(transcript.session_id, str)
    assert all(isinstance(path, str) for path in transcript.edited_files(ROOT))


def test_lines_without_an_event_stay_text(tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.write_bytes(
        b'{"type": "a"}\nplain \xff text\n{broken\n[1]\n' + b'{"x": ' + b"[" * 100_000
    )

    lines = list(read_events(output))

    assert lines[:4] == [{"type": "a"}, "plain \ufffd text", "{broken", "[1]"]
    assert list(read_events(tmp_path / "absent")) == []


def test_aider_wraps_the_path_of_an_edit() -> None:
    transcript = Transcript()
    aider = make_executor("aider")
    assert isinstance(aider, Agent)

    for line in ("Applied edit to ", "/a/long/path/app.py", "TASK_COMPLETE"):
        aider.read_line(line, transcript)

    assert list(transcript.edited_paths) == ["/a/long/path/app.py"]
    assert transcript.text == "TASK_COMPLETE\n"


def read_lines(preset: str, *lines: str) -> Transcript:
    transcript = Transcript()
    agent = agent_of(preset)
    for line in lines:
        agent.add_to(transcript, parse_line(line))
    return transcript


@pytest.mark.parametrize(
    ("lines", "usage"),
    [
        # As it is if the cache was both read and written.
        (
            [
                "Tokens: 12k sent, 10k cache write, 2.1k cache hit, 210 received.",
                "Cost: $0.50 message, $0.75 session.",
            ],
            Usage(12_000, 210, 0.5),
        ),
        (
            [
                "Tokens: 123k sent, 100k cache hit, 1.2k received. Cost: $0.00012 message, ",
                "$0.034 session.",
            ],
            Usage(123_000, 1_200, 0.00012),
        ),
        (["Tokens: many sent, 3 received.", "Cost: $5 or more"], Usage()),
    ],
)
def test_aider_prints_tokens_and_cost_in_several_ways(lines: list[str], usage: Usage) -> None:
    transcript = read_lines("aider", *lines, "TASK_COMPLETE")

    assert transcript.usage == usage
    assert "session" not in transcript.text


def test_results_of_claude_name_the_cost_so_far() -> None:
    results = [
        {"type": "result", "usage": {"input_tokens": 10}, "total_cost_usd": cost}
        for cost in (0.25, 0.75)
    ]

    transcript = read_lines("claude", *map(json.dumps, results))

    assert transcript.usage == Usage(20, 0, 0.75)


@pytest.mark.parametrize("cost", [math.nan, math.inf, -7, 10**400, True, "5"])
def test_what_is_no_amount_does_not_change_the_cost(cost: object) -> None:
    transcript = Transcript()

    for one in (0.5, cost, 0.25):
        transcript.add_usage({"input_tokens": -1}, one)
        transcript.set_total_cost(one)

    assert transcript.usage == Usage(0, 0, 0.75)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error"},
        {"type": "turn.failed", "error": {"code": 7}},
        {"type": "turn.failed", "error": {"error": {"code": 7}}},
    ],
)
def test_an_error_without_words_is_an_error(event: dict[str, Any]) -> None:
    transcript = read_lines("codex", json.dumps(event))

    assert transcript.error
    assert transcript.error != "None"


def test_parts_of_a_message_are_joined_as_they_come() -> None:
    transcript = Transcript()
    transcript.start_tool("1", "shell", {"command": "ls"})

    for part in ("\n", "Hello ", "world\n", "!"):
        transcript.append_text(part)

    assert transcript.entries == ["→ Running ls", "Hello world\n!"]


def test_all_tokens_of_opencode_are_counted() -> None:
    cache = {"read": 100, "write": 1000}
    tokens = {"input": 1, "output": 2, "reasoning": 20, "cache": cache}

    part = {"type": "step_finish", "part": {"tokens": tokens, "cost": 0.25}}

    assert read_lines("opencode", json.dumps(part)).usage == Usage(1101, 22, 0.25)


def test_tokens_of_the_cache_count_once_for_goose() -> None:
    usage = {"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 9}

    transcript = read_lines("goose", json.dumps({"type": "complete", **usage}))

    assert transcript.usage == Usage(10, 2)


@pytest.mark.parametrize("length", [50, 5_000_000])
def test_an_incomplete_or_huge_event_is_no_answer(length: int, tmp_path: Path) -> None:
    answer = {"message": {"content": [{"type": "text", "text": "TASK_COMPLETE"}]}}
    output = tmp_path / "out"
    event = json.dumps({"type": "assistant", **answer})
    output.write_text(f'{event}\n{{"type":"user","output":"{"x" * length}')

    assert read_output("claude", output).text == "TASK_COMPLETE"


def test_codex_goes_on_after_a_lost_connection() -> None:
    lost = {"type": "error", "message": "Reconnecting... 1/5 (stream disconnected)"}
    item = {"id": "1", "type": "command_execution", "command": "ls", "exit_code": 0}
    commands = [{"type": f"item.{step}", "item": item} for step in ("started", "completed")]

    assert read_lines("codex", json.dumps(lost)).meaning.reason == "network"
    for command in commands:
        assert read_lines("codex", json.dumps(lost), json.dumps(command)).error == ""


@pytest.mark.parametrize(
    "message",
    [
        "There's an issue with the selected model (x). It may not exist or you have no access.",
        "The model `x` does not exist or you do not have access to it.",
        "models/x is not found for API version v1beta",
        "ProviderModelNotFoundError: x",
        "litellm.NotFoundError: x",
    ],
)
def test_an_unknown_model_is_no_failure(message: str) -> None:
    assert meaning_of_error(message).reason == "refused"


@pytest.mark.parametrize(
    ("preset", "event"),
    [
        (
            "codex",
            """{"type": "item.completed", "item": {"id": "i", "type": "command_execution",
            "command": "/bin/bash -lc 'npm test'", "status": "declined"}}""",
        ),
        (
            "opencode",
            """{"type": "tool_use", "part": {"callID": "c", "tool": "bash", "state": {
            "status": "error", "input": {"command": "npm test"},
            "error": "The user has specified a rule which prevents you from using this tool"}}}""",
        ),
    ],
)
def test_a_denied_command_is_recorded(preset: str, event: str) -> None:
    transcript = Transcript()
    agent_of(preset).add_to(transcript, json.loads(event))

    assert transcript.denied == ["Running npm test"]
    assert transcript.last_tool is None


@pytest.mark.parametrize("cost", [float("nan"), float("inf"), -1.0])
def test_an_impossible_cost_does_not_count(cost: float) -> None:
    transcript = Transcript()
    transcript.add_usage(None, 0.5)
    transcript.add_usage(None, cost)
    assert transcript.usage.cost == 0.5
