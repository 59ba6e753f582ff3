"""Real agents, started by their presets without pytest around them."""

from __future__ import annotations

import json
import os
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.fixing.agents import make_executor
from pytest_ralph.fixing.agents.base import Job, Outcome
from pytest_ralph.running.runner import Runner
from tests.integration.executors.model_server import ModelServer, Say

if TYPE_CHECKING:
    from tests.integration.executors.scenarios import Project

if "RALPH_TEST_AGENTS" not in os.environ:
    pytest.skip("takes minutes: run with `tox -e agents`", allow_module_level=True)


def run(project: Project, server: ModelServer, prompt: str, session: str = "") -> Outcome:
    agent = project.agent
    options = {"program": agent.program, **agent.options(server.url)}
    executor = make_executor(agent.name, options)
    assert executor.available() is None
    job = Job(task_id="1.1.1", prompt=prompt, timeout=180, session_id=session, files=("app.py",))
    environ = {**project.environ, **agent.environ(server.url)}
    logs = project.root / ".ralph" / "logs"
    with closing(Runner(root=project.root, environ=environ, logs=logs)) as runner:
        return executor.run(job, runner)


def test_session_continues_with_its_history(project: Project) -> None:
    project.create()
    with ModelServer([Say("I will remember.\nTASK_COMPLETE")]) as server:
        first = run(project, server, "Remember the word MARK-8.")
        second = run(project, server, "Which word was it?", first.session_id)

    assert first.completed, (first.note, first.output)
    assert second.completed, (second.note, second.output)
    assert "MARK-8" in json.dumps(server.requests[-1])


def test_transcript_tells_what_an_agent_did(project: Project) -> None:
    project.create()
    with ModelServer(project.agent.script(project.repair())) as server:
        outcome = run(project, server, "Make add() add.")

    assert outcome.completed, (outcome.note, outcome.output)
    assert outcome.transcript is not None
    transcript = outcome.transcript.read_text()
    assert "→ " in transcript
    assert "TASK_COMPLETE" in transcript
    assert outcome.usage.input_tokens
