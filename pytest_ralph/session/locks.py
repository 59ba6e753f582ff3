"""What runs leave for each other: locks on specs, and marks of their processes.

Only one run at a time works on a spec. A mark lets a later run end what a killed run left running.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import threading
import time
from typing import TYPE_CHECKING

from pytest_ralph.files import (
    FileLock,
    is_process_running,
    remove_abandoned,
    remove_temporary_directories,
    spec_key,
    write_atomically,
)
from pytest_ralph.running.strays import end_run

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

TAKES_TURNS = (
    "executors took turns because their tasks name the same files; "
    "with --ralph-isolate=worktree they work at the same time"
)
# Seconds between taking a lock and writing who has it, on a slow machine.
HOLDER_WAIT = 2.0
# Seconds until the workers of a killed run have ended: pytest-xdist itself takes five.
WORKERS_WAIT = 10.0
# The files of a lock: what a run locks, what its workers lock, and who has the lock.
LOCK_SUFFIX = ".lock"
WORKERS_SUFFIX = ".workers"
HOLDER_SUFFIX = ".json"
# Matches the names that `spec_key` returns.
KEY_PATTERN = "[0-9a-f]" * 16


class SpecLocked(Exception):  # noqa: N818 - not an error of the program
    """Another run is working on the spec."""


class SpecLocks:
    """The locks of one run on files in `directory`. They end with `release`, or the process.

    The directory of a spec that is written is locked, too: without git, an executor may remove
    these files, and a run with another root directory has other files.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._held: dict[Path, tuple[FileLock, Path]] = {}
        self._held_places: dict[Path, FileLock] = {}

    def take(self, path: Path, shown: str, *, is_written: bool = True) -> None:
        """Lock a spec, or raise SpecLocked with one line that calls the spec `shown`."""
        if path in self._held:
            return
        self._directory.mkdir(parents=True, exist_ok=True)
        base = self._directory / spec_key(path)
        lock = FileLock(base.with_suffix(LOCK_SUFFIX), timeout=0, required=True)
        holder_file = base.with_suffix(HOLDER_SUFFIX)
        try:
            lock.acquire()
        except TimeoutError:
            holder = _describe_holder(holder_file)
            raise SpecLocked(f"{shown} is being worked on by another run{holder}") from None
        try:
            _wait_for_workers(base)
        except TimeoutError:
            lock.release()
            raise SpecLocked(
                f"{shown} is still being worked on by workers of a run that was killed"
            ) from None
        try:
            if is_written:
                self._lock_place(path.resolve().parent)
        except TimeoutError:
            lock.release()
            raise SpecLocked(f"another run is at work in the directory of {shown}") from None
        self._held[path] = lock, holder_file
        holder_data = {"pid": os.getpid(), "host": platform.node(), "since": time.time()}
        # On a full disk, another run is kept out without being told by whom.
        with contextlib.suppress(OSError):
            write_atomically(holder_file, json.dumps(holder_data))

    def _lock_place(self, place: Path) -> None:
        """Lock the directory of a spec, unless the file system cannot."""
        if place in self._held_places:
            return
        lock = FileLock(place, timeout=0)
        try:
            lock.acquire()
        except TimeoutError:
            raise
        except OSError:
            # NFS has no locks on directories.
            return
        self._held_places[place] = lock

    def release(self) -> None:
        """Let go of all locks."""
        for place in self._held_places.values():
            place.release()
        self._held_places.clear()
        for lock, holder_file in self._held.values():
            # Harmless on a disk that became read-only: the process id in the file is then dead.
            with contextlib.suppress(OSError):
                holder_file.unlink(missing_ok=True)
            lock.release()
        self._held.clear()


@contextlib.contextmanager
def between_runs(directory: Path) -> Iterator[None]:
    """Keep runs away from the specs whose locks are in `directory`, until the end.

    Raise SpecLocked if a run is at work. Where there are no locks, that is not noticed.
    """
    with contextlib.ExitStack() as held:
        for suffix in (LOCK_SUFFIX, WORKERS_SUFFIX):
            for file in sorted(directory.glob(f"{KEY_PATTERN}{suffix}")):
                lock = FileLock(file, timeout=0, required=True)
                try:
                    lock.acquire()
                except TimeoutError:
                    holder = _describe_holder(file.with_suffix(HOLDER_SUFFIX))
                    raise SpecLocked(f"a run is at work{holder}") from None
                except OSError:
                    continue
                held.callback(lock.release)
        yield


