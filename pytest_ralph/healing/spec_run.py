"""SpecRun: one spec in one run. Which of its tasks run, and what another worker left of it."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.fixing.errors import RecoveryError
from pytest_ralph.healing.checkpoints import Checkpoints
from pytest_ralph.healing.task_run import TaskRun
from pytest_ralph.shell.remote import find_remote_change
from pytest_ralph.spec.task import is_e2e_cleanup
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_ralph.healing.services import Services
    from pytest_ralph.healing.spec_files import SpecFiles
    from pytest_ralph.healing.takeover_log import TakeoverLog
    from pytest_ralph.results import TaskResult
    from pytest_ralph.settings import Settings
    from pytest_ralph.spec.task import Task

NO_VERIFY = "no Verify field"
FAILED_BEFORE = "failed before this worker took over"


class BegunTask(NamedTuple):
    """A task as it was when the run began.

    environ: The environment of its commands: conftest files may set it for each item.
    work_before: How much work of the run had been done when it began.
    """

    task: Task
    environ: Mapping[str, str]
    work_before: int


class SpecRun:
    """The tasks of one spec in one run.

    `perform` runs a task to its end. A [P] group calls `begin` for all its tasks, and `finish` for
    each of them once all first attempts have ended.
    """

    def __init__(
        self,
        services: Services,
        spec_files: SpecFiles,
        *,
        spec_path: str,
        recovery: bool,
        takeover_log: TakeoverLog | None = None,
    ) -> None:
        self.services = services
        self.spec_files = spec_files
        spec_files.max_attempts = services.max_attempts
        self.recovery = recovery
        self.takeover_log = takeover_log
        self.checkpoints = Checkpoints(services, spec_files)
        self.spec_path = spec_path
        self._start_error: RecoveryError | None = None
        # By the names of the tasks.
        self.begun: dict[str, BegunTask] = {}
        # The names of tasks that executors asked for: they are no items, so nothing reports them.
        self._added: set[str] = set()
        if takeover_log is not None:
            self._take_over(takeover_log)

    def start(self, base_path: str) -> list[str]:
        """Start recovery: bring the state in line with the document, and return what changed.

        If that fails, every task fails with the same error.
        """
        try:
            lines = self.spec_files.start(base_path)
        except RecoveryError as error:
            self._start_error = error
            return []

        # Imported here: a run without recovery needs no guard.
        from pytest_ralph.healing.plan_guard import edits_before_kill

        root = self.services.root
        backups = self.services.backups.parent
        return lines + edits_before_kill(root, backups, self.spec_files.spec)

    def perform(self, task: Task) -> TaskResult:
        return self.finish(self.begin(task))

    def verify_only(self, task: Task) -> TaskResult:
        """Verify a task that is expected to fail.

        It is neither carried out nor recovered nor ticked, and no other task depends on it.
        """
        run = self._task_run(task, recovery=False, execute=False)
        self._first_attempt(run)
        result = run.finish()
        self.spec_files.failed.pop(task.name, None)
        return result._replace(recovery=self.recovery)

    def cut_short(self, task: Task, error: BaseException) -> TaskResult:
        """Return the result of a task that an exception ended, such as another plugin's limit."""
        return self._task_run(task).stopped(error)

    def take_back(self, task: Task, reason: str) -> None:
        """Let a task that passed count as failed: another plugin made its report fail."""
        self.spec_files.failed[task.name] = reason
        self.services.regressions.forget(self.spec_path, task)
        if self._may_break_others:
            self._take_back(task)

    def begin(self, task: Task) -> TaskRun:
        """Skip the task or make its first attempt, unless another worker has begun it before."""
        environ = self.services.runner.environ
        self.begun[task.name] = BegunTask(task, environ, self.services.regressions.position)
        run = self._task_run(task)
        log = self.takeover_log
        if log is not None:
            run.result = self._result_of_dead_worker(task, log)
            if run.result is not None:
                return run
            log.begun(task.name)
        self._first_attempt(run)
        if log is not None and run.result is not None:
            log.ended(task.name, run.result)
        return run

    def _task_run(
        self,
        task: Task,
        *,
        recovery: bool | None = None,
        execute: bool | None = None,
        added: bool = False,
        shares_turn: bool = False,
    ) -> TaskRun:
        """Return the work on a task, with the settings of the spec unless others are given."""
        services = self.services.for_task(task)
        begun = self.begun.get(task.name)
        if begun is not None and begun.environ is not services.runner.environ:
            # It is verified again, while another item runs.
            runner = services.runner.with_environment(begun.environ)
            services = replace(services, runner=runner)
        if execute is not None:
            services = replace(services, settings=services.settings._replace(execute=execute))
        if recovery is None:
            recovery = self.recovery
        return TaskRun(
            self, services, task, recovery=recovery, is_added=added, shares_turn=shares_turn
        )

    def perform_added(self, task: Task, *, shares_turn: bool = False) -> TaskResult:
        """Have a task carried out that an executor asked for. It is no item of this run.

        It `shares_turn` with the task on whose account it was added while that is worked on.
        """
        run = self._task_run(task, execute=True, added=True, shares_turn=shares_turn)
        self._added.add(task.name)
        self._first_attempt(run)
        try:
            result = run.finish()
        except RecoveryError as error:
            # The task on whose account it was added may have passed.
            result = run.stopped(error)
        finally:
            run.close()
        if result.passed:
            self.services.regressions.add_pass(self, task, result)
        return result

    def _perform_followups(self, run: TaskRun, result: TaskResult) -> TaskResult:
        """Carry out, with --ralph-execute, what the executor of a completed task asked for."""
        for task in run.log.followups:
            line = f"{task.id} was added after {run.task.id} at the executor's request"
            if self.services.settings.execute:
                followed = self.perform_added(task)
                result = result.with_work_of(followed)
                line += f": {followed.outcome}"
            self.services.note(line)
        return result

    def _first_attempt(self, run: TaskRun) -> None:
        try:
            skip = self.skip(run)
            if skip is not None:
                outcome, reason = skip
                if _is_executed_unverified(run, outcome, reason):
                    run.execute_unverified(reason)
                else:
                    run.result = run.log.ended(outcome, reason)
                return
            if self._start_error is not None:
                raise self._start_error
            run.first_attempt()
        except RecoveryError as error:
            run.stopped(error)
        except BaseException:
            # Also after a time limit of another plugin: what an executor has done so far is kept.
            run.close()
            raise

    def finish(self, run: TaskRun) -> TaskResult:
        """Recover the task if its first attempt failed, and return its result."""
        ended_before = run.result is not None
        try:
            result = self._recover(run)
        finally:
            # Also after an interrupt: what an executor has done so far is kept.
            run.close()
        if result.passed:
            # It may have failed before: pytest-rerunfailures runs an item several times.
            self.spec_files.failed.pop(run.task.name, None)
        if is_e2e_cleanup(run.task):
            self.services.runner.release(self.spec_files.e2e_label)
        if self.takeover_log is not None and not ended_before:
            self.takeover_log.ended(run.task.name, result)
        return result

    def _recover(self, run: TaskRun) -> TaskResult:
        """Recover the task and the tasks that its executors broke."""
        try:
            result = run.finish()
            if run.log.followups and (result.passed or run.is_done_unverified):
                result = self._perform_followups(run, result)
        except RecoveryError as error:
            result = run.stopped(error)
        try:
            # Also after an error: an executor may have been at work before it.
            return self._heal_regressions(run, result)
        except RecoveryError as error:
            return run.stopped(error)

    # Regressions

    @property
    def _may_break_others(self) -> bool:
        """Whether executors or repairs work on the spec."""
        return self.recovery or self.services.settings.execute

    def _heal_regressions(self, run: TaskRun, result: TaskResult) -> TaskResult:
        """Recover what the work on a task broke, or the task if work on a sibling broke it."""
        if not self._may_break_others:
            return result
        begun = self.begun[run.task.name]
        return self.services.regressions.heal_after(self, run.task, result, begun.work_before)

    def heal(self, task: Task, culprit: str, diff: str = "") -> TaskResult | None:
        """Verify a task that has passed, and recover it if it fails; None if it still passes.

        `culprit` is one line that names the work which may have broken it, `diff` is that work.
        """
        again = self._task_run(task)
        again.log.culprit = culprit
        again.log.culprit_diff = diff
        again.log.note(culprit)
        try:
            if again.still_passes():
                return None
            self.checkpoints.begin_again(task)
            result = again.finish()
        except RecoveryError as error:
            result = again.stopped(error)
        finally:
            again.close()
        if result.bad:
            self._take_back(task)
            if task.name in self._added:
                self.services.note(f"{self.spec_files.name}: {culprit}: {result.reason}")
        if result.outcome == "flaky":
            work = culprit.partition(" since ")[2]
            reason = f"failed once after {work}, then passed with nothing changed"
            result = result._replace(reason=reason, notes=())
        return result

    def holds(self, task: Task) -> bool:
        """Verify a task in the project without recording the attempt."""
        run = self._task_run(task)
        return run.verify_in(run.services.root, run.services.runner).passed

    def fail_if_broken(self, task: Task, reason: str) -> TaskResult | None:
        """Verify a task that has passed; return its failed result, None if it still passes."""
        again = self._task_run(task)
        # The failure counts, even if it cannot be written into the files of the spec.
        with contextlib.suppress(RecoveryError):
            if again.verify() is None:
                return None
            if self.recovery:
                self.spec_files.gave_up(task, "")
        self._take_back(task)
        return again.stopped(RecoveryError(reason))

    def _take_back(self, task: Task) -> None:
        """Clear the box of a task that no longer passes; it fails even if that cannot be saved."""
        with contextlib.suppress(RecoveryError):
            self.spec_files.take_back(task)

    # Which tasks run

    def skip(self, run: TaskRun) -> tuple[str, str] | None:
        """Outcome and reason of a task that is not run; None if it is."""
        task = run.task
        # An executor may have ticked a later task; only a fix is ticked with another task.
        is_complete = run.is_checked() if task.fix_for else task.checked
        complete = complete_already(task, self.services.settings, is_complete=is_complete)
        if complete:
            return "skipped", complete
        # A run that only verifies wants to know of every task whether it passes.
        explicit_only = self.services.settings.keep_going or not self.recovery
        failed = self.spec_files.failed
        blocker = self.spec_files.plan.blocker(task, failed, explicit_only=explicit_only)
        if blocker:
            return "blocked", f"blocked by {blocker}"
        return unverifiable(task, self.services.settings)

    # Taking over from a worker that died

    def _take_over(self, takeover_log: TakeoverLog) -> None:
        """Block what depends on tasks that failed, or were cut off, in another worker."""
        spec = self.spec_files.spec
        failed = self.spec_files.failed
        for name, result in takeover_log.results.items():
            task = spec.get(name)
            if result.bad:
                failed[name] = FAILED_BEFORE
            elif result.passed and task is not None:
                self.services.regressions.add_pass(self, task, result)
        for name in takeover_log.unfinished:
            if not self._passed_before_crash(spec.get(name)):
                failed[name] = FAILED_BEFORE

    def _result_of_dead_worker(self, task: Task, log: TakeoverLog) -> TaskResult | None:
        """The result of a task that another worker has begun; None if none has."""
        name = task.name
        if name in log.results:
            return log.results[name]
        if name not in log.unfinished:
            return None
        return self.crashed(task, log.unfinished[name])

    def crashed(self, task: Task, worker: str) -> TaskResult:
        """Return the result of a task whose worker died; it may have passed before that."""
        log = self._task_run(task).log
        if self._passed_before_crash(task):
            return log.crashed_after_pass(worker, self.spec_files.fixes_of(task))
        return log.crashed(worker)

    def _passed_before_crash(self, task: Task | None) -> bool:
        """Whether a task that was open when the run began is checked off by now."""
        if task is None or task.checked:
            return False
        try:
            return self.spec_files.is_checked(task)
        except RecoveryError:
            return False


