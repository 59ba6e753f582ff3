"""Remedies for one task: what may be done about a failure, and having it done, down to fixes of fixes."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.disk import step
from pytest_ralph.fixing.repair import find_repair
from pytest_ralph.recovery.decide import Decision, Past, decide
from pytest_ralph.recovery.delegation import Delegation
from pytest_ralph.recovery.fixtask import make_fix_task, make_split_tasks, steps

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.fixing.repair import Repair
    from pytest_ralph.recovery.desk import Desk
    from pytest_ralph.recovery.journal import Journal
    from pytest_ralph.recovery.workspace import Workspace
    from pytest_ralph.spec.task import Task


class Remedies:
    """Everything tried for one original task in one run."""

    def __init__(self, desk: Desk, workspace: Workspace, task: Task, journal: Journal) -> None:
        self.desk, self.workspace, self.task, self.journal = desk, workspace, task, journal
        self.delegation = Delegation(desk, workspace, journal)
        self._repaired: set[str] = set()
        self._continuations = 0
        self._actions: set[str] = set()

    # Deciding

    def past(self, target: Task, failure: Failure | None, *, timeout: float) -> Past:
        """What a decision about `target`, the original or one of its fixes, has to know."""
        repair = self._repair_for(target, failure) if failure else None
        waiting = self.workspace.waiting_fix(target)
        options = self.desk.options
        return Past(
            task_id=target.id,
            depth=depth_of(target, self.task),
            fixes=self.workspace.fixes_of(target),
            waiting=waiting.id if waiting else None,
            max_fixes=options.max_fixes,
            max_depth=options.max_depth,
            budget=self.desk.budget.total,
            budget_left=self.desk.budget.left,
            has_agent=self.desk.has_agent,
            repair=repair.name if repair else None,
            rollback=options.rollback,
            steps=len(steps(self.task)),
            continuations=self._continuations,
            enriched="enrich" in self._actions,
            split="split" in self._actions,
            timeout=timeout,
            approaches=tuple(self.journal.approaches),
            fingerprints=tuple(failure.fingerprint for failure in self.journal.failures),
            trees=tuple(self.journal.trees),
            spec=self.workspace.spec.name,
            spec_path=self.workspace.spec.path,
            tried=tuple(self.journal.tried_before),
            learnings=tuple(self.workspace.learnings()),
        )

    def decide(self, target: Task, failure: Failure, past: Past) -> Decision:
        decision: Decision = self.desk.hook.pytest_ralph_decide(failure=failure, task=target, history=past)
        if self.desk.ask is not None and target is self.task:
            decision = self.desk.ask(target, failure, decision) or decision
        self.journal.decided(decision.reason)
        self._continuations += decision.action == "continue"
        self._actions.add(decision.action)
        return decision

    def _repair_for(self, target: Task, failure: Failure) -> Repair | None:
        """A built-in repair that applies to the original's own failure and was not made yet."""
        if target is not self.task or self.desk.options.executor == "none":
            return None
        found = find_repair(
            failure,
            self.desk.root,
            self.desk.options.repair,
            directory=self._directory(failure),
            environ=self.desk.runner.environ,
        )
        if found is None or found.command in self._repaired:
            return None
        agent = self.desk.executor_name
        if self.desk.has_agent and self.desk.wisdom.prefers(failure.kind, f"repair:{found.name}", agent):
            return None
        return found

    def _directory(self, failure: Failure) -> Path | None:
        """Where the command that failed was run, if its Verify names another place than the root."""
        named = (check.directory for check in self.task.verify.checks if check.command == failure.command)
        return next((self.desk.root / directory for directory in named if directory), None)

    # Fixing

    def fix(self, target: Task, failure: Failure, decision: Decision) -> Decision | None:
        """Have `target` fixed. None when a fix was completed; else the decision to give up."""
        if decision.action == "rollback":
            self.journal.say(*self.desk.roll_back(self.workspace, target))
        if decision.action == "split":
            return self._split_up(failure)
        fix = self._fix_task(target, failure, edit=decision.edit)
        if decision.action == "repair":
            return self._repair(target, fix, failure)
        if not self.desk.has_agent:
            return nobody(fix, self.desk.options.executor)
        return self._execute(target, fix, failure, decision)

    def _fix_task(self, target: Task, failure: Failure, *, edit: bool) -> Task:
        """The open fix of `target` that waits to be carried out, else a new one."""
        with self.workspace.lock:
            fix = self.workspace.open_fix(target)
            if fix is None:
                fix_id = self.workspace.next_id(target)
                block = self._block(target, failure, fix_id)
                if edit and self.desk.edit is not None:
                    block = self.desk.edit(block)
                fix = self.workspace.insert(target, fix_id, block, failure.error)
                self.desk.hook.pytest_ralph_fix_inserted(task=target, fix=fix, failure=failure)
        self.journal.fix_planned(fix, target.id, self.desk.executor_name)
        step("after a fix task is in place")
        return fix

    def _block(self, target: Task, failure: Failure, fix_id: str) -> str:
        told: str | None = self.desk.hook.pytest_ralph_fix_task(task=target, failure=failure, number=fix_id)
        if told is not None:
            return told
        spec = self.workspace.spec
        directory = os.path.relpath(spec.directory, self.desk.root)
        template = self.desk.prompts.templates.source("fixtask", failure.kind)
        return make_fix_task(target, failure, fix_id, spec_name=spec.name, directory=directory, template=template)

    def _repair(self, target: Task, fix: Task, failure: Failure) -> Decision | None:
        """A repair that was made counts as the fix; one that could not be made leaves its fix task open."""
        repair = self._repair_for(target, failure)
        assert repair is not None
        self._repaired.add(repair.command)
        chance = self.desk.wisdom.chance(failure.kind, f"repair:{repair.name}")
        backup = self.desk.backups / f"{self.workspace.spec.name}-{fix.id}"
        result = repair.apply(self.desk.runner, self.desk.root, backup)
        prediction = chance.probability if chance else None
        self.journal.repaired(fix, failure, repair, result.note, made=result.made, prediction=prediction)
        if result.made:
            self.workspace.executed(fix)
        return None

    def _execute(self, target: Task, fix: Task, failure: Failure, decision: Decision) -> Decision | None:
        """Have a fix task carried out, for longer or in a new session where that can help; else fix the fix."""
        timeout, doublings = self.desk.options.executor_timeout, 0
        while True:
            past = self.past(target, failure, timeout=timeout)
            if not self.desk.budget.take():
                return decide(failure, replace(past, budget_left=0, repair=None))
            outcome = self.delegation.carry_out(fix, failure, decision, past, timeout)
            if outcome.completed:
                self.workspace.executed(fix)
                return None
            if outcome.interrupted:
                raise KeyboardInterrupt
            assert outcome.failure is not None
            failure = outcome.failure
            past = replace(
                self.past(fix, failure, timeout=timeout), doublings=doublings, made_progress=outcome.progress
            )
            decision = self.decide(fix, failure, past)
            if decision.action == "escalate":
                return decision
            if decision.action not in ("retry", "continue"):
                given_up = self.fix(fix, failure, decision)
                if given_up is None:
                    self.workspace.executed(fix)
                return given_up
            if decision.action == "continue":
                self.journal.say(*self.desk.keep_progress(self.workspace, self.task))
            timeout, doublings = decision.timeout or timeout, doublings + (decision.action == "retry")

    def _split_up(self, failure: Failure) -> Decision | None:
        """One sub-task a step of Do, each carried out with its share of the time."""
        timeout = self.desk.options.executor_timeout
        for at, block in enumerate(make_split_tasks(self.task, self.workspace.next_id(self.task), timeout=timeout)):
            part_id = self.workspace.next_id(self.task)
            part = self.workspace.insert(self.task, part_id, block, failure.error, counts=False)
            self.journal.fix_planned(part, self.task.id, self.desk.executor_name)
            share = timeout / max(1, len(steps(self.task)))
            given_up = self._execute_part(part, failure, share)
            if given_up:
                return replace(given_up, reason=f"step {at + 1}: {given_up.reason}")
        return None

    def _execute_part(self, part: Task, failure: Failure, timeout: float) -> Decision | None:
        past = self.past(self.task, failure, timeout=timeout)
        if not self.desk.budget.take():
            return decide(failure, replace(past, budget_left=0, repair=None))
        outcome = self.delegation.carry_out(part, None, Decision("split", ""), past, timeout)
        if not outcome.completed:
            assert outcome.failure is not None
            return Decision("escalate", f"{part.id} did not complete: {outcome.failure.error}", "not retryable")
        self.workspace.executed(part)
        return None


def depth_of(target: Task, original: Task) -> int:
    return target.id.rstrip(".").count(".") - original.id.rstrip(".").count(".")


def nobody(fix: Task, executor: str) -> Decision:
    """The fix task stands in tasks.md, and it is for a person to do it."""
    why = "no built-in repair applies" if executor == "repair" else "there is no executor"
    lines = (
        f"Next: do task {fix.id} ({fix.title}), then run the same command again.",
        "Or have an agent do it: --ralph-executor claude (codex, gemini, opencode, aider, …, or any command line).",
    )
    return Decision("escalate", f"{why}: task {fix.id} waits in tasks.md", "no executor", lines=lines)
