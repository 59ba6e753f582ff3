"""Executors: who carries out a task. One class a file; a preset is imported only when it is asked for."""

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
NOBODY = ("repair", "none")


def make_executor(
    name: str, options: Mapping[str, str | None] | None = None, kinds: Kinds | None = None
) -> Executor | None:
    """The executor of this name: a preset, else a shell command line. None where no agent is wanted.

    `options` may hold `model`, `args` (as on a command line) and `program`, all for presets only.
    """
    name = name.strip()
    if name in NOBODY or not name:
        return None
    if name not in PRESETS:
        from pytest_ralph.fixing.agents.shell import Shell

        return Shell(name, kinds)
    from pytest_ralph.fixing.agents.agent import Options

    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    preset: Any = getattr(module, PRESETS[name])
    executor: Executor = preset(Options.read(options or {}), kinds)
    return executor
