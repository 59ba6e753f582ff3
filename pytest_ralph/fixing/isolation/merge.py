"""Three-way merge of what changed in a worktree into the files of the project, or the other way.

Each file has three sides: `base` as it was at the start, `ours` in the directory that is merged
into, and `theirs`, the new version. A merge is planned first and applied only if no file
conflicts. While it is applied and verified, a list of its changes is kept as a journal, with which
a later run can undo it.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import time
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.files import fault_point
from pytest_ralph.fixing.change_log import append_changes, read_changes, undo_changes
from pytest_ralph.fixing.file_state import (
    Change,
    FileState,
    has_same_content,
    is_same_now,
    is_too_large,
    kept_state,
    new_state,
    stored_state,
    undo_change,
)
from pytest_ralph.fixing.git.index import git_mode
from pytest_ralph.fixing.git.merge_text import ConflictError, merge_text

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from pytest_ralph.fixing.git.command import GitCommand

JOURNAL_SUFFIX = ".merge"
# The changes in a journal belong to no task.
NO_OWNER = ""
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
    planned = []
    conflicts = []
    changes = tuple(changes)
    removed = {change.path for change in changes if change.deleted}
    for change in changes:
        path = change.path
        if is_too_large(root / path):
            raise OSError(errno.EFBIG, "too large to be merged", path)
        ours = stored_state(root, path)
        if _is_stored_alike(ours, change.after):
            continue
        try:
            if _is_blocked(root, path, removed):
                reason = "a directory or a link is in its place"
                raise ConflictError(_both(reason, ours, change.after))
            merged = _merge(git, root, change, ours, directory)
        except ConflictError as conflict:
            conflicts.append(Conflict(path, str(conflict)))
        else:
            planned.append(Change(path, ours, merged))
    # First remove files: a directory or a link of the same name may be needed.
    planned.sort(key=lambda change: not change.deleted)
    return MergePlan(tuple(planned), tuple(conflicts))


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


def _is_stored_alike(one: FileState | None, other: FileState | None) -> bool:
    """Return whether git would store the same for two versions of a file."""
    if one is None or other is None:
        return one is other
    return git_mode(one) == git_mode(other) and has_same_content(one, other)


def _differs_in_line_ends(git: GitCommand, file: Path, one: FileState, other: FileState) -> bool:
    """Return whether git stores both versions as one object."""
    if one.is_link or git_mode(one) != git_mode(other):
        return False
    options = f"--path={os.path.relpath(file, git.directory)}"
    first, second = git("hash-object", options, "--", one.copy, other.copy).split()
    return first == second


def _is_blocked(root: Path, path: str, removed: Container[str]) -> bool:
    """Whether something other than a file is at `path`, or a parent of it is no directory.

    Files that are among the paths to be `removed` are not in the way.
    """
    target = root / path
    if target.is_dir() and not target.is_symlink():
        return any(str(file.relative_to(root)) not in removed for file in _files_below(target))
    for parent in PurePath(path).parents[:-1]:
        place = root / parent
        is_in_the_way = os.path.lexists(place) and (place.is_symlink() or not place.is_dir())
        if is_in_the_way and str(parent) not in removed:
            return True
    return False


def _files_below(directory: Path) -> Iterator[Path]:
    """Yield what is below a directory, except directories."""
    for parent, directories, files in os.walk(directory):
        names = [*files, *(name for name in directories if Path(parent, name).is_symlink())]
        for name in names:
            yield Path(parent, name)


def _merge(
    git: GitCommand, root: Path, change: Change, ours: FileState | None, directory: Path
) -> FileState | None:
    """Return the version with what both sides changed. Raise ConflictError if there is none."""
    base = change.before
    theirs = change.after
    if _is_stored_alike(ours, base):
        return _with_mode(theirs, ours, base)
    if ours is None or theirs is None:
        reason = "one side deleted it, the other changed it"
        raise ConflictError(_both(reason, ours, theirs))
    if base is not None and _differs_in_line_ends(git, root / change.path, ours, base):
        return _with_mode(theirs, ours, base)
    text = _merge_text(git, base, ours, theirs)
    return _with_mode(new_state(text, theirs.mode, directory), ours, base)


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


class AppliedMerge(NamedTuple):
    """A merge whose files have been written, until it is confirmed or undone."""

    root: Path
    journal: Path
    changes: tuple[Change, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(change.path for change in self.changes)

    def confirm(self) -> None:
        """Forget how to undo it after a kill."""
        shutil.rmtree(self.journal, ignore_errors=True)

    def undo(self) -> tuple[str, ...]:
        """Put back what was there; return a line about each file that is left as it is."""
        undone = undo_changes(self.root, self.journal)
        self.confirm()
        return undone.problems


def apply_merge(
    root: Path, plan: Sequence[Change], backups: Path, journal: Path
) -> AppliedMerge | None:
    """Make the changes of a plan. Return None, with nothing changed, if a file is not as planned.

    The changes have copies of the files as they were and as they were written, in `backups`.
    """
    planned = []
    for change in plan:
        before = kept_state(root, change.path, backups)
        after = change.after
        if after is not None:
            # It is new to the programs that compare times.
            after = after._replace(modified=time.time_ns())
        planned.append(Change(change.path, before, after))
    if not all(is_same_now(root, change.path, change.before) for change in plan):
        return None
    append_changes(journal, planned, NO_OWNER)
    fault_point("before a merge")

    merge = AppliedMerge(root, journal, tuple(planned))
    try:
        for change in planned:
            if not undo_change(root, change.reversed()):
                # The user saved the file a moment ago.
                merge.undo()
                return None
            fault_point("during a merge")
    except OSError:
        # Such as a disk that is full.
        merge.undo()
        raise
    written = []
    for change in planned:
        after = kept_state(root, change.path, backups)
        written.append(Change(change.path, change.before, after))
    # With the times that the file system keeps, which may be less exact than those planned.
    append_changes(journal, written, NO_OWNER)
    fault_point("after a merge")
    return merge._replace(changes=tuple(written))


def written_changes(root: Path, journal: Path) -> list[Change]:
    """Return what an unfinished merge has changed."""
    changes = {}
    for change in read_changes(journal):
        path = change.path
        if is_same_now(root, path, change.after) and not is_same_now(root, path, change.before):
            changes[path] = Change(path, change.before, stored_state(root, path))
    return list(changes.values())
