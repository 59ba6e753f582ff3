"""Fixing: goose as an executor."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.fixing.agents.agent import Agent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ralph.fixing.agents.conversation import Conversation, Event
    from pytest_ralph.fixing.agents.launch import Start

# It prints the error of its provider as one more message, and ends well.
RAN_INTO = re.compile(r"Ran into this error: (.+)", re.DOTALL)


class Goose(Agent):
    """It does not print the id of its session, so the session gets a name from us."""

    name = "goose"
    install = "see https://block.github.io/goose/docs/getting-started/installation"
    names_session = True

    def arguments(self, start: Start) -> Sequence[str]:
        resume = ("--resume",) if start.resume else ()
        session = (*resume, "--name", f"ralph-{Path(start.session).name}")
        return [
            "run",
            "--instructions",
            "-",
            "--output-format",
            "stream-json",
            *session,
            *self.model,
            *self.options.args,
        ]

    def environment(self) -> Mapping[str, str]:
        return {"GOOSE_MODE": "auto"}

    def hear(self, event: Event, talk: Conversation) -> None:
        kind = event.get("type")
        if kind == "message":
            for part in event["message"].get("content") or ():
                _hear_part(part, event["message"].get("role"), talk)
        elif kind == "error":
            talk.fail(event.get("error"))


def _hear_part(part: Event, role: object, talk: Conversation) -> None:
    kind = part.get("type")
    if kind == "text" and role == "assistant":
        text = part.get("text", "")
        talk.say(text, more=True)
        if ran_into := RAN_INTO.search(text):
            talk.fail(ran_into[1].split("\n\n")[0])
    elif kind == "toolRequest":
        call = (part.get("toolCall") or {}).get("value") or {}
        talk.text = ""
        talk.begin(part.get("id"), call.get("name"), call.get("arguments"))
    elif kind == "toolResponse":
        talk.end(part.get("id"), well=(part.get("toolResult") or {}).get("status") == "success")
