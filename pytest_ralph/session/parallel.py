"""[P] groups: tasks that run at once in a pool of threads, each waiting for its process.

pytest still runs the items one after the other. The first item of a group starts all of its
siblings; the other items only wait for their results. A task that failed is recovered once the
first attempt of every sibling has ended, together with all others that failed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from pytest_ralph.healing.spec_run import SpecRun
    from pytest_ralph.healing.task_run import TaskRun
    from pytest_ralph.report import batch
    from pytest_ralph.results import TaskResult
    from pytest_ralph.spec.task import Task

    # How many more failures end the run (-x, --maxfail); None for any number.
    FailuresLeft = Callable[[], int | None]
    # Writes lines to the terminal at once.
    Show = Callable[[Sequence[str]], None]


class ParallelGroups:
    """All [P] groups of a run. A group starts when pytest reaches the first of its items."""

    def __init__(self, failures_left: FailuresLeft, show: Show) -> None:
        self._failures_left = failures_left
        self._show = show
        # Tasks that wait for their item, and those of them that a group has started already.
        self._selected: set[tuple[Path, str]] = set()
        self._started: dict[tuple[Path, str], Group] = {}
        self._groups: list[Group] = []

    def select(self, spec_path: Path, task: Task) -> None:
        """Tell that this task is going to run: a group consists of selected tasks only."""
        self._selected.add((spec_path, task.name))

    def perform(self, spec_run: SpecRun, task: Task) -> TaskResult:
        """Run a task, alone or in its group, and return its result."""
        path = spec_run.spec_files.spec.path
        group = self._started.pop((path, task.name), None)
        if group is None:
            group = self._start_group(spec_run, task, path)
        if group is None:
            return spec_run.perform(task)
        return group.result(task)

    def _start_group(self, spec_run: SpecRun, task: Task, path: Path) -> Group | None:
        """Start all selected tasks of a group; None if the task is to run alone."""
        if spec_run.services.settings.jobs < 2 or (path, task.name) not in self._selected:
            return None
        tasks = [
            sibling
            for sibling in spec_run.spec_files.plan.group_of(task)
            if (path, sibling.name) in self._selected
        ]
        if len(tasks) < 2:
            return None
        group = Group(spec_run, tasks, self._failures_left(), self._show)
        self._groups.append(group)
        for sibling in tasks:
            # A task that is run a second time (--reruns) runs alone.
            self._selected.remove((path, sibling.name))
            self._started[path, sibling.name] = group
        del self._started[path, task.name]
        return group

    def stop(self) -> None:
        """Start no further task."""
        for group in self._groups:
            group.stop()

    def close(self) -> None:
        """Wait for the tasks that run."""
        for group in self._groups:
            group.close()


@dataclass
class Sibling:
    """A task of a group.

    first_attempt: Its result is None if the task was held back: too many others had failed.
    recovery: None unless the task is recovered.
    is_failing: Whether its first attempt failed, and it has not been recovered since.
    is_pending: Whether pytest has not had its result yet.
    """

    task: Task
    first_attempt: Future[TaskRun | None] = field(init=False)
    recovery: Future[TaskResult] | None = None
    is_failing: bool = False
    is_pending: bool = True

    def ended(self) -> TaskRun | None:
        """Wait for the first attempt; None if the task was held back or could not be started.

        An exception is not raised here but when pytest asks for the result of this task.
        """
        if self.first_attempt.cancelled() or self.first_attempt.exception():
            return None
        return self.first_attempt.result()

    @property
    def status(self) -> batch.Status:
        if self.first_attempt.running():
            return "running..."
        task_run = self.ended() if self.first_attempt.done() else None
        if task_run is None:
            return "waiting"
        if task_run.failed is not None:
            return "failed"
        if task_run.result is not None and task_run.result.passed:
            return "complete"
        return "skipped"


class Group:
    """Tasks of one spec that run at once.

    The pool runs the tasks. Everything else happens in the main thread, in which pytest asks for
    one result after the other.
    """

    def __init__(
        self, spec_run: SpecRun, tasks: Sequence[Task], failures_left: int | None, show: Show
    ) -> None:
        # Imported here: most specs have no [P] group.
        from concurrent.futures import ThreadPoolExecutor

        self._spec_run = spec_run
        self._failures_left = failures_left
        self._show = show
        workers = min(spec_run.services.settings.jobs, len(tasks))
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="ralph")
        self._siblings = {task.name: Sibling(task) for task in tasks}
        for sibling in self._siblings.values():
            self._submit(sibling)

    def _submit(self, sibling: Sibling) -> None:
        sibling.first_attempt = self._pool.submit(self._begin, sibling)

    def _begin(self, sibling: Sibling) -> TaskRun | None:
        """Make the first attempt, in the pool; None if too many siblings have failed."""
        failing = sum(other.is_failing for other in self._siblings.values())
        if self._failures_left is not None and failing >= self._failures_left:
            return None
        task_run = self._spec_run.begin(sibling.task)
        sibling.is_failing = not task_run.good
        return task_run

    def result(self, task: Task) -> TaskResult:
        """Wait for the result of a task."""
        sibling = self._siblings[task.name]
        try:
            return self._finish(sibling)
        finally:
            sibling.is_pending = False
            if not self._pending():
                self.stop()

    def _pending(self) -> list[Sibling]:
        return [sibling for sibling in self._siblings.values() if sibling.is_pending]

    def _finish(self, sibling: Sibling) -> TaskResult:
        """Wait for the first attempt, and recover the task with all others that failed."""
        task_run = sibling.first_attempt.result()
        while task_run is None:
            # It was held back for failures that did not end the run: they were recovered.
            self._start_held_back()
            task_run = sibling.first_attempt.result()
        if task_run.failed is None or not self._spec_run.recovery:
            return self._spec_run.finish(task_run)
        if sibling.recovery is None:
            self._recover_all_failed(sibling)
        assert sibling.recovery is not None
        result = sibling.recovery.result()
        if result.passed:
            sibling.is_failing = False
        self._show_results(sibling)
        return result

    def _start_held_back(self) -> None:
        """Make the first attempts that were not made because too many siblings had failed."""
        for sibling in self._siblings.values():
            sibling.is_failing = False
        for sibling in self._pending():
            if sibling.first_attempt.done() and sibling.ended() is None:
                self._submit(sibling)

    def _recover_all_failed(self, first: Sibling) -> None:
        """Wait for all first attempts, and start to recover the tasks that failed.

        first: The one of them whose result pytest waits for.
        """
        # Imported here: most groups pass.
        from pytest_ralph.report import batch

        if any(not sibling.first_attempt.done() for sibling in self._siblings.values()):
            self._show(batch.partial_failure(self._statuses()))
        failed = {}
        for sibling in self._pending():
            task_run = sibling.ended()
            if task_run is not None and task_run.failed:
                failed[sibling.task.name] = task_run
        # No other first attempt runs any more.
        if len(failed) > 1:
            self._show(batch.multiple_failures(self._statuses(), list(failed)))
        else:
            self._show(batch.retry_after_siblings(self._statuses(), first.task.name))
        for name, task_run in failed.items():
            sibling = self._siblings[name]
            if sibling.recovery is None:
                sibling.recovery = self._pool.submit(self._spec_run.finish, task_run)

    def _statuses(self) -> dict[str, batch.Status]:
        return {name: sibling.status for name, sibling in self._siblings.items()}

    def _show_results(self, last: Sibling) -> None:
        """Show the results of several recoveries, once pytest has asked for the last of them."""
        recovered = [sibling for sibling in self._siblings.values() if sibling.recovery]
        pending = [sibling for sibling in recovered if sibling.is_pending]
        if len(recovered) < 2 or pending != [last]:
            return
        reasons = {}
        for sibling in recovered:
            assert sibling.recovery is not None
            if not sibling.recovery.exception():
                reasons[sibling.task.name] = _reason(sibling.recovery.result())

        from pytest_ralph.report import batch

        self._show(batch.retry_results(reasons))

    def stop(self) -> None:
        """Start no further task."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Wait for the tasks that run."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _reason(result: TaskResult) -> str:
    """Return why a task was not recovered; empty if it was."""
    if result.passed:
        return ""
    if len(result.verifications) > 1:
        return "retry failed"
    return f"not retried: {result.reason}"
