"""The loop for one task: verify; on a failure decide, have it fixed, verify again; until it passes or nothing helps.

verify ──passes──▶ done
  │ fails
  ▼
decide ──escalate──▶ failed
  │ fix, repair, …
  ▼
fix task in tasks.md ──▶ carried out ──well──▶ verify (the original, once)
                              │ not well
                              └──▶ decide about the fix itself (a fix of the fix), one level deeper
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_ralph.files import fault_point
from pytest_ralph.healing.attempt import Attempts

if TYPE_CHECKING:
    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.healing.attempt_log import AttemptLog
    from pytest_ralph.healing.decide import Decision
    from pytest_ralph.healing.failed_attempt import FailedAttempt
    from pytest_ralph.healing.remedy import Remedies
    from pytest_ralph.healing.services import Services
    from pytest_ralph.healing.spec_files import SpecFiles
    from pytest_ralph.results import TaskResult
    from pytest_ralph.spec.task import Task

# More than the package itself ever asks for: a plugin that asks for more asks without end.
MAX_RETRIES = 10


class Loop:
    """One task of one spec in one run."""

    def __init__(
        self,
        services: Services,
        spec_files: SpecFiles,
        task: Task,
        attempt_log: AttemptLog,
        *,
        recovery: bool,
    ) -> None:
        self.services, self.spec_files, self.task, self.attempt_log = (
            services,
            spec_files,
            task,
            attempt_log,
        )
        self.attempts = Attempts(services, spec_files, task, attempt_log, recovery=recovery)
        self._retries = 0

    @cached_property
    def remedies(self) -> Remedies:
        """Made, and its room imported, with the first failure: a task that passes does without."""
        from pytest_ralph.healing.remedy import Remedies

        return Remedies(self.services, self.spec_files, self.task, self.attempt_log)

    def recover(self, failed_attempt: FailedAttempt) -> TaskResult:
        """What comes after a first failed attempt, to the end."""
        while True:
            decision = self.decide(failed_attempt)
            given_up = (
                decision
                if decision.action == "escalate"
                else self._act(failed_attempt.failure, decision)
            )
            if given_up is not None:
                return self.escalate(failed_attempt.failure, given_up)
            fault_point("before verifying again")
            again = self.attempts.verify()
            if again is None:
                return self.recovered()
            failed_attempt = again

    def decide(self, failed_attempt: FailedAttempt) -> Decision:
        decision = self.remedies.decide(self.task, failed_attempt)
        asked = (
            self.services.ask(self.task, failed_attempt.failure, decision)
            if self.services.ask is not None
            else None
        )
        if asked is None and decision.action == "retry":
            self._retries += 1
            if self._retries > MAX_RETRIES:
                decision = replace(
                    decision,
                    action="escalate",
                    reason=f"tried again {MAX_RETRIES} times, to no avail",
                )
        return self.remedies.decided(self.task, failed_attempt.failure, asked or decision)

    def _act(self, failure: Failure, decision: Decision) -> Decision | None:
        """None where it is worth verifying again; else the decision to give up."""
        if decision.action == "retry":
            self.attempts.give(decision.timeout)
            return None
        if decision.action == "continue":
            return self.remedies.carry_on(failure, decision)
        return self.remedies.fix(self.task, failure, decision)

    def recovered(self) -> TaskResult:
        fixes = self.spec_files.passed(self.task, self.services.options.max_fixes + 1)
        self.services.hooks.recovered(self.task, fixes)
        return self.attempt_log.ended(
            "recovered", f"recovered by {', '.join(fixes)}" if fixes else "passed when tried again"
        )

    def escalate(self, failure: Failure, decision: Decision) -> TaskResult:
        if decision.final == "skipped":
            return self.attempt_log.ended("skipped", decision.reason)
        if decision.final == "circular":
            failure = self.attempt_log.found_circular()
        self.attempt_log.say(*decision.lines)
        final = "" if decision.final == "no executor" else decision.final
        self.spec_files.gave_up(self.task, final)
        self.services.hooks.escalated(self.task, failure, decision.reason)
        return self.attempt_log.ended(
            "regression" if self.task.checked else "failed", decision.reason, final
        )
