"""The state of a file at one moment, what changed between two, and how to put it back.

A state may have a copy of the content outside git, so that filters and line-ending conversion do
not matter.
"""

from __future__ import annotations

import contextlib
import errno
import filecmp
import os
import shutil
import stat
import time
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.files import (
    open_directory,
    replacing,
    take_over_owner,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Larger files are neither merged nor committed: that would take all memory, or hours.
MAX_SHARED_SIZE = 512 * 1024 * 1024
BLOCK = 1024 * 1024
IN_THE_WAY = "a link or directory is in the way"
# Without a suffix that a formatter or linter of the project would pick up.
COPY_SUFFIX = ".saved"


class FileState(NamedTuple):
    """One file at one moment. Two states of a path that are equal stand for the same content.

    target: Where a symbolic link leads; empty for other files.
    copy: The path of a copy of the content; empty if none is kept.
    """

    mode: int
    size: int
    modified: int
    # Also changes when a program restores the time of the last change.
    status_changed: int
    inode: int
    target: str = ""
    copy: str = ""

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.mode)

    @property
    def can_be_put_back(self) -> bool:
        """Whether the content is known."""
        return self.is_link or bool(self.copy)

    def content(self) -> bytes:
        """Return the content, or where a link leads to. Raise OSError if no copy is left."""
        if self.is_link:
            return os.fsencode(self.target)
        return Path(self.copy).read_bytes()

    def blocks(self) -> Iterator[bytes]:
        """Yield the content in blocks: a file may be large."""
        if self.is_link:
            yield self.content()
            return
        with Path(self.copy).open("rb") as file:
            while block := file.read(BLOCK):
                yield block


@dataclass(frozen=True)
class Change:
    """A path that differs between two snapshots; None stands for a file that does not exist."""

    path: str
    before: FileState | None
    after: FileState | None

    @property
    def added(self) -> bool:
        return self.before is None

    @property
    def deleted(self) -> bool:
        return self.after is None

    @property
    def can_be_made(self) -> bool:
        return self.after is None or self.after.can_be_put_back

    @property
    def can_be_undone(self) -> bool:
        return self.before is None or self.before.can_be_put_back

    def reversed(self) -> Change:
        """Return the change that undoes this one."""
        return Change(self.path, self.after, self.before)


def state_of(file: str | Path) -> FileState | None:
    """Return the state of a file without a copy; None if it is no regular file and no link."""
    try:
        status = os.lstat(file)
        # Path.readlink() would turn `./a` into `a`.
        target = os.readlink(file) if stat.S_ISLNK(status.st_mode) else ""  # noqa: PTH115
    except OSError:
        return None
    if not target and not stat.S_ISREG(status.st_mode):
        return None
    return FileState(
        mode=status.st_mode,
        size=status.st_size,
        modified=status.st_mtime_ns,
        status_changed=status.st_ctime_ns,
        inode=status.st_ino,
        target=target,
    )


def state_below(root: Path, path: str) -> FileState | None:
    """Return the state of a file below `root` without a copy; None if it is behind a link, too."""
    if is_behind_link(root, path):
        return None
    return state_of(root / path)


def stored_state(root: Path, path: str) -> FileState | None:
    """Return the state of a file below `root` that stays as it is, and so is its own copy."""
    state = state_below(root, path)
    if state is None or state.is_link:
        return state
    return state._replace(copy=str(root / path))


def kept_state(root: Path, path: str, directory: Path) -> FileState | None:
    """Return the state of a file below `root`, with a copy of it in `directory`."""
    state = state_below(root, path)
    if state is None or state.is_link:
        return state
    directory.mkdir(parents=True, exist_ok=True)
    copy = directory / copy_name()
    copy.touch(mode=0o600, exist_ok=False)
    shutil.copyfile(root / path, copy)
    return state._replace(copy=str(copy))


def new_state(content: bytes, mode: int, directory: Path) -> FileState:
    """Return the state of a file that is new now; its content is written to `directory`.

    For a link, which `mode` tells, the content is where it leads to.
    """
    if stat.S_ISLNK(mode):
        return FileState(mode, len(content), time.time_ns(), 0, 0, target=os.fsdecode(content))
    directory.mkdir(parents=True, exist_ok=True)
    copy = directory / copy_name()
    write_private(copy, content)
    mode = stat.S_IFREG | stat.S_IMODE(mode)
    return FileState(mode, len(content), time.time_ns(), 0, 0, copy=str(copy))


def copy_name() -> str:
    """Return a new name for the copy of a file."""
    return f"{os.urandom(8).hex()}{COPY_SUFFIX}"


def write_private(copy: Path, content: bytes) -> None:
    """Write a copy that only its owner can read: the file itself may be private."""
    with open(copy, "xb", opener=_open_private) as writer:
        writer.write(content)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def is_behind_link(root: Path, path: str) -> bool:
    """Return whether a directory between `root` and the file `path` is a link.

    The file that is found there belongs to the directory that the link leads to.
    """
    return any((root / parent).is_symlink() for parent in PurePath(path).parents[:-1])


