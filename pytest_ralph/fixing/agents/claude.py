"""The Claude Code preset."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from pytest_ralph.fixing.agents.agent import Agent
from pytest_ralph.fixing.agents.launch import allowed_commands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.fixing.agents.launch import Launch

PERMISSION_OPTIONS = (
    "--allowedTools",
    "--allowed-tools",
    "--permission-mode",
    "--dangerously-skip-permissions",
)
# Claude splits the list of tools at commas and does not read nested parentheses in it.
NOT_FOR_A_LIST = re.compile(r"[(),\\]")


class Claude(Agent):
    """Claude may edit files and run the commands of the Verify field.

    The argument `--allowedTools Bash` lets it run all commands.
    """

    name = "claude"
    install = "npm install -g @anthropic-ai/claude-code"

    def arguments(self, launch: Launch) -> list[str]:
        words = ["-p", "--output-format", "stream-json", "--verbose"]
        words += self.options.default(
            "--permission-mode", "acceptEdits", unless=["--dangerously-skip-permissions"]
        )
        words += launch.resuming("--resume")
        if not self.options.sets(*PERMISSION_OPTIONS):
            words += self._permissions(allowed_commands(launch.job))
        # The project's arguments come last: nothing may follow a variadic option like
        # `--allowedTools`.
        return [*words, *self.project_arguments]

    def _permissions(self, commands: Sequence[str]) -> list[str]:
        """Return the arguments that let Claude run `commands`, and no other commands."""
        listed = []
        escaped = []
        for command in commands:
            if NOT_FOR_A_LIST.search(command):
                pattern = re.sub(r"([()\\])", r"\\\1", command)
                escaped.append(f"Bash({pattern})")
            else:
                listed.append(f"Bash({command})")

        words = []
        if escaped and not self.options.sets("--settings"):
            words += ["--settings", json.dumps({"permissions": {"allow": escaped}})]
        if listed:
            words += ["--allowedTools", *listed]
        return words
