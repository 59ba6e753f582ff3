"""Commands that do work: once it is done, running them again shows nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.shell.command import Command
from pytest_ralph.shell.stdout import has_option
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.shell.command import Stage

_CHANGING = frozenset("chmod cp kill killall ln mkdir mv pkill rm rmdir tee touch".split())
_REMOVING = frozenset(("rm", "rmdir"))
_GIT_CHANGING = frozenset(
    "add am checkout cherry-pick clean commit merge mv pull push rebase reset restore revert rm"
    " stash switch".split()
)
_TRIAL_OPTION = regex(r"--dry-run|--check")
_DELETE_OPTION = regex(r"-[dDmM]|--delete|--move")
# `yarn` installs, `yarn lint` runs a script.
_INSTALLING = frozenset(
    "add ci create download get i init install remove require restore sync tidy uninstall update"
    " upgrade".split()
)
_PREPARING = frozenset("cd export set source .".split())
_LIST_OPTION = regex(r"-l|--list")


def is_work(command_line: str) -> bool:
    """Whether a command only installs, changes files, commits or publishes."""
    changes = False
    for stage in Command.parse(command_line).own_stages:
        if stage.program in _PREPARING:
            continue
        if not _changes_something(stage):
            return False
        changes = True
    return changes


def changes_repository(command_line: str) -> bool:
    """Whether a command only does work, such as `git commit`, `git stash` or `rm -r dist`."""
    if not is_work(command_line):
        return False
    stages = Command.parse(command_line).own_stages
    return any(map(_changes_history_or_files, stages))


def comes_after_checks(command_line: str, earlier: Sequence[str]) -> bool:
    """Whether a command changes the repository behind others that only look at it."""
    if not earlier or changes_repository(earlier[0]):
        return False
    return changes_repository(command_line)


def _changes_history_or_files(stage: Stage) -> bool:
    if stage.program in _REMOVING:
        return True
    if stage.program != "git" or has_option(stage, _TRIAL_OPTION):
        return False
    subcommand, argument = (*stage.operands, "", "")[:2]
    if subcommand == "branch":
        return has_option(stage, _DELETE_OPTION)
    if subcommand == "tag":
        return _changes_something(stage)
    # `git stash list`
    return subcommand in _GIT_CHANGING and argument not in ("list", "show")


def _changes_something(stage: Stage) -> bool:
    if stage.program in _CHANGING or stage.changes_remote:
        return True
    if stage.role == "install":
        return not stage.operands or not _INSTALLING.isdisjoint(stage.operands)
    if stage.program == "sed":
        return "-i" in stage.option_names
    if stage.program != "git":
        return False
    if stage.operands[:1] == ("tag",):
        names_tag = len(stage.operands) > 1
        return names_tag and not has_option(stage, _LIST_OPTION)
    # `git status` and the like have another role.
    return stage.role == "versions"
