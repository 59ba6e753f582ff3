"""TaskRun: one task in one run, from its first attempt to its result.

verify ── passes ──▶ passed, or recovered
  │ fails
  ▼
decide ── escalate ──▶ failed
  │ fix, repair, retry, …
  ▼
Fixer: fix task in tasks.md ──▶ repair or executor ── done ──▶ verify the original again
                                       │ failed
                                       └──▶ decide about the fix itself, one level deeper
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.failure.wording import headline
from pytest_ralph.files import fault_point
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.healing.attempt_log import AttemptLog
from pytest_ralph.healing.errors import GaveUpError
from pytest_ralph.healing.ticks import record_tick
from pytest_ralph.history.directory import remove_links
from pytest_ralph.running.checks import RunContext, VerifyResult, run_checks
from pytest_ralph.running.environment import path_below, task_environment
from pytest_ralph.running.runner import RunError
from pytest_ralph.spec.durations import seconds, written_timeout
from pytest_ralph.spec.task import is_e2e_startup
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pytest_ralph.healing.decide import Decision, FailedAttempt
    from pytest_ralph.healing.fixer import Fixer
    from pytest_ralph.healing.services import Services
    from pytest_ralph.healing.spec_run import SpecRun
    from pytest_ralph.results import TaskResult
    from pytest_ralph.running.runner import Runner
    from pytest_ralph.spec.task import Task

# The package itself retries less often; this stops a plugin that always asks for a retry.
MAX_RETRIES = 10


def task_timeout(task: Task, default: float) -> float:
    """The task's own `**Timeout**:` in seconds (`90`, `90s`, `2 min`), or else the default."""
    duration = written_timeout(task)
    if duration is None:
        return default
    return seconds(duration) or default


