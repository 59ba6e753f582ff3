"""Locks between threads, workers and runs."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
import threading
from typing import TYPE_CHECKING

from pytest_ralph.session.locks import TurnLock

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_lock_outlives_its_directory(tmp_path: Path) -> None:
    directory = tmp_path / "locks"
    lock = TurnLock(directory, "git")
    with lock:
        shutil.rmtree(directory)
    with lock:
        assert (directory / "git.lock").exists()


def test_a_lock_on_a_directory_that_stays(tmp_path: Path) -> None:
    directory = tmp_path / "locks"
    place = tmp_path / ".git"
    place.mkdir()
    begun = threading.Event()

    def take() -> None:
        with TurnLock(directory, "tree", place):
            begun.set()

    other = threading.Thread(target=take)
    with TurnLock(directory, "tree", place):
        other.start()
        shutil.rmtree(directory, ignore_errors=True)
        assert not begun.wait(0.1)
    other.join()
    assert not list(place.iterdir())


def test_a_directory_that_cannot_be_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flock = fcntl.flock

    def flock_of_nfs(descriptor: int, operation: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EBADF, "as NFS says")
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock_of_nfs)
    with TurnLock(tmp_path / "locks", "tree", tmp_path):
        assert (tmp_path / "locks" / "tree.lock").exists()
