"""Six real agents in every scenario, each in a project of its own.

Run with `tox -e agents`. The results are written into the table of docs/executors.md.
"""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.integration.executors.agents import AGENTS
from tests.integration.executors.scenarios import SCENARIOS
from tests.integration.executors.table import WRONG, write_cell
from tests.integration.executors.whole_loop import build

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.integration.executors.agents import RealAgent
    from tests.integration.executors.scenarios import Project

if "RALPH_TEST_AGENTS" not in os.environ:
    pytest.skip("takes an hour: run with `tox -e agents`", allow_module_level=True)

VERSION = "version"
WHOLE_LOOP = "builds four tasks from an empty directory"
ROWS = [VERSION, *(scenario.title for scenario in SCENARIOS.values()), WHOLE_LOOP]


def record(row: str, agent: RealAgent, result: Callable[[], str]) -> None:
    """Write the cell that `result` returns, or a cross if it raises."""
    cell = WRONG
    try:
        cell = result()
    finally:
        write_cell(row, agent.name, cell, rows=ROWS, agents=list(AGENTS))


def test_agent_tells_its_version(agent: RealAgent, environ: dict[str, str]) -> None:
    def version() -> str:
        ran = subprocess.run(
            [str(agent.program), "--version"],
            env=environ,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        found = re.search(r"\d+\.\d+\.\d+", ran.stdout)
        assert found, ran.stdout
        return found[0]

    record(VERSION, agent, version)


@pytest.mark.parametrize("name", SCENARIOS)
def test_result_is_what_a_user_wants(name: str, project: Project) -> None:
    scenario = SCENARIOS[name]
    project.create()

    record(scenario.title, project.agent, lambda: scenario.play(project))


def test_agent_builds_a_project(project: Project) -> None:
    record(WHOLE_LOOP, project.agent, lambda: build(project))