class TaskRun:
    """Verify one task, and heal it while that can help.

    `first_attempt` and `finish` are apart so that all tasks of a [P] group make their first attempt
    before one of them is recovered. After `first_attempt`, either `result` or `failed` is set.
    """

    def __init__(
        self,
        spec_run: SpecRun,
        services: Services,
        task: Task,
        *,
        recovery: bool,
        is_added: bool,
        shares_turn: bool,
    ) -> None:
        self.spec_run = spec_run
        self.services = services
        self.spec_files = spec_run.spec_files
        self.checkpoints = spec_run.checkpoints
        self.task = task
        self.recovery = recovery
        # Whether an executor had the task added to the plan.
        self.is_added = is_added
        # Whether that is a part of the work on another task, which has the turn of both.
        self._shares_turn = shares_turn
        self.log = AttemptLog(
            task,
            spec=self.spec_files.name,
            spec_path=spec_run.spec_path,
            run=services.run_id,
            record=services.record,
            mask=services.mask,
            recovery=recovery,
            max_attempts=services.max_attempts,
        )
        self.timeout = task_timeout(task, services.settings.timeout)
        self.result: TaskResult | None = None
        self.failed: FailedAttempt | None = None
        # When the first attempt failed, and how many executor runs had begun by then.
        self._failed_at = 0.0
        self._runs_before = 0
        self._waiting_since = 0.0
        self._extended = False
        self._retries = 0
        self._probed = False
        self._fixer: Fixer | None = None
        # Whether it is only carried out: no command can verify it.
        self._is_unverified = False
        # Whether it was carried out without being verified.
        self.is_done_unverified = False
        self._last_verified: FailedAttempt | None = None
        # The files that the task names and that were not there after the last Verify.
        self._absent: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether nothing has failed so far."""
        return self.failed is None and not (self.result and self.result.bad)

    @property
    def fixer(self) -> Fixer:
        """Created on first use: a passing task needs none of it."""
        if self._fixer is None:
            from pytest_ralph.healing.fixer import Fixer

            earlier = self.services.advisor.since_pass(self.spec_files.name, self.task.id)
            self.log.add_earlier(earlier, self.spec_files.unsuccessful_fixes(self.task))
            self._fixer = Fixer(self)
        return self._fixer

    # The loop

    def first_attempt(self) -> None:
        """Have the task carried out if that is asked for, and verify it."""
        self._resume()
        self.checkpoints.begin(self.task)
        executes = self.services.settings.execute and self._can_be_executed()
        if executes:
            with self._turn():
                failed = self._execute()
        else:
            failed = self.verify()
        if failed is not None:
            self._keep_failed(failed)
            return
        if self.recovery or executes:
            self._check_off()
        outcome = "recovered" if self.log.last else "passed"
        self.result = self._passed(outcome, self._not_checked())

    def still_passes(self) -> bool:
        """Verify a task again that has passed; if it fails, `finish` recovers it."""
        failed = self.verify("again")
        if failed is not None:
            self._keep_failed(failed)
        return failed is None

    def _keep_failed(self, failed: FailedAttempt) -> None:
        """Keep the failed first attempt until it is recovered."""
        self.failed = failed
        self._waiting_since = time.monotonic()
        self._failed_at = time.time()
        if self.recovery:
            self._runs_before = self.services.tree.runs

    def _can_be_executed(self) -> bool:
        """Whether the task is open, and its Verify can tell whether it has been carried out."""
        if self.is_checked() or self.task.verify.invalid:
            return False
        runner = self.services.runner
        return not any(runner.syntax_error(check.command) for check in self.task.verify.checks)

    def finish(self) -> TaskResult:
        """Recover from the failed first attempt, or report it; return the result of the task."""
        if self.result is None:
            assert self.failed is not None
            # Waiting for the siblings in a [P] group is not time of this task.
            self.log.waited += time.monotonic() - self._waiting_since
            if self.recovery:
                with self._turn():
                    self.result = self._recover()
            else:
                self.result = self._report_failure()
        return self.result

    def _turn(self) -> AbstractContextManager[None]:
        """Let no other worker change the files at stake."""
        if self._shares_turn:
            # Whoever waited for another turn while having one might wait for ever.
            return contextlib.nullcontext()
        return self.services.file_turn(self._files_at_stake)

    @property
    def _files_at_stake(self) -> set[str]:
        """The files that an executor is expected to change: of the task, or else of its spec."""
        if self.task.files:
            return set(self.task.files)
        return {file for task in self.spec_files.spec.tasks for file in task.files}

    def close(self) -> None:
        """Remove what is not needed after the end of the task."""
        if self._fixer is not None:
            self._fixer.close()

    def _recover(self) -> TaskResult:
        failed = self.failed
        try:
            while failed is not None:
                decision = self.fixer.decide(failed)
                passed = self._probe(failed, decision)
                if passed is not None:
                    return passed
                decision = self._confirm(failed, decision)
                failed = self._verify_after(self._act_on(decision, failed))
        except GaveUpError as given_up:
            return self._escalate(given_up.decision)
        return self._recovered()

    def _probe(self, failed: FailedAttempt, decision: Decision) -> TaskResult | None:
        """Before the first fix of a failure that may be transient, verify once more.

        None if the task fails again, or if there is something better to do about it.
        """
        from pytest_ralph.healing.decide import pause_before_probe

        pause = pause_before_probe(failed, decision)
        if pause is None or self._probed:
            return None
        self._probed = True
        self.services.pause(pause)
        began = time.time()
        verified, _ = self._run_verify("again")
        if not verified.passed:
            note = "failed again with nothing changed"
            self.log.note(note, task_id=self.task.id, is_detail=True)
            return None
        changed = self._file_changed_by_others(began)
        self.log.verified(verified, None, timeout=self.timeout, flaky=not changed)
        if self.log.last_fix:
            return self._recovered()
        self.spec_files.passed(self.task)
        if changed:
            return self._passed("recovered", f"passes since {changed} was changed")
        return self._passed("flaky", "failed, then passed with nothing changed")

    def _file_changed_by_others(self, verified_again: float) -> str:
        """Return a file that was changed after the first attempt; empty if there is none.

        A file that is changed while Verify runs again counts only if somebody else may be at work:
        otherwise Verify itself has changed it.
        """
        tree = self.services.tree
        others_work = tree.runs > self._runs_before or self.services.has_other_workers
        end = time.time() if others_work else verified_again
        return tree.file_changed_between(self._failed_at, end)

    def _confirm(self, failed: FailedAttempt, decision: Decision) -> Decision:
        """The decision to act on: a person may change it, and retries are limited."""
        asked = None
        if self.services.ask is not None and not failed.by_executor:
            asked = self.services.ask(self.task, failed.failure, decision)
        if asked is not None:
            decision = asked
        elif decision.action == "retry" and not failed.by_executor:
            self._retries += 1
            if self._retries > MAX_RETRIES:
                reason = f"tried again {MAX_RETRIES} times, without success"
                decision = replace(decision, action="escalate", reason=reason)
        self.fixer.record_decision(failed, decision)
        return decision

    def _verify_after(self, unfinished: FailedAttempt | None) -> FailedAttempt | None:
        """Verify; return what is to be decided about next, None if the task passes.

        Only Verify decides: a failed executor run matters if it cannot have helped, or did not.
        """
        if unfinished is not None and not unfinished.worth_verifying:
            # What is refused is undone: Verify would fail as it did before.
            return self._last_verified if unfinished.refused else unfinished
        fault_point("before verifying again")
        still_failed = self._verify_work(unfinished)
        if still_failed is None:
            return None
        self.fixer.undo_harmful_repair(still_failed)
        if unfinished is None and self.services.settings.execute:
            return self._carry_out_again(still_failed)
        if unfinished is None or unfinished.uninformative:
            return still_failed
        return unfinished

    def _verify_work(self, unfinished: FailedAttempt | None) -> FailedAttempt | None:
        """Verify what an executor has done; if that passes, what the executor says is a note."""
        failed = self.verify()
        if failed is None and unfinished is not None and not unfinished.refused:
            note = "the executor says it failed, but Verify passes"
            self.log.note(note, task_id=unfinished.task.id)
        return failed

    def _carry_out_again(self, failed: FailedAttempt) -> FailedAttempt | None:
        """After a completed fix, do again what it was made for, up to the original."""
        for task in self.fixer.to_retry():
            unfinished = self.fixer.execute(failed, task=task)
            still_failed = self._verify_execution(unfinished)
            if still_failed is None or unfinished is not None:
                return still_failed
            failed = still_failed
        return failed

    def _act_on(self, decision: Decision, failed: FailedAttempt) -> FailedAttempt | None:
        """Do what was decided; return the executor run that failed, if one did."""
        if decision.action == "escalate":
            raise GaveUpError(decision)
        if failed.by_executor or decision.action != "retry":
            return self.fixer.fix(failed, decision)
        if decision.timeout is not None:
            self.timeout = decision.timeout
            self._extended = True
        return None

    # Verifying

    def verify(self, why: str = "") -> FailedAttempt | None:
        """Run the task's Verify once; None if it passes.

        `why` is shown for a task that no attempt at fixing it preceded.
        """
        verified, tree = self._run_verify(why)
        if verified.passed:
            self.log.verified(verified, None, timeout=self.timeout)
            fault_point("after an attempt")
            return None
        self._last_verified = self._failed_attempt(verified, tree)
        fault_point("after an attempt")
        return self._last_verified

    def _run_verify(self, why: str) -> tuple[VerifyResult, str]:
        """Run Verify in the project, unless the executor run before has ended with that.

        Also return what tells the content of the worktree that was verified; empty for the
        project. Raise KeyboardInterrupt if Verify is interrupted: that is no attempt.
        """
        tree = ""
        observed = None if self._fixer is None else self._fixer.executor_runs.take_verified()
        if observed is not None and observed.verified is not None:
            verified = observed.verified
            tree = observed.tree
        else:
            verified = self.verify_in(self.services.root, self.services.runner, why)
        if verified.interrupted:
            raise KeyboardInterrupt
        if self.recovery or self.services.settings.execute:
            # At once: as soon as the task is ticked, a sibling may remove its files.
            root = self.services.root
            self._absent = tuple(
                path for path in self.task.files if not os.path.lexists(f"{root}/{path}")
            )
        return verified, tree

    def verify_in(self, root: Path, runner: Runner, why: str = "") -> VerifyResult:
        """Run Verify in the project or in a worktree of it, and record nothing."""
        if self.task.verify.invalid:
            return VerifyResult(passed=False, error=self.task.verify.invalid)
        if self._is_unverified or not self.task.verify.checks:
            return VerifyResult(root=root)
        spec = self.spec_files.spec
        number = self.log.attempts + 1
        row = f"{self.task.id} verify"
        if why:
            row += f" {why}"
        elif number > 1:
            most = max(number, self.services.max_attempts)
            row += f", attempt {number} of {most}"
        directory = path_below(root, spec.directory, self.services.root)
        environment = task_environment(spec, self.task, directory=directory, attempt=number)
        startup = is_e2e_startup(self.task)
        # Names the logs. The cleanup task finds by it what a startup left running.
        label = self.spec_files.e2e_label if startup else f"{spec.name}-{self.task.name}"
        try:
            with self.services.live(row, self.timeout, self.task.title) as on_output:
                context = RunContext(
                    root=root,
                    timeout=self.timeout,
                    env=environment,
                    keep=startup,
                    label=label,
                    on_output=on_output,
                )
                return run_checks(self.task.verify, runner, context)
        except RunError as error:
            return VerifyResult(passed=False, error=str(error), root=root)
        finally:
            self._remove_links()

    def _remove_links(self) -> None:
        """Remove links that a command put in place of our directories before we write there."""
        for directory in self.services.our_directories:
            for path in remove_links(directory, out_of=self.services.root):
                line = self.services.link_removed(path)
                self.services.note(f"{self.spec_files.name}: {self.task.id} {line}")

    def _failed_attempt(self, verified: VerifyResult, tree: str) -> FailedAttempt:
        """Read the failure, record it everywhere, and describe it for the decision."""
        from pytest_ralph.healing.decide import FailedAttempt
        from pytest_ralph.healing.verification import read_failure

        failure = read_failure(verified, self.task, self.spec_files.name, self.services)
        if self.recovery and not tree:
            tree = self.checkpoints.tree()
        self.log.verified(verified, failure, timeout=self.timeout, tree=tree)
        if self.recovery:
            if self.log.claimed_by:
                self.spec_files.did_not_help(self.log.claimed_by, failure)
            self.spec_files.attempt_failed(self.task, failure)
        self.services.notify("failed", task=self.task, failure=failure, attempt=self.log.attempts)
        return FailedAttempt(
            task=self.task,
            failure=failure,
            timeout=self.timeout,
            extended=self._extended,
            progress=failure.timed_out and self._made_progress(verified),
        )

    def _made_progress(self, verified: VerifyResult) -> bool:
        if verified.failing is not None and verified.failing.ended.progress:
            return True
        # Imported here: only a time limit that was exceeded needs it.
        from pytest_ralph.running.project_files import last_change

        return last_change(self.services.root) >= verified.started

    # Carrying out the task itself (--ralph-execute)

    def _execute(self) -> FailedAttempt | None:
        """Have the executor do the task, then verify; try again with the error.

        None if it passes.
        """
        tries = 1
        if not self.recovery:
            # Two by default; the state file may set another number. With recovery, the
            # error is fixed first, and the task is carried out again after that.
            tries = max(1, self.spec_files.state.number("maxTaskIterations"))
        failed: FailedAttempt | None = None
        for number in range(1, tries + 1):
            try:
                failed = self._execute_once(failed, number, tries)
                why_not_again = self._why_not_again(failed, number, tries)
            except GaveUpError as given_up:
                failed = self._last_verified or self.verify()
                why_not_again = given_up.decision.lines or (given_up.decision.reason,)
            if failed is None:
                return None
            if why_not_again:
                if not self.recovery:
                    self.log.note(*why_not_again)
                break
        return failed

    def execute_unverified(self, reason: str) -> None:
        """Have a task carried out that no command can verify.

        It is checked off if the executor reports success, and left to a person to check.
        """
        self.checkpoints.begin(self.task)
        self._is_unverified = True
        try:
            with self._turn():
                failed = self.fixer.execute(None, is_verified=False)
        except GaveUpError as given_up:
            self.result = self.log.ended("manual", f"{reason} ({given_up.decision.reason})")
            return
        if failed is not None:
            error = failed.failure.error
            self.result = self.log.ended("manual", f"{reason} (the executor failed: {error})")
            return
        self.is_done_unverified = True
        self._check_off()
        self.result = self._passed("manual", reason)

    def _check_off(self) -> None:
        if self.recovery:
            self.spec_files.passed(self.task)
        else:
            self.spec_files.tick(self.task)

    def _execute_once(
        self, failed: FailedAttempt | None, number: int, tries: int
    ) -> FailedAttempt | None:
        """One try, in as many executor runs as it takes: one may run out of time or context."""
        failed = self._verify_execution(self.fixer.execute(failed, number, tries))
        while failed is not None and failed.by_executor:
            decision = self.fixer.decide(failed)
            if not self.fixer.is_same_run(failed, decision):
                break
            self.fixer.record_decision(failed, decision)
            failed = self._verify_execution(self.fixer.run_again(failed, decision))
        return failed

    def _verify_execution(self, unfinished: FailedAttempt | None) -> FailedAttempt | None:
        """Verify a task that was carried out; the failure is also that of its executor."""
        failed = self._verify_work(unfinished)
        if failed is None or unfinished is None or unfinished.uninformative:
            return failed
        from pytest_ralph.healing.verification import failure_of_execution

        failure = failure_of_execution(unfinished.failure, failed.failure)
        return replace(unfinished, failure=failure)

    def _why_not_again(
        self, failed: FailedAttempt | None, number: int, tries: int
    ) -> tuple[str, ...]:
        if failed is None:
            return ()
        if not failed.failure.retryable:
            what = headline(failed.failure.kind)
            return (f"{self.task.id}: {what}: trying again cannot help",)
        if number == tries:
            return (f"ERROR: Max retries reached for task {self.task.id} after {number} attempts",)
        return ()

    # Results

    def _resume(self) -> None:
        """Take over what an earlier run had tried, if it was cut off in the middle of this task."""
        if not self.recovery or not self.spec_files.was_cut_off(self.task):
            return
        tried = self.services.advisor.left_off(self.spec_files.name, self.task.id)
        carried_out = self.spec_files.fixes_of(self.task)
        self.log.resume(tried, carried_out)

    def is_checked(self) -> bool:
        """Whether it is checked off by now: a fix is checked off together with its original."""
        if self.task.checked:
            return True
        return self.recovery and self.spec_files.is_checked(self.task)

    def _not_checked(self) -> str:
        """What a pass leaves open: words of the Verify field that were not understood."""
        verify = self.task.verify
        if not verify.unread:
            return ""
        words = f"not checked: {one_line('; '.join(verify.unread))}"
        if any(check.expect for check in verify.checks):
            return words
        return f"passes on exit status only; {words}"

    def _passed(self, outcome: str, reason: str = "") -> TaskResult:
        why_not_ticked = self.spec_files.not_ticked.get(self.task.name)
        if why_not_ticked:
            self.log.note(f"{self.task.id} is not ticked: {why_not_ticked}")
        if self.recovery or self.services.settings.execute:
            record_tick(self.services, self.spec_files, self.task)
        try:
            commit = self.checkpoints.passed(self.task)
        except (GitError, OSError) as error:
            commit = ""
            # About the run, not the task: with `-q`, a task that passed has no lines.
            self.services.note(f"{self.spec_files.name}: no commit for {self.task.id}: {error}")
        result = self.log.ended(outcome, reason)
        return result._replace(commit=commit, absent=self._absent)

    def _recovered(self) -> TaskResult:
        fixes = self.spec_files.passed(self.task)
        self.services.notify("recovered", task=self.task, fixes=fixes)
        if not self.log.last_fix:
            return self._passed("recovered", "passed when tried again")
        return self._passed("recovered", f"recovered by {self.log.last_fix}")

    def _escalate(self, decision: Decision) -> TaskResult:
        reason = decision.reason
        if decision.final == "skipped":
            self.spec_files.skipped(self.task)
            return self.log.ended("skipped", reason)
        if decision.final == "circular":
            self.log.found_circular()
        self.log.note(*decision.lines)
        final = "" if decision.final == "no executor" else decision.final
        self.spec_files.gave_up(self.task, final)
        self.services.notify("escalated", task=self.task, failure=self.log.last, reason=reason)
        return self.log.ended(self._failed_outcome, reason, final)

    def _report_failure(self) -> TaskResult:
        """Without recovery the failure is only reported; nothing is written."""
        from pytest_ralph.failure.missing_environment import missing_environment

        assert self.failed is not None
        failure = self.failed.failure
        self.spec_files.failed[self.task.name] = failure.error
        if self.services.settings.execute:
            self.spec_files.untick(self.task)
        missing = missing_environment(failure, self.services.root)
        if missing is not None:
            # Not the fault of this task, and the same for all others: said once, at the end.
            self.services.note(missing)
            return self.log.ended("failed", failure.error)
        error = failure.error
        if self.task.checked:
            error = f"regression: it was complete but fails now: {error}"
        return self.log.ended(self._failed_outcome, error)

    def stopped(self, error: BaseException) -> TaskResult:
        """End a task that cannot be worked on any further, through no fault of its own."""
        self.spec_files.failed[self.task.name] = str(error)
        self.result = self.log.ended("failed", str(error))
        return self.result

    @property
    def _failed_outcome(self) -> str:
        return "regression" if self.task.checked else "failed"
