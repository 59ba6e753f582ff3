"""Executors: the programs that carry out a task.

Each preset has a module of its own, which is imported only when that preset is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_ralph.failure.kinds import Kinds
    from pytest_ralph.fixing.agents.base import Executor

PRESETS: dict[str, str] = {
    "claude": "Claude",
    "codex": "Codex",
    "gemini": "Gemini",
    "opencode": "OpenCode",
    "aider": "Aider",
    "cursor-agent": "CursorAgent",
    "goose": "Goose",
    "amp": "Amp",
}

# Values of --ralph-executor that mean "no agent".
NO_EXECUTOR = ("repair", "none")


def make_executor(
    name: str, options: Mapping[str, str | None] | None = None, kinds: Kinds | None = None
) -> Executor | None:
    """Return the executor called `name`: a preset, or a shell command line.

    Return None if `name` asks for no agent. `options` applies to presets only and may hold
    `model`, `args` (as written on a command line) and `program`.
    """
    name = name.strip()
    if not name or name in NO_EXECUTOR:
        return None

    if name not in PRESETS:
        from pytest_ralph.fixing.agents.shell import ShellExecutor

        return ShellExecutor(name, kinds)

    from pytest_ralph.fixing.agents.agent import PresetOptions

    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    preset: Any = getattr(module, PRESETS[name])
    executor: Executor = preset(PresetOptions.read(options or {}), kinds)
    return executor
