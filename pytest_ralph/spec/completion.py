"""Which tasks of a spec are done.

A ticked box says so. `.progress.md` says so for a task that has no box, as most headings.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.files import PROGRESS_NAME, read_or_empty, read_regular
from pytest_ralph.spec import progress
from pytest_ralph.spec.edit import ticked_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_ralph.spec.document import Spec
    from pytest_ralph.spec.task import Task


def with_progress(spec: Spec) -> Spec:
    """Return the spec with the tasks checked that have no box and that `.progress.md` lists."""
    candidates = {task.name for task in without_box(spec)}
    if not candidates:
        return spec
    # One that cannot be read is no obstacle to verifying; writing it will say what is wrong.
    text = read_or_empty(spec.directory / PROGRESS_NAME)
    listed = progress.completed_tasks(text)
    done = candidates & listed
    tasks = list(spec.tasks)
    for position, task in enumerate(tasks):
        if task.name in done:
            tasks[position] = replace(task, checked=True)
    return replace(spec, tasks=tuple(tasks))


def without_box(spec: Spec) -> list[Task]:
    """Return the open tasks that have no box to tick."""
    found = []
    for task in spec.tasks:
        if task.checked:
            continue
        first_line = spec.lines.line(task.line)
        if ticked_line(first_line) is None:
            found.append(task)
    return found


def is_complete(spec: Spec) -> bool:
    """Return whether the spec has tasks and every one of them is done."""
    tasks = with_progress(spec).tasks
    return bool(tasks) and all(task.checked for task in tasks)


def current_index(tasks: Sequence[Task], start: int = 0) -> int:
    """Return the index of the first open task; fix tasks come after all others.

    Tasks before `start` are known to be done, so that a caller who asks after every task of a
    long spec need not pass over them again.
    """
    for index in range(start, len(tasks)):
        if not tasks[index].checked and tasks[index].fix_for is None:
            return index
    for index, task in enumerate(tasks):
        if not task.checked:
            return index
    return len(tasks)


def read_progress(path: Path) -> str:
    """Return the text of `.progress.md`, or an empty one where there is no such file."""
    try:
        return read_regular(path).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""
