"""Files written whole or not at all.

`step` names every point at which a run may be cut off. It does nothing by itself; the fault tests
put a function in `on_fault_point` and so enumerate and hit every point without guessing where they are.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

TASKS_NAME = "tasks.md"
STATE_NAME = ".ralph-state.json"
PROGRESS_NAME = ".progress.md"
# In the root of the project: history, logs, and files of the running session.
RALPH_DIRECTORY = ".ralph"

on_fault_point: Callable[[str], None] | None = None
_TEMPORARY = re.compile(r"\.(?P<name>.+)\.(?P<pid>\d+)-[0-9a-f]+\.tmp")


def fault_point(name: str) -> None:
    if on_fault_point is not None:
        on_fault_point(name)


def _new_file_beside(path: Path) -> tuple[int, Path]:
    """As mkstemp does, but readable by whom the umask says, as any file a user makes."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(6)}.tmp")
    return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), temporary


def is_temporary(name: str) -> bool:
    """Whether this is the name of a file that is about to take another's place."""
    return _TEMPORARY.fullmatch(name) is not None


def sweep(path: Path) -> None:
    """Remove what a run that was killed while it wrote `path` has left beside it."""
    path = Path(os.path.realpath(path))
    with contextlib.suppress(OSError):
        for entry in os.scandir(path.parent):
            left = _TEMPORARY.fullmatch(entry.name)
            if left and left["name"] == path.name and not _is_running(int(left["pid"])):
                Path(entry.path).unlink()


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


Seen = tuple[int, ...] | None


def file_signature(path: Path) -> Seen:
    """What tells one version of a file from another; None where there is none."""
    try:
        return _signature(path.stat())
    except FileNotFoundError:
        return None


def _signature(found: os.stat_result) -> tuple[int, ...]:
    return found.st_mtime_ns, found.st_size, found.st_ino


def write_atomically(path: Path, data: bytes | str, *, durable: bool = True) -> None:
    """Replace `path` by `data` so that a reader, a crash or a full disk sees the old file or the new one.

    Not `durable`: a machine that loses its power may forget it again, which the next run must be able to bear.
    """
    _write(path, data, durable=durable, still=lambda: True)


def replace_if_unchanged(
    path: Path, data: bytes | str, seen: Seen, *, durable: bool = True
) -> Seen:
    """As `write_atomically`, unless somebody else wrote the file since it was `seen`: then it stays theirs, and None.

    Else what can be seen now.
    """
    return _write(path, data, durable=durable, still=lambda: file_signature(path) == seen)


def _write(path: Path, data: bytes | str, *, durable: bool, still: Callable[[], bool]) -> Seen:
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")
    # Through a link to the file itself, so that the link stays a link.
    path = Path(os.path.realpath(path))
    sweep(path)
    fault_point(f"before write {path.name}")
    descriptor, temporary = _new_file_beside(path)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
            # Nothing of it changes with the name.
            written = _signature(os.fstat(file.fileno()))
        with contextlib.suppress(FileNotFoundError):
            temporary.chmod(path.stat().st_mode & 0o7777)
        fault_point(f"before replace {path.name}")
        if not still():
            temporary.unlink()
            return None
        temporary.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename is None:
            # A disk that is full does not say which file it had no room for.
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
    at = next(at for at in range(len(old)) if old[at] != new[at])
    assert old[at + 1 :] == new[at + 1 :]
    fault_point(f"before write {path.name}")
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        if os.pread(descriptor, len(old), offset) != old:
            return None
        os.pwrite(descriptor, new[at : at + 1], offset + at)
        # Of the open file, before anybody else can write: a later look at the path would take an
        # edit saved in between for our own.
        written = _signature(os.fstat(descriptor))
    finally:
        os.close(descriptor)
    fault_point(f"after write {path.name}")
    replaced = file_signature(path) != written
    return None if replaced else written
