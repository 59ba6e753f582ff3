"""Tasks that did not run, in as few lines as possible."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING

from pytest_ralph.text.listing import joined, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ralph.results import TaskResult

# How the reason of a task begins that needs `--ralph-allow=remote`.
OUTSIDE = "changes something outside"
TO_CHECK = "left for you to check (manual)"


def not_run_lines(tasks: Iterable[TaskResult]) -> list[str]:
    """Return `demo: 1.3 to 2.7 blocked by 1.2`, one line per spec and reason.

    The reason of a manual task is its own, so that all of a spec share a line.
    """
    in_file_order = sorted(tasks, key=lambda task: (task.spec_path, task.line))
    ranges: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for key, group in groupby(in_file_order, _why_not_run):
        ranges[key] += shortened([task.id for task in group])

    lines = []
    for (_, spec, words), found in ranges.items():
        if words:
            lines.append(f"{spec}: {joined(found)} {words}")
    return lines


def _why_not_run(task: TaskResult) -> tuple[str, str, str]:
    """Return path and name of the spec, and why the task did not run.

    There are no words if that is shown elsewhere. Specs of several directories may share a name.
    """
    words = ""
    if task.outcome == "blocked":
        words = task.reason
    elif task.outcome == "manual":
        words = TO_CHECK
    elif task.reason.startswith(OUTSIDE):
        words = f"not run: {OUTSIDE} (to allow it: --ralph-allow=remote)"
    return task.spec_path, task.spec, words
