"""Real agents, driven by the presets, against a scripted model: real edits and real errors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pytest_ralph.fixing.agents import make_executor
from pytest_ralph.fixing.agents.base import Job, Outcome
from pytest_ralph.running.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.integration.executors.model_server import Call, ModelServer, Refuse, Say, Turn
else:
    # The directory is on sys.path (conftest.py): tests are no package for the oldest pytest we
    # support.
    from model_server import Call, ModelServer, Refuse, Say, Turn

DONE = Say("Approach: add instead of subtract\nTASK_COMPLETE")
AIDER_EDIT = """app.py
```python
<<<<<<< SEARCH
    return a - b
=======
    return a + b
>>>>>>> REPLACE
```
"""


class Setup(NamedTuple):
    """How one agent is led to the scripted model, and which turns of it make the edit."""

    edit: Callable[[Path], tuple[Turn, ...]]
    environ: Callable[[str], dict[str, str]]
    options: Callable[[str], dict[str, str]] = lambda _: {}
    home: dict[str, object] = {}  # noqa: RUF012 - a NamedTuple's default, never changed


def claude_edit(project: Path) -> tuple[Turn, ...]:
    path = str(project / "app.py")
    edit = Call("Edit", {"file_path": path, "old_string": "a - b", "new_string": "a + b"})
    return Call("Read", {"file_path": path}), edit, DONE


def opencode_edit(project: Path) -> tuple[Turn, ...]:
    path = str(project / "app.py")
    edit = Call("edit", {"filePath": path, "oldString": "a - b", "newString": "a + b"})
    return Call("read", {"filePath": path}), edit, DONE


def opencode_config(url: str) -> str:
    options = {"baseURL": f"{url}/v1", "apiKey": "none"}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": options,
        "models": {"model": {"name": "model"}},
    }
    return json.dumps({"provider": {"scripted": provider}, "autoupdate": False})


def codex_options(url: str) -> dict[str, str]:
    provider = (
        f'{{name="scripted",base_url="{url}/v1",env_key="SCRIPTED_KEY",request_max_retries=0,'
        "stream_max_retries=0}"
    )
    words = ["-c", "model_provider=scripted", "-c", f"model_providers.scripted='{provider}'"]
    return {"model": "scripted", "args": " ".join(words)}


GEMINI_EDIT = {
    "file_path": "app.py",
    "instruction": "add",
    "old_string": "a - b",
    "new_string": "a + b",
}
SETUPS = {
    "claude": Setup(
        claude_edit,
        lambda url: {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
        },
    ),
    "codex": Setup(
        lambda _: (Call("exec_command", {"cmd": "sed -i.bak 's/a - b/a + b/' app.py"}), DONE),
        lambda _: {"SCRIPTED_KEY": "none"},
        codex_options,
    ),
    "gemini": Setup(
        lambda _: (Call("replace", GEMINI_EDIT), DONE),
        lambda url: {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "none"},
        lambda _: {"model": "gemini-2.5-pro"},
        {".gemini/settings.json": {"security": {"auth": {"selectedType": "gemini-api-key"}}}},
    ),
    "opencode": Setup(
        opencode_edit,
        lambda url: {
            "OPENCODE_CONFIG_CONTENT": opencode_config(url),
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        },
        lambda _: {"model": "scripted/model"},
    ),
    "aider": Setup(
        lambda _: (Say(f"{AIDER_EDIT}\n{DONE.text}"),),
        lambda url: {"OPENAI_API_BASE": f"{url}/v1", "OPENAI_API_KEY": "none"},
        lambda _: {"model": "openai/gpt-4o"},
    ),
}


class Bench:
    """One agent in one project."""

    def __init__(self, name: str, project: Path, environ: dict[str, str]) -> None:
        self.name, self.project, self.environ = name, project, environ
        self.setup = SETUPS[name]
        self.program = os.environ.get(f"RALPH_TEST_{name.upper()}") or shutil.which(name)
        for path, content in self.setup.home.items():
            file = project.parent / "home" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(content))

    def run(self, server: ModelServer, prompt: str, session: str = "") -> Outcome:
        environ = {**self.environ, **self.setup.environ(server.url)}
        executor = make_executor(
            self.name, {"program": self.program, **self.setup.options(server.url)}
        )
        assert executor is not None
        assert executor.available() is None
        job = Job(
            task_id="1.1.1", prompt=prompt, timeout=120, session_id=session, files=("app.py",)
        )
        logs = self.project / ".ralph" / "logs"
        with closing(Runner(root=self.project, environ=environ, logs=logs)) as runner:
            return executor.run(job, runner)

    def ini(self, url: str) -> str:
        """The settings of a project that has this agent do its fixes."""
        options = {"program": self.program, **self.setup.options(url)}
        return "[pytest]\n" + "".join(
            f"ralph_executor_{key} = {value}\n" for key, value in options.items()
        )


@pytest.fixture(params=SETUPS)
def bench(request: pytest.FixtureRequest, project: Path, environ: dict[str, str]) -> Bench:
    bench = Bench(request.param, project, environ)
    if not bench.program:
        pytest.skip(
            f"{bench.name} is not installed (PATH, or its path in RALPH_TEST_{bench.name.upper()})"
        )
    return bench


def test_an_agent_edits_the_file_it_is_told_to(bench: Bench, project: Path) -> None:
    with ModelServer(*bench.setup.edit(project)) as server:
        outcome = bench.run(server, "Make add() add. MARK-7")

    assert outcome.completed, (outcome.note, outcome.output)
    assert "return a + b" in (project / "app.py").read_text()
    assert "TASK_COMPLETE" in outcome.output
    assert outcome.session_id
    assert "MARK-7" in server.prompts()


REFUSALS = {
    "permission_denied": Refuse(401, "authentication_error", "Incorrect API key provided"),
    "context_exhausted": Refuse(
        400,
        "context_length_exceeded",
        "prompt is too long: maximum context length is 2000 tokens, you asked for 3000",
    ),
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_service_that_refuses_is_told_whatever_the_exit_status(
    bench: Bench, kind: str, project: Path
) -> None:
    with ModelServer(REFUSALS[kind]) as server:
        outcome = bench.run(server, "Make add() add.")

    assert not outcome.completed
    assert outcome.failure is not None
    assert outcome.failure.kind == kind, outcome.note
    assert "return a - b" in (project / "app.py").read_text()


def test_a_session_goes_on_with_what_was_said_before(bench: Bench) -> None:
    with ModelServer(Say("I will remember.\nTASK_COMPLETE")) as server:
        first = bench.run(server, "Remember the word MARK-8.")
        second = bench.run(server, "Which word was it?", first.session_id)

    assert first.completed, (first.note, first.output)
    assert second.completed, (second.note, second.output)
    assert "MARK-8" in json.dumps(server.requests[-1])


TASKS = """# Sums

- [ ] 1.1 Make add() add
  - **Do**: Write add() in app.py
  - **Files**: `app.py`
  - **Verify**: `python3 -c "from app import add; assert add(2, 3) == 5, add(2, 3)"`
"""


def test_a_failing_task_is_recovered_by_an_agent(bench: Bench, project: Path) -> None:
    spec = project / "specs" / "sums" / "tasks.md"
    spec.parent.mkdir(parents=True)
    spec.write_text(TASKS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--ralph-recovery",
        f"--ralph-executor={bench.name}",
        "-v",
        "specs",
    ]

    with ModelServer(*bench.setup.edit(project)) as server:
        (project / "pytest.ini").write_text(bench.ini(server.url))
        environ = {
            **bench.environ,
            **bench.setup.environ(server.url),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        ran = subprocess.run(
            command,
            cwd=project,
            env=environ,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "specs/sums/tasks.md::1.1 RECOVERED" in ran.stdout
    assert "AssertionError: -1" in server.prompts()
    assert spec.read_text().count("- [x] ") == 2
