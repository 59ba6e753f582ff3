"""The Amp preset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.fixing.agents.agent import Agent

if TYPE_CHECKING:
    from pytest_ralph.fixing.agents.launch import Launch


class Amp(Agent):
    """Amp groups its models into modes, so the model of a project selects the mode."""

    name = "amp"
    install = "npm install -g @sourcegraph/amp"
    model_flag = "--mode"

    def arguments(self, launch: Launch) -> list[str]:
        return [
            *launch.resuming("threads", "continue"),
            *self.project_arguments,
            "--execute",
            "--stream-json",
        ]
