"""Commands that do work: once it is done, running them again shows nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.shell.command import Command

if TYPE_CHECKING:
    from pytest_ralph.shell.command import Stage

_CHANGING = frozenset("chmod cp ln mkdir mv rm rmdir tee touch".split())
_PREPARING = frozenset("cd export set source .".split())


def is_work(command_line: str) -> bool:
    """Whether a command only installs, changes files, commits or publishes."""
    stages = Command.parse(command_line).own_stages
    doing = [stage for stage in stages if stage.program not in _PREPARING]
    return bool(doing) and all(map(_changes_something, doing))


def _changes_something(stage: Stage) -> bool:
    if stage.program in _CHANGING or stage.role == "install" or stage.changes_remote:
        return True
    if stage.program == "sed":
        return "-i" in stage.option_names
    # `git status` and the like have another role.
    return stage.program == "git" and stage.role == "versions"
