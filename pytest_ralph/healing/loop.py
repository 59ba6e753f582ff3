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

from pytest_ralph.files import step
from pytest_ralph.healing.attempt import Attempts

if TYPE_CHECKING:
    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.healing.attempt_log import Journal, TaskResult
    from pytest_ralph.healing.decide import Decision
    from pytest_ralph.healing.failed_attempt import Setback
    from pytest_ralph.healing.remedy import Remedies
    from pytest_ralph.healing.services import Desk
    from pytest_ralph.healing.spec_files import Workspace
    from pytest_ralph.spec.task import Task

# More than the package itself ever asks for: a plugin that asks for more asks without end.
MAX_RETRIES = 10


class Loop:
    """One task of one spec in one run."""

    def __init__(
        self, desk: Desk, workspace: Workspace, task: Task, journal: Journal, *, recovery: bool
    ) -> None:
        self.desk, self.workspace, self.task, self.journal = desk, workspace, task, journal
        self.attempts = Attempts(desk, workspace, task, journal, recovery=recovery)
        self._retries = 0

    @cached_property
    def remedies(self) -> Remedies:
        """Made, and its room imported, with the first failure: a task that passes does without."""
        from pytest_ralph.healing.remedy import Remedies

        return Remedies(self.desk, self.workspace, self.task, self.journal)

    def recover(self, setback: Setback) -> TaskResult:
        """What comes after a first failed attempt, to the end."""
        while True:
            decision = self.decide(setback)
            given_up = (
                decision if decision.action == "escalate" else self._act(setback.failure, decision)
            )
            if given_up is not None:
                return self.escalate(setback.failure, given_up)
            step("before verifying again")
            again = self.attempts.verify()
            if again is None:
                return self.recovered()
            setback = again

    def decide(self, setback: Setback) -> Decision:
        decision = self.remedies.decide(self.task, setback)
        asked = (
            self.desk.ask(self.task, setback.failure, decision)
            if self.desk.ask is not None
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
        return self.remedies.decided(self.task, setback.failure, asked or decision)

    def _act(self, failure: Failure, decision: Decision) -> Decision | None:
        """None where it is worth verifying again; else the decision to give up."""
        if decision.action == "retry":
            self.attempts.give(decision.timeout)
            return None
        if decision.action == "continue":
            return self.remedies.carry_on(failure, decision)
        return self.remedies.fix(self.task, failure, decision)

    def recovered(self) -> TaskResult:
        fixes = self.workspace.passed(self.task, self.desk.options.max_fixes + 1)
        self.desk.hooks.recovered(self.task, fixes)
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
        self.desk.hooks.escalated(self.task, failure, decision.reason)
        return self.journal.ended(
            "regression" if self.task.checked else "failed", decision.reason, final
        )
