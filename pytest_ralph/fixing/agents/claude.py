"""The Claude Code preset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.fixing.agents.agent import Agent
from pytest_ralph.fixing.agents.stream_json import read_stream_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.fixing.agents.events import Event
    from pytest_ralph.fixing.agents.launch import Launch
    from pytest_ralph.fixing.agents.transcript import Transcript


class Claude(Agent):
    """Claude may edit files. The argument `--allowedTools Bash` lets it run commands as well."""

    name = "claude"
    install = "npm install -g @anthropic-ai/claude-code"

    def arguments(self, launch: Launch) -> Sequence[str]:
        words = ["-p", "--output-format", "stream-json", "--verbose"]
        words += self.options.default(
            "--permission-mode", "acceptEdits", unless=["--dangerously-skip-permissions"]
        )
        if launch.resume:
            words += ["--resume", launch.resume]
        # The project's arguments come last: nothing may follow a variadic option like
        # `--allowedTools`.
        return [*words, *self.model, *self.options.args]

    def read_event(self, event: Event, transcript: Transcript) -> None:
        read_stream_json(event, transcript)
