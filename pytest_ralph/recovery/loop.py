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

from pytest_ralph.disk import step
from pytest_ralph.recovery.attempt import Attempts

if TYPE_CHECKING:
    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.recovery.decide import Decision
    from pytest_ralph.recovery.desk import Desk
    from pytest_ralph.recovery.journal import Journal, TaskResult
    from pytest_ralph.recovery.remedy import Remedies
    from pytest_ralph.recovery.workspace import Workspace
    from pytest_ralph.spec.task import Task


class Loop:
    """One task of one spec in one run."""

    def __init__(self, desk: Desk, workspace: Workspace, task: Task, journal: Journal, *, recovery: bool) -> None:
        self.desk, self.workspace, self.task, self.journal = desk, workspace, task, journal
        self.attempts = Attempts(desk, workspace, task, journal, recovery=recovery)

    @cached_property
    def remedies(self) -> Remedies:
        """Made, and its room imported, with the first failure: a task that passes does without."""
        from pytest_ralph.recovery.remedy import Remedies

        return Remedies(self.desk, self.workspace, self.task, self.journal)

    def recover(self, failure: Failure) -> TaskResult:
        """What comes after a first failed attempt, to the end."""
        while True:
            decision = self.decide(failure)
            if decision.action == "escalate":
                return self.escalate(failure, decision)
            if decision.action == "retry":
                self.attempts.timeout = decision.timeout or self.attempts.timeout
            elif given_up := self.remedies.fix(self.task, failure, decision):
                return self.escalate(failure, given_up)
            step("before verifying again")
            _, again = self.attempts.verify()
            if again is None:
                return self.recovered()
            failure = again

    def decide(self, failure: Failure) -> Decision:
        past = self.remedies.past(self.task, failure, timeout=self.attempts.timeout)
        past = replace(past, doublings=self.attempts.doublings, made_progress=self.attempts.made_progress)
        return self.remedies.decide(self.task, failure, past)

    def recovered(self) -> TaskResult:
        fixes = self.workspace.passed(self.task, self.desk.options.max_fixes + 1)
        self.desk.hook.pytest_ralph_recovered(task=self.task, fixes=fixes)
        return self.journal.ended(
            "recovered", f"recovered by {', '.join(fixes)}" if fixes else "passed when tried again"
        )

    def escalate(self, failure: Failure, decision: Decision) -> TaskResult:
        if decision.final == "skipped":
            return self.journal.ended("skipped", decision.reason)
        if decision.final == "circular":
            failure = self.journal.found_circular()
        self.journal.say(*decision.lines)
        final = "" if decision.final == "no executor" else decision.final
        self.workspace.gave_up(self.task, final)
        self.desk.hook.pytest_ralph_escalated(task=self.task, failure=failure, reason=decision.reason)
        return self.journal.ended("regression" if self.task.checked else "failed", decision.reason, final)
