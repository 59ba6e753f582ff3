"""Fixer: has the failures of one task fixed, by a built-in repair or by an executor.

A fix task is written into tasks.md first. If an executor fails on it and the original still does
not pass, the fix task itself is fixed, one level deeper. Imported with the first failure of a run.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.failure.build_evidence import shows_broken_build
from pytest_ralph.failure.failure import BROKEN_BUILD, NO_FIX, NOT_COMPLETE
from pytest_ralph.files import fault_point
from pytest_ralph.fixing.agents import display_name
from pytest_ralph.fixing.diffs import diff_of
from pytest_ralph.fixing.file_state import put_back
from pytest_ralph.fixing.repairs import find_repair
from pytest_ralph.fixing.shorten import shortened_diff
from pytest_ralph.healing.attempt_log import NOT_SAID
from pytest_ralph.healing.decide import (
    AGAIN,
    Decision,
    FailedAttempt,
    TaskHistory,
    budget_spent,
    executors_unavailable,
    no_executor,
)
from pytest_ralph.healing.errors import FixTaskError, GaveUpError
from pytest_ralph.healing.executor_run import DIFF_LIMIT, ExecutorRuns, Request, predict
from pytest_ralph.healing.fix_task import (
    is_fix_task,
    make_fix_task,
    make_split_tasks,
    steps,
    with_files,
)
from pytest_ralph.healing.modification import (
    FOLLOWUP,
    PREREQUISITE,
    ModificationError,
    read_modification,
)
from pytest_ralph.running.project_files import last_change
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.fixing.agents.base import Trouble
    from pytest_ralph.fixing.file_state import Change
    from pytest_ralph.fixing.repairs.base import Repair
    from pytest_ralph.healing.executor_run import ObservedRun
    from pytest_ralph.healing.task_run import TaskRun
    from pytest_ralph.spec.task import Task

# Seconds before an executor that was in trouble is tried again.
SHORTEST_PAUSE = 5.0
# The repairs of source files, and the kinds of failure they are for. Others are never undone.
SOURCE_REPAIRS = ("format", "lint")
SOURCE_KINDS = ("format_error", "lint_error")


class AppliedRepair(NamedTuple):
    """A repair whose effect on the Verify `command` is not known yet."""

    fix_id: str
    repair: Repair
    command: str
    changes: tuple[Change, ...]

    def is_in_another_step(self, failure: Failure) -> bool:
        """Whether `failure` comes from a step of Verify that the repair was not made for."""
        if self.repair.name not in SOURCE_REPAIRS or not self.changes:
            return False
        return failure.command != self.command or failure.kind not in SOURCE_KINDS


class Fixer:
    """Everything done about the failures of one original task in one run.

    Methods that have something carried out return None if that was completed, or else the failed
    executor run. They raise GaveUpError if nothing more can be done.
    """

    def __init__(self, run: TaskRun) -> None:
        self.services = run.services
        self.settings = run.services.settings
        self.spec_files = run.spec_files
        self.checkpoints = run.checkpoints
        self.task = run.task
        self.log = run.log
        self._run = run
        self.executor_runs = ExecutorRuns(run)
        self._continuations = 0
        self._enriched = False
        self._untried_fix: Task | None = None
        self._completed_fix: Task | None = None
        self._repaired: AppliedRepair | None = None

    # Deciding

    def decide(self, failed: FailedAttempt) -> Decision:
        """What to do about a failure of the original or of one of its fixes."""
        return self.services.hooks.decide(failed.failure, failed.task, self._past(failed))

    @staticmethod
    def is_same_run(failed: FailedAttempt, decision: Decision) -> bool:
        """Whether the decision is to run an executor on the same task again, which is no fix."""
        if decision.action == "continue":
            return True
        return failed.by_executor and decision.action in AGAIN

    def record_decision(self, failed: FailedAttempt, decision: Decision) -> None:
        """Note a decision that is going to be acted on, and count it if its number is limited."""
        self.log.decided(failed.task, failed.failure, decision)
        if decision.action == "continue":
            self._continuations += 1
        elif decision.action == "enrich":
            self._enriched = True

    def _past(self, failed: FailedAttempt) -> TaskHistory:
        """What a decision about a failure has to know."""
        repair = None if failed.by_executor else self._find_repair(failed.task, failed.failure)
        earlier_kinds = {attempt.kind for attempt in self.log.failed[:-1]}
        return replace(
            self._history(failed.task),
            repair=repair.name if repair else None,
            extended=failed.extended,
            made_progress=failed.progress,
            by_executor=failed.by_executor,
            is_new_kind=bool(earlier_kinds) and failed.failure.kind not in earlier_kinds,
            timeout=failed.timeout,
            rollback=self.settings.rollback and self._shows_broken_build(failed),
        )

    def _history(self, target: Task, action: str = "", reason: str = "") -> TaskHistory:
        """What happened to a task, and what was decided about it: all that a prompt has to know."""
        budget = self.services.budget
        return TaskHistory(
            task_id=target.id,
            depth=depth_of(target, self.task),
            fixes=self.spec_files.fixes_of(target),
            max_fixes=self.settings.max_fixes,
            max_depth=self.settings.max_depth,
            budget_left=budget.left,
            spent=budget_spent(budget) if budget.is_spent else None,
            has_agent=self.services.has_agent,
            outage=self.services.outage,
            steps=len(steps(self.task)),
            continuations=self._continuations,
            enriched=self._enriched,
            split=self._is_split(),
            timeout=self.settings.executor_timeout,
            approaches=tuple(self.log.approaches),
            fingerprints=self.log.fingerprints,
            trees=self.log.trees,
            spec_path=self.spec_files.spec.path,
            tried=tuple(self.log.tried),
            action=action,
            reason=reason,
        )

    def _shows_broken_build(self, failed: FailedAttempt) -> bool:
        """Whether Verify, and not only the words of an executor, shows a broken build.

        A build that was broken at first, and still is after a fix, may be on its way: what the fix
        did is not undone.
        """
        earlier = self.log.failed[:-1]
        if earlier and all(attempt.type == BROKEN_BUILD for attempt in earlier):
            return False
        commands = [check.command for check in self.task.verify.checks]
        if failed.by_executor and failed.failure.command not in commands:
            return False
        return shows_broken_build(failed.failure, self.services.root)

    def _is_split(self) -> bool:
        """Whether the task was split into parts that have all been carried out."""
        if not self.spec_files.parts_of(self.task):
            return False
        return not self.spec_files.open_parts(self.task)

    # Fixing

    def fix(self, failed: FailedAttempt, decision: Decision) -> FailedAttempt | None:
        """Have a task fixed, or its executor run again, in the way that was decided."""
        if self.is_same_run(failed, decision):
            return self.run_again(failed, decision)
        target = failed.task
        failure = failed.failure
        if target.has_marker("SPLIT"):
            reason = f"{target.id} did not complete: {failure.error}"
            raise GaveUpError(Decision("escalate", reason, "not retryable"))
        if decision.action == "rollback":
            self.log.note(self._roll_back(target))
        if decision.action == "split":
            if steps(self.task):
                return self._split()
            # A plugin or a person has decided that.
            decision = replace(decision, action="fix")
        if decision.action == "repair":
            repair = self._find_repair(target, failure)
            if repair is not None:
                return self._repair(failed, repair)
        fix = self._fix_task(target, failure, edit=decision.edit)
        if not self.services.has_agent:
            raise GaveUpError(no_executor(fix, self.settings.executor))
        history = self._history(target, decision.action, decision.reason)
        return self._carry_out(Request(fix, failure, history))

    def _roll_back(self, target: Task) -> str:
        """Undo what broke the build, in the worktree or in the project; return a note about it."""
        kept = self.executor_runs.close()
        if kept:
            return f"went back to the project's files; the worktree's changes are kept as {kept}"
        return self.checkpoints.roll_back(target)

    def run_again(self, failed: FailedAttempt, decision: Decision) -> FailedAttempt | None:
        """Run an executor on the same task again: with more time, in a new session, with context.

        This does not count as a fix.
        """
        task = failed.task
        if failed.by_executor and decision.action == "continue":
            self.log.note(self.checkpoints.keep_progress(self.task))
        extended = failed.extended or decision.action == "retry"
        history = self._history(task, decision.action, decision.reason)
        if failed.by_executor:
            history = replace(history, timeout=decision.timeout or failed.timeout)
        unfinished = self._carry_out(Request(task, failed.failure, history, extended))
        if unfinished is None and task.has_marker("SPLIT"):
            return self._split()
        return unfinished

    def execute(
        self,
        failed: FailedAttempt | None,
        number: int = 1,
        tries: int = 1,
        *,
        task: Task | None = None,
        is_verified: bool = True,
    ) -> FailedAttempt | None:
        """Have the original, or one of its fixes, carried out by itself.

        After a failure its error is in the prompt.
        """
        task = task or self.task
        history = self._history(task, "execute" if failed is None else "retry")
        request = Request(
            task,
            failed.failure if failed else None,
            history,
            attempt=number,
            attempts=tries,
            is_verified=is_verified,
        )
        unfinished = self._carry_out(request)
        # What is carried out again is no fix after which something is to be carried out again.
        self._completed_fix = None
        return unfinished

    def to_retry(self) -> list[Task]:
        """What the fix that was just completed was made for, up to the original."""
        fix = self._completed_fix
        self._completed_fix = None
        if fix is None:
            return []
        owners = self.spec_files.owners_of(fix)
        return [*takewhile(lambda owner: owner.name != self.task.name, owners), self.task]

    def _carry_out(self, request: Request) -> FailedAttempt | None:
        """Have a task carried out; None if it is completed, or if the original passes now.

        Trouble of an executor is no failure: the run is repeated after a pause, or by the next
        executor. Raises GaveUpError if there is none; then no fix task remains that nobody tried.
        """
        task = request.task
        run = self._start(request)
        waited = 0.0
        while run.outcome.trouble is not None:
            self.services.budget.give_back()
            if request.is_verified and self._passes_after(run):
                return None
            pause = self._wait_or_switch(task, run, waited)
            # The next executor is waited for as long as this one was.
            waited = waited + pause if pause else 0.0
            self._use_no_more_of(run)
            run = self._start(request)
        self._use_no_more_of(run)

        outcome = run.outcome
        self._untried_fix = None
        if self._modify(outcome.output):
            return self._carry_out(request)
        # A fix of a fix answers what an executor reports. Without a report, a new fix is needed.
        is_tried = outcome.completed or outcome.uninformative
        if is_tried and task is not self.task:
            self.spec_files.executed(task)
        if not outcome.completed:
            return self._failed_run(request, run)
        if task is not self.task:
            self._completed_fix = task
        return None

    def _start(self, request: Request) -> ObservedRun:
        """Have an executor run to its end, or raise GaveUpError if that is not possible."""
        if self.services.outage:
            self._remove_untried_fix()
            raise GaveUpError(executors_unavailable(self.services.outage))
        budget = self.services.budget
        if budget.is_cost_reached or not budget.take():
            raise GaveUpError(budget_spent(budget))
        run = self.executor_runs.run(request)
        if run is None:
            # A plugin could have carried it out, and did not.
            budget.give_back()
            if self.services.unavailable:
                self._remove_untried_fix()
                raise GaveUpError(executors_unavailable(self.services.unavailable))
            raise GaveUpError(no_executor(request.task, self.settings.executor))
        if run.conflicts:
            raise GaveUpError(self.executor_runs.not_merged(run.conflicts))
        return run

    def _failed_run(self, request: Request, run: ObservedRun) -> FailedAttempt:
        outcome = run.outcome
        assert outcome.failure is not None
        progress = False
        if outcome.failure.timed_out:
            has_changed = bool(run.report.changed) or last_change(self.services.root) >= run.started
            progress = outcome.progress or has_changed
        return FailedAttempt(
            task=request.task,
            failure=outcome.failure,
            timeout=request.history.timeout,
            extended=request.extended,
            progress=progress,
            by_executor=True,
            worth_verifying=run.worth_verifying,
            uninformative=outcome.uninformative,
            refused=bool(run.report.refusal),
        )

    def close(self) -> None:
        """Remove what isolated executor runs left."""
        kept = self.executor_runs.close()
        if kept:
            spec_name = self.spec_files.name
            line = f"changes for {self.task.id} that were not merged are kept as {kept}"
            self.services.note(f"{spec_name}: {line}")

    # Requests to change the plan

    def _modify(self, output: str) -> bool:
        """Change the plan if an executor asks for it; return whether to run it again.

        Tasks that have to come first, and parts of the task, are carried out at once.
        """
        try:
            modification = read_modification(output)
            if modification is None:
                return False
            if self._run.is_added:
                raise ModificationError(f"{self.task.id} was itself added at an executor's request")
            added = self.spec_files.add_tasks(self.task, modification)
        except ModificationError as error:
            refusal = f"the executor's request to change the plan is refused: {error}"
            self.log.note(refusal, task_id=self.task.id)
            return False
        ids = ", ".join(task.id for task in added)
        reason = one_line(modification.reason)
        self.log.note(f"{ids} added at the executor's request: {reason}", task_id=self.task.id)
        if modification.type == FOLLOWUP:
            self.log.followups += added
            return False
        for task in added:
            result = self._run.spec_run.perform_added(task, shares_turn=True)
            self.log.absorb(result)
            if result.bad and modification.type == PREREQUISITE:
                reason = f"{task.id}, which has to come first, failed: {result.reason}"
                raise GaveUpError(Decision("escalate", reason, "not retryable"))
        # What was verified before them does not count any more.
        self.executor_runs.take_verified()
        return modification.type == PREREQUISITE

    # Trouble of an executor

    def _passes_after(self, run: ObservedRun) -> bool:
        """Whether the original passes although the executor was in trouble: it may have worked."""
        if not run.worth_verifying:
            return False
        if run.verified is None:
            fault_point("before verifying again")
            verified = self._run.verify_in(self.services.root, self.services.runner)
            if verified.interrupted:
                raise KeyboardInterrupt
            run = run._replace(verified=verified)
            self.executor_runs.last = run
        return run.has_passed

    def _wait_or_switch(self, task: Task, run: ObservedRun, waited: float) -> float:
        """Wait for an executor in trouble and return how long; 0 if it is used no more.

        `waited` is how long it has been waited for already.
        """
        trouble = run.outcome.trouble
        assert trouble is not None
        executor = run.executor.command if run.executor else self.services.executor_name
        pause = self._pause_after(trouble, waited)
        if pause is None and run.executor is None:
            # No other executor can take over: a plugin is asked first each time.
            self._remove_untried_fix()
            reason = f"a plugin cannot carry it out: {self.services.mask(str(trouble))}"
            raise GaveUpError(executors_unavailable(reason))
        if pause is None:
            self._use_no_more(executor, trouble)
            return 0.0
        row = f"{task.id} waits for {display_name(executor)}: {trouble}"
        with self.services.live(row, pause, task.title):
            self.services.pause(pause)
        return pause

    def _pause_after(self, trouble: Trouble, waited: float) -> float | None:
        """Seconds until an executor may work again; None if --ralph-wait does not allow that."""
        left = self.settings.wait - waited
        if left <= 0 or not trouble.can_pass:
            return None
        if trouble.resets_at is None:
            return min(left, max(SHORTEST_PAUSE, waited))
        until_reset = trouble.resets_at - time.time()
        if until_reset > left:
            return None
        return min(left, max(SHORTEST_PAUSE, until_reset))

    def _use_no_more_of(self, run: ObservedRun) -> None:
        """Use the executors of other candidates no more that were in trouble."""
        for executor, trouble in run.in_trouble:
            if self._pause_after(trouble, 0.0) is None:
                self._use_no_more(executor.command, trouble)

    def _use_no_more(self, executor: str, trouble: Trouble) -> None:
        """Use an executor no more in this run, and say so once."""
        if self.services.outages.reason(executor) is not None:
            return
        self.services.outages.add(executor, str(trouble))
        name = display_name(executor)
        following = self.services.executor
        if following is None:
            then = "not used for the rest of this run"
        else:
            then = f"{display_name(following.command)} takes over"
        line = f"executor {name} is unavailable ({then}): {self.services.mask(str(trouble))}"
        self.services.announce(line)
        if following is not None:
            # Otherwise the reason for giving up says it.
            self.log.note(line)

    def _remove_untried_fix(self) -> None:
        """Remove the fix task that was written for executors that turned out to be unavailable."""
        fix = self._untried_fix
        self._untried_fix = None
        if fix is not None and self.spec_files.remove_fix(fix):
            self.log.fix_removed(fix)

    # Fix tasks

    def _fix_task(self, target: Task, failure: Failure, *, edit: bool) -> Task:
        """The open fix task of `target` that nobody has carried out yet, or else a new one."""
        with self.spec_files.lock:
            fix = self.spec_files.use_open_fix(target)
            if fix is None:
                fix = self._insert_fix(target, failure, edit=edit)
            elif edit:
                self.log.note("it is already in tasks.md and can be edited there", task_id=fix.id)
        self.log.fix_planned(fix, target.id, self.services.executor_name)
        fault_point("after a fix task is in place")
        return fix

    def _insert_fix(self, target: Task, failure: Failure, *, edit: bool) -> Task:
        fix_id = self.spec_files.next_id(target)
        block = self._fix_block(target, failure, fix_id)
        if edit and self.services.edit is not None:
            block = self.services.edit(block)
        fix = self.spec_files.insert_fix(target, fix_id, block, failure.error)
        self._untried_fix = fix
        self.services.notify("fix_inserted", task=target, fix=fix, failure=failure)
        return fix

    def _fix_block(self, target: Task, failure: Failure, fix_id: str) -> str:
        """The Markdown of a new fix task, from a plugin if one writes it."""
        block = self.services.hooks.fix_task(target, failure, fix_id)
        if block is None:
            spec = self.spec_files.spec
            if target is not self.task:
                target = with_files(target, self._blamed_files(target, failure))
            failure = self._with_previous_fix(target, self._about_project(failure))
            return make_fix_task(
                target,
                self._with_relative_paths(failure),
                fix_id,
                spec_name=spec.name,
                directory=os.path.relpath(spec.directory, self.services.root),
                templates=self.services.prompts.templates,
            )
        if not is_fix_task(block, fix_id, target.id):
            start = f"- [ ] {fix_id} [FIX {target.id}]"
            raise FixTaskError(
                f"hook pytest_ralph_fix_task: the fix task must start with `{start}`"
            )
        return block

    def _about_project(self, failure: Failure) -> Failure:
        """What Verify found, if an executor crashed or ended without saying why."""
        is_silent = failure.kind == "crash" or failure.error == NOT_COMPLETE
        if is_silent and self.log.last is not None:
            return self.log.last
        return failure

    def _with_previous_fix(self, target: Task, failure: Failure) -> Failure:
        """The failure with the fix of `target` that did not help, unless it names one itself."""
        if failure.attempted_fix not in ("", NO_FIX):
            return failure
        fixes = self.spec_files.unsuccessful_fixes(target)
        if fixes:
            last_fix = fixes[-1]
        elif target is not self.task:
            # The fix to be fixed has been tried itself.
            last_fix = target.id
        else:
            return failure

        previous = f"fix {last_fix} did not help"
        approaches = [tried.approach for tried in self.log.tried if tried.task_id == last_fix]
        if approaches and approaches[-1] != NOT_SAID:
            previous += f": {approaches[-1]}"
        return replace(failure, attempted_fix=previous)

    def _with_relative_paths(self, failure: Failure) -> Failure:
        """The failure without the path of the project, which means nothing on other machines."""
        root = f"{self.services.root}/"
        return replace(
            failure,
            error=failure.error.replace(root, ""),
            attempted_fix=failure.attempted_fix.replace(root, ""),
            files=tuple(name.replace(root, "") for name in failure.files),
        )

    def _blamed_files(self, target: Task, failure: Failure) -> list[str]:
        """Files that the executor of `target` names as the cause, beyond those of the task."""
        root = self.services.root
        files = self._with_relative_paths(failure).files
        blamed = [name for name in files if name not in target.files]
        return [name for name in blamed if (root / name).is_file()]

    # Repairs

    def _find_repair(self, target: Task, failure: Failure) -> Repair | None:
        """A built-in repair for the original's own failure that was not tried yet."""
        if target is not self.task or "none" in self.settings.executor:
            return None
        # The programs of Verify are looked up as its commands look them up.
        environ = self.services.runner.environ
        repair = find_repair(failure, self.services.root, self.settings.repair, environ=environ)
        if repair is None or repair.command in self.log.repairs:
            return None
        if not self.services.has_agent:
            return repair
        name = f"repair:{repair.name}"
        agent_is_better = self.services.advisor.prefers(
            failure.kind, name, self.services.executor_name
        )
        return None if agent_is_better else repair

    def _repair(self, failed: FailedAttempt, repair: Repair) -> FailedAttempt | None:
        """Apply a repair. One that changed nothing is no attempt: the failure is returned."""
        failure = failed.failure
        chance = predict(self.services, failed.task, failure, f"repair:{repair.name}")
        self.executor_runs.take_verified()
        tree = self.services.tree
        record = partial(tree.record, self.spec_files.record_name(self.task))
        with self.services.turn:
            result = repair.apply(self.services.runner, tree.snapshots, record)
        if self.services.runner.stopped:
            raise KeyboardInterrupt
        diff = ""
        if result.changes:
            diff = shortened_diff(diff_of(result.changes), DIFF_LIMIT)
        fix = None
        if result.made:
            fix = self._fix_task(failed.task, failure, edit=False)
        self.log.repaired(fix, failure, repair, result, prediction=chance, diff=diff)
        if fix is None:
            return failed
        self._untried_fix = None
        self.spec_files.executed(fix)
        self._repaired = AppliedRepair(fix.id, repair, failure.command, result.changes)
        return None

    def undo_harmful_repair(self, failed: FailedAttempt) -> None:
        """Undo the repair before `failed` if Verify gets further now but fails in another step.

        The repair may have broken that step. If not, it can be made again later.
        """
        if failed.failure.timed_out and failed.progress and not failed.extended:
            # With more time, it may pass as it is.
            return
        repaired = self._repaired
        self._repaired = None
        if repaired is None or not repaired.is_in_another_step(failed.failure):
            return
        with self.services.turn:
            left = put_back(self.services.root, repaired.changes)
        self.log.repairs.remove(repaired.repair.command)
        exceptions = f", except in {', '.join(left)}" if left else ""
        self.log.note(
            f"repair {repaired.repair.name} was undone{exceptions}:"
            " Verify now fails in another step",
            task_id=repaired.fix_id,
            is_detail=True,
        )

    # Splitting

    def _split(self) -> FailedAttempt | None:
        """Have each step of the Do field carried out as a task, with its share of the time."""
        timeout = self.settings.executor_timeout
        parts = self.spec_files.open_parts(self.task) or self._insert_parts(timeout)
        share = timeout / max(1, len(steps(self.task)))
        for part in parts:
            history = replace(self._history(part, "split"), timeout=share)
            unfinished = self._carry_out(Request(part, None, history))
            if unfinished is not None or self.executor_runs.has_passed:
                return unfinished
        return None

    def _insert_parts(self, timeout: float) -> list[Task]:
        first_id = self.spec_files.next_id(self.task)
        blocks = make_split_tasks(self.task, first_id, timeout=timeout)
        parts = self.spec_files.insert_parts(self.task, blocks)
        ids = ", ".join(part.id for part in parts)
        self.log.note(f"{self.task.id} is split into {ids}")
        return parts


def depth_of(target: Task, original: Task) -> int:
    """How many levels of fixes lie between a task and its original: 1.3.1.2 is two below 1.3."""
    return target.id.rstrip(".").count(".") - original.id.rstrip(".").count(".")
