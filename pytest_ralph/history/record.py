"""The noun of history: one AttemptRecord, and the words its columns may hold.

Observations (`verify`, `execute`) say how a task fared. Remedies (`fix`, `repair`, `retry`) answer a failure: their
kind, type, category, error and fingerprint are those of the failure they answer, their task is the original one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

OBSERVATIONS = ("verify", "execute")
REMEDIES = ("fix", "repair", "retry")
GOOD = ("passed", "recovered")
BAD = ("failed", "escalated")

LONGEST = 2000


class HistoryError(Exception):
    """One clear line; a run goes on without its history."""


class AttemptRecord(NamedTuple):
    """One attempt, as it ended. `time` is seconds since the epoch, `number` counts within the run from 1."""

    run: str
    time: float
    spec: str
    task: str
    number: int = 1
    what: str = "verify"
    kind: str = ""
    type: str = ""
    category: str | None = None
    error: str = ""
    fingerprint: str = ""
    blocker: str | None = None
    duration: float = 0.0
    decision: str = ""
    # The id of the fix task, and who carried it out: `claude`, `repair:format`.
    fix: str = ""
    executor: str = ""
    outcome: str = "passed"
    commit: str = ""
    # How probable it was held beforehand that this attempt would succeed.
    prediction: float | None = None
    approach: str = ""
    # Fingerprint of the working tree: equal means that nothing was changed in between.
    tree: str = ""
    timeout: float | None = None
    session: str = ""

    @property
    def routine(self) -> bool:
        """A plain pass, which may wait for the next flush; anything else is written at once."""
        return self.outcome == "passed" and self.what in OBSERVATIONS

    def row(self, mask: Callable[[str], str] | None = None) -> tuple[Any, ...]:
        """The cells to store, what people and tools wrote passed through `mask`."""
        cells: list[Any] = [*self]
        if mask is not None:
            for at in FREE_TEXT:
                cells[at] = mask(cells[at]) if cells[at] else cells[at]
        return tuple(_storable(cell) if cell else cell for cell in cells)


COLUMNS = AttemptRecord._fields
FREE_TEXT = tuple(map(COLUMNS.index, ("error", "blocker", "decision", "executor", "approach")))


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        # A lone surrogate (undecodable output) cannot be stored in SQLite.
        return (
            value[:LONGEST]
            if value.isascii()
            else value[:LONGEST].encode("utf-8", "replace").decode()
        )
    if isinstance(value, float) and not math.isfinite(value):
        return 0.0
    return value
