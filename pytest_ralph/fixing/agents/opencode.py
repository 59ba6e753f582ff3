"""The opencode preset."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from pytest_ralph.fixing.agents.agent import Agent
from pytest_ralph.fixing.agents.launch import allowed_commands

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ralph.fixing.agents.events import Event
    from pytest_ralph.fixing.agents.launch import Launch
    from pytest_ralph.fixing.agents.transcript import Transcript

# The error of a tool call that was not permitted.
DENIAL = re.compile(r"rejected permission|specified a rule", re.IGNORECASE)


class OpenCode(Agent):
    """opencode may edit files and run the commands of the Verify field.

    A value of OPENCODE_PERMISSION in the environment of pytest replaces these permissions.
    """

    name = "opencode"
    install = "npm install -g opencode-ai"

    def arguments(self, launch: Launch) -> Sequence[str]:
        words = ["run", "--format", "json"]
        # opencode repeats a request for ever if the service refuses it for now. No event tells of
        # that, only its log does.
        words += self.options.default("--print-logs")
        words += self.options.default("--log-level", "ERROR")
        if launch.resume:
            words += ["--session", launch.resume]
        return [*words, *self.project_arguments]

    def environment(self, launch: Launch) -> Mapping[str, str]:
        if not launch.job.verify or "OPENCODE_PERMISSION" in os.environ:
            return {}
        commands = {"*": "deny", **dict.fromkeys(allowed_commands(launch.job), "allow")}
        return {"OPENCODE_PERMISSION": json.dumps({"edit": "allow", "bash": commands})}

    def read_event(self, event: Event, transcript: Transcript) -> None:
        kind = event.get("type")
        part = event.get("part") or {}
        if event.get("sessionID"):
            transcript.session_id = event["sessionID"]

        if kind == "text":
            transcript.set_text(part.get("text", ""))
        elif kind == "tool_use":
            _read_tool_call(part, transcript)
        elif kind == "error":
            _read_error(event.get("error") or {}, transcript)
        elif kind == "step_finish":
            tokens = part.get("tokens") or {}
            transcript.add_usage(tokens.get("input"), tokens.get("output"), part.get("cost"))
            if part.get("reason") == "stop":
                transcript.clear_error()


def _read_tool_call(part: Event, transcript: Transcript) -> None:
    call_id = part.get("callID")
    state = part.get("state") or {}
    transcript.start_tool(call_id, part.get("tool"), state.get("input"))
    if DENIAL.search(str(state.get("error", ""))):
        transcript.deny_tool(call_id)
    transcript.end_tool(call_id, succeeded=state.get("status") == "completed")


def _read_error(error: Event, transcript: Transcript) -> None:
    data = error.get("data") or {}
    message = data.get("message") or error.get("message") or ""
    text = f"{error.get('name', '')}: {message}".strip(": ")
    transcript.set_error(text, status=data.get("statusCode"))
