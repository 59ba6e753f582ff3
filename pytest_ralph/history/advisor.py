"""What the history says at the moment it is needed. A history that cannot be read says nothing, and stops nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pytest_ralph.history import learning
from pytest_ralph.history import stats as statistics
from pytest_ralph.history.record import GOOD, HistoryError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.history.learning import Chance, Risk, TimeLimit
    from pytest_ralph.history.record import Record
    from pytest_ralph.history.stats import Statistics
    from pytest_ralph.history.store import History
    from pytest_ralph.results import Attempt

T = TypeVar("T")
MOST_OF_A_TASK = 500


class Advisor:
    """Questions to a history, each with an answer for when there is none. After one that failed, none is asked."""

    def __init__(self, history: Callable[[], History], warn: Callable[[str], None]) -> None:
        self._history, self._warn = history, warn
        # Each further question might wait as long for its error as the first.
        self._silent = False

    def hints(self, failure: Failure) -> tuple[str, ...]:
        """What to tell somebody who is about to fix this failure."""
        given = {"fingerprint": failure.fingerprint, "kind": failure.kind}
        return self._ask(lambda history: learning.hints(history, failure.error, **given), ())

    def chance(self, kind: str, executor: str) -> Chance | None:
        return self._ask(lambda history: learning.chance_of_fix(history, kind, executor), None)

    def prefers(self, kind: str, first: str, second: str) -> bool:
        """Whether `second` did better than `first` on this kind of failure, as far as enough cases show."""
        return self._ask(
            lambda history: learning.best_first(history, kind, [first, second])[0] == second, False
        )

    def time_limit(self, spec: str, task: str) -> TimeLimit | None:
        return self._ask(lambda history: learning.time_limit(history, spec, task), None)

    def lasting(self, spec: str, task: str, limit: float) -> tuple[str, ...]:
        """What to tell about a task that took longer than `limit`."""
        known = self.time_limit(spec, task)
        if known is None:
            return ()
        usual = f"It usually takes {_seconds(known.p95)} at most (of {known.cases} passes)"
        so = (
            "more time will hardly help"
            if limit >= known.seconds
            else f"a limit of {known.seconds:g} s would do"
        )
        return (f"{usual}: {so}",)

    def left_off(self, spec: str, task: str) -> Sequence[Attempt]:
        """Everything tried on a task since it last passed or was given up."""
        nothing: list[Record] = []
        records = self._ask(
            lambda history: history.records(spec=spec, task=task, limit=MOST_OF_A_TASK), nothing
        )
        attempts = [record.attempt for record in records]
        start = 0
        for at, attempt in enumerate(attempts, 1):
            if attempt.outcome == "escalated" or _is_good(attempt):
                start = at
        return attempts[start:]

    def risks(self, spec: str) -> Sequence[Risk]:
        """Tasks more likely to fail than to pass."""
        return self._ask(lambda history: learning.likely_to_fail(history, spec), ())

    def statistics(self) -> Statistics | None:
        return self._ask(statistics.measure, None)

    def _ask(self, question: Callable[[History], T], otherwise: T) -> T:
        if self._silent:
            return otherwise
        try:
            return question(self._history())
        except HistoryError as error:
            self._silent = True
            # In the words of the history itself, which finds out when it is written: one note is enough.
            self._warn(f"history is not kept: {error}")
            return otherwise


def _seconds(duration: float) -> str:
    return f"{duration:.1f} s" if duration < 10 else f"{duration:.0f} s"


def _is_good(attempt: Attempt) -> bool:
    return attempt.what == "verify" and attempt.outcome in GOOD
