"""Budget: what executors may be used for in one pytest run, all specs and workers together.

`Outages` are the executors that are not used for the rest of the run.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import TYPE_CHECKING

from pytest_ralph.files import FileLock, append_json, read_json_lines

if TYPE_CHECKING:
    from pathlib import Path


class Budget:
    """A number of executor runs, and what they may cost.

    Counts in memory, or in a `file` (one byte per run) that several processes share. A spec may
    have a smaller budget of its own `within` that of the run. `max_cost` is in US dollars.
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
        self._costs = file.with_name(f"{file.name}.costs") if file else None
        self._within = within
        self._used = 0
        self._cost = 0.0
        self._lock = threading.Lock()

    @property
    def left(self) -> int:
        own = max(0, self.total - self._count())
        return own if self._within is None else min(own, self._within.left)

    def take(self) -> bool:
        """Use up one run; False if none is left."""
        with self._lock, self._alone():
            if self._count() >= self.total:
                return False
            if self._within is not None and not self._within.take():
                return False
            if self._file is None:
                self._used += 1
            else:
                with self._file.open("ab") as file:
                    file.write(b".")
            return True

    def give_back(self) -> None:
        """Return the run that `take` used up: its executor was in trouble and did no work."""
        if self._within is not None:
            self._within.give_back()
        with self._lock, self._alone():
            if self._file is None:
                self._used -= 1
            else:
                os.truncate(self._file, self._count() - 1)

    def spend(self, cost: float | None) -> None:
        """Add what an executor run cost; None if it did not report that."""
        if self._within is not None:
            self._within.spend(cost)
        elif cost:
            with self._lock, self._alone():
                self._cost += cost
                if self._costs is not None:
                    with self._costs.open("a", encoding="ascii") as file:
                        file.write(f"{cost!r}\n")

    @property
    def cost(self) -> float:
        """What all executor runs have cost so far."""
        if self._within is not None:
            return self._within.cost
        if self._costs is None:
            return self._cost
        if not self._costs.exists():
            return 0.0
        return sum(map(float, self._costs.read_text(encoding="ascii").split()))

    @property
    def is_cost_reached(self) -> bool:
        return self.max_cost is not None and self.cost >= self.max_cost

    @property
    def is_spent(self) -> bool:
        """Whether no executor may be run any more."""
        return self.is_cost_reached or self.left <= 0

    def _alone(self) -> contextlib.AbstractContextManager[object]:
        if self._file is None:
            return contextlib.nullcontext()
        self._file.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(self._file.with_name(f"{self._file.name}.lock"))

    def _count(self) -> int:
        if self._file is None:
            return self._used
        return self._file.stat().st_size if self._file.exists() else 0


class Outages:
    """Maps the names of executors in trouble to the reason.

    It is kept in memory, or in a `file` with one line per executor that several processes share.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._reasons: dict[str, str] = {}
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
        self._reasons[executor] = reason
        if self._file is not None:
            append_json(self._file, [executor, reason])

    def reason(self, executor: str) -> str | None:
        """Return why an executor is not used, or None if it can be."""
        if executor not in self._reasons and self._file is not None:
            self._reasons.update(read_json_lines(self._file))
        return self._reasons.get(executor)
