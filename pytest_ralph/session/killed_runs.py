"""Processes of runs that were killed, found by the mark that each run leaves in a file."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from pytest_ralph.files import is_process_running
from pytest_ralph.history.record import HistoryError
from pytest_ralph.running.strays import Mark, kill_marked
from pytest_ralph.session.locks import lock_directory

if TYPE_CHECKING:
    from pathlib import Path


def record_mark(directory: Path, mark: int) -> Path | None:
    """Record the mark on the processes of this run, and end those of runs that were killed.

    Return the file to remove at the end of the run; None if it cannot be written.
    """
    with contextlib.suppress(OSError, ValueError, HistoryError):
        locks = lock_directory(directory)
        for file in locks.glob("*.mark"):
            pid, _, other = file.stem.partition("-")
            if not is_process_running(int(pid)):
                kill_marked(Mark(int(other, 16), 0), whole_run=True)
                file.unlink(missing_ok=True)
        own = locks / f"{os.getpid()}-{mark:08x}.mark"
        own.touch()
        return own
    return None
