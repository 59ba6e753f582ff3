"""Budget: what executors may be used for in one pytest run, all specs and workers together.

`Outages` are the executors that are not used for the rest of the run.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

from pytest_ralph.files import FileLock, append_json, read_json_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class SharedLog:
    """Values that are only ever added, in memory or in a `file` that several processes share."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._values: list[Any] = []

    def add(self, value: object) -> None:
        if self._file is None:
            self._values.append(value)
        else:
            append_json(self._file, value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values) if self._file is None else read_json_lines(self._file)


class Budget:
    """A number of executor runs, and what they may cost.

    With a `file`, several processes share it. A spec may have a smaller budget of its own `within`
    that of the run. `max_cost` is in US dollars.
    """

    def __init__(
        self,
        total: int,
        file: Path | None = None,
        *,
        within: Budget | None = None,
        max_cost: float | None = None,
    ) -> None:
        self.total = total
        self.max_cost: float | None = within.max_cost if within else max_cost
        self._file = file
        self._within = within
        # 1 for each run, and -1 for each that was given back.
        self._runs = SharedLog(file)
        self._costs = SharedLog(file.with_name(f"{file.name}.costs") if file else None)
        self._lock = threading.Lock()

    @property
    def left(self) -> int:
        own = max(0, self.total - sum(self._runs))
        return own if self._within is None else min(own, self._within.left)

    @property
    def spent_total(self) -> int:
        """How many runs the budget that is used up allowed: this one or that of the run."""
        if self._within is not None and self._within.left <= 0:
            return self._within.spent_total
        return self.total

    def take(self) -> bool:
        """Use up one run; False if none is left."""
        with self._lock, self._alone():
            if sum(self._runs) >= self.total:
                return False
            if self._within is not None and not self._within.take():
                return False
            self._runs.add(1)
            return True

    def _alone(self) -> contextlib.AbstractContextManager[object]:
        if self._file is None:
            return contextlib.nullcontext()
        self._file.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(self._file.with_name(f"{self._file.name}.lock"))

    def give_back(self) -> None:
        """Return the run that `take` used up: its executor was in trouble and did no work."""
        if self._within is not None:
            self._within.give_back()
        self._runs.add(-1)

    def spend(self, cost: float | None) -> None:
        """Add what an executor run cost; None if it did not report that.

        What is no amount, such as NaN, would make the limit useless.
        """
        if self._within is not None:
            self._within.spend(cost)
        elif cost is not None and cost > 0:
            self._costs.add(cost)

    @property
    def cost(self) -> float:
        """What all executor runs have cost so far."""
        return sum(self._costs, 0.0) if self._within is None else self._within.cost

    @property
    def is_cost_reached(self) -> bool:
        return self.max_cost is not None and self.cost >= self.max_cost

    @property
    def is_spent(self) -> bool:
        """Whether no executor may be run any more."""
        return self.is_cost_reached or self.left <= 0


class Outages:
    """The executors in trouble, and the reasons; with a `file`, several processes share them."""

    def __init__(self, file: Path | None = None) -> None:
        self._reasons = SharedLog(file)
        # When an executor has ended without trouble last, in seconds of the monotonic clock.
        self._worked: dict[str, float] = {}

    def note_work(self, executor: str) -> None:
        """Note that an executor has just ended without trouble."""
        self._worked[executor] = time.monotonic()

    def has_worked_since(self, executor: str, moment: float) -> bool:
        """Return whether another run of an executor has ended without trouble since then."""
        return self._worked.get(executor, 0.0) > moment

    def add(self, executor: str, reason: str) -> None:
        """Stop using an executor."""
        self._reasons.add((executor, reason))

    def reason(self, executor: str) -> str | None:
        """Return why an executor is not used, or None if it can be."""
        return dict(self._reasons).get(executor)
