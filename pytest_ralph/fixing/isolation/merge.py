"""Three-way merge of what changed in a worktree into the files of the project, or the other way.

Each file has three sides: `base` as it was at the start, `ours` in the directory that is merged
into, and `theirs`, the new version. A merge is planned first and applied only if no file
conflicts.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.fixing.file_state import (
    Change,
    FileState,
    has_same_content,
    is_too_large,
    new_state,
    stored_state,
)
from pytest_ralph.fixing.git.index import git_mode
from pytest_ralph.fixing.git.merge_text import ConflictError, merge_text

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from pytest_ralph.fixing.git.command import GitCommand

# A larger file is seldom written by hand, and each side of a merge is read as a whole.
MAX_TEXT_SIZE = 10 * 1024 * 1024
EXECUTABLE = 0o111
READABLE = 0o444


class Conflict(NamedTuple):
    """A file that cannot be merged. `text` shows both versions of it."""

    path: str
    text: str


@dataclass(frozen=True)
class MergePlan:
    """What a merge would change, and what stands in its way."""

    changes: tuple[Change, ...]
    conflicts: tuple[Conflict, ...]


def plan_merge(
    git: GitCommand, root: Path, changes: Iterable[Change], directory: Path
) -> MergePlan:
    """Compare each change with the file below `root`, and merge what both sides changed.

    What is merged is written to the `directory`, which has to be there until it is applied. Raise
    OSError if a file is too large.
    """
    changes = tuple(changes)
    removed = {change.path for change in changes if change.deleted}
    planner = _Planner(git, root, directory, removed)
    planned = []
    conflicts = []
    for change in changes:
        ours = planner.ours(change.path)
        if _is_stored_alike(ours, change.after):
            continue
        try:
            merged = planner.merge(change, ours)
        except ConflictError as conflict:
            conflicts.append(Conflict(change.path, str(conflict)))
        else:
            planned.append(Change(change.path, ours, merged))
    # First remove files: a directory or a link of the same name may be needed.
    planned.sort(key=lambda change: not change.deleted)
    return MergePlan(tuple(planned), tuple(conflicts))


class _Planner:
    """Merges single files. `removed` are the paths that the merge removes."""

    def __init__(
        self, git: GitCommand, root: Path, directory: Path, removed: Container[str]
    ) -> None:
        self._git = git
        self._root = root
        self._directory = directory
        self._removed = removed

    def ours(self, path: str) -> FileState | None:
        """Return the file that is there. Raise OSError if it is too large."""
        if is_too_large(self._root / path):
            raise OSError(errno.EFBIG, "too large to be merged", path)
        return stored_state(self._root, path)

    def merge(self, change: Change, ours: FileState | None) -> FileState | None:
        """Return the version with what both sides changed. Raise ConflictError without one."""
        base = change.before
        theirs = change.after
        if self._is_blocked(change.path):
            raise ConflictError(_both("a directory or a link is in its place", ours, theirs))
        if _is_stored_alike(ours, base):
            return _with_mode(theirs, ours, base)
        if ours is None or theirs is None:
            raise ConflictError(_both("one side deleted it, the other changed it", ours, theirs))
        if base is not None and self._differs_in_line_ends(change.path, ours, base):
            return _with_mode(theirs, ours, base)
        text = _merge_text(self._git, base, ours, theirs)
        return _with_mode(new_state(text, theirs.mode, self._directory), ours, base)

    def _is_blocked(self, path: str) -> bool:
        """Whether something other than a file is at `path`, or a parent of it is no directory.

        Files that are going to be removed are not in the way.
        """
        target = self._root / path
        if _is_directory(target):
            return not all(map(self._is_removed, _files_below(target)))
        for parent in PurePath(path).parents[:-1]:
            place = self._root / parent
            if not os.path.lexists(place) or _is_directory(place):
                continue
            if not self._is_removed(place):
                return True
        return False

    def _is_removed(self, file: Path) -> bool:
        return str(file.relative_to(self._root)) in self._removed

    def _differs_in_line_ends(self, path: str, one: FileState, other: FileState) -> bool:
        """Whether git stores both versions of a file as one object."""
        if one.is_link or git_mode(one) != git_mode(other):
            return False
        in_repository = os.path.relpath(self._root / path, self._git.directory)
        option = f"--path={in_repository}"
        first, second = self._git("hash-object", option, "--", one.copy, other.copy).split()
        return first == second


def _is_directory(place: Path) -> bool:
    return place.is_dir() and not place.is_symlink()


def _files_below(directory: Path) -> Iterator[Path]:
    """Yield what is below a directory, except directories."""
    for parent, directories, files in os.walk(directory):
        for name in (*files, *directories):
            place = Path(parent, name)
            if not _is_directory(place):
                yield place


def _merge_text(
    git: GitCommand, base: FileState | None, ours: FileState, theirs: FileState
) -> bytes:
    """Merge three versions line by line. Raise ConflictError if they are no short texts."""
    sides = (ours, theirs) if base is None else (base, ours, theirs)
    if any(side.is_link for side in sides):
        raise ConflictError(_both("it is a link on one side", ours, theirs))
    if any(side.size > MAX_TEXT_SIZE for side in sides):
        raise ConflictError(_both("it is too large, and both sides changed it", ours, theirs))
    texts = [b"" if base is None else base.content(), ours.content(), theirs.content()]
    if b"\0" in b"".join(texts):
        raise ConflictError(_both("it is binary, and both sides changed it", ours, theirs))
    return merge_text(git, *texts)


def _with_mode(
    merged: FileState | None, ours: FileState | None, base: FileState | None
) -> FileState | None:
    """Return a version with the permissions that the file has.

    Those in a worktree are git's, which only knows whether a file is executable.
    """
    if merged is None or ours is None or merged.is_link or ours.is_link:
        return merged
    mode = ours.mode
    is_changed = base is None or git_mode(merged) != git_mode(base)
    if is_changed and merged.mode & stat.S_IXUSR:
        # Whoever may read it may execute it.
        mode |= (mode & READABLE) >> 2
    elif is_changed:
        mode &= ~EXECUTABLE
    return merged._replace(mode=mode)


def _is_stored_alike(one: FileState | None, other: FileState | None) -> bool:
    """Return whether git would store the same for two versions of a file."""
    if one is None or other is None:
        return one is other
    return git_mode(one) == git_mode(other) and has_same_content(one, other)


def _both(reason: str, ours: FileState | None, theirs: FileState | None) -> str:
    """Return a reason and both versions of a file, for a conflict that markers cannot show."""
    yours = f"--- your version:\n{_shown(theirs)}"
    return f"({reason})\n{yours}\n--- in the project now:\n{_shown(ours)}"


def _shown(state: FileState | None) -> str:
    if state is None:
        return "(no file)"
    if state.is_link:
        return f"(a link to {state.target})"
    if state.size > MAX_TEXT_SIZE:
        return f"({state.size} bytes)"
    content = state.content()
    if b"\0" in content:
        return f"({len(content)} bytes of binary data)"
    return content.decode("utf-8", "replace").rstrip("\n")
