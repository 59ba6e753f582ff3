"""SpecRun: one spec in one run. Which of its tasks run, and what another worker left of it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.fixing.templating import TemplatesError
from pytest_ralph.healing.checkpoints import Checkpoints
from pytest_ralph.healing.errors import RecoveryError
from pytest_ralph.healing.guard import owner_of
from pytest_ralph.healing.task_run import TaskRun
from pytest_ralph.shell.remote import find_remote_change
from pytest_ralph.spec.order import is_e2e_cleanup, is_red
from pytest_ralph.text.inert import one_line
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_ralph.healing.services import Services
    from pytest_ralph.healing.spec_files import SpecFiles
    from pytest_ralph.healing.takeover_log import TakeoverLog
    from pytest_ralph.results import TaskResult
    from pytest_ralph.spec.task import Task

# The Verify field often starts with the word that the reason starts with.
_MANUAL = regex(r"^manual(?:ly)?\s*[:—–-]\s*", re.IGNORECASE)

NO_VERIFY = "no Verify field"


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
        recovery: bool,
        takeover_log: TakeoverLog | None = None,
    ) -> None:
        self.services = services
        self.spec_files = spec_files
        self.recovery = recovery
        self.takeover_log = takeover_log
        self._checkpoints = Checkpoints(services, spec_files)
        self._spec_path = _relative(spec_files.spec.path, services.root)
        self._start_error: RecoveryError | None = None
        # The tasks that passed in this run, by their names.
        self._passed: dict[str, Task] = {}
        # The tasks whose recovery or execution changed files, with these files.
        self._changes: list[tuple[Task, tuple[str, ...]]] = []
        # How many of these changes there were when a task began, by its name.
        self._changes_before: dict[str, int] = {}
        if takeover_log is not None:
            self._take_over(takeover_log)

    def start(self, base_path: str) -> list[str]:
        """Start recovery: bring the state in line with the document, and return what changed.

        If that fails, every task fails with the same error.
        """
        try:
            return self.spec_files.start(base_path)
        except RecoveryError as error:
            self._start_error = error
            return []

    def perform(self, task: Task) -> TaskResult:
        return self.finish(self.begin(task))

    def verify_only(self, task: Task) -> TaskResult:
        """Verify a task that is expected to fail.

        It is neither recovered nor ticked, and no other task depends on it.
        """
        run = self._task_run(task, recovery=False)
        self._first_attempt(run)
        result = run.finish()
        self.spec_files.failed.pop(task.name, None)
        return result

    def cut_short(self, task: Task, error: BaseException) -> TaskResult:
        """Return the result of a task that an exception ended, such as another plugin's limit."""
        return self._task_run(task).stopped(error)

    def begin(self, task: Task) -> TaskRun:
        """Skip the task or make its first attempt, unless another worker has begun it before."""
        run = self._task_run(task)
        self._changes_before[task.name] = len(self._changes)
        if self.takeover_log is None:
            self._first_attempt(run)
            return run
        if task.name in self.takeover_log.results:
            run.result = self.takeover_log.results[task.name]
            return run
        if task.name in self.takeover_log.unfinished:
            run.result = self._cut_off(run, self.takeover_log.unfinished[task.name])
            return run
        self.takeover_log.begun(task.name)
        self._first_attempt(run)
        if run.result is not None:
            self.takeover_log.ended(task.name, run.result)
        return run

    def _task_run(
        self, task: Task, *, recovery: bool | None = None, added: bool = False
    ) -> TaskRun:
        services = self.services.for_task(task)
        if added:
            services = replace(services, settings=replace(services.settings, execute=True))
        return TaskRun(
            services,
            self.spec_files,
            self._checkpoints,
            task,
            spec_path=self._spec_path,
            recovery=self.recovery if recovery is None else recovery,
            perform_added=self._perform_added,
        )

    def _perform_added(self, task: Task) -> TaskResult:
        """Have a task carried out that an executor asked for. It is no item of this run."""
        run = self._task_run(task, added=True)
        self._first_attempt(run)
        return run.finish()

    def _perform_followups(self, run: TaskRun) -> None:
        """Carry out, with --ralph-execute, what the executor of a task that passed asked for."""
        for task in run.log.followups:
            line = f"{task.id} was added behind {run.task.id} because the executor asked for it"
            if self.services.settings.execute:
                result = self._perform_added(task)
                run.log.absorb(result)
                line += f": {result.outcome}"
            self.services.note(line)

    def _first_attempt(self, run: TaskRun) -> None:
        try:
            skip = self.skip(run.task)
            if skip is not None:
                outcome, reason = skip
                if self._is_executed_unverified(run, outcome, reason):
                    run.execute_unverified(reason)
                else:
                    run.result = run.log.ended(outcome, reason)
                return
            if self._start_error is not None:
                raise self._start_error
            run.first_attempt()
        except (RecoveryError, TemplatesError) as error:
            run.stopped(error)

    def finish(self, run: TaskRun) -> TaskResult:
        """Recover the task if its first attempt failed, and return its result."""
        ended_before = run.result is not None
        try:
            result = run.finish()
            if run.log.followups and result.passed:
                self._perform_followups(run)
            if self.recovery and result.changed:
                self._changes.append((run.task, result.changed))
                result = self._heal_regressions(run.task, result)
            elif self.recovery and result.passed:
                result = self._heal_own_regression(run, result)
        except (RecoveryError, TemplatesError) as error:
            result = run.stopped(error)
        finally:
            run.close()
        if result.passed:
            self._passed[run.task.name] = run.task
            self._remember_for_rollback(run.task)
            # It may have failed before: pytest-rerunfailures runs an item several times.
            self.spec_files.failed.pop(run.task.name, None)
        if is_e2e_cleanup(run.task):
            self.services.runner.release(f"{self.spec_files.spec.name}-e2e")
        if self.takeover_log is not None and not ended_before:
            self.takeover_log.ended(run.task.name, result)
        return result

    def _remember_for_rollback(self, task: Task) -> None:
        """Have a task that passed verified again after a rollback."""
        if self.services.settings.rollback:
            owner = owner_of(self.spec_files, task)
            self.services.tree.passed[owner] = self._task_run(task).still_passes

    # Regressions

    def _heal_regressions(self, culprit: Task, result: TaskResult) -> TaskResult:
        """Verify again the tasks that passed before and may be broken by the files that changed.

        One that no longer passes is recovered. Its own report has been written, so what could not
        be recovered is reported as a failure of the culprit.
        """
        for task in list(self._passed.values()):
            if task.name == culprit.name or not is_affected(task, result.changed):
                continue
            run = self._task_run(task)
            run.failed = run.verify()
            if run.failed is None:
                continue
            changed = ", ".join(result.changed[:3])
            line = f"{task.id} no longer passes since {culprit.id} changed {changed}"
            run.log.note(line)
            healed = run.finish()
            costs = tuple(attempt for attempt in healed.attempts if not attempt.verifies)
            result = result._replace(
                attempts=result.attempts + costs, notes=(*result.notes, *healed.notes)
            )
            if healed.bad:
                self._passed.pop(task.name, None)
                self.spec_files.failed[culprit.name] = line
                return result._replace(outcome="failed", reason=f"{line}: {healed.reason}")
            still_passes = self._task_run(culprit)
            if result.passed and still_passes.verify() is not None:
                line = f"{culprit.id} and {task.id} do not pass together: {line}"
                self.spec_files.failed[culprit.name] = line
                return result._replace(outcome="failed", reason=line)
        return result

    def _heal_own_regression(self, run: TaskRun, result: TaskResult) -> TaskResult:
        """Verify a task again if a sibling changed its files between first attempt and result."""
        for culprit, changed in self._changes[self._changes_before[run.task.name] :]:
            if not is_affected(run.task, changed):
                continue
            again = self._task_run(run.task)
            again.failed = again.verify()
            if again.failed is None:
                return result
            listed = ", ".join(changed[:3])
            again.log.note(f"{run.task.id} no longer passes since {culprit.id} changed {listed}")
            return again.finish()
        return result

    # Which tasks run

    def skip(self, task: Task) -> tuple[str, str] | None:
        """Outcome and reason of a task that is not run; None if it is."""
        if task.fix_for:
            original = self._failed_original(task)
            if original is not None:
                return "skipped", f"fix of {original}"
        if self.services.settings.pending and self._is_checked(task):
            return "skipped", "already complete"
        if task.checked and is_red(task):
            reason = "a [RED] task is meant to fail, so it is not verified again"
            return "skipped", f"already complete: {reason}"
        blocker = self.spec_files.plan.blocker(
            task,
            self.spec_files.failed,
            keep_going=self.services.settings.keep_going,
            recovery=self.recovery,
        )
        if blocker:
            return "blocked", f"blocked by {blocker}"
        if task.verify.manual:
            return "manual", f"manual: {_MANUAL.sub('', one_line(task.verify.manual))}"
        if not task.verify.checks and not task.verify.invalid:
            return "skipped", NO_VERIFY
        if self.services.settings.strict and task.verify.unread:
            return "manual", f"manual: not checked: {one_line('; '.join(task.verify.unread))}"
        change = self._remote_change(task)
        if change is not None:
            return "skipped", f"changes something outside: {one_line(change)}"
        return None

    def _remote_change(self, task: Task) -> str | None:
        """The part of the task's Verify that would change something outside this machine."""
        settings = self.services.settings
        if "remote" in settings.allow:
            return None
        for check in task.verify.checks:
            change = find_remote_change(check.command, settings.remote)
            if change is not None:
                return change
        return None

    def _is_executed_unverified(self, run: TaskRun, outcome: str, reason: str) -> bool:
        """Whether --ralph-execute has a task carried out that no command can verify."""
        if not run.services.settings.execute or self._is_checked(run.task):
            return False
        return outcome == "manual" or reason == NO_VERIFY

    def _is_checked(self, task: Task) -> bool:
        """Whether it is checked off by now: a fix is checked off together with its original."""
        if task.checked:
            return True
        return self.recovery and self.spec_files.is_checked(task)

    def _failed_original(self, task: Task) -> str | None:
        """The name of the task, up the lineage of a fix, that failed in this run."""
        seen: set[str] = set()
        owner = self.spec_files.owner_of(task)
        while owner is not None and owner.name not in seen:
            if owner.name in self.spec_files.failed:
                return owner.name
            seen.add(owner.name)
            owner = self.spec_files.owner_of(owner)
        return None

    # Taking over from a worker that died

    def _take_over(self, takeover_log: TakeoverLog) -> None:
        """Block what depends on tasks that failed, or were cut off, in another worker."""
        bad = [name for name, result in takeover_log.results.items() if result.bad]
        for name in takeover_log.unfinished:
            if not self._passed_before_crash(self.spec_files.spec.get(name)):
                bad.append(name)  # noqa: PERF401 - reads files
        reason = "failed before this worker took over"
        self.spec_files.failed.update(dict.fromkeys(bad, reason))

    def _cut_off(self, run: TaskRun, worker: str) -> TaskResult:
        if self._passed_before_crash(run.task):
            return run.log.crashed_after_pass(worker, self.spec_files.fixes_of(run.task))
        return run.log.crashed(worker)

    def _passed_before_crash(self, task: Task | None) -> bool:
        """Whether a task that was open when the run began is checked off by now."""
        if task is None or task.checked:
            return False
        try:
            return self.spec_files.is_checked(task)
        except RecoveryError:
            return False


def is_affected(task: Task, changed: Sequence[str]) -> bool:
    """Whether files that changed may matter to the task: its own, or any if it names none."""
    if not task.files:
        return True
    return not {*task.files}.isdisjoint(changed)


def _relative(path: Path, root: Path) -> str:
    if path.is_relative_to(root):
        path = path.relative_to(root)
    return path.as_posix()
