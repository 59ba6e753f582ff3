"""The opencode preset."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, ClassVar

from pytest_ralph.fixing.agents.agent import Agent
from pytest_ralph.fixing.agents.events import table
from pytest_ralph.fixing.agents.launch import allowed_commands

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_ralph.fixing.agents.events import Event
    from pytest_ralph.fixing.agents.launch import Launch
    from pytest_ralph.fixing.agents.transcript import Transcript

# The error of a tool call that was not permitted.
DENIAL = re.compile(r"rejected permission|specified a rule", re.IGNORECASE)


def _read_text(event: Event, transcript: Transcript) -> None:
    transcript.set_text(event["part"].get("text", ""))


def _read_tool_call(event: Event, transcript: Transcript) -> None:
    part = event["part"]
    call_id = part.get("callID")
    state = table(part, "state")
    transcript.start_tool(call_id, part.get("tool"), state.get("input"))
    error = str(state.get("error", ""))
    if DENIAL.search(error):
        transcript.deny_tool(call_id)
    transcript.end_tool(call_id, succeeded=state.get("status") == "completed")


def _read_error(event: Event, transcript: Transcript) -> None:
    error = table(event, "error")
    data = table(error, "data")
    name = error.get("name", "")
    message = data.get("message") or error.get("message") or ""
    text = f"{name}: {message}".strip(": ")
    transcript.set_error(text, status=data.get("statusCode"))


def _end_step(event: Event, transcript: Transcript) -> None:
    part = event["part"]
    tokens = table(part, "tokens")
    cache = table(tokens, "cache")
    usage = {
        "input_tokens": tokens.get("input"),
        "cache_creation_input_tokens": cache.get("write"),
        "cache_read_input_tokens": cache.get("read"),
        "output_tokens": tokens.get("output"),
    }
    transcript.add_usage(usage, part.get("cost"))
    # What the model thinks is counted apart.
    transcript.add_usage({"output_tokens": tokens.get("reasoning")})
    if part.get("reason") == "stop":
        transcript.clear_error()


class OpenCode(Agent):
    """opencode may edit files and run the commands of the Verify field.

    A value of OPENCODE_PERMISSION in the environment of pytest replaces these permissions.
    """

    name = "opencode"
    install = "npm install -g opencode-ai"
    session_key = "sessionID"
    readers: ClassVar = {
        "text": _read_text,
        "tool_use": _read_tool_call,
        "error": _read_error,
        "step_finish": _end_step,
    }

    def arguments(self, launch: Launch) -> list[str]:
        words = ["run", "--format", "json"]
        # opencode repeats a request for ever if the service refuses it for now. No event tells of
        # that, only its log does.
        words += self.options.default("--print-logs")
        words += self.options.default("--log-level", "ERROR")
        words += launch.resuming("--session")
        return [*words, *self.project_arguments]

    def environment(self, launch: Launch) -> Mapping[str, str]:
        if not launch.job.verify or "OPENCODE_PERMISSION" in os.environ:
            return {}
        commands = {"*": "deny"}
        for command in allowed_commands(launch.job):
            commands[command] = "allow"
        return {"OPENCODE_PERMISSION": json.dumps({"edit": "allow", "bash": commands})}
