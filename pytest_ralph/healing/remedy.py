"""Remedies for one task: what may be done about a failure, and having it done, down to fixes of fixes."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_ralph.files import fault_point
from pytest_ralph.fixing.repair import find_repair
from pytest_ralph.healing.decide import AGAIN, Decision, TaskHistory, spent
from pytest_ralph.healing.delegation import Delegation, foretell
from pytest_ralph.healing.errors import FixTaskError
from pytest_ralph.healing.failed_attempt import FailedAttempt
from pytest_ralph.healing.fix_task import is_fix_task, make_fix_task, make_split_tasks, steps

if TYPE_CHECKING:
    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.fixing.repair import Repair
    from pytest_ralph.healing.attempt_log import AttemptLog
    from pytest_ralph.healing.services import Services
    from pytest_ralph.healing.spec_files import SpecFiles
    from pytest_ralph.spec.task import Task


@dataclass(frozen=True)
class Undone:
    """A task its executor did not carry out, and what is to be done about that. No failed_attempt: it was never begun."""

    decision: Decision
    failed_attempt: FailedAttempt | None = None


class Remedies:
    """Everything tried for one original task in one run."""

    def __init__(
        self, services: Services, spec_files: SpecFiles, task: Task, attempt_log: AttemptLog
    ) -> None:
        self.services, self.spec_files, self.task, self.attempt_log = (
            services,
            spec_files,
            task,
            attempt_log,
        )
        self.delegation = Delegation(services, spec_files, attempt_log)
        self._continuations = 0
        self._enriched = False

    # Deciding

    def past(self, target: Task, failed_attempt: FailedAttempt | None = None) -> TaskHistory:
        """What a decision about `target`, the original or one of its fixes, has to know; and its executor."""
        repair = (
            self._repair_for(target, failed_attempt.failure)
            if failed_attempt and not failed_attempt.by_executor
            else None
        )
        options, parts = self.services.options, self.spec_files.parts_of(self.task)
        return TaskHistory(
            task_id=target.id,
            depth=depth_of(target, self.task),
            fixes=self.spec_files.fixes_of(target),
            max_fixes=options.max_fixes,
            max_depth=options.max_depth,
            budget=self.services.budget.total,
            budget_left=self.services.budget.left,
            has_agent=self.services.has_agent,
            repair=repair.name if repair else None,
            rollback=options.rollback,
            steps=len(steps(self.task)),
            doublings=failed_attempt.doublings if failed_attempt else 0,
            continuations=self._continuations,
            enriched=self._enriched,
            split=bool(parts) and not self.spec_files.open_parts(self.task),
            made_progress=bool(failed_attempt and failed_attempt.progress),
            by_executor=bool(failed_attempt and failed_attempt.by_executor),
            timeout=failed_attempt.timeout if failed_attempt else options.executor_timeout,
            approaches=tuple(self.attempt_log.approaches),
            fingerprints=tuple(self.attempt_log.fingerprints),
            trees=tuple(self.attempt_log.trees),
            spec=self.spec_files.spec.name,
            spec_path=self.spec_files.spec.path,
            tried=tuple(self.attempt_log.tried_before),
            learnings=tuple(self.spec_files.learnings()),
        )

    def decide(self, target: Task, failed_attempt: FailedAttempt) -> Decision:
        return self.services.hooks.decide(
            failed_attempt.failure, target, self.past(target, failed_attempt)
        )

    def decided(self, target: Task, failure: Failure, decision: Decision) -> Decision:
        """It is going to be done: shown, stored, and counted where there is a bound to it."""
        self.attempt_log.decided(target, failure, decision)
        self._continuations += decision.action == "continue"
        self._enriched |= decision.action == "enrich"
        return decision

    def _repair_for(self, target: Task, failure: Failure) -> Repair | None:
        """A built-in repair that applies to the original's own failure and was not made yet."""
        if target is not self.task or self.services.options.executor == "none":
            return None
        found = find_repair(failure, self.services.root, self.services.options.repair)
        if found is None or found.command in self.attempt_log.repairs:
            return None
        agent = self.services.executor_name
        if self.services.has_agent and self.services.advisor.prefers(
            failure.kind, f"repair:{found.name}", agent
        ):
            return None
        return found

    # Having a task carried out

    def carry_out(
        self,
        task: Task,
        failure: Failure | None,
        decision: Decision,
        past: TaskHistory,
        timeout: float,
    ) -> Undone | None:
        """Have an executor do `task`: again while more time, a new session or more context can help."""
        doublings = 0
        while True:
            if not self.services.budget.take():
                return Undone(spent(past))
            started = time.time()
            outcome = self.delegation.run(task, failure, decision, past, timeout)
            if outcome is None:
                return Undone(nobody(task, self.services.options.executor))
            if outcome.completed:
                if task is not self.task:
                    self.spec_files.executed(task)
                return None
            assert outcome.failure is not None
            failure = outcome.failure
            progress = failure.timed_out and (
                outcome.progress or self.services.written_since(started)
            )
            failed_attempt = FailedAttempt(
                failure=failure,
                timeout=timeout,
                doublings=doublings,
                progress=progress,
                by_executor=True,
            )
            decision = self.decide(task, failed_attempt)
            if decision.action not in AGAIN:
                return Undone(decision, failed_attempt)
            self.decided(task, failure, decision)
            if decision.action == "continue":
                self.attempt_log.say(*self.services.keep_progress(self.spec_files, self.task))
            timeout, doublings = (
                decision.timeout or timeout,
                doublings + (decision.action == "retry"),
            )

    def carry_on(self, failure: Failure, decision: Decision) -> Decision | None:
        """Continue the original itself in a new run of the executor: no fix. None when it was carried out."""
        past, timeout = self.past(self.task), self.services.options.executor_timeout
        return self._after(self.task, self.carry_out(self.task, failure, decision, past, timeout))

    def _after(self, task: Task, undone: Undone | None) -> Decision | None:
        """What an executor did not carry out is fixed, or given up."""
        if undone is None:
            return None
        if undone.failed_attempt is None:
            return undone.decision
        self.decided(task, undone.failed_attempt.failure, undone.decision)
        if undone.decision.action == "escalate":
            return undone.decision
        return self.fix(task, undone.failed_attempt.failure, undone.decision)

    # Fixing

    def fix(self, target: Task, failure: Failure, decision: Decision) -> Decision | None:
        """Have `target` fixed. None when a fix was completed; else the decision to give up."""
        if decision.action == "rollback":
            self.attempt_log.say(*self.services.roll_back(self.spec_files, target))
        if decision.action == "split":
            return self._split_up()
        fix = self._fix_task(target, failure, edit=decision.edit)
        if decision.action == "repair" and (repair := self._repair_for(target, failure)):
            self._repair(fix, failure, repair)
            return None
        if not self.services.has_agent:
            return nobody(fix, self.services.options.executor)
        past, timeout = self.past(target), self.services.options.executor_timeout
        return self._after(fix, self.carry_out(fix, failure, decision, past, timeout))

    def _fix_task(self, target: Task, failure: Failure, *, edit: bool) -> Task:
        """The open fix of `target` that waits to be carried out, else a new one."""
        with self.spec_files.lock:
            fix = self.spec_files.use_open_fix(target)
            if fix is None:
                fix_id = self.spec_files.next_id(target)
                block = self._block(target, failure, fix_id)
                if edit and self.services.edit is not None:
                    block = self.services.edit(block)
                fix = self.spec_files.insert_fix(target, fix_id, block, failure.error)
                self.services.hooks.fix_inserted(target, fix, failure)
            elif edit:
                self.attempt_log.say(
                    f"{fix.id}: it stands in tasks.md already, and can be edited there"
                )
        self.attempt_log.fix_planned(fix, target.id, self.services.executor_name)
        fault_point("after a fix task is in place")
        return fix

    def _block(self, target: Task, failure: Failure, fix_id: str) -> str:
        told = self.services.hooks.fix_task(target, failure, fix_id)
        if told is not None:
            if not is_fix_task(told, fix_id, target.id):
                raise FixTaskError(
                    f"hook pytest_ralph_fix_task: the fix task must start with `- [ ] {fix_id} [FIX {target.id}]`"
                )
            return told
        spec = self.spec_files.spec
        directory = os.path.relpath(spec.directory, self.services.root)
        template = self.services.prompts.templates.source("fixtask", failure.kind)
        return make_fix_task(
            target, failure, fix_id, spec_name=spec.name, directory=directory, template=template
        )

    def _repair(self, fix: Task, failure: Failure, repair: Repair) -> None:
        """A repair that was made counts as the fix; one that could not be made leaves its fix task open."""
        chance = foretell(self.services, self.attempt_log, fix, failure, f"repair:{repair.name}")
        backup = self.services.backups / f"{self.spec_files.spec.name}-{fix.id}"
        result = repair.apply(self.services.runner, self.services.root, backup)
        self.attempt_log.repaired(fix, failure, repair, result, prediction=chance)
        if result.made:
            self.spec_files.executed(fix)

    # Splitting

    def _split_up(self) -> Decision | None:
        """One sub-task a step of Do, each carried out with its share of the time."""
        timeout = self.services.options.executor_timeout
        parts = self.spec_files.open_parts(self.task) or self._parts(timeout)
        share = timeout / max(1, len(steps(self.task)))
        for part in parts:
            undone = self.carry_out(
                part, None, Decision("split", ""), replace(self.past(part), timeout=share), share
            )
            if undone is not None:
                return _part_failed(part, undone)
        return None

    def _parts(self, timeout: float) -> list[Task]:
        blocks = make_split_tasks(self.task, self.spec_files.next_id(self.task), timeout=timeout)
        parts = self.spec_files.insert_parts(self.task, blocks)
        self.attempt_log.say(f"{self.task.id} is split into {', '.join(part.id for part in parts)}")
        return parts


def _part_failed(part: Task, undone: Undone) -> Decision:
    if undone.failed_attempt is None:
        return undone.decision
    return Decision(
        "escalate",
        f"{part.id} did not complete: {undone.failed_attempt.failure.error}",
        "not retryable",
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
