"""The order in which the tasks of a spec run, and which task waits for which."""

from __future__ import annotations

import heapq
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from pytest_ralph.spec.dependencies import read_dependencies
from pytest_ralph.spec.fix_tree import FixTree
from pytest_ralph.spec.plan_problems import PlanProblem, circular_dependency, file_conflicts
from pytest_ralph.spec.task import is_e2e_cleanup

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pytest_ralph.spec.task import Task

Group = tuple["Task", ...]


# Without methods that nobody calls: making them takes part of a millisecond of every start.
@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """The tasks of a spec in the order they run.

    Tasks are known by their names, which unlike ids are unique. `explicit` has only the tasks
    that say what they depend on; all others depend on everything before them.
    """

    order: tuple[Task, ...]
    groups: tuple[Group, ...]
    problems: tuple[PlanProblem, ...]
    explicit: Mapping[str, tuple[str, ...]]

    def group_of(self, task: Task) -> Group:
        return self.groups[self._positions[task.name]]

    def blocker(
        self, task: Task, failed: Collection[str], *, explicit_only: bool = False
    ) -> str | None:
        """Return the name of a failed task that `task` cannot run without, or None.

        With `explicit_only`, a task does not depend on those before it unless it says so.
        """
        if not failed or is_e2e_cleanup(task):
            return None
        cause = self._dependents.blocked_by(failed).get(task.name)
        if cause is not None:
            return cause
        if explicit_only:
            return None
        reach = self._reach[task.name]
        before = [name for name in failed if self._positions.get(name, reach) < reach]
        return min(before, key=self._positions.__getitem__, default=None)

    @cached_property
    def _positions(self) -> dict[str, int]:
        """The index of each task's group."""
        positions: dict[str, int] = {}
        for index, group in enumerate(self.groups):
            positions.update((task.name, index) for task in group)
        return positions

    @cached_property
    def _reach(self) -> dict[str, int]:
        """The position before which every task matters to a task.

        That is its own position, or the furthest one reached by the tasks it names.
        """
        reach: dict[str, int] = {}
        for task in self.order:
            needs = self.explicit.get(task.name)
            if needs is None:
                reach[task.name] = self._positions[task.name]
            else:
                reach[task.name] = max((reach.get(need, 0) for need in needs), default=0)
        return reach

    @cached_property
    def _dependents(self) -> _Dependents:
        return _Dependents(self.explicit)


class _Dependents:
    """Which tasks a growing set of failed tasks blocks through explicit dependencies.

    Each dependency is followed once in a run, however many tasks fail.
    """

    def __init__(self, needs: Mapping[str, Sequence[str]]) -> None:
        self._dependents: dict[str, list[str]] = defaultdict(list)
        for dependent, needed in needs.items():
            for name in needed:
                self._dependents[name].append(dependent)
        self._seen: set[str] = set()
        self._causes: dict[str, str] = {}

    def blocked_by(self, failed: Collection[str]) -> Mapping[str, str]:
        """Map the name of each blocked task to the failed task that blocks it."""
        if not self._seen.issubset(failed):
            self._seen.clear()
            self._causes.clear()
        if len(self._seen) == len(failed):
            return self._causes
        for name in failed:
            if name not in self._seen:
                self._seen.add(name)
                self._block_dependents(name)
        return self._causes

    def _block_dependents(self, failed: str) -> None:
        waiting = [failed]
        while waiting:
            for name in self._dependents.get(waiting.pop(), ()):
                if name not in self._causes and name != failed:
                    self._causes[name] = failed
                    waiting.append(name)


def plan(tasks: Iterable[Task]) -> Plan:
    """Return the order in which to run the tasks, and what is wrong with it."""
    tasks = tuple(tasks)
    explicit, problems = read_dependencies(tasks)
    needs = _with_originals(tasks, explicit)
    order, stuck = _in_order(tasks, needs)
    order += stuck
    groups = tuple(_groups(order, explicit))
    problems += _cycles(stuck, needs)
    problems += file_conflicts(groups)
    return Plan(tuple(order), groups, tuple(problems), explicit)


def _with_originals(
    tasks: Sequence[Task], explicit: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Return what each task needs: what it names, and for a fix its original."""
    tree = FixTree(tasks)
    needs = {task.name: explicit.get(task.name, ()) for task in tasks}
    for task in tasks:
        original = tree.owner_of(task.name)
        # An original may name a fix as what it depends on.
        if original is not None and task.name not in needs[original.name]:
            needs[task.name] += (original.name,)
    return needs


def _in_order(
    tasks: Sequence[Task], needs: Mapping[str, Sequence[str]]
) -> tuple[list[Task], list[Task]]:
    """Return the tasks in file order, each after those it needs, and those that wait for ever."""
    positions = {task.name: at for at, task in enumerate(tasks)}
    sorter = TopologicalSorter(needs)
    # After a cycle was found, the sorter still yields all tasks that do not wait for it.
    with suppress(CycleError):
        sorter.prepare()

    ready: list[int] = []
    order: list[Task] = []
    while True:
        for name in sorter.get_ready():
            heapq.heappush(ready, positions[name])
        if not ready:
            break
        task = tasks[heapq.heappop(ready)]
        order.append(task)
        sorter.done(task.name)

    done = {task.name for task in order}
    stuck = [task for task in tasks if task.name not in done]
    return order, stuck


def _groups(order: Sequence[Task], explicit: Mapping[str, Sequence[str]]) -> Iterator[Group]:
    """Group adjacent [P] tasks of a phase that do not depend on each other.

    A fix task is a group of its own and does not separate the tasks around it.
    """
    group: dict[str, Task] = {}
    fixes: list[Group] = []
    for task in order:
        if group and task.fix_for is not None:
            fixes.append((task,))
            continue
        needs = explicit.get(task.name, ())
        if group and not _may_join(task, needs, group):
            yield tuple(group.values())
            yield from fixes
            group = {}
            fixes = []
        group[task.name] = task

    if group:
        yield tuple(group.values())
        yield from fixes


def _may_join(task: Task, needs: Sequence[str], group: Mapping[str, Task]) -> bool:
    """Return whether a task can run at the same time as those of a group."""
    member = next(iter(group.values()))
    if not task.parallel or not member.parallel:
        return False
    if task.phase != member.phase:
        return False
    return group.keys().isdisjoint(needs)


def _cycles(stuck: Sequence[Task], needs: Mapping[str, Sequence[str]]) -> Iterator[PlanProblem]:
    """Report each cycle among tasks that wait for ever."""
    by_name = {task.name: task for task in stuck}
    visited: set[str] = set()
    for task in stuck:
        # Follow what the tasks wait for until one comes up again.
        path: list[str] = []
        name = task.name
        while name not in visited:
            visited.add(name)
            path.append(name)
            name = next(need for need in needs[name] if need in by_name)

        if name in path:
            cycle = path[path.index(name) :]
            yield circular_dependency([by_name[member] for member in cycle])