def _wait_for_workers(base: Path) -> None:
    """Wait until no worker of a run that was killed works on a spec."""
    workers = FileLock(base.with_suffix(WORKERS_SUFFIX), timeout=WORKERS_WAIT, required=True)
    with workers:
        pass


def keep_out_later_runs(directory: Path, path: Path) -> None:
    """Have later runs wait for this worker, even if the controller, which has the lock, is gone.

    Held until the process ends. Where there are no locks, the controller has said so.
    """
    with contextlib.suppress(OSError):
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / f"{spec_key(path)}{WORKERS_SUFFIX}"
        FileLock(file, timeout=0, shared=True).acquire()


def _describe_holder(path: Path) -> str:
    """Return who holds a lock, in brackets; empty if they have not written it down in time."""
    deadline = time.monotonic() + HOLDER_WAIT
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            holder = json.loads(path.read_text(encoding="utf-8"))
            pid = int(holder["pid"])
            host = str(holder["host"])
            since = time.strftime("%H:%M:%S", time.localtime(float(holder["since"])))
            if host != platform.node():
                return f" (pid {pid} on {host}, since {since})"
            # A run that was killed left its file behind.
            if is_process_running(pid):
                return f" (pid {pid}, since {since})"
        time.sleep(0.02)
    return ""


class FileTurns:
    """Locks for sets of files, between workers: executors that change the same files take turns."""

    def __init__(self, directory: Path, warn: Callable[[str], None]) -> None:
        self._directory = directory
        self._warn = warn

    @contextlib.contextmanager
    def take(self, paths: Collection[Path]) -> Iterator[None]:
        """Wait until no other worker has one of the paths, and keep them until the end."""
        with contextlib.ExitStack() as held:
            # In a fixed order, so that two workers cannot wait for each other.
            for key in sorted({spec_key(path) for path in paths}):
                path = self._directory / f"file-{key}.lock"
                lock = FileLock(path, timeout=0)
                try:
                    _acquire(lock)
                except TimeoutError:
                    self._warn(TAKES_TURNS)
                    lock = FileLock(path)
                    _acquire(lock)
                held.callback(lock.release)
            yield


def _acquire(lock: FileLock) -> None:
    """Take a lock; its directory is created if it is not there."""
    try:
        lock.acquire()
    except FileNotFoundError:
        # It is the first time, or an executor removed it.
        lock.path.parent.mkdir(parents=True, exist_ok=True)
        _acquire(lock)


class TurnLock:
    """A lock between threads, workers and runs, for example for the git repository.

    It is on the directory `place`, or else on a file in `directory`.
    """

    def __init__(self, directory: Path, name: str, place: Path | None = None) -> None:
        self._threads = threading.RLock()
        self._file = FileLock(directory / f"{name}.lock")
        self._processes = self._file if place is None else FileLock(place)

    def __enter__(self) -> None:
        self._threads.acquire()
        try:
            self._acquire()
        except BaseException:
            self._threads.release()
            raise

    def _acquire(self) -> None:
        try:
            _acquire(self._processes)
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
            # NFS has no locks on directories.
            self._processes = self._file
            _acquire(self._processes)

    def __exit__(self, *_: object) -> None:
        self._processes.release()
        self._threads.release()


def _remove_temporaries(root: Path) -> None:
    # Imported here: few runs are killed.
    from pytest_ralph.running.project_files import files_below

    for path in files_below(root):
        remove_abandoned(root / path)


def record_mark(root: Path, directory: Path, mark: int) -> Path | None:
    """Record the mark on the processes of this run, and end those of runs that were killed.

    Temporary files that these runs left beside files of the project in `root` are removed, and
    their temporary directories.

    Return the file to remove at the end of the run; None if it cannot be written.
    """
    with contextlib.suppress(OSError, ValueError):
        directory.mkdir(parents=True, exist_ok=True)
        for file in directory.glob("*.mark"):
            pid, _, other = file.stem.partition("-")
            if not is_process_running(int(pid)):
                end_run(int(other, 16))
                _remove_temporaries(root)
                remove_temporary_directories(int(pid))
                file.unlink(missing_ok=True)
        own = directory / f"{os.getpid()}-{mark:08x}.mark"
        own.touch()
        return own
    return None
