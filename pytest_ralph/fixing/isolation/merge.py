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
from io import BytesIO
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.files import fault_point
from pytest_ralph.fixing.change_log import append_changes, read_changes, undo_changes
from pytest_ralph.fixing.git.merge_text import ConflictError, merge_text
from pytest_ralph.fixing.snapshot import (
    Change,
    FileState,
    is_behind_link,
    is_same_now,
    is_too_large,
    kept_state,
    remove_file,
    write_file,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from pytest_ralph.fixing.git.command import GitCommand

JOURNAL_SUFFIX = ".merge"
# The changes in a journal belong to no task.
NO_OWNER = ""
EXECUTABLE = 0o111
READABLE = 0o444


class Side(NamedTuple):
    """One version of a file: content and mode, or the target of a link. None stands for no file."""

    data: bytes
    mode: int
    is_link: bool = False

    @property
    def is_executable(self) -> bool:
        return bool(self.mode & EXECUTABLE)

    def is_same(self, other: Side | None) -> bool:
        """Whether git would store the same for both."""
        if other is None:
            return False
        if (self.data, self.is_link) != (other.data, other.is_link):
            return False
        return self.is_link or self.is_executable == other.is_executable

    def state(self) -> FileState:
        """Return the state that a file with this version has when it is written now."""
        target = os.fsdecode(self.data) if self.is_link else ""
        kind = stat.S_IFLNK | 0o777 if self.is_link else stat.S_IFREG
        return FileState(kind | self.mode, len(self.data), time.time_ns(), 0, 0, target)


class FileChange(NamedTuple):
    """A file before and after a change; None stands for no file."""

    path: str
    old: Side | None
    new: Side | None


class Conflict(NamedTuple):
    """A file that cannot be merged. `text` shows both versions of it."""

    path: str
    text: str


@dataclass(frozen=True)
class MergePlan:
    """What a merge would write, and what stands in its way."""

    files: tuple[FileChange, ...]
    conflicts: tuple[Conflict, ...]


def read_side(root: Path, path: str) -> Side | None:
    """Read one version of a file below `root`; None if there is none.

    Raise OSError if it is too large.
    """
    return None if is_behind_link(root, path) else _read_file(root / path)


def _read_file(file: Path) -> Side | None:
    try:
        status = file.lstat()
        if stat.S_ISLNK(status.st_mode):
            return Side(os.fsencode(file.readlink()), 0, is_link=True)
        if not stat.S_ISREG(status.st_mode):
            return None
        if is_too_large(file):
            raise OSError(errno.EFBIG, "too large to be merged", str(file))
        return Side(file.read_bytes(), stat.S_IMODE(status.st_mode))
    except (FileNotFoundError, NotADirectoryError):
        return None


def plan_merge(
    git: GitCommand,
    root: Path,
    changes: Iterable[FileChange],
) -> MergePlan:
    """Compare each change with the file below `root`, and merge what both sides changed."""
    files = []
    conflicts = []
    changes = tuple(changes)
    removed = {change.path for change in changes if change.new is None}
    for path, base, theirs in changes:
        ours = read_side(root, path)
        if _is_equal(ours, theirs):
            continue
        try:
            if _is_blocked(root, path, removed):
                raise ConflictError(_both("a directory or a link is in its place", ours, theirs))
            if _is_equal(ours, base) or _is_stored_as(git, root / path, ours, base):
                merged = _with_mode(theirs, ours, base)
            else:
                merged = _merge_sides(git, base, ours, theirs)
        except ConflictError as conflict:
            conflicts.append(Conflict(path, str(conflict)))
        else:
            files.append(FileChange(path, ours, merged))
    # First remove files: a directory or a link of the same name may be needed.
    files.sort(key=lambda file: file.new is not None)
    return MergePlan(tuple(files), tuple(conflicts))


def _both(reason: str, ours: Side | None, theirs: Side | None) -> str:
    """Return a reason and both versions of a file, for a conflict that markers cannot show."""
    yours = f"--- your version:\n{_shown(theirs)}"
    return f"({reason})\n{yours}\n--- in the project now:\n{_shown(ours)}"


def _shown(side: Side | None) -> str:
    if side is None:
        return "(no file)"
    if side.is_link:
        return f"(a link to {os.fsdecode(side.data)})"
    if b"\0" in side.data:
        return f"({len(side.data)} bytes of binary data)"
    return side.data.decode("utf-8", "replace").rstrip("\n")


def _is_equal(one: Side | None, other: Side | None) -> bool:
    return one is other if one is None else one.is_same(other)


def _is_stored_as(git: GitCommand, file: Path, ours: Side | None, base: Side | None) -> bool:
    """Whether git stores both versions as one object: they may differ in line endings only."""
    if ours is None or base is None or ours.is_link or base.is_link:
        return False
    if ours.is_executable != base.is_executable:
        return False
    options = ("--stdin", f"--path={os.path.relpath(file, git.directory)}")
    objects = [git("hash-object", *options, stdin=side.data) for side in (ours, base)]
    return objects[0] == objects[1]


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


def _merge_sides(
    git: GitCommand, base: Side | None, ours: Side | None, theirs: Side | None
) -> Side | None:
    """Return the version with what both sides changed. Raise ConflictError if there is none."""
    if ours is None or theirs is None:
        reason = "one side deleted it, the other changed it"
        raise ConflictError(_both(reason, ours, theirs))
    if ours.is_link or theirs.is_link or (base is not None and base.is_link):
        raise ConflictError(_both("it is a link on one side", ours, theirs))
    text = base.data if base else b""
    if b"\0" in text + ours.data + theirs.data:
        raise ConflictError(_both("it is binary, and both sides changed it", ours, theirs))

    merged = theirs._replace(data=merge_text(git, text, ours.data, theirs.data))
    return _with_mode(merged, ours, base)


def _with_mode(merged: Side | None, ours: Side | None, base: Side | None) -> Side | None:
    """Return a version with the permissions that the file has.

    Those in a worktree are git's, which only knows whether a file is executable.
    """
    if merged is None or ours is None or merged.is_link or ours.is_link:
        return merged
    mode = ours.mode
    is_changed = base is None or merged.is_executable != base.is_executable
    if is_changed and merged.is_executable:
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
    root: Path, files: Sequence[FileChange], backups: Path, journal: Path
) -> AppliedMerge | None:
    """Write the files of a plan. Return None, with nothing changed, if one is not as planned.

    The changes have copies of the files as they were and as they were written, in `backups`.
    """
    planned = []
    for file in files:
        before = kept_state(root, file.path, backups)
        after = None if file.new is None else file.new.state()
        planned.append(Change(file.path, before, after))
    if not all(_is_as_planned(root, file) for file in files):
        return None
    append_changes(journal, planned, NO_OWNER)
    fault_point("before a merge")

    merge = AppliedMerge(root, journal, tuple(planned))
    try:
        for file, change in zip(files, planned, strict=True):
            if not _is_as_planned(root, file):
                # The user saved the file a moment ago.
                merge.undo()
                return None
            write_side(root, file.path, file.new, change.after)
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


