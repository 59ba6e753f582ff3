"""File names, and writing files so that a killed run leaves each of them whole.

`fault_point` names every point at which a run may be cut off. It does nothing by itself: the fault
tests put a function into `on_fault_point`, which lets them enumerate and hit every point.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# The files of a spec.
TASKS_NAME = "tasks.md"
SPECS_NAME = "specs"
STATE_NAME = ".ralph-state.json"
PROGRESS_NAME = ".progress.md"
SPEC_FILES = frozenset({TASKS_NAME, STATE_NAME, PROGRESS_NAME})

# The directory in the project root that everything else is written to, and what is in it.
RALPH_DIRECTORY = ".ralph"
HISTORY_NAME = "history.db"
LOGS_NAME = "logs"
BACKUPS_NAME = "backups"
LOCKS_NAME = "locks"
RUNS_NAME = "runs"
WORKTREES_NAME = "worktrees"
GITIGNORE_NAME = ".gitignore"

# Identifies one version of a file; None if there is no file.
Seen = tuple[int, ...] | None

# Flags that only some systems have. Without O_BINARY, Windows would change line ends.
_CLOSE_ON_EXEC = getattr(os, "O_CLOEXEC", 0)
_BINARY = getattr(os, "O_BINARY", 0)
# Without it, opening a pipe waits for another process to write.
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)

on_fault_point: Callable[[str], None] | None = None
_TEMPORARY = re.compile(r"\.(?P<name>.+)\.(?P<pid>\d+)-[0-9a-f]+\.tmp")


def fault_point(name: str) -> None:
    """Mark a point at which the fault tests may cut the run off."""
    if on_fault_point is not None:
        on_fault_point(name)


def _create_temporary(path: Path) -> tuple[int, Path]:
    """Create a temporary file beside `path`; unlike mkstemp, with the permissions of the umask."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(6)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CLOSE_ON_EXEC | _BINARY
    return os.open(temporary, flags, 0o666), temporary


def is_temporary(name: str) -> bool:
    """Return whether this is the name of a file that is about to replace another one."""
    return _TEMPORARY.fullmatch(name) is not None


def sweep(path: Path) -> None:
    """Remove the temporary files of runs that were killed while they wrote `path`."""
    path = Path(os.path.realpath(path))
    with contextlib.suppress(OSError):
        for entry in os.scandir(path.parent):
            match = _TEMPORARY.fullmatch(entry.name)
            if match is None or match["name"] != path.name:
                continue
            if not is_process_running(int(match["pid"])):
                Path(entry.path).unlink()


def is_process_running(pid: int) -> bool:
    """Return whether a process with this id exists; True if that cannot be found out."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def read_regular(path: Path) -> bytes:
    """Return the content of a file. Raise OSError at once for a device or a pipe."""
    descriptor = os.open(path, os.O_RDONLY | _NO_WAIT | _CLOSE_ON_EXEC | _BINARY)
    with os.fdopen(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return file.read()


def file_signature(path: Path) -> Seen:
    """Return what tells this version of the file from any other."""
    try:
        return _signature(path.stat())
    except FileNotFoundError:
        return None


def _signature(status: os.stat_result) -> tuple[int, ...]:
    return status.st_mtime_ns, status.st_size, status.st_ino


def write_atomically(path: Path, data: bytes | str, *, durable: bool = True) -> None:
    """Replace `path` so that a reader, a crash or a full disk sees either the old file or the new.

    If not `durable`, a power failure may undo the write.
    """
    _replace(path, data, durable=durable, may_replace=lambda: True)


def replace_if_unchanged(
    path: Path, data: bytes | str, seen: Seen, *, durable: bool = True
) -> Seen:
    """Replace `path` as `write_atomically` does, unless it changed since its signature was `seen`.

    Return the new signature, or None if the file had changed and was left alone.
    """
    return _replace(path, data, durable=durable, may_replace=lambda: file_signature(path) == seen)


def _replace(
    path: Path, data: bytes | str, *, durable: bool, may_replace: Callable[[], bool]
) -> Seen:
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")
    # Replace the target of a symbolic link, not the link.
    path = Path(os.path.realpath(path))
    sweep(path)

    fault_point(f"before write {path.name}")
    descriptor, temporary = _create_temporary(path)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
            # rename() keeps mtime, size and inode.
            written = _signature(os.fstat(file.fileno()))
        with contextlib.suppress(FileNotFoundError):
            temporary.chmod(path.stat().st_mode & 0o7777)
        fault_point(f"before replace {path.name}")
        if not may_replace():
            temporary.unlink()
            return None
        temporary.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename is None:
            # The error for a full disk does not name the file.
            error.filename = str(path)
        raise
    fault_point(f"after write {path.name}")
    return written


def write_at(path: Path, offset: int, old: bytes, new: bytes) -> Seen:
    """Write `new`, which differs from `old` in one byte, over `old` at `offset`.

    Return the signature of the file as written, or None if `old` is not there or the file was
    replaced meanwhile: then another process changed it, and the caller has to read it again.
    """
    assert len(old) == len(new)
    changed = next(index for index in range(len(old)) if old[index] != new[index])
    assert old[changed + 1 :] == new[changed + 1 :]

    fault_point(f"before write {path.name}")
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        if os.pread(descriptor, len(old), offset) != old:
            return None
        os.pwrite(descriptor, new[changed : changed + 1], offset + changed)
        # Of the open file, before anybody else can write: a later look at the path would take an
        # edit saved in between for our own.
        written = _signature(os.fstat(descriptor))
    finally:
        os.close(descriptor)
    fault_point(f"after write {path.name}")
    replaced = file_signature(path) != written
    return None if replaced else written
