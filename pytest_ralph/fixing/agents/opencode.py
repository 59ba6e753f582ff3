"""The opencode preset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.fixing.agents.agent import Agent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.fixing.agents.events import Event
    from pytest_ralph.fixing.agents.launch import Launch
    from pytest_ralph.fixing.agents.transcript import Transcript


class OpenCode(Agent):
    """opencode's own configuration says what it may do."""

    name = "opencode"
    install = "npm install -g opencode-ai"

    def arguments(self, launch: Launch) -> Sequence[str]:
        session = ("--session", launch.resume) if launch.resume else ()
        return ["run", "--format", "json", *session, *self.model, *self.options.args]

    def read_event(self, event: Event, transcript: Transcript) -> None:
        kind = event.get("type")
        part = event.get("part") or {}
        if event.get("sessionID"):
            transcript.session_id = event["sessionID"]

        if kind == "text":
            transcript.set_text(part.get("text", ""))
        elif kind == "tool_use":
            state = part.get("state") or {}
            transcript.start_tool(part.get("callID"), part.get("tool"), state.get("input"))
            transcript.end_tool(part.get("callID"), succeeded=state.get("status") == "completed")
        elif kind == "error":
            _read_error(event.get("error") or {}, transcript)
        elif kind == "step_finish" and part.get("reason") == "stop":
            transcript.clear_error()


def _read_error(error: Event, transcript: Transcript) -> None:
    data = error.get("data") or {}
    message = data.get("message") or error.get("message") or ""
    text = f"{error.get('name', '')}: {message}".strip(": ")
    transcript.set_error(text, status=data.get("statusCode"))
