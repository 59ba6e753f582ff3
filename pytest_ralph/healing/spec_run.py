"""SpecRun: one spec in one run. Which of its tasks run, and what another worker left of it."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.fixing.templating import TemplatesError
from pytest_ralph.healing.checkpoints import Checkpoints
from pytest_ralph.healing.errors import RecoveryError
from pytest_ralph.healing.guard import owner_of
from pytest_ralph.healing.task_run import TaskRun
from pytest_ralph.shell.remote import find_remote_change
from pytest_ralph.spec.order import is_e2e_cleanup, is_red
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_ralph.healing.services import Services
    from pytest_ralph.healing.spec_files import SpecFiles
    from pytest_ralph.healing.takeover_log import TakeoverLog
    from pytest_ralph.results import TaskResult
    from pytest_ralph.spec.task import Task

NO_VERIFY = "no Verify field"
# How often a fix of a regression may break another task.
MAX_ROUNDS = 5


class PassedTask(NamedTuple):
    """A task that passed earlier in the run, and the files that matter to it; none if unknown."""

    spec_run: SpecRun
    task: Task
    files: tuple[str, ...]

    def name_for(self, reader: SpecRun) -> str:
        """The id of the task, with the name of its spec if that is not the reader's."""
        if self.spec_run is reader:
            return self.task.id
        return f"{self.spec_run.spec_files.spec.name} {self.task.id}"


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
        self.checkpoints = Checkpoints(services, spec_files)
        self._spec_path = _relative(spec_files.spec.path, services.root)
        self._start_error: RecoveryError | None = None
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

    def take_back(self, task: Task, reason: str) -> None:
        """Let a task that passed count as failed: another plugin made its report fail."""
        self.spec_files.failed[task.name] = reason
        self.services.passed[:] = [
            passed
            for passed in self.services.passed
            if passed.spec_run is not self or passed.task.name != task.name
        ]
        if self._may_break_others:
            with contextlib.suppress(RecoveryError):
                self.spec_files.take_back(task)

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
            self.checkpoints,
            task,
            spec_path=self._spec_path,
            recovery=self.recovery if recovery is None else recovery,
            perform_added=self._perform_added,
        )

    def _perform_added(self, task: Task) -> TaskResult:
        """Have a task carried out that an executor asked for. It is no item of this run."""
        run = self._task_run(task, added=True)
        self._first_attempt(run)
        result = run.finish()
        run.close()
        return result

    def _perform_followups(self, run: TaskRun, result: TaskResult) -> TaskResult:
        """Carry out, with --ralph-execute, what the executor of a task that passed asked for."""
        for task in run.log.followups:
            line = f"{task.id} was added behind {run.task.id} because the executor asked for it"
            if self.services.settings.execute:
                followed = self._perform_added(task)
                result = result.with_work_of(followed)
                line += f": {followed.outcome}"
            self.services.note(line)
        return result

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
                result = self._perform_followups(run, result)
            if self._may_break_others and result.changed:
                self._changes.append((run.task, result.changed))
                result = self._heal_regressions(run.task, result)
            elif self._may_break_others and result.passed:
                result = self._heal_own_regression(run, result)
        except (RecoveryError, TemplatesError) as error:
            result = run.stopped(error)
        finally:
            run.close()
        if result.passed and self.recovery:
            result = self._heal_change_of_other_worker(run, result)
        if result.passed:
            self._remember_pass(run.task, result)
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

    @property
    def _may_break_others(self) -> bool:
        """Whether executors or repairs work on the spec."""
        return self.recovery or self.services.settings.execute

    def _remember_pass(self, task: Task, result: TaskResult) -> None:
        """Have the task verified again when one of its files changes later in the run."""
        files = tuple(dict.fromkeys((*task.files, *result.changed)))
        self.services.passed.append(PassedTask(self, task, files))

    def _heal_regressions(self, culprit: Task, result: TaskResult) -> TaskResult:
        """Verify again the tasks that passed before and may be broken by the files that changed.

        One that no longer passes is recovered. Its own report has been written, so what could not
        be recovered is reported as a failure of the culprit.
        """
        changed = result.changed
        for _ in range(MAX_ROUNDS):
            broken = next(self._find_regressions(culprit, changed), None)
            if broken is None:
                return result
            passed, run = broken
            name = passed.name_for(self)
            line = f"{name} no longer passes since {culprit.id} changed {', '.join(changed[:3])}"
            run.log.note(line)
            healed = run.finish()
            run.close()
            result = result.with_work_of(healed)
            # The fix of one may have broken another.
            changed = (*changed, *healed.changed)
            if healed.bad:
                self.services.passed.remove(passed)
                return self._regressed(culprit, result, f"{line}: {healed.reason}", changed)
            if result.passed and self._task_run(culprit).verify() is not None:
                line = f"{culprit.id} and {name} do not pass together: {line}"
                return self._regressed(culprit, result, line, changed)
        reason = "fixes of its regressions keep breaking each other"
        return self._regressed(culprit, result, reason, changed)

    def _find_regressions(
        self, culprit: Task, changed: Sequence[str]
    ) -> Iterator[tuple[PassedTask, TaskRun]]:
        """Yield the tasks of any spec that passed before and do not pass any more."""
        for passed in list(self.services.passed):
            is_culprit = passed.spec_run is self and passed.task.name == culprit.name
            if is_culprit or not is_affected(passed.files, changed):
                continue
            run = passed.spec_run._task_run(passed.task)  # noqa: SLF001 - another SpecRun
            run.failed = run.verify()
            if run.failed is not None:
                yield passed, run

    def _regressed(
        self, culprit: Task, result: TaskResult, reason: str, changed: Sequence[str]
    ) -> TaskResult:
        """Fail the culprit, and name all tasks that it broke: they are shown as passed."""
        for passed, run in self._find_regressions(culprit, changed):
            run.close()
            self.services.passed.remove(passed)
            reason += f"; {passed.name_for(self)} no longer passes either"
        self.spec_files.failed[culprit.name] = reason
        return result._replace(outcome="failed", reason=reason)

    def _heal_own_regression(self, run: TaskRun, result: TaskResult) -> TaskResult:
        """Verify a task again if a sibling changed its files between first attempt and result."""
        for culprit, changed in self._changes[self._changes_before[run.task.name] :]:
            if not is_affected(run.task.files, changed):
                continue
            again = self._task_run(run.task)
            again.failed = again.verify()
            if again.failed is None:
                return result
            listed = ", ".join(changed[:3])
            again.log.note(f"{run.task.id} no longer passes since {culprit.id} changed {listed}")
            return again.finish()
        return result

    def _heal_change_of_other_worker(self, run: TaskRun, result: TaskResult) -> TaskResult:
        """Verify a task again if another worker changed its files since it was verified."""
        shared = self.services.shared_passes
        if shared is None:
            return result
        # Added before looking: whoever changes a file adds that first, and looks afterwards.
        shared.passed(self._spec_path, run.task.name, run.task.files)
        if not shared.is_changed_since(run.verified_at, run.task.files):
            return result
        again = self._task_run(run.task)
        again.failed = again.verify()
        if again.failed is None:
            return result
        again.log.note(f"{run.task.id} no longer passes since another worker changed its files")
        try:
            return again.finish()
        except (RecoveryError, TemplatesError) as error:
            return again.stopped(error)
        finally:
            again.close()

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
            return "manual", f"manual: {one_line(task.verify.by_hand)}"
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
        for name, result in takeover_log.results.items():
            task = self.spec_files.spec.get(name)
            if result.passed and task is not None:
                self._remember_pass(task, result)
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


def is_affected(files: Sequence[str], changed: Sequence[str]) -> bool:
    """Whether changed files may matter to a task: its own, or any if its files are not known.

    A task may name directories and patterns, too.
    """
    if not files:
        return True
    for path in changed:
        for name in files:
            directory = name.rstrip("/") + "/"
            if path == name or path.startswith(directory) or fnmatchcase(path, name):
                return True
    return False


def _relative(path: Path, root: Path) -> str:
    if path.is_relative_to(root):
        path = path.relative_to(root)
    return path.as_posix()
