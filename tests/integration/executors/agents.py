"""The six agents of the tests: how each is led to the scripted model, and how it does things."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from typing import TYPE_CHECKING

from tests.integration.executors.model_server import Call, Say

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.executors.model_server import Turn

DONE = "Approach: add instead of subtract\nTASK_COMPLETE"


class RealAgent:
    """An agent that may be installed here, and the requests of its model that make it act."""

    name: str
    # The file name of the program, if it is not the name of the agent.
    command: str = ""
    prints_cost = False
    has_shell = True

    @property
    def program(self) -> str | None:
        """The path of the program: from `RALPH_TEST_<NAME>`, or from PATH."""
        given = os.environ.get(f"RALPH_TEST_{self.name.upper()}")
        return given or shutil.which(self.command or self.name)

    @property
    def why_missing(self) -> str:
        return f"{self.name} is not installed (PATH, or its path in RALPH_TEST_{self.name.upper()})"

    def environ(self, url: str) -> dict[str, str]:
        """The variables that lead the agent to the model server."""
        raise NotImplementedError

    def options(self, url: str) -> dict[str, str]:  # noqa: ARG002
        """The values of `ralph_executor_model` and `ralph_executor_args`."""
        return {}

    def prepare_home(self, home: Path) -> None:
        """Write the settings that the agent wants to find in its home directory."""

    def edit(self, file: Path, old: str, new: str) -> tuple[Turn, ...]:
        """Replace `old` in a file by `new`."""
        raise NotImplementedError

    def write(self, file: Path, text: str) -> tuple[Turn, ...]:
        """Create a file."""
        raise NotImplementedError

    def run(self, command: str) -> tuple[Turn, ...]:
        """Run a shell command."""
        raise NotImplementedError

    def script(self, *actions: tuple[Turn, ...], last: str = DONE) -> tuple[Turn, ...]:
        """Do some actions, then say some last words."""
        turns = [turn for action in actions for turn in action]
        return (*turns, Say(last))


class ClaudeAgent(RealAgent):
    name = "claude"
    prints_cost = True

    def environ(self, url: str) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
        }

    def edit(self, file: Path, old: str, new: str) -> tuple[Turn, ...]:
        edit = {"file_path": str(file), "old_string": old, "new_string": new}
        return Call("Read", {"file_path": str(file)}), Call("Edit", edit)

    def write(self, file: Path, text: str) -> tuple[Turn, ...]:
        return (Call("Write", {"file_path": str(file), "content": text}),)

    def run(self, command: str) -> tuple[Turn, ...]:
        return (Call("Bash", {"command": command, "description": "run it"}),)


class CodexAgent(RealAgent):
    name = "codex"

    def environ(self, url: str) -> dict[str, str]:  # noqa: ARG002
        return {"SCRIPTED_KEY": "none"}

    def options(self, url: str) -> dict[str, str]:
        provider = ",".join(
            [
                'name="scripted"',
                f'base_url="{url}/v1"',
                'env_key="SCRIPTED_KEY"',
                "request_max_retries=0",
                "stream_max_retries=0",
            ]
        )
        words = "-c model_provider=scripted -c model_providers.scripted='{" + provider + "}'"
        return {"model": "scripted", "args": words}

    def edit(self, file: Path, old: str, new: str) -> tuple[Turn, ...]:
        code = (
            f"import pathlib; file = pathlib.Path({str(file)!r}); "
            f"file.write_text(file.read_text().replace({old!r}, {new!r}))"
        )
        return self.run(f"python3 -c {shlex.quote(code)}")

    def write(self, file: Path, text: str) -> tuple[Turn, ...]:
        return self.run(f"mkdir -p {file.parent} && cat > {file} <<'END'\n{text}END\n")

    def run(self, command: str) -> tuple[Turn, ...]:
        return (Call("exec_command", {"cmd": command}),)


class GeminiAgent(RealAgent):
    name = "gemini"

    def environ(self, url: str) -> dict[str, str]:
        return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "none"}

    def options(self, url: str) -> dict[str, str]:  # noqa: ARG002
        return {"model": "gemini-2.5-pro"}

    def prepare_home(self, home: Path) -> None:
        settings = home / ".gemini" / "settings.json"
        settings.parent.mkdir(parents=True)
        auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        settings.write_text(json.dumps(auth))

    def edit(self, file: Path, old: str, new: str) -> tuple[Turn, ...]:
        arguments = {
            "file_path": str(file),
            "instruction": "make it right",
            "old_string": old,
            "new_string": new,
        }
        return (Call("replace", arguments),)

    def write(self, file: Path, text: str) -> tuple[Turn, ...]:
        return (Call("write_file", {"file_path": str(file), "content": text}),)

    def run(self, command: str) -> tuple[Turn, ...]:
        return (Call("run_shell_command", {"command": command, "description": "run it"}),)


class OpenCodeAgent(RealAgent):
    name = "opencode"
    prints_cost = True

    def environ(self, url: str) -> dict[str, str]:
        model = {"name": "model", "cost": {"input": 1000, "output": 1000}}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
            "models": {"model": model},
        }
        config = {"provider": {"scripted": provider}, "autoupdate": False}
        return {
            "OPENCODE_CONFIG_CONTENT": json.dumps(config),
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        }

    def options(self, url: str) -> dict[str, str]:  # noqa: ARG002
        return {"model": "scripted/model"}

    def edit(self, file: Path, old: str, new: str) -> tuple[Turn, ...]:
        edit = {"filePath": str(file), "oldString": old, "newString": new}
        return Call("read", {"filePath": str(file)}), Call("edit", edit)

    def write(self, file: Path, text: str) -> tuple[Turn, ...]:
        return (Call("write", {"filePath": str(file), "content": text}),)

    def run(self, command: str) -> tuple[Turn, ...]:
        return (Call("bash", {"command": command, "description": "run it"}),)


class GooseAgent(RealAgent):
    name = "goose"

    def environ(self, url: str) -> dict[str, str]:
        return {
            "GOOSE_PROVIDER": "openai",
            "GOOSE_MODEL": "gpt-4o",
            "OPENAI_HOST": url,
            "OPENAI_API_KEY": "none",
            "GOOSE_DISABLE_KEYRING": "1",
        }

    def edit(self, file: Path, old: str, new: str) -> tuple[Turn, ...]:
        return (Call("edit", {"path": str(file), "before": old, "after": new}),)

    def write(self, file: Path, text: str) -> tuple[Turn, ...]:
        return (Call("write", {"path": str(file), "content": text}),)

    def run(self, command: str) -> tuple[Turn, ...]:
        return (Call("shell", {"command": command}),)


class AiderAgent(RealAgent):
    """aider has no tools: edits are blocks in the answer of its model, and end its turn."""

    name = "aider"
    prints_cost = True
    has_shell = False

    def environ(self, url: str) -> dict[str, str]:
        return {"OPENAI_API_BASE": f"{url}/v1", "OPENAI_API_KEY": "none"}

    def options(self, url: str) -> dict[str, str]:  # noqa: ARG002
        return {"model": "openai/gpt-4o"}

    def edit(self, file: Path, old: str, new: str) -> tuple[Turn, ...]:
        # aider compares whole lines.
        lines = file.read_text().splitlines() if file.exists() else []
        for line in lines:
            if old in line:
                return self._replace(file, line, line.replace(old, new))
        return self._replace(file, old, new)

    def write(self, file: Path, text: str) -> tuple[Turn, ...]:
        return self._replace(file, "", text.rstrip("\n"))

    def _replace(self, file: Path, old: str, new: str) -> tuple[Turn, ...]:
        search = f"{old}\n" if old else ""
        text = f"{file}\n```\n<<<<<<< SEARCH\n{search}=======\n{new}\n>>>>>>> REPLACE\n```\n"
        return (Say(text),)

    def run(self, command: str) -> tuple[Turn, ...]:
        return (Say(f"```bash\n{command}\n```\n"),)

    def script(self, *actions: tuple[Turn, ...], last: str = DONE) -> tuple[Turn, ...]:
        texts = [turn.text for action in actions for turn in action if isinstance(turn, Say)]
        return (Say("\n".join([*texts, last])),)


AGENTS = {
    agent.name: agent
    for agent in (
        ClaudeAgent(),
        CodexAgent(),
        GeminiAgent(),
        OpenCodeAgent(),
        GooseAgent(),
        AiderAgent(),
    )
}
