"""A FailedAttempt: one failed attempt, as what is done about it depends on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph.failure.failure import Failure


@dataclass(frozen=True, kw_only=True)
class FailedAttempt:
    """A failed attempt: the failure, and what was given for it. Of an executor, or of a task's own Verify."""

    failure: Failure
    timeout: float
    # How often the time was doubled before.
    doublings: int = 0
    # Something was printed or written, so that more time may help.
    progress: bool = False
    by_executor: bool = False
