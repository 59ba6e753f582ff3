"""Real agents, each in a project of its own, that talk to a scripted model server on loopback.

They run only if `RALPH_TEST_AGENTS` is set, as `tox -e agents` does. An agent is looked for on
PATH, or where a variable such as `RALPH_TEST_AIDER` says; one that is not installed is skipped.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.integration.executors.agents import AGENTS, RealAgent
from tests.integration.executors.scenarios import Project


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Nothing of the person who runs the tests: no home, no keys, no settings."""
    home = tmp_path / "home"
    temporary = tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest) -> RealAgent:
    agent = AGENTS[request.param]
    if not agent.program:
        pytest.skip(agent.why_missing)
    return agent


@pytest.fixture
def project(agent: RealAgent, tmp_path: Path, environ: dict[str, str]) -> Project:
    """An empty project for one agent."""
    agent.prepare_home(Path(environ["HOME"]))
    root = tmp_path / "project"
    root.mkdir()
    return Project(root, agent, environ)
