"""Executing a whole task: the executor does it, Verify decides; tried again with the error, then it stops."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.healing.decide import Decision

if TYPE_CHECKING:
    from pytest_ralph.healing.failed_attempt import FailedAttempt
    from pytest_ralph.healing.loop import Loop
    from pytest_ralph.healing.remedy import Undone


class Execution:
    """One unchecked task, done and verified. `lines` say why it is not tried once more."""

    def __init__(self, loop: Loop) -> None:
        self.loop, self.task = loop, loop.task
        self.lines: tuple[str, ...] = ()

    @property
    def tries(self) -> int:
        """By default one, and one more with the error in hand; a state file may say otherwise."""
        return max(1, self.loop.spec_files.state.number("maxTaskIterations"))

    def run(self) -> FailedAttempt | None:
        """None when the task passes; else why it does not, after as many tries as there are."""
        failed_attempt: FailedAttempt | None = None
        for number in range(1, self.tries + 1):
            undone = self._have_it_done(failed_attempt, number)
            failed_attempt = self._verified(undone)
            if failed_attempt is None or self._is_over(failed_attempt, undone, number):
                break
        return failed_attempt

    def _have_it_done(self, before: FailedAttempt | None, number: int) -> Undone | None:
        remedies = self.loop.remedies
        past = replace(remedies.past(self.task), attempt=number, attempts=self.tries)
        decision = Decision("retry" if before else "execute", "")
        failure = before.failure if before else None
        return remedies.carry_out(self.task, failure, decision, past, past.timeout)

    def _verified(self, undone: Undone | None) -> FailedAttempt | None:
        failed_attempt = self.loop.attempts.verify()
        if undone is None or undone.failed_attempt is None:
            return failed_attempt
        if failed_attempt is None:
            self.loop.attempt_log.say(
                f"{self.task.id}: the executor says it failed, but Verify passes"
            )
            return None
        # Nothing was done: what stopped the executor says more than a check of what is not there.
        failure = undone.failed_attempt.failure
        seen = replace(failure, raw_output=failure.raw_output or failed_attempt.failure.raw_output)
        return replace(undone.failed_attempt, failure=seen)

    def _is_over(self, failed_attempt: FailedAttempt, undone: Undone | None, number: int) -> bool:
        if undone is not None and undone.failed_attempt is None:
            self.lines = undone.decision.lines
        elif not failed_attempt.failure.retryable:
            self.lines = (
                f"{self.task.id}: not tried again: {failed_attempt.failure.kind} needs a person",
            )
        elif number == self.tries:
            self.lines = (
                f"ERROR: Max retries reached for task {self.task.id} after {number} attempts",
            )
        return bool(self.lines)
