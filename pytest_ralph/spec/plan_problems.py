"""What makes a plan impossible to carry out, and how to resolve it."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.text.listing import joined, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_ralph.spec.task import Task

_TASKS_SHOWN = 10


class PlanProblem(NamedTuple):
    """One reason why a plan cannot be carried out, with the texts that report it."""

    kind: str
    message: str
    tasks: tuple[str, ...]
    line: int
    facts: tuple[str, ...]
    resolution: tuple[str, ...]
    verdict: str


def circular_dependency(cycle: Sequence[Task]) -> PlanProblem:
    """Report tasks each of which depends on the next, and the last on the first."""
    ids = [task.id for task in cycle]
    pairs = zip(ids, [*ids[1:], ids[0]], strict=True)
    return PlanProblem(
        kind="circular_dependency",
        message=f"circular dependency: {' -> '.join([*ids, ids[0]])}",
        tasks=tuple(task.name for task in cycle),
        line=cycle[0].line,
        facts=(
            "Plan contains circular task dependencies:",
            *(f"  Task {first} depends on Task {second}" for first, second in pairs),
        ),
        resolution=(
            "Resolution:",
            '  Fix the plan\'s "Depends on" fields to remove the cycle.',
            "  Ensure dependencies form a directed acyclic graph (DAG).",
        ),
        verdict="Invalid plan",
    )


def unknown_dependency(task: Task, name: str) -> PlanProblem:
    """Report a task that depends on an id which no task has."""
    return PlanProblem(
        kind="plan_invalid",
        message=f"task {task.id} depends on {name}, which is not in the plan",
        tasks=(task.name,),
        line=task.line,
        facts=(
            "Plan names a task that does not exist:",
            f"  Task {task.id} depends on Task {name}",
        ),
        resolution=(
            "Resolution:",
            f'  Fix the "Depends on" field of task {task.id} (line {task.line}), '
            f"or add task {name}.",
        ),
        verdict="Invalid plan",
    )


def file_conflicts(groups: Iterable[Sequence[Task]]) -> Iterator[PlanProblem]:
    """Report each file that two open tasks name although they may run at the same time."""
    for group in groups:
        open_tasks = [task for task in group if not task.checked]
        if len(open_tasks) < 2:
            continue
        for file, tasks in _tasks_by_file(open_tasks).items():
            if len(tasks) > 1:
                yield _file_conflict(file, list(tasks.values()))


def _tasks_by_file(tasks: Iterable[Task]) -> dict[str, dict[str, Task]]:
    """Map each file to the tasks that name it, by their names."""
    by_file: dict[str, dict[str, Task]] = defaultdict(dict)
    for task in tasks:
        for file in filter(_is_one_file, task.files):
            by_file[posixpath.normpath(file)][task.name] = task
    return by_file


def _is_one_file(path: str) -> bool:
    """Whether tasks that name this path touch the same file: no directory and no pattern."""
    return not path.endswith("/") and "*" not in path


def _file_conflict(file: str, tasks: Sequence[Task]) -> PlanProblem:
    """Report one file that several tasks name."""
    shown = [f"  Task {task.id} names it (line {task.line})" for task in tasks[:_TASKS_SHOWN]]
    if len(tasks) > _TASKS_SHOWN:
        shown.append(f"  … {len(tasks) - _TASKS_SHOWN} more")

    ids = [task.id for task in tasks]
    named = joined(ids) if len(ids) <= 4 else listed(ids, 2)
    return PlanProblem(
        kind="file_conflict",
        message=f"parallel tasks {named} name the same file: {file}",
        tasks=tuple(task.name for task in tasks),
        line=tasks[0].line,
        facts=("Parallel tasks modify the same file:", f"  File: {file}", *shown),
        resolution=(
            "Resolution options:",
            "1. Manually merge the changes",
            "2. Modify plan to make these tasks sequential",
            "3. Split the shared file to avoid conflicts",
        ),
        verdict="Parallel conflict",
    )
