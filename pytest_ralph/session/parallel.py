"""[P] groups: tasks that run at once in a pool of threads, each waiting for its process.

pytest still runs the items one after the other. The first item of a group starts all of its
siblings; the other items only wait for their results. A task that failed is recovered once the
first attempt of every sibling has ended, together with all others that failed.
"""

from __future__ import annotations

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
        self._tasks = {task.name: task for task in tasks}
        self._failures_left = failures_left
        self._show = show
        # The tasks whose results pytest has not asked for.
        self._pending = set(self._tasks)
        self._failing: set[str] = set()
        workers = min(spec_run.services.settings.jobs, len(tasks))
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="ralph")
        self._first_attempts: dict[str, Future[TaskRun | None]] = {}
        self._recoveries: dict[str, Future[TaskResult]] = {}
        for task in tasks:
            self._submit(task)

    def _submit(self, task: Task) -> None:
        self._first_attempts[task.name] = self._pool.submit(self._begin, task)

    def _begin(self, task: Task) -> TaskRun | None:
        """Make the first attempt, in the pool; None if too many siblings have failed."""
        if self._failures_left is not None and len(self._failing) >= self._failures_left:
            return None
        task_run = self._spec_run.begin(task)
        if not task_run.good:
            self._failing.add(task.name)
        return task_run

    def result(self, task: Task) -> TaskResult:
        """Wait for the result of a task."""
        try:
            return self._finish(self._first_attempt(task), task.name)
        finally:
            self._pending.discard(task.name)
            if not self._pending:
                self.stop()

    def _first_attempt(self, task: Task) -> TaskRun:
        while True:
            task_run = self._first_attempts[task.name].result()
            if task_run is not None:
                return task_run
            # It was held back for failures that did not end the run: they were recovered.
            self._failing.clear()
            for name in self._held_back():
                self._submit(self._tasks[name])

    def _held_back(self) -> list[str]:
        names = [name for name, future in self._first_attempts.items() if future.done()]
        return [name for name in names if self._ended(name) is None]

    def _ended(self, name: str) -> TaskRun | None:
        """Return the first attempt of a task that has ended.

        An exception in it is not raised here but when pytest asks for the result of that task.
        """
        future = self._first_attempts[name]
        if future.cancelled() or future.exception():
            return None
        return future.result()

    def _finish(self, task_run: TaskRun, name: str) -> TaskResult:
        if task_run.failed is None or not self._spec_run.recovery:
            return self._spec_run.finish(task_run)
        if name not in self._recoveries:
            self._recover_all_failed(name)
        result = self._recoveries[name].result()
        if result.passed:
            self._failing.discard(name)
        self._show_results(name)
        return result

    def _recover_all_failed(self, name: str) -> None:
        # Imported here: most groups pass.
        from pytest_ralph.report import batch

        if self._is_running():
            self._show(batch.partial_failure(self._statuses()))
        failed = {}
        for sibling in self._first_attempts:
            # Waits for the sibling's first attempt.
            task_run = self._ended(sibling)
            if task_run is not None and task_run.failed and sibling in self._pending:
                failed[sibling] = task_run
        if len(failed) > 1:
            self._show(batch.multiple_failures(self._statuses(), list(failed)))
        else:
            self._show(batch.retry_after_siblings(self._statuses(), name))
        for sibling, task_run in failed.items():
            if sibling not in self._recoveries:
                self._recoveries[sibling] = self._pool.submit(self._spec_run.finish, task_run)

    def _is_running(self) -> bool:
        return any(not future.done() for future in self._first_attempts.values())

    def _statuses(self) -> dict[str, batch.Status]:
        failed: batch.Status = "FAILED (attempt 1)" if self._is_running() else "failed"
        return {name: self._status(name, failed) for name in self._first_attempts}

    def _status(self, name: str, failed: batch.Status) -> batch.Status:
        future = self._first_attempts[name]
        if future.running():
            return "running..."
        if not future.done():
            return "waiting"
        task_run = self._ended(name)
        if task_run is None:
            return "waiting"
        if task_run.failed is not None:
            return failed
        if task_run.result is not None and task_run.result.passed:
            return "complete"
        return "skipped"

    def _show_results(self, last: str) -> None:
        """Show the results of several recoveries, once the last of them has ended."""
        if len(self._recoveries) < 2:
            return
        if any(not future.done() for future in self._recoveries.values()):
            return
        results = {}
        for name, future in self._recoveries.items():
            if not future.exception():
                results[name] = future.result()
        if self._pending & results.keys() == {last}:
            from pytest_ralph.report import batch

            reasons = {name: _reason(result) for name, result in results.items()}
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
