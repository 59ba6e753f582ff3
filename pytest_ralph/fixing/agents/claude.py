"""Fixing: Claude Code as an executor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.fixing.agents.agent import Agent
from pytest_ralph.fixing.agents.stream_json import hear_stream_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.fixing.agents.conversation import Conversation, Event
    from pytest_ralph.fixing.agents.launch import Start


class Claude(Agent):
    """May edit files; to let it run commands too, give it `--allowedTools Bash` as an argument of its own."""

    name = "claude"
    install = "npm install -g @anthropic-ai/claude-code"

    def arguments(self, start: Start) -> Sequence[str]:
        permissions = self.options.unless(
            "--dangerously-skip-permissions", default=("--permission-mode", "acceptEdits")
        )
        resume = ("--resume", start.resume) if start.resume else ()
        # Variadic options (`--allowedTools a b`) go last: nothing follows that they could swallow.
        return [
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            *permissions,
            *resume,
            *self.model,
            *self.options.args,
        ]

    def hear(self, event: Event, talk: Conversation) -> None:
        hear_stream_json(event, talk)
