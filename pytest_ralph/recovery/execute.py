"""Executing a whole task: the executor does it, Verify decides; tried again with the error, then it stops."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.recovery.decide import Decision

if TYPE_CHECKING:
    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.recovery.decide import Action
    from pytest_ralph.recovery.loop import Loop


class Execution:
    """One unchecked task, done and verified. `lines` say so when the tries are used up."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.lines: tuple[str, ...] = ()

    @property
    def tries(self) -> int:
        """By default one, and one more with the error in hand; a state file may say otherwise."""
        return max(1, self.loop.workspace.state.number("maxTaskIterations"))

    def run(self) -> Failure | None:
        """None when the task passes; else why it does not, after as many tries as there are."""
        failure: Failure | None = None
        for number in range(self.tries):
            failure = self._once(failure, "retry" if number else "execute")
            if failure is None:
                return None
            if not failure.retryable or self.loop.desk.budget.left <= 0:
                break
        self.lines = (f"ERROR: Max retries reached for task {self.loop.task.id} after {self.tries} attempts",)
        return failure

    def _once(self, before: Failure | None, action: Action) -> Failure | None:
        loop = self.loop
        options = loop.desk.options
        past = loop.remedies.past(loop.task, before, timeout=options.executor_timeout)
        if not loop.desk.budget.take():
            return loop.attempts.verify()[1]
        outcome = loop.remedies.delegation.carry_out(
            loop.task, before, Decision(action, ""), past, options.executor_timeout
        )
        if outcome.interrupted:
            raise KeyboardInterrupt
        _, failure = loop.attempts.verify()
        if failure is None and not outcome.completed:
            loop.journal.say(f"{loop.task.id}: the executor says it failed, but Verify passes")
        if failure is not None and outcome.failure is not None:
            # Nothing was done: what stopped the executor says more than a check of what is not there.
            return replace(outcome.failure, raw_output=outcome.failure.raw_output or failure.raw_output)
        return failure
