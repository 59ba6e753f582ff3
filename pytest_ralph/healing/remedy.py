"""Remedies for one task: what may be done about a failure, and having it done, down to fixes of fixes."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_ralph.files import step
from pytest_ralph.fixing.repair import find_repair
from pytest_ralph.healing.decide import AGAIN, Decision, Past, spent
from pytest_ralph.healing.delegation import Delegation, foretell
from pytest_ralph.healing.errors import FixTaskError
from pytest_ralph.healing.failed_attempt import Setback
from pytest_ralph.healing.fix_task import is_fix_task, make_fix_task, make_split_tasks, steps

if TYPE_CHECKING:
    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.fixing.repair import Repair
    from pytest_ralph.healing.attempt_log import Journal
    from pytest_ralph.healing.services import Desk
    from pytest_ralph.healing.spec_files import Workspace
    from pytest_ralph.spec.task import Task


@dataclass(frozen=True)
class Undone:
    """A task its executor did not carry out, and what is to be done about that. No setback: it was never begun."""

    decision: Decision
    setback: Setback | None = None


class Remedies:
    """Everything tried for one original task in one run."""

    def __init__(self, desk: Desk, workspace: Workspace, task: Task, journal: Journal) -> None:
        self.desk, self.workspace, self.task, self.journal = desk, workspace, task, journal
        self.delegation = Delegation(desk, workspace, journal)
        self._continuations = 0
        self._enriched = False

    # Deciding

    def past(self, target: Task, setback: Setback | None = None) -> Past:
        """What a decision about `target`, the original or one of its fixes, has to know; and its executor."""
        repair = (
            self._repair_for(target, setback.failure)
            if setback and not setback.by_executor
            else None
        )
        options, parts = self.desk.options, self.workspace.parts_of(self.task)
        return Past(
            task_id=target.id,
            depth=depth_of(target, self.task),
            fixes=self.workspace.fixes_of(target),
            max_fixes=options.max_fixes,
            max_depth=options.max_depth,
            budget=self.desk.budget.total,
            budget_left=self.desk.budget.left,
            has_agent=self.desk.has_agent,
            repair=repair.name if repair else None,
            rollback=options.rollback,
            steps=len(steps(self.task)),
            doublings=setback.doublings if setback else 0,
            continuations=self._continuations,
            enriched=self._enriched,
            split=bool(parts) and not self.workspace.open_parts(self.task),
            made_progress=bool(setback and setback.progress),
            by_executor=bool(setback and setback.by_executor),
            timeout=setback.timeout if setback else options.executor_timeout,
            approaches=tuple(self.journal.approaches),
            fingerprints=tuple(self.journal.fingerprints),
            trees=tuple(self.journal.trees),
            spec=self.workspace.spec.name,
            spec_path=self.workspace.spec.path,
            tried=tuple(self.journal.tried_before),
            learnings=tuple(self.workspace.learnings()),
        )

    def decide(self, target: Task, setback: Setback) -> Decision:
        return self.desk.hooks.decide(setback.failure, target, self.past(target, setback))

    def decided(self, target: Task, failure: Failure, decision: Decision) -> Decision:
        """It is going to be done: shown, stored, and counted where there is a bound to it."""
        self.journal.decided(target, failure, decision)
        self._continuations += decision.action == "continue"
        self._enriched |= decision.action == "enrich"
        return decision

    def _repair_for(self, target: Task, failure: Failure) -> Repair | None:
        """A built-in repair that applies to the original's own failure and was not made yet."""
        if target is not self.task or self.desk.options.executor == "none":
            return None
        found = find_repair(failure, self.desk.root, self.desk.options.repair)
        if found is None or found.command in self.journal.repairs:
            return None
        agent = self.desk.executor_name
        if self.desk.has_agent and self.desk.wisdom.prefers(
            failure.kind, f"repair:{found.name}", agent
        ):
            return None
        return found

    # Having a task carried out

    def carry_out(
        self, task: Task, failure: Failure | None, decision: Decision, past: Past, timeout: float
    ) -> Undone | None:
        """Have an executor do `task`: again while more time, a new session or more context can help."""
        doublings = 0
        while True:
            if not self.desk.budget.take():
                return Undone(spent(past))
            started = time.time()
            outcome = self.delegation.run(task, failure, decision, past, timeout)
            if outcome is None:
                return Undone(nobody(task, self.desk.options.executor))
            if outcome.completed:
                if task is not self.task:
                    self.workspace.executed(task)
                return None
            assert outcome.failure is not None
            failure = outcome.failure
            progress = failure.timed_out and (outcome.progress or self.desk.written_since(started))
            setback = Setback(
                failure=failure,
                timeout=timeout,
                doublings=doublings,
                progress=progress,
                by_executor=True,
            )
            decision = self.decide(task, setback)
            if decision.action not in AGAIN:
                return Undone(decision, setback)
            self.decided(task, failure, decision)
            if decision.action == "continue":
                self.journal.say(*self.desk.keep_progress(self.workspace, self.task))
            timeout, doublings = (
                decision.timeout or timeout,
                doublings + (decision.action == "retry"),
            )

    def carry_on(self, failure: Failure, decision: Decision) -> Decision | None:
        """Continue the original itself in a new run of the executor: no fix. None when it was carried out."""
        past, timeout = self.past(self.task), self.desk.options.executor_timeout
        return self._after(self.task, self.carry_out(self.task, failure, decision, past, timeout))

    def _after(self, task: Task, undone: Undone | None) -> Decision | None:
        """What an executor did not carry out is fixed, or given up."""
        if undone is None:
            return None
        if undone.setback is None:
            return undone.decision
        self.decided(task, undone.setback.failure, undone.decision)
        if undone.decision.action == "escalate":
            return undone.decision
        return self.fix(task, undone.setback.failure, undone.decision)

    # Fixing

    def fix(self, target: Task, failure: Failure, decision: Decision) -> Decision | None:
        """Have `target` fixed. None when a fix was completed; else the decision to give up."""
        if decision.action == "rollback":
            self.journal.say(*self.desk.roll_back(self.workspace, target))
        if decision.action == "split":
            return self._split_up()
        fix = self._fix_task(target, failure, edit=decision.edit)
        if decision.action == "repair" and (repair := self._repair_for(target, failure)):
            self._repair(fix, failure, repair)
            return None
        if not self.desk.has_agent:
            return nobody(fix, self.desk.options.executor)
        past, timeout = self.past(target), self.desk.options.executor_timeout
        return self._after(fix, self.carry_out(fix, failure, decision, past, timeout))

    def _fix_task(self, target: Task, failure: Failure, *, edit: bool) -> Task:
        """The open fix of `target` that waits to be carried out, else a new one."""
        with self.workspace.lock:
            fix = self.workspace.use_open_fix(target)
            if fix is None:
                fix_id = self.workspace.next_id(target)
                block = self._block(target, failure, fix_id)
                if edit and self.desk.edit is not None:
                    block = self.desk.edit(block)
                fix = self.workspace.insert_fix(target, fix_id, block, failure.error)
                self.desk.hooks.fix_inserted(target, fix, failure)
            elif edit:
                self.journal.say(
                    f"{fix.id}: it stands in tasks.md already, and can be edited there"
                )
        self.journal.fix_planned(fix, target.id, self.desk.executor_name)
        step("after a fix task is in place")
        return fix

    def _block(self, target: Task, failure: Failure, fix_id: str) -> str:
        told = self.desk.hooks.fix_task(target, failure, fix_id)
        if told is not None:
            if not is_fix_task(told, fix_id, target.id):
                raise FixTaskError(
                    f"hook pytest_ralph_fix_task: the fix task must start with `- [ ] {fix_id} [FIX {target.id}]`"
                )
            return told
        spec = self.workspace.spec
        directory = os.path.relpath(spec.directory, self.desk.root)
        template = self.desk.prompts.templates.source("fixtask", failure.kind)
        return make_fix_task(
            target, failure, fix_id, spec_name=spec.name, directory=directory, template=template
        )

    def _repair(self, fix: Task, failure: Failure, repair: Repair) -> None:
        """A repair that was made counts as the fix; one that could not be made leaves its fix task open."""
        chance = foretell(self.desk, self.journal, fix, failure, f"repair:{repair.name}")
        backup = self.desk.backups / f"{self.workspace.spec.name}-{fix.id}"
        result = repair.apply(self.desk.runner, self.desk.root, backup)
        self.journal.repaired(fix, failure, repair, result, prediction=chance)
        if result.made:
            self.workspace.executed(fix)

    # Splitting

    def _split_up(self) -> Decision | None:
        """One sub-task a step of Do, each carried out with its share of the time."""
        timeout = self.desk.options.executor_timeout
        parts = self.workspace.open_parts(self.task) or self._parts(timeout)
        share = timeout / max(1, len(steps(self.task)))
        for part in parts:
            undone = self.carry_out(
                part, None, Decision("split", ""), replace(self.past(part), timeout=share), share
            )
            if undone is not None:
                return _part_failed(part, undone)
        return None

    def _parts(self, timeout: float) -> list[Task]:
        blocks = make_split_tasks(self.task, self.workspace.next_id(self.task), timeout=timeout)
        parts = self.workspace.insert_parts(self.task, blocks)
        self.journal.say(f"{self.task.id} is split into {', '.join(part.id for part in parts)}")
        return parts


def _part_failed(part: Task, undone: Undone) -> Decision:
    if undone.setback is None:
        return undone.decision
    return Decision(
        "escalate", f"{part.id} did not complete: {undone.setback.failure.error}", "not retryable"
    )


def depth_of(target: Task, original: Task) -> int:
    return target.id.rstrip(".").count(".") - original.id.rstrip(".").count(".")


def nobody(fix: Task, executor: str) -> Decision:
    """The fix task stands in tasks.md, and it is for a person to do it."""
    why = "no built-in repair applies" if executor == "repair" else "there is no executor"
    lines = (
        f"Next: do task {fix.id} ({fix.title}), then run the same command again.",
        "Or have an agent do it: --ralph-executor claude (codex, gemini, opencode, aider, …, or any command line).",
    )
    return Decision(
        "escalate", f"{why}: task {fix.id} waits in tasks.md", "no executor", lines=lines
    )
