"""Fixing: Amp as an executor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.fixing.agents.agent import Agent
from pytest_ralph.fixing.agents.stream_json import hear_stream_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.fixing.agents.conversation import Conversation, Event
    from pytest_ralph.fixing.agents.launch import Start


class Amp(Agent):
    """Its models come in modes, so the model of a project is the mode here."""

    name = "amp"
    install = "npm install -g @sourcegraph/amp"
    model_flag = "--mode"

    def arguments(self, start: Start) -> Sequence[str]:
        thread = ("threads", "continue", start.resume) if start.resume else ()
        return [*thread, *self.model, *self.options.args, "--execute", "--stream-json"]

    def hear(self, event: Event, talk: Conversation) -> None:
        hear_stream_json(event, talk)
