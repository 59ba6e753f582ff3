"""The changes that repairs and executors made in one run, kept so that they can be undone.

A run has a directory (see `backups_directory`) with a list of changes, one JSON object per line,
and copies of the files as they were.
"""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.fixing.file_state import (
    Change,
    FileState,
    is_same,
    is_same_now,
    is_too_large,
    kept_state,
    put_back_or_tell,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LIST_NAME = "changes"
# The owner of changes of files that git ignores. They belong to no task and are never committed.
IGNORED_FILES = "ignored files"


class UndoResult(NamedTuple):
    """What `undo_changes` did.

    restored: The paths that were put back.
    problems: A line about each path that was not.
    as_before: The paths that had been put back before, such as by an undo that was killed.
    is_unfinished: Whether a path could not be put back for a reason that may pass, such as a disk
        that is full.
    """

    restored: tuple[str, ...]
    problems: tuple[str, ...]
    as_before: tuple[str, ...]
    is_unfinished: bool


def append_changes(directory: Path, changes: Iterable[Change], owner: str) -> None:
    """Add changes to the list in `directory`. `owner` names the task they were made for."""
    lines = []
    for change in changes:
        before = _to_json(change.before, directory)
        after = _to_json(change.after, directory)
        lines.append(json.dumps([owner, change.path, before, after]) + "\n")
    if not lines:
        return
    directory.mkdir(parents=True, exist_ok=True)
    # The line before may be incomplete.
    data = "".join(["\n", *lines]).encode()
    # One write in append mode: several workers may add to the list.
    with (directory / LIST_NAME).open("ab", buffering=0) as file:
        written = file.write(data)
    if written != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(directory / LIST_NAME))


def has_changes(directory: Path) -> bool:
    """Return whether `directory` has a list of changes that are not undone."""
    return (directory / LIST_NAME).exists()


def read_changes(directory: Path, owner: str | None = None) -> list[Change]:
    """Return the changes in the list in `directory`, oldest first: all, or those of one task."""
    try:
        lines = (directory / LIST_NAME).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    # Most lines belong to other tasks, so they are not decoded.
    wanted = "[" if owner is None else f"[{json.dumps(owner)}, "
    changes = []
    for line in lines:
        if not line.startswith(wanted):
            continue
        try:
            _, path, before, after = json.loads(line)
            change = Change(path, _from_json(before, directory), _from_json(after, directory))
        except (ValueError, TypeError):
            # The last line of a run that was killed may be incomplete.
            continue
        changes.append(change)
    return changes


def changes_of_others(directory: Path, owner: str) -> set[str]:
    """Return the paths in the list in `directory` that were changed for other tasks only."""
    own = {change.path for change in read_changes(directory, owner)}
    return {change.path for change in read_changes(directory)} - own


def undo_changes(root: Path, directory: Path, keep_in: Path | None = None) -> UndoResult:
    """Put back what the changes in the list changed, except where a file has changed since.

    The files as they are now are kept in the directory `keep_in`, so that this can be undone, too.
    """
    to_undo = []
    problems = []
    as_before = []
    ignored = {change.path for change in read_changes(directory, IGNORED_FILES)}
    for change in _net_changes(directory):
        path = change.path
        if is_same(change.before, change.after):
            continue
        if is_same_now(root, path, change.before):
            as_before.append(path)
            continue
        if not is_same_now(root, path, change.after):
            # Most ignored files are written again by the next command, such as caches.
            if path not in ignored:
                problems.append(f"{path}: changed since then, left as it is")
        elif not change.can_be_undone:
            problems.append(f"{path}: no copy of it was kept")
        elif keep_in is not None and is_too_large(root / path):
            problems.append(f"{path}: too large to be kept, left as it is")
        else:
            to_undo.append(change)

    if keep_in is not None:
        _keep_current(root, to_undo, keep_in)
    left = put_back_or_tell(root, to_undo)
    problems += [f"{path}: {reason}" for path, reason in left.items()]
    restored = tuple(change.path for change in to_undo if change.path not in left)
    return UndoResult(restored, tuple(problems), tuple(as_before), is_unfinished=bool(left))


def _net_changes(directory: Path) -> list[Change]:
    """Return one change per path: from what was before the first to what is after the last."""
    net: dict[str, Change] = {}
    for change in read_changes(directory):
        first = net.get(change.path, change)
        net[change.path] = Change(change.path, first.before, change.after)
    return list(net.values())


def _keep_current(root: Path, changes: Iterable[Change], directory: Path) -> None:
    """Keep the files that will be replaced when `changes` are undone."""
    replaced = []
    for change in changes:
        now = kept_state(root, change.path, directory)
        replaced.append(Change(change.path, now, change.before))
    append_changes(directory, replaced, owner="undo")


def mark_undone(directory: Path) -> None:
    """Set the list in `directory` aside, so that its changes are not undone twice."""
    (directory / LIST_NAME).replace(directory / f"{LIST_NAME}-undone")


def _to_json(state: FileState | None, directory: Path) -> list[object] | None:
    if state is None:
        return None
    if state.copy:
        state = state._replace(copy=os.path.relpath(state.copy, directory))
    return [*state]


def _from_json(values: list[object] | None, directory: Path) -> FileState | None:
    if values is None:
        return None
    state = FileState(*values)  # type: ignore[arg-type] # what _to_json wrote
    copy = directory / state.copy
    # Without a name, this is the directory.
    if not copy.is_file():
        return state._replace(copy="")
    return state._replace(copy=str(copy))
