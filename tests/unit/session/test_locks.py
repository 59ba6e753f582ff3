"""Locks between threads, workers and runs."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from pytest_ralph.session.locks import TurnLock

if TYPE_CHECKING:
    from pathlib import Path


def test_a_lock_outlives_its_directory(tmp_path: Path) -> None:
    directory = tmp_path / ".ralph"
    lock = TurnLock(directory, "git")
    with lock:
        shutil.rmtree(directory)
    with lock:
        assert (directory / "locks" / "git.lock").exists()
        assert (directory / ".gitignore").exists()
