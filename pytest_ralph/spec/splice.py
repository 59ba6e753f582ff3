"""Reading a spec again after an insertion, only around the new task.

Reading the whole document for every fix would make a run with many fixes quadratic. Documents
that are not written plainly enough are left to `Spec.parse`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.spec.document import LineFinder, Spec
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
_LINE = attrgetter("line")
_END_LINE = attrgetter("end_line")
_HARMLESS_PROBLEMS = {"wrong-total", "duplicate-id"}


class Spliced(NamedTuple):
    """A spec with one more task."""

    spec: Spec
    added: Task


def spliced(spec: Spec, original: Task, insertion: Insertion, source: str) -> Spliced | None:
    """Return the spec that `source` is, or None if it has to be read as a whole.

    `source` is the source of `spec` after the insertion of one task behind `original`. The new
    task must have an id that no other task has.
    """
    if not _HARMLESS_PROBLEMS.issuperset(problem.code for problem in spec.problems):
        return None
    if not _is_plain_text(insertion.text):
        return None
    old_start = spec.lines.start(original.line)
    line = original.line + spec.source.count("\n", old_start, insertion.offset)
    above, around, behind = _divided(spec.tasks, original, line)
    if not around or _reaches(above, original.line):
        return None
    added = insertion.text.count("\n")
    below = [task.moved(added) for task in behind]

    # The number of digits of `total_tasks` may have changed.
    start = old_start + len(source) - len(spec.source) - len(insertion.text)
    lines = LineFinder(source, original.line, start)
    end = lines.start(below[0].line) - 1 if below else len(source)
    read_again = source[start:end].split("\n")
    next_line = lines.line(below[0].line) if below else None
    if not _is_plain(read_again[: around[0].end_line - original.line + 1], next_line):
        return None

    new = _read_last_task(around, read_again)
    last_line = line + insertion.text.rstrip().count("\n")
    if new is None or new.end_line != last_line:
        return None
    changed = _changed(spec, source, (*above, *around, new, *below))
    changed.note_line(original.line, start)
    return Spliced(changed, new)


def _changed(spec: Spec, source: str, tasks: Sequence[Task]) -> Spec:
    """Return the spec with another source and other tasks, and what is wrong with it then."""
    front = read_front_matter(source)
    if spec.problems or "total_tasks" in front.data:
        return Spec.build(spec.path, source, tasks, front)
    return replace(spec, source=source, tasks=tuple(tasks))


def _reaches(tasks: Sequence[Task], line: int) -> bool:
    """Whether one of the tasks includes the line or goes on behind it."""
    return max(map(_END_LINE, tasks), default=0) >= line


def _divided(
    tasks: Sequence[Task], original: Task, line: int
) -> tuple[Sequence[Task], Sequence[Task], Sequence[Task]]:
    """Return the tasks above `original`, those from it up to `line`, and those behind it."""
    first = bisect_left(tasks, original.line, key=_LINE)
    after = bisect_right(tasks, line, key=_LINE)
    return tasks[:first], tasks[first:after], tasks[after:]


def _is_plain(first: Sequence[str], next_line: str | None) -> bool:
    """Return whether two tasks are bullets at the margin, the `first` with fields.

    The other one is known by its first line.
    """
    if not _BULLET_AT_MARGIN.match(first[0]):
        return False
    if next_line is not None and not _BULLET_AT_MARGIN.match(next_line):
        return False
    return any(line.lstrip().startswith("- **") for line in first[1:])


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
    found = [replace(task.moved(known[0].line - 1), phase=known[0].phase) for task in parsed]
    for task, old in zip(found, known, strict=False):
        if replace(task, name=old.name) != old:
            return None
    return found[-1] if found[-1].verify.text else None
