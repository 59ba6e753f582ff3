"""The tasks of a [P] group at once: a pool of threads, each waiting for its process.

Each item is still reported in its turn. A task that failed waits until every sibling's first attempt has ended;
then all that failed are recovered together, and only those.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ralph.recovery.journal import TaskResult
    from pytest_ralph.recovery.work import Begun, SpecWork
    from pytest_ralph.spec.task import Task


class Group:
    """Tasks that run at once. `results` gives each its result, in whatever order it is asked."""

    def __init__(self, work: SpecWork, tasks: Sequence[Task], jobs: int, stop_early: Callable[[], bool]) -> None:
        self.work, self.tasks = work, tasks
        self._stop_early = stop_early
        self._failed = threading.Event()
        self._pool = ThreadPoolExecutor(min(jobs, len(tasks)), thread_name_prefix="ralph")
        self._begun: dict[str, Future[Begun | None]] = {}
        self._finished: dict[str, Future[TaskResult]] = {}
        for task in tasks:
            self._begun[task.name] = self._pool.submit(self._begin, task)

    def _begin(self, task: Task) -> Begun | None:
        """None where an earlier failure means that no more is to be started."""
        if self._failed.is_set() and self._stop_early():
            return None
        begun = self.work.begin(task)
        if begun.failure is not None:
            self._failed.set()
        return begun

    def result(self, task: Task) -> TaskResult:
        begun = self._begun[task.name].result()
        if begun is None:
            # Not started in the pool because the run was about to stop; it goes on after all.
            begun = self.work.begin(task)
        if begun.failure is None:
            return self.work.finish(begun)
        if not self._finished:
            self._finish_failed()
        if task.name in self._finished:
            return self._finished[task.name].result()
        return self.work.finish(begun)

    def _finish_failed(self) -> None:
        ended = {name: future.result() for name, future in self._begun.items()}
        for name, begun in ended.items():
            if begun is not None and begun.failure is not None:
                self._finished[name] = self._pool.submit(self.work.finish, begun)

    def close(self) -> None:
        """Start nothing more, and wait for what runs (the runner has been told to stop it)."""
        self._pool.shutdown(wait=True, cancel_futures=True)


class Groups:
    """Which of the selected items run together; a group starts when its first item's turn comes."""

    def __init__(self, jobs: Callable[[SpecWork], int], stop_early: Callable[[], bool]) -> None:
        self._jobs, self._stop_early = jobs, stop_early
        self._selected: dict[tuple[object, str], Task] = {}
        self._open: dict[tuple[object, str], Group] = {}
        self._groups: list[Group] = []

    def select(self, spec_path: object, task: Task) -> None:
        self._selected[spec_path, task.name] = task

    def perform(self, work: SpecWork, task: Task) -> TaskResult:
        path = work.workspace.spec.path
        group = self._open.pop((path, task.name), None) or self._start(work, task, path)
        return group.result(task) if group else work.perform(task)

    def _start(self, work: SpecWork, task: Task, path: object) -> Group | None:
        jobs = self._jobs(work)
        siblings = [one for one in work.workspace.plan.group_of(task) if (path, one.name) in self._selected]
        if jobs < 2 or len(siblings) < 2 or task not in siblings:
            return None
        for one in siblings:
            # Asked for a second time (--reruns), a task runs alone.
            del self._selected[path, one.name]
        group = Group(work, siblings, jobs, self._stop_early)
        self._groups.append(group)
        self._open.update({(path, one.name): group for one in siblings if one is not task})
        return group

    def close(self) -> None:
        for group in self._groups:
            group.close()
