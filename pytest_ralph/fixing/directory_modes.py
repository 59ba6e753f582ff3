"""The permissions of directories, which neither snapshots nor git have, kept for `--ralph-undo`.

They are in the directory of the run for copies of changed files, one JSON array per line.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.files import append_json, open_directory, read_json_lines
from pytest_ralph.fixing.change_log import LIST_NAME as CHANGES_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

LIST_NAME = "directories"

# The path of each directory relative to the root → its permissions.
Modes = dict[str, int]


class ModeChange(NamedTuple):
    """A directory whose permissions were changed; `after` is None if it was removed."""

    path: str
    before: int
    after: int | None


def modes_around(root: Path, paths: Iterable[str]) -> Modes:
    """Return the permissions of the directories that the files `paths` below `root` are in."""
    directories = {path.rpartition("/")[0] for path in paths}
    for directory in list(directories):
        directories.update(str(parent) for parent in PurePath(directory).parents)
    directories.discard("")
    modes = {}
    for directory in directories:
        mode = _mode_of(root, directory)
        if mode is not None:
            modes[directory] = mode
    return modes


def mode_changes(root: Path, before: Mapping[str, int]) -> list[ModeChange]:
    """Return the directories below `root` that have other permissions now."""
    changes = []
    for path, mode in before.items():
        now = _mode_of(root, path)
        if now != mode:
            changes.append(ModeChange(path, mode, now))
    return changes


def record_modes(root: Path, directory: Path, before: Mapping[str, int]) -> None:
    """Record in `directory` which of the directories below `root` have other permissions now."""
    _append(directory, mode_changes(root, before))


def _append(directory: Path, changes: Iterable[ModeChange]) -> None:
    for change in sorted(changes):
        append_json(directory / LIST_NAME, change)
        # A run can be undone if it has this list, which may be empty.
        (directory / CHANGES_NAME).touch()


def read_mode_changes(directory: Path) -> list[ModeChange]:
    """Return one change for each directory, from what was first to what was last."""
    net: dict[str, ModeChange] = {}
    for path, before, after in read_json_lines(directory / LIST_NAME):
        first = net.get(path, ModeChange(path, before, after))
        net[path] = first._replace(after=after)
    return [change for change in net.values() if change.before != change.after]


@contextlib.contextmanager
def passable(root: Path, changes: Iterable[ModeChange]) -> Iterator[None]:
    """Let files be written in directories whose permissions were changed, until the end."""
    opened = {}
    try:
        # From the top: a directory is only found if those above it can be passed through.
        for change in sorted(changes):
            mode = _mode_of(root, change.path)
            if mode is not None and mode == change.after:
                opened[change.path] = mode
                _set_mode(root, change.path, mode | stat.S_IRWXU)
        yield
    finally:
        for path in sorted(opened, reverse=True):
            _set_mode(root, path, opened[path])


def put_back_modes(
    root: Path, changes: Iterable[ModeChange], keep_in: Path
) -> tuple[list[str], list[str]]:
    """Give directories the permissions they had, except where they were changed again since.

    Return the directories, and lines about those that are left. What they have now is kept in
    `keep_in`.
    """
    restored = []
    problems = []
    replaced = []
    # From the bottom: the directories above may not be passed through any more.
    for change in sorted(changes, reverse=True):
        now = _mode_of(root, change.path)
        if now in (None, change.before):
            continue
        # One that was removed and is there again was made with the files that were put back.
        if change.after is not None and now != change.after:
            problems.append(f"permissions of {change.path}/: changed since then")
        elif _set_mode(root, change.path, change.before):
            restored.append(change.path)
            replaced.append(ModeChange(change.path, now, change.before))
        else:
            problems.append(f"permissions of {change.path}/: not permitted")
    try:
        _append(keep_in, replaced)
    except OSError as error:
        reason = error.strerror or error
        problems.append(f"permissions of directories by a redo: not recorded: {reason}")
    return restored[::-1], problems


def _mode_of(root: Path, path: str) -> int | None:
    """Return the permissions of a directory; None if there is none."""
    try:
        mode = os.lstat(f"{root}/{path}").st_mode
    except OSError:
        return None
    return stat.S_IMODE(mode) if stat.S_ISDIR(mode) else None


def _set_mode(root: Path, path: str, mode: int) -> bool:
    """Set the permissions of a directory, which is not reached through a link."""
    place = Path(os.path.realpath(root), path)
    try:
        with open_directory(place.parent) as parent:
            # It may be unreadable, so it cannot be opened first. No executor is at work.
            status = os.stat(place.name, dir_fd=parent, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                return False
            os.chmod(place.name, mode, dir_fd=parent)
    except OSError:
        return False
    return True
