"""Registry: which worktrees and merges exist, so that a later run can clean up after a kill.

Each process has a file, which it locks as long as it lives. It lists all worktrees that the process
has created, one path per line. A file whose lock can be taken belongs to a process that is gone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import FileLock

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK_SUFFIX = ".lock"


class Registry:
    """The file of this process in `directory`, and those that other processes left behind."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.token = f"{os.getpid()}-{os.urandom(4).hex()}"
        self._lock = FileLock(self.directory / f"{self.token}{LOCK_SUFFIX}")
        self._is_open = False
        self._threads = threading.Lock()
        self._paths: list[Path] = []

    @property
    def paths(self) -> tuple[Path, ...]:
        """The directories of this process that have not been removed."""
        with self._threads:
            return tuple(self._paths)

    def open(self) -> None:
        """Let later runs find what this process leaves behind if it is killed."""
        with self._threads:
            if not self._is_open:
                self.directory.mkdir(parents=True, exist_ok=True)
                self._lock.acquire()
                self._is_open = True

    def add(self, path: Path) -> None:
        """Record a directory that is to be removed if this process cannot do that itself."""
        self.open()
        with self._threads:
            self._paths.append(path)
            with self._lock.path.open("ab") as file:
                file.write(os.fsencode(path) + b"\n")

    def remove(self, path: Path) -> None:
        """Forget a directory that has been removed. Its line in the file does no harm."""
        with self._threads:
            self._paths.remove(path)

    def close(self) -> None:
        """Remove the file of this process."""
        with self._threads:
            if self._is_open:
                self._is_open = False
                _remove(self._lock)

    def left_behind(self) -> Iterator[tuple[str, list[Path]]]:
        """Yield the token of each process that is gone, with the directories it has created.

        Its file is removed when the caller goes on to the next one.
        """
        for file in sorted(self.directory.glob(f"*{LOCK_SUFFIX}")):
            if file == self._lock.path:
                continue
            lock = FileLock(file, timeout=0, required=True)
            try:
                lock.acquire()
            except OSError:
                continue
            lines = file.read_bytes().split(b"\n")[:-1]
            yield file.stem, [Path(os.fsdecode(line)) for line in lines]
            _remove(lock)


def _remove(lock: FileLock) -> None:
    lock.path.unlink(missing_ok=True)
    lock.release()


def remove_special_files(directory: str | Path) -> None:
    """Remove the sockets, pipes and devices below a directory, of which git takes no notice."""
    for entry in os.scandir(directory):
        if entry.is_dir(follow_symlinks=False):
            remove_special_files(entry.path)
        elif not entry.is_file(follow_symlinks=False) and not entry.is_symlink():
            Path(entry.path).unlink()


def remove_directory(path: Path) -> None:
    """Remove a directory with everything in it, also what an executor made read-only."""
    shutil.rmtree(path, ignore_errors=True)
    if not path.exists():
        return
    for directory, _, _ in os.walk(path):
        with contextlib.suppress(OSError):
            os.chmod(directory, 0o700)  # noqa: PTH101 - a string of os.walk
    shutil.rmtree(path, ignore_errors=True)
