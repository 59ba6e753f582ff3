"""Records of attempts, as tests write them into a history."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from pytest_ralph.history.record import Record
from pytest_ralph.history.stats import RunCounts
from pytest_ralph.results import Attempt

if TYPE_CHECKING:
    from pathlib import Path


def record_of(run: str, time: float, spec: str, task: str, **facts: Any) -> Record:
    """A record of an attempt that ended at `time`; `facts` are fields of the attempt."""
    started = time - facts.get("duration", 0.0)
    return Record(run, spec, task, Attempt(**{"started": started, **facts}))


def past_run(
    started: float, duration: float = 0.0, passed: int = 0, recovered: int = 0, failed: int = 0
) -> RunCounts:
    """A run as the statistics count it."""
    return RunCounts("r1", started, duration, passed, recovered, failed)


def rows_on_disk(path: Path) -> int:
    """Count the committed attempts in a history file, through a connection of its own."""
    if not path.exists():
        return 0
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("SELECT count(*) FROM attempts").fetchone()[0])
    finally:
        connection.close()
