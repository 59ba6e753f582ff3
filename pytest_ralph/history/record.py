"""A `Record`: one attempt as the history stores it, with the run, spec and task it belongs to.

Observations (`verify`, `execute`) state how a task fared. Remedies (`fix`, `repair`, `retry`)
answer a failure: their kind, type, category, error and fingerprint are those of the failure they
answer, and their task is the original one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ralph.results import Attempt

if TYPE_CHECKING:
    from collections.abc import Callable

OBSERVATIONS = ("verify", "execute")

LONGEST = 2000
# The largest number that SQLite can store.
LARGEST = 2**63 - 1

# Column → field of the attempt. `time` is the end of the attempt, in seconds since the epoch.
_FIELDS = {
    "number": "number",
    "what": "what",
    "kind": "kind",
    "type": "type",
    "category": "category",
    "error": "error",
    "fingerprint": "fingerprint",
    "blocker": "blocked_on",
    "duration": "duration",
    "decision": "decision",
    "fix": "fix_id",
    "executor": "executor",
    "outcome": "outcome",
    "commit": "commit",
    "prediction": "prediction",
    "approach": "approach",
    "tree": "tree",
    "timeout": "timeout",
    "session": "session_id",
    "cost": "cost",
    "tokens": "tokens",
}
_OWN_COLUMNS = ("run", "spec", "task", "time")
_MASKED = ("error", "blocked_on", "decision", "executor", "approach")
COLUMNS = (*_OWN_COLUMNS, *_FIELDS)


class HistoryError(Exception):
    """One clear line; a run goes on without its history."""


class Record(NamedTuple):
    """One row of the history."""

    run: str
    spec: str
    task: str
    attempt: Attempt

    @property
    def routine(self) -> bool:
        """A plain pass, which may wait for the next flush; anything else is written at once."""
        return self.attempt.outcome == "passed" and self.attempt.what in OBSERVATIONS

    @property
    def time(self) -> float:
        return self.attempt.started + self.attempt.duration

    def row(self, mask: Callable[[str], str] | None = None) -> tuple[Any, ...]:
        """The cells in the order of COLUMNS, with `mask` applied to what people and tools wrote."""
        cells: list[Any] = [self.run, self.spec, self.task, self.time]
        for field in _FIELDS.values():
            value = getattr(self.attempt, field)
            if value and field in _MASKED and mask is not None:
                value = mask(value)
            cells.append(value)
        return tuple(map(_storable, cells))

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Record:
        cells = dict(zip(COLUMNS, row, strict=True))
        facts = {field: cells[column] for column, field in _FIELDS.items()}
        attempt = Attempt(started=cells["time"] - cells["duration"], **facts)
        return cls(cells["run"], cells["spec"], cells["task"], attempt)


def _storable(value: Any) -> Any:
    """Return a value as SQLite can store it, and a long text cut."""
    if isinstance(value, str):
        # A lone surrogate, which undecodable output leaves behind, has no UTF-8 form.
        return value[:LONGEST].encode("utf-8", "replace").decode()
    if isinstance(value, float) and not math.isfinite(value):
        return 0.0
    if isinstance(value, int):
        # An executor may report any number.
        return max(-LARGEST, min(value, LARGEST))
    return value
