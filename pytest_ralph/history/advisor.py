"""Ask the history for advice while a run is going on."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pytest_ralph.history import learning
from pytest_ralph.history import stats as statistics
from pytest_ralph.history.record import HistoryError
from pytest_ralph.results import GOOD

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.history.learning import Chance, Risk, TimeLimit
    from pytest_ralph.history.record import Record
    from pytest_ralph.history.stats import Statistics
    from pytest_ralph.history.store import History
    from pytest_ralph.results import Attempt

T = TypeVar("T")
LATEST_ATTEMPTS = 500


class Advisor:
    """Answers questions from a history, with a neutral answer if the history cannot be read.

    A run must not suffer from a broken history: after the first error the advisor warns once and
    asks no more, since each further question might wait as long for its error as the first.
    """

    def __init__(self, history: Callable[[], History], warn: Callable[[str], None]) -> None:
        self._history = history
        self._warn = warn
        self._broken = False

    def hints(self, failure: Failure) -> tuple[str, ...]:
        """Return lines that help whoever is about to fix this failure."""
        return self._ask(
            lambda history: learning.hints(
                history, failure.error, fingerprint=failure.fingerprint, kind=failure.kind
            ),
            (),
        )

    def chance(self, kind: str, executor: str) -> Chance | None:
        """Return how probable it is that this executor fixes a failure of this kind."""
        return self._ask(lambda history: learning.chance_of_fix(history, kind, executor), None)

    def prefers(self, kind: str, first: str, second: str) -> bool:
        """Return whether `second` fixed this kind of failure more often than `first`."""
        return self._ask(lambda history: learning.is_better(history, kind, second, first), False)

    def time_limit(self, spec: str, task: str) -> TimeLimit | None:
        """Return a limit that the past passes of this task would have kept easily."""
        return self._ask(lambda history: learning.time_limit(history, spec, task), None)

    def lasting(self, spec: str, task: str, limit: float) -> tuple[str, ...]:
        """Return advice about a task that exceeded its time limit."""
        known = self.time_limit(spec, task)
        if known is None:
            return ()
        usual = f"95% of {known.cases} passes took at most {_seconds(known.p95)}"
        if limit >= known.seconds:
            return (f"{usual}: more time is unlikely to help",)
        return (f"{usual}: a limit of {known.seconds:g} s is enough",)

    def left_off(self, spec: str, task: str) -> Sequence[Attempt]:
        """Return what was tried on a task since it last passed or was given up."""
        return _after_last(_is_end, self._attempts(spec, task))

    def since_pass(self, spec: str, task: str) -> Sequence[Attempt]:
        """Return what was tried on a task since it last passed."""
        return _after_last(_is_pass, self._attempts(spec, task))

    def _attempts(self, spec: str, task: str) -> Sequence[Attempt]:
        nothing: list[Record] = []
        records = self._ask(
            lambda history: history.records(spec=spec, task=task, limit=LATEST_ATTEMPTS), nothing
        )
        return [record.attempt for record in records]

    def risks(self, spec: str) -> Sequence[Risk]:
        """Return the tasks that are more likely to fail than to pass."""
        return self._ask(lambda history: learning.likely_to_fail(history, spec), ())

    def statistics(self) -> Statistics | None:
        """Return the statistics of all recorded runs."""
        return self._ask(statistics.measure, None)

    def _ask(self, question: Callable[[History], T], default: T) -> T:
        """Answer a question; give the neutral answer `default` if the history is broken."""
        if self._broken:
            return default
        try:
            return question(self._history())
        except HistoryError as error:
            self._broken = True
            # Worded like the error of writing to the history, so that one note stands for both.
            self._warn(f"history is not recorded: {error}")
            return default


def _seconds(duration: float) -> str:
    if duration < 10:
        return f"{duration:.1f} s"
    return f"{duration:.0f} s"


def _after_last(
    is_end: Callable[[Attempt], bool], attempts: Sequence[Attempt]
) -> Sequence[Attempt]:
    for index in reversed(range(len(attempts))):
        if is_end(attempts[index]):
            return attempts[index + 1 :]
    return attempts


def _is_end(attempt: Attempt) -> bool:
    return attempt.outcome == "escalated" or _is_pass(attempt)


def _is_pass(attempt: Attempt) -> bool:
    return attempt.what == "verify" and attempt.outcome in GOOD