def is_too_large(file: str | Path) -> bool:
    """Return whether a file is too large to be merged or committed."""
    state = state_of(file)
    return state is not None and state.size > MAX_SHARED_SIZE


def is_unchanged(file: str | os.DirEntry[str], known: FileState) -> bool:
    """Return whether a file has not been written since its state was `known`."""
    try:
        status = os.lstat(file) if isinstance(file, str) else file.stat(follow_symlinks=False)
    except OSError:
        return False
    return (
        status.st_ctime_ns == known.status_changed
        and status.st_mtime_ns == known.modified
        and status.st_size == known.size
        and status.st_ino == known.inode
        and status.st_mode == known.mode
    )


def is_same(old: FileState | None, new: FileState | None) -> bool:
    """Return whether two states of a file have the same content and mode, as far as is known."""
    if old is None or new is None:
        return old is new
    return old == new or (old.mode == new.mode and has_same_content(old, new))


def has_same_content(old: FileState, new: FileState) -> bool:
    """Return whether two states have the same content, or are links to the same place."""
    if (old.size, old.target) != (new.size, new.target):
        return False
    if old.is_link:
        return True
    if old.copy and new.copy:
        # An executor may have removed the copies.
        with contextlib.suppress(FileNotFoundError):
            return filecmp.cmp(old.copy, new.copy, shallow=False)
    return old.modified == new.modified


def is_same_now(root: Path, path: str, state: FileState | None) -> bool:
    """Return whether a file below `root` still has the content and mode of an earlier state."""
    now = stored_state(root, path)
    if now is None or state is None:
        return now is state
    if is_unchanged(str(root / path), state):
        return True
    if now.copy and state.copy == now.copy:
        # A file that was its own copy does not tell what was in it.
        return False
    return is_same(state, now)


def put_back(root: Path, changes: Iterable[Change]) -> tuple[str, ...]:
    """Undo `changes`: content, mode and times of each file. Return the paths left as they are.

    A path is left if it has changed again since, such as by the user, if its old content is not
    kept, if a link or directory is in the way, or if it cannot be written.
    """
    return tuple(put_back_or_tell(root, changes))


def put_back_or_tell(root: Path, changes: Iterable[Change]) -> dict[str, str]:
    """Undo `changes` as `put_back` does. Return the paths left as they are, with the reasons."""
    left = {}
    # First remove what was not there: it may be in the way of the rest.
    for change in sorted(changes, key=lambda change: not change.added):
        reason = _undo_or_tell(root, change)
        if reason:
            left[change.path] = reason
    return left


def _undo_or_tell(root: Path, change: Change) -> str:
    """Undo one change. Return why the path has to be left as it is; empty if it has not."""
    try:
        if undo_change(root, change):
            return ""
    except OSError as error:
        return _in_words(error)
    if not change.can_be_undone:
        return "no copy of it was kept"
    if (root / change.path).is_dir():
        return IN_THE_WAY
    return "changed since then, left as it is"


def _in_words(error: OSError) -> str:
    if error.errno in (errno.ENOTDIR, errno.ELOOP, errno.EEXIST):
        return IN_THE_WAY
    return error.strerror or str(error)


def undo_change(root: Path, change: Change) -> bool:
    """Undo one change as `put_back` does. Return False if the path has to be left as it is."""
    return make_change(root, change.reversed())


def make_change(root: Path, change: Change) -> bool:
    """Make a change below `root`. Return False if the path has to be left as it is.

    That is so if it is not as before the change, if a directory is in its place, or if the new
    content is not kept.
    """
    path = root / change.path
    is_directory = path.is_dir() and not path.is_symlink()
    if is_directory or not change.can_be_made:
        return False
    if not is_same_now(root, change.path, change.before):
        return False
    write_state(root, change.path, change.after)
    return True


def write_state(root: Path, path: str, state: FileState | None) -> None:
    """Give a file below `root` the content, mode and time of a state; remove it for None.

    No link on the way to it is followed, and one in its place is replaced.
    """
    if state is None:
        _remove_file(root, path)
        return
    place = Path(os.path.realpath(root), path)
    with (
        open_directory(place.parent, create=True) as directory,
        replacing(place, directory) as temporary,
    ):
        if state.is_link:
            os.symlink(state.target, temporary, dir_fd=directory)
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with Path(state.copy).open("rb") as content:
            descriptor = os.open(temporary, flags, 0o600, dir_fd=directory)
            with os.fdopen(descriptor, "wb") as writer:
                shutil.copyfileobj(content, writer)
                take_over_owner(descriptor, place.name, directory)
                os.fchmod(descriptor, stat.S_IMODE(state.mode))
        os.utime(temporary, ns=(state.modified, state.modified), dir_fd=directory)


def _remove_file(root: Path, path: str) -> None:
    """Remove a file below `root`, if it is there, and the directories that are empty then."""
    top = Path(os.path.realpath(root))
    place = top / path
    with contextlib.suppress(FileNotFoundError), open_directory(place.parent) as directory:
        os.unlink(place.name, dir_fd=directory)
    with contextlib.suppress(OSError):
        for parent in place.parents:
            if parent == top:
                break
            parent.rmdir()