def _is_as_planned(root: Path, file: FileChange) -> bool:
    return _is_equal(read_side(root, file.path), file.old)


def write_side(root: Path, path: str, side: Side | None, state: FileState | None = None) -> None:
    """Replace a file below `root` by another version of it; None removes it.

    `state` is what the file is to have; without it, its time is now.
    """
    if side is None:
        remove_file(root, path)
    else:
        write_file(root, path, state or side.state(), BytesIO(side.data))


def merged_files(root: Path, journal: Path) -> list[FileChange]:
    """Return the files that an unfinished merge has written, before it and now."""
    files = {}
    for change in read_changes(journal):
        path = change.path
        if is_same_now(root, path, change.after) and not is_same_now(root, path, change.before):
            files[path] = FileChange(path, kept_side(change.before), read_side(root, path))
    return list(files.values())


def read_change(change: Change) -> FileChange:
    """Return both versions of a changed file with their content."""
    return FileChange(change.path, kept_side(change.before), kept_side(change.after))


def kept_side(state: FileState | None) -> Side | None:
    """Return the version of a file that a state keeps; None if there is none."""
    if state is None:
        return None
    if state.is_link:
        return Side(os.fsencode(state.target), 0, is_link=True)
    side = _read_file(Path(state.copy)) if state.copy else None
    return side._replace(mode=stat.S_IMODE(state.mode)) if side else None
