"""Reading a spec again after an insertion, only around the new task.

Reading the whole document for every fix would make a run with many fixes quadratic. Documents
that are not written plainly enough are left to `Spec.parse`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.spec.document import Spec
from pytest_ralph.spec.frontmatter import read_front_matter
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.spec.edit import Insertion
    from pytest_ralph.spec.task import Task

# At the margin, a bullet ends whatever was open before it, except a fence that is never closed.
_BULLET_AT_MARGIN = regex(r"[-*+] \[[ xX]\] ")
_FENCE = regex(r"```|~~~")
# It can turn the line above it into a heading, which changes the phase of all that follows.
_UNDERLINE = regex(r" {0,3}(?:-+|=+)\s*")
_HARMLESS_PROBLEMS = {"wrong-total", "duplicate-id"}


def spliced(spec: Spec, original: Task, insertion: Insertion, source: str) -> Spec | None:
    """Return the spec that `source` is, or None if it has to be read as a whole.

    `source` is the source of `spec` after the insertion of one task behind `original`.
    """
    if not _has_only_harmless_problems(spec) or not _is_plain_text(insertion.text):
        return None
    line = spec.source.count("\n", 0, insertion.offset) + 1
    above, around, behind = _divided(spec.tasks, original, line)
    if not around or _reaches(above, around[0].line):
        return None
    added = insertion.text.count("\n")
    below = tuple(_moved(task, added) for task in behind)
    lines = source.split("\n")
    if not _is_plain(lines, [around[0], *below[:1]]):
        return None

    end = below[0].line - 1 if below else len(lines)
    new = _read_last_task(around, lines[around[0].line - 1 : end])
    last_line = line + insertion.text.rstrip().count("\n")
    if new is None or new.end_line != last_line or _uses_id(spec.tasks, new.id):
        return None
    tasks = (*above, *around, new, *below)
    return Spec.build(spec.path, source, tasks, read_front_matter(source))


def _has_only_harmless_problems(spec: Spec) -> bool:
    return all(problem.code in _HARMLESS_PROBLEMS for problem in spec.problems)


def _reaches(tasks: Sequence[Task], line: int) -> bool:
    """Whether one of the tasks includes the line or goes on behind it."""
    return any(task.end_line >= line for task in tasks)


def _uses_id(tasks: Sequence[Task], task_id: str) -> bool:
    return any(task.id == task_id for task in tasks)


def _divided(
    tasks: Sequence[Task], original: Task, line: int
) -> tuple[Sequence[Task], Sequence[Task], Sequence[Task]]:
    """Return the tasks above `original`, those from it up to `line`, and those behind it."""
    first = 0
    while first < len(tasks) and tasks[first].name != original.name:
        first += 1
    after = first
    while after < len(tasks) and tasks[after].line <= line:
        after += 1
    return tasks[:first], tasks[first:after], tasks[after:]


def _moved(task: Task, lines: int) -> Task:
    return replace(task, line=task.line + lines, end_line=task.end_line + lines)


def _is_plain(lines: Sequence[str], edges: Sequence[Task]) -> bool:
    """Return whether the tasks at the edges are bullets at the margin, the first with fields."""
    if not all(_BULLET_AT_MARGIN.match(lines[task.line - 1]) for task in edges):
        return False
    first = lines[edges[0].line : edges[0].end_line]
    return any(line.lstrip().startswith("- **") for line in first)


def _is_plain_text(text: str) -> bool:
    if _FENCE.search(text):
        return False
    return all(line.count("`") % 2 == 0 for line in text.split("\n"))


def _read_last_task(known: Sequence[Task], lines: Sequence[str]) -> Task | None:
    """Read the lines and return the one task behind those known; None if these changed."""
    if any(_UNDERLINE.fullmatch(line) for line in lines):
        return None
    parsed = Spec.parse("\n".join(lines)).tasks
    if len(parsed) != len(known) + 1:
        return None
    found = [replace(_moved(task, known[0].line - 1), phase=known[0].phase) for task in parsed]
    for task, old in zip(found, known, strict=False):
        if replace(task, name=old.name) != old:
            return None
    return found[-1] if found[-1].verify.text else None