def _is_executed_unverified(run: TaskRun, outcome: str, reason: str) -> bool:
    """Whether --ralph-execute has a task carried out that no command can verify."""
    if not run.services.settings.execute or run.is_checked():
        return False
    return outcome == "manual" or reason == NO_VERIFY


def complete_already(task: Task, settings: Settings, *, is_complete: bool) -> str:
    """Return why a task that is complete is not verified again; empty if it is verified."""
    if settings.pending and is_complete:
        return "already complete"
    if task.checked and task.has_marker("RED"):
        return "already complete: a [RED] task is meant to fail, so it is not verified again"
    return ""


def unverifiable(task: Task, settings: Settings) -> tuple[str, str] | None:
    """Outcome and reason of a task that no command verifies here; None if one does."""
    verify = task.verify
    if verify.manual:
        return "manual", f"manual: {one_line(verify.by_hand)}"
    if not verify.checks and not verify.invalid:
        return "skipped", NO_VERIFY
    if settings.strict and verify.unread:
        return "manual", f"manual: not checked: {one_line('; '.join(verify.unread))}"
    if "remote" in settings.allow:
        return None
    for check in verify.checks:
        change = find_remote_change(check.command, settings.remote)
        if change is not None:
            return "skipped", f"changes something outside: {one_line(change)}"
    return None
