"""Fixing: opencode as an executor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.fixing.agents.agent import Agent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.fixing.agents.conversation import Conversation, Event
    from pytest_ralph.fixing.agents.launch import Start


class OpenCode(Agent):
    """What it may do is for its own configuration to say."""

    name = "opencode"
    install = "npm install -g opencode-ai"

    def arguments(self, start: Start) -> Sequence[str]:
        session = ("--session", start.resume) if start.resume else ()
        return ["run", "--format", "json", *session, *self.model, *self.options.args]

    def hear(self, event: Event, talk: Conversation) -> None:
        talk.session_id = event.get("sessionID") or talk.session_id
        part = event.get("part") or {}
        kind = event.get("type")
        if kind == "text":
            talk.say(part.get("text", ""))
        elif kind == "tool_use":
            state = part.get("state") or {}
            talk.begin(part.get("callID"), part.get("tool"), state.get("input"))
            talk.end(part.get("callID"), well=state.get("status") == "completed")
        elif kind == "error":
            error = event.get("error") or {}
            data = error.get("data") or {}
            words = f"{error.get('name', '')}: {data.get('message') or error.get('message') or ''}"
            talk.fail(words.strip(": "), status=data.get("statusCode"))
        elif kind == "step_finish" and part.get("reason") == "stop":
            talk.recover()
