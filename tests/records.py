"""Records of attempts, as tests write them into a history."""

from __future__ import annotations

from typing import Any

from pytest_ralph.history.record import Record
from pytest_ralph.results import Attempt


def record_of(run: str, time: float, spec: str, task: str, **facts: Any) -> Record:
    """A record of an attempt that ended at `time`; `facts` are fields of the attempt."""
    started = time - facts.get("duration", 0.0)
    return Record(run, spec, task, Attempt(**{"started": started, **facts}))
