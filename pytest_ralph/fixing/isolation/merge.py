"""Three-way merge of what changed in a worktree into the files of the project, or the other way.

Each file has three sides: `base` as it was at the start, `ours` in the directory that is merged
into, and `theirs`, the new version. A merge is planned first and applied only if no file
conflicts. While it is applied and verified, a journal tells a later run how to take it back.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.files import fault_point, sweep, write_atomically
from pytest_ralph.fixing.snapshot import (
    Change,
    FileState,
    put_back,
    remove_file,
    state_of,
    write_link,
    write_version,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ralph.fixing.git.command import GitCommand

COPY_SUFFIX = ".saved"
JOURNAL_SUFFIX = ".merge"
EXECUTABLE = 0o111
# git merge-file returns the number of conflicts, and 255 if it cannot merge at all.
MOST_CONFLICTS = 127


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


class FileChange(NamedTuple):
    """A file before and after a change; None stands for no file."""

    path: str
    old: Side | None
    new: Side | None


class Conflict(NamedTuple):
    """A file that cannot be merged. `text` shows both sides, with markers if they are text."""

    path: str
    text: str


@dataclass(frozen=True)
class MergePlan:
    """What a merge would write, and what stands in its way."""

    files: tuple[FileChange, ...]
    conflicts: tuple[Conflict, ...]


def read_side(path: Path | None) -> Side | None:
    """Read one version of a file; None if there is none."""
    if path is None:
        return None
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            return Side(os.fsencode(path.readlink()), 0, is_link=True)
        if not stat.S_ISREG(status.st_mode):
            return None
        return Side(path.read_bytes(), stat.S_IMODE(status.st_mode))
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
    for path, base, theirs in changes:
        ours = read_side(root / path)
        if _is_equal(ours, theirs):
            continue
        if _is_blocked(root, path):
            conflicts.append(Conflict(path, "a directory or a link is in its place"))
        elif _is_equal(ours, base) or _is_stored_as(git, root / path, ours, base):
            files.append(FileChange(path, ours, theirs))
        else:
            merged, conflict = _merge_sides(git, path, base, ours, theirs)
            if conflict is not None:
                conflicts.append(conflict)
            else:
                files.append(FileChange(path, ours, merged))
    return MergePlan(tuple(files), tuple(conflicts))


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


def _is_blocked(root: Path, path: str) -> bool:
    """Whether something other than a file is at `path`, or a parent of it is no directory."""
    target = root / path
    if target.is_dir() and not target.is_symlink():
        return True
    for parent in target.parents:
        if parent == root:
            return False
        if os.path.lexists(parent) and (parent.is_symlink() or not parent.is_dir()):
            return True
    return False


def _merge_sides(
    git: GitCommand,
    path: str,
    base: Side | None,
    ours: Side | None,
    theirs: Side | None,
) -> tuple[Side | None, Conflict | None]:
    if ours is None or theirs is None:
        who = "the project" if ours is None else "your version"
        return None, Conflict(path, f"{who} deleted it, and the other one changed it")
    if ours.is_link or theirs.is_link or (base is not None and base.is_link):
        return None, Conflict(path, "it is a link on one side")

    mode = ours.mode
    if base is None or theirs.is_executable != base.is_executable:
        mode = theirs.mode
    merged, count = _merge_text(git, base.data if base else b"", ours.data, theirs.data)
    if merged is None:
        return None, Conflict(path, "it is not text, and both sides changed it")
    if count:
        return None, Conflict(path, merged.decode("utf-8", "replace"))
    return Side(merged, mode), None


def _merge_text(
    git: GitCommand, base: bytes, ours: bytes, theirs: bytes
) -> tuple[bytes | None, int]:
    """Merge three texts line by line. Return the result and the number of conflicts in it."""
    if b"\0" in base or b"\0" in ours or b"\0" in theirs:
        return None, 0
    with tempfile.TemporaryDirectory(prefix="ralph-merge-") as directory:
        files = [Path(directory, name) for name in ("ours", "base", "theirs")]
        for file, data in zip(files, (ours, base, theirs), strict=True):
            file.write_bytes(data)
        labels = ("-L", "in the project now", "-L", "before both", "-L", "your version")
        result = git.run("merge-file", "-q", "--diff3", *labels, *map(str, files))
        if result.status > MOST_CONFLICTS:
            return None, 0
        return files[0].read_bytes(), result.status


class AppliedMerge:
    """A merge whose files have been written, until it is confirmed or taken back."""

    def __init__(self, root: Path, journal: Path, changes: tuple[Change, ...]) -> None:
        self.root = root
        self.changes = changes
        self._journal = journal

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(change.path for change in self.changes)

    def confirm(self) -> None:
        """Forget how to take it back after a kill."""
        self._journal.unlink(missing_ok=True)

    def take_back(self) -> tuple[str, ...]:
        """Put back what was there, except where a file has changed since; return those paths."""
        unchanged = []
        left = []
        for change in self.changes:
            if _is_now(self.root / change.path, change.after):
                unchanged.append(change)
            else:
                left.append(change.path)
        left += put_back(self.root, unchanged)
        self._journal.unlink(missing_ok=True)
        return tuple(left)


def _is_now(path: Path, state: FileState | None) -> bool:
    return state_of(path) == (state._replace(copy="") if state else None)


def apply_merge(
    root: Path, files: Sequence[FileChange], *, backups: Path, journal: Path
) -> AppliedMerge | None:
    """Write the files of a plan. Return None, with nothing changed, if one is not as planned."""
    befores = {file.path: _keep(root / file.path, backups) for file in files}
    for file in files:
        if not _is_equal(read_side(root / file.path), file.old):
            return None
    entries = [
        [file.path, befores[file.path], _digest(file.old), _digest(file.new)] for file in files
    ]
    journal.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(journal, json.dumps(entries), durable=False)
    fault_point("before a merge")

    changes: list[Change] = []
    for file in files:
        target = root / file.path
        try:
            is_as_planned = _is_equal(read_side(target), file.old)
            if is_as_planned:
                write_side(root, file.path, file.new)
        except OSError:
            # Such as a disk that is full.
            AppliedMerge(root, journal, tuple(changes)).take_back()
            raise
        if not is_as_planned:
            # The user saved the file a moment ago.
            AppliedMerge(root, journal, tuple(changes)).take_back()
            return None
        changes.append(Change(file.path, befores[file.path], state_of(target)))
        fault_point("during a merge")
    fault_point("after a merge")
    return AppliedMerge(root, journal, tuple(changes))


def _keep(path: Path, backups: Path) -> FileState | None:
    """Return the state of a file with a copy of it."""
    state = state_of(path)
    if state is None or state.is_link:
        return state
    backups.mkdir(parents=True, exist_ok=True)
    copy = backups / f"{secrets.token_hex(8)}{COPY_SUFFIX}"
    shutil.copyfile(path, copy)
    return state._replace(copy=str(copy))


def write_side(root: Path, path: str, result: Side | None) -> None:
    """Replace a file below `root` by another version of it; None removes it.

    Raise OSError if a directory on the way is a link.
    """
    place = Path(os.path.realpath(root), path)
    if result is None:
        remove_file(place, root)
    elif result.is_link:
        write_link(place, os.fsdecode(result.data))
    else:
        write_version(place, io.BytesIO(result.data), result.mode)


def _digest(side: Side | None) -> str:
    if side is None:
        return ""
    kind = f"{side.is_link}-{side.is_executable}"
    return f"{kind}-{hashlib.sha256(side.data).hexdigest()}"


class UnfinishedMerge:
    """A merge that a killed run had begun, read from its journal.

    merged: The files that are as the merge left them.
    changed: The paths of those that were changed since.
    """

    def __init__(self, root: Path, journal: Path) -> None:
        self._root = root
        self._journal = journal
        self.merged: list[Change] = []
        self.changed: list[str] = []
        try:
            entries = json.loads(journal.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return
        for path, before, old_digest, new_digest in entries:
            sweep(root / path)
            now = _digest(read_side(root / path))
            if now == old_digest:
                continue
            if now == new_digest:
                state = FileState(*before) if before else None
                self.merged.append(Change(path, state, None))
            else:
                self.changed.append(path)

    def files(self) -> list[FileChange]:
        """Return the merged files as they were before and as they are now."""
        files = []
        for change in self.merged:
            before = kept_side(change.before)
            files.append(FileChange(change.path, before, read_side(self._root / change.path)))
        return files

    def take_back(self) -> list[str]:
        """Put back what was there before the merge; return the paths for which that worked."""
        left = put_back(self._root, self.merged)
        self.changed += left
        self._journal.unlink(missing_ok=True)
        return [change.path for change in self.merged if change.path not in left]


def kept_side(state: FileState | None) -> Side | None:
    """Return the version of a file that a state keeps; None if there is none."""
    if state is None:
        return None
    if state.is_link:
        return Side(os.fsencode(state.target), 0, is_link=True)
    side = read_side(Path(state.copy)) if state.copy else None
    return side._replace(mode=stat.S_IMODE(state.mode)) if side else None
