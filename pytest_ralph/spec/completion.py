"""Which tasks of a spec are done: a ticked box says so; of a task that has no box, `.progress.md` does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.spec import progress
from pytest_ralph.spec.edit import empty_box

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.spec.document import Spec
    from pytest_ralph.spec.task import Task


def with_progress(spec: Spec) -> Spec:
    """The spec as it is read, with those of its tasks checked that have no box and are noted as done."""
    open_ones = without_box(spec)
    if not open_ones:
        return spec
    done = progress.completed_tasks(read_progress(spec.directory / progress.PROGRESS_NAME))
    checked = {task.name for task in open_ones if task.name in done}
    return replace(
        spec, tasks=tuple(replace(t, checked=True) if t.name in checked else t for t in spec.tasks)
    )


def without_box(spec: Spec) -> tuple[Task, ...]:
    """The tasks that a tick could not be put on: headings, most of them."""
    lines = spec.source.split("\n")
    return tuple(
        task for task in spec.tasks if not task.checked and empty_box(lines[task.line - 1]) is None
    )


def is_complete(spec: Spec) -> bool:
    """Every task is checked off."""
    tasks = with_progress(spec).tasks
    return bool(tasks) and all(task.checked for task in tasks)


def read_progress(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""
