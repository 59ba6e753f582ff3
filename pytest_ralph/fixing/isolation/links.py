"""Ignored files that a worktree needs: environments and dependencies, and what a task names."""

from __future__ import annotations

import fnmatch
import os
import shutil
import stat
from typing import TYPE_CHECKING

from pytest_ralph.files import RALPH_DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pytest_ralph.fixing.git.command import GitCommand

# Used if the project does not say what to link.
LINKED_BY_DEFAULT = (".venv", "venv", "node_modules", "vendor", ".env")
NOTHING = ("none",)
# Bytes of a file that is copied even if it is to be linked: through a link, an executor that writes
# `.env` would change that of the project.
SMALL_FILE = 1_000_000


def add_ignored(
    git: GitCommand, worktree: Path, link: Sequence[str], copy: Sequence[str]
) -> tuple[str, ...]:
    """Link and copy ignored files of git's directory into `worktree`; return their paths.

    A pattern with a slash is compared with the whole path, any other one with the name alone. Only
    directories and large files are linked.
    """
    if tuple(link) == NOTHING:
        link = ()
    elif not link:
        link = LINKED_BY_DEFAULT
    if not link and not copy:
        return ()
    added = []
    for path in ignored_paths(git):
        source = git.directory / path
        target = worktree / path
        if _matches(path, copy):
            _copy(source, target)
        elif _matches(path, link):
            _link(source, target)
        else:
            continue
        added.append(path)
    return tuple(added)


def ignored_paths(git: GitCommand) -> list[str]:
    """Return the ignored files in git's directory; a directory stands for everything below it."""
    options = ("--others", "--ignored", "--exclude-standard", "--directory", "-z")
    paths = [entry.rstrip("/") for entry in git.listed("ls-files", *options)]
    return [path for path in paths if path != RALPH_DIRECTORY]


def named_ignored_files(git: GitCommand, names: Iterable[str]) -> list[str]:
    """Return the ignored files in git's directory that match names or patterns."""
    # Most of them do not exist, and git takes longer to find that out.
    existing = [name for name in names if _exists(git.directory, name)]
    if not existing:
        return []
    patterns = [f":(glob){name}" for name in existing]
    return git.listed("ls-files", "-z", "-o", "-i", "--exclude-standard", "--", *patterns)


def _exists(top: Path, name: str) -> bool:
    """Return whether there is a file of this name, or one that matches this pattern."""
    try:
        return os.path.lexists(top / name) or any(top.glob(name))
    except (OSError, ValueError):
        # Such as a name that is too long.
        return False


def _matches(path: str, patterns: Sequence[str]) -> bool:
    name = path.rpartition("/")[2]
    for pattern in patterns:
        compared = path if "/" in pattern.strip("/") else name
        if fnmatch.fnmatchcase(compared, pattern.strip("/")):
            return True
    return False


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_file() and source.stat().st_size <= SMALL_FILE:
        shutil.copy2(source, target)
    else:
        target.symlink_to(source)


def _special_files(directory: str, names: Iterable[str]) -> list[str]:
    """Return the sockets, pipes and devices in a directory: a copy of them would be of no use."""
    special = []
    for name in names:
        mode = os.lstat(os.path.join(directory, name)).st_mode  # noqa: PTH118 - as copytree has it
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
            special.append(name)
    return special


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, target, symlinks=True, ignore=_special_files, dirs_exist_ok=True)
    else:
        shutil.copy2(source, target, follow_symlinks=False)
