"""What the history says at the moment it is needed. A history that cannot be read says nothing, and stops nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pytest_ralph.history import learning
from pytest_ralph.history.record import HistoryError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.history.learning import Chance, Risk, TimeLimit
    from pytest_ralph.history.store import History

T = TypeVar("T")


class Wisdom:
    """Questions to a history, each with an answer for when there is none."""

    def __init__(self, history: Callable[[], History], warn: Callable[[str], None]) -> None:
        self._history, self._warn = history, warn

    def hints(self, failure: Failure) -> tuple[str, ...]:
        """What to tell somebody who is about to fix this failure."""
        given = {"fingerprint": failure.fingerprint, "kind": failure.kind}
        return self._ask(lambda history: learning.hints(history, failure.error, **given), ())

    def chance(self, kind: str, executor: str) -> Chance | None:
        return self._ask(lambda history: learning.chance_of_fix(history, kind, executor), None)

    def prefers(self, kind: str, first: str, second: str) -> bool:
        """Whether `second` did better than `first` on this kind of failure, as far as enough cases show."""
        return self._ask(lambda history: learning.best_first(history, kind, [first, second])[0] == second, False)

    def time_limit(self, spec: str, task: str) -> TimeLimit | None:
        return self._ask(lambda history: learning.time_limit(history, spec, task), None)

    def risks(self, spec: str) -> Sequence[Risk]:
        """Tasks more likely to fail than to pass."""
        return self._ask(lambda history: learning.likely_to_fail(history, spec), ())

    def _ask(self, question: Callable[[History], T], otherwise: T) -> T:
        try:
            return question(self._history())
        except HistoryError as error:
            self._warn(str(error))
            return otherwise
