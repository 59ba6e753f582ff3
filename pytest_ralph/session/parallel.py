"""The tasks of one [P] group at once: a pool of threads, each waiting for its process.

Each item is still reported in its turn. A task that failed waits until every sibling's first attempt has ended;
then all that failed are recovered together, and only those.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from pytest_ralph.report import batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.healing.spec_run import SpecRun
    from pytest_ralph.healing.task_run import TaskRun
    from pytest_ralph.results import TaskResult
    from pytest_ralph.session.groups import Around
    from pytest_ralph.spec.task import Task


class Group:
    """Tasks that run at once. Everything but the tasks themselves happens in the thread that asks for results."""

    def __init__(self, work: SpecRun, tasks: Sequence[Task], around: Around) -> None:
        self.work = work
        self._tasks = {task.name: task for task in tasks}
        self._unasked = set(self._tasks)
        self._around = around
        self._tolerance = around.tolerance()
        self._failing: set[str] = set()
        self._pool = ThreadPoolExecutor(
            min(work.services.settings.jobs, len(tasks)), thread_name_prefix="ralph"
        )
        self._begun: dict[str, Future[TaskRun | None]] = {}
        self._recovered: dict[str, Future[TaskResult]] = {}
        self._start(tasks)

    def _start(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            self._begun[task.name] = self._pool.submit(self._begin, task)

    def _begin(self, task: Task) -> TaskRun | None:
        """None where so much has failed that no more is to be started."""
        if self._tolerance is not None and len(self._failing) >= self._tolerance:
            return None
        begun = self.work.begin(task)
        if not begun.good:
            self._failing.add(task.name)
        return begun

    def result(self, task: Task) -> TaskResult:
        try:
            return self._finish(self._first_attempt(task), task.name)
        finally:
            self._unasked.discard(task.name)
            if not self._unasked:
                self.stop()

    def _first_attempt(self, task: Task) -> TaskRun:
        while (begun := self._begun[task.name].result()) is None:
            # Held back for a failure which did not end the run after all: it was recovered.
            self._failing.clear()
            self._start([self._tasks[name] for name in self._held_back()])
        return begun

    def _held_back(self) -> list[str]:
        return [
            name
            for name, future in self._begun.items()
            if future.done() and self._ended(name) is None
        ]

    def _ended(self, name: str) -> TaskRun | None:
        """The first attempt of a sibling; whatever went wrong with it is told when its own turn comes."""
        future = self._begun[name]
        return None if future.cancelled() or future.exception() else future.result()

    def _finish(self, begun: TaskRun, name: str) -> TaskResult:
        if begun.failure is None or not self.work.recovery:
            return self.work.finish(begun)
        if name not in self._recovered:
            self._recover_together(name)
        result = self._recovered[name].result()
        if result.passed:
            self._failing.discard(name)
        self._tell_results(name)
        return result

    def _recover_together(self, name: str) -> None:
        if not all(future.done() for future in self._begun.values()):
            self._around.show(batch.partial_failure(self._statuses()))
        failed = {
            one: begun
            for one in self._begun
            if (begun := self._ended(one)) and begun.failure and one in self._unasked
        }
        if len(failed) > 1:
            self._around.show(batch.multiple_failures(self._statuses(), list(failed)))
        else:
            self._around.show(batch.retry_after_siblings(self._statuses(), name))
        for one, begun in failed.items():
            self._recovered.setdefault(one, self._pool.submit(self.work.finish, begun))

    def _statuses(self) -> dict[str, batch.Status]:
        return {name: self._status(name) for name in self._begun}

    def _status(self, name: str) -> batch.Status:
        if not self._begun[name].done():
            return "running..." if self._begun[name].running() else "waiting"
        begun = self._ended(name)
        if begun is None:
            return "waiting"
        if begun.failure is not None:
            return (
                "FAILED (attempt 1)"
                if any(not future.done() for future in self._begun.values())
                else "failed"
            )
        return "complete" if begun.result and begun.result.passed else "skipped"

    def _tell_results(self, last: str) -> None:
        """Once, when the last of several retries has ended."""
        if len(self._recovered) > 1 and all(future.done() for future in self._recovered.values()):
            ended = {
                name: future.result()
                for name, future in self._recovered.items()
                if not future.exception()
            }
            if self._unasked & {*ended} == {last}:
                self._around.show(
                    batch.retry_results({name: _why(result) for name, result in ended.items()})
                )

    def stop(self) -> None:
        """Start nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Wait for what runs."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _why(result: TaskResult) -> str:
    if result.passed:
        return ""
    return "retry failed" if len(result.verifications) > 1 else f"not retried: {result.reason}"
