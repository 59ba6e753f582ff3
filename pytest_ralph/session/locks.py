"""Locks between runs: one run per spec at a time, and whoever comes second is told who holds it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import threading
import time
from typing import TYPE_CHECKING

from pytest_ralph.files import LOCKS_NAME, is_process_running, write_atomically
from pytest_ralph.history.directory import make_private

if TYPE_CHECKING:
    from pathlib import Path

    from filelock import FileLock

# Between taking a lock and saying so, a holder may be slow.
PATIENCE = 2.0


class SpecHeld(Exception):  # noqa: N818 - a state of affairs, told in one line
    """Another run is at work on the spec."""


def spec_key(path: Path) -> str:
    """A file name for what is kept about a spec, the same whichever way it is reached."""
    return hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]


class SpecLocks:
    """Locks of one run, let go at its end or with the death of its process, whichever comes first."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._held: dict[Path, tuple[FileLock, Path]] = {}

    def take(self, path: Path, shown: str) -> None:
        from filelock import FileLock, Timeout

        if path in self._held:
            return
        base = lock_directory(self._directory) / spec_key(path)
        lock = FileLock(f"{base}.lock", timeout=0, thread_local=False)
        holder = base.with_suffix(".json")
        try:
            lock.acquire()
        except Timeout:
            raise SpecHeld(f"{shown} is being worked on by another run{_holder(holder)}") from None
        self._held[path] = lock, holder
        told = {"pid": os.getpid(), "host": platform.node(), "since": time.time()}
        write_atomically(holder, json.dumps(told))

    def release(self) -> None:
        for lock, holder in self._held.values():
            # On a disk that takes no more changes; who reads it then finds nobody behind the number.
            with contextlib.suppress(OSError):
                holder.unlink(missing_ok=True)
            lock.release()
        self._held.clear()


def lock_directory(directory: Path) -> Path:
    locks = make_private(directory) / LOCKS_NAME
    locks.mkdir(exist_ok=True)
    return locks


def _holder(path: Path) -> str:
    """Who has the lock, as far as they have said so. A run that was killed left its word behind: it does not count."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            told = json.loads(path.read_text(encoding="utf-8"))
            pid, here = int(told["pid"]), told["host"] == platform.node()
            if not here or is_process_running(pid):
                since = time.strftime("%H:%M:%S", time.localtime(float(told["since"])))
                return f" (pid {pid}{'' if here else ' on ' + str(told['host'])}, since {since})"
        time.sleep(0.02)
    return ""


class TurnLock:
    """Threads of this process, workers beside it and other runs take turns, at the git repository for one."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory, self._name = directory, name
        self._threads = threading.RLock()
        self._processes: FileLock | None = None

    def __enter__(self) -> None:
        from filelock import FileLock

        self._threads.acquire()
        try:
            if self._processes is None:
                path = lock_directory(self._directory) / f"{self._name}.lock"
                self._processes = FileLock(path, thread_local=False)
            self._processes.acquire(poll_interval=0.01)
        except BaseException:
            self._threads.release()
            raise

    def __exit__(self, *_: object) -> None:
        assert self._processes is not None
        self._processes.release()
        self._threads.release()
