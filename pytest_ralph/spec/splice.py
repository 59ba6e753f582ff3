"""Reading a spec again after an insertion, only around the new task.

Reading the whole document for every fix would make a run with many fixes quadratic. Documents
that are not written plainly enough are left to `Spec.parse`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

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


def spliced(spec: Spec, original: Task, insertion: Insertion, source: str) -> Spec | None:
    """Return the spec that `source` is, or None if it has to be read as a whole.

    `source` is the source of `spec` after the insertion of one task behind `original`. The new
    task must have an id that no other task has.
    """
    if not _HARMLESS_PROBLEMS.issuperset(problem.code for problem in spec.problems):
        return None
    if not _is_plain_text(insertion.text):
        return None
    old_start = spec.lines.start(original.line)
    lines_before = spec.source.count("\n", old_start, insertion.offset)
    line = original.line + lines_before

    # The tasks above the original, those from it up to the insertion, and those behind that.
    first = bisect_left(spec.tasks, original.line, key=_LINE)
    after = bisect_right(spec.tasks, line, key=_LINE)
    above = spec.tasks[:first]
    around = spec.tasks[first:after]
    if not around or _reach(above) >= original.line:
        return None
    new_lines = insertion.text.count("\n")
    below = [task.moved(new_lines) for task in spec.tasks[after:]]

    # The number of digits of `total_tasks`, which stands above, may have changed.
    growth = len(source) - len(spec.source) - len(insertion.text)
    start = old_start + growth
    lines = LineFinder(source, original.line, start)
    end = len(source)
    if below:
        next_task = below[0].line
        if not _BULLET_AT_MARGIN.match(lines.line(next_task)):
            return None
        end = lines.start(next_task) - 1
    read_again = source[start:end].split("\n")
    own_count = around[0].end_line - original.line + 1
    if not _is_plain_task(read_again[:own_count]):
        return None

    added = _read_last_task(around, read_again)
    last_line = line + insertion.text.rstrip().count("\n")
    if added is None or added.end_line != last_line:
        return None
    changed = _changed(spec, source, (*above, *around, added, *below))
    changed.note_line(original.line, start)
    return changed


def _changed(spec: Spec, source: str, tasks: Sequence[Task]) -> Spec:
    """Return the spec with another source and other tasks, and what is wrong with it then."""
    front = read_front_matter(source)
    if spec.problems or "total_tasks" in front.data:
        return Spec.build(spec.path, source, tasks, front)
    return replace(spec, source=source, tasks=tuple(tasks))


def _reach(tasks: Sequence[Task]) -> int:
    """Return the last line that one of the tasks includes."""
    return max(map(_END_LINE, tasks), default=0)


def _is_plain_task(lines: Sequence[str]) -> bool:
    """Return whether a task is a bullet at the margin and has fields."""
    if not _BULLET_AT_MARGIN.match(lines[0]):
        return False
    return any(line.lstrip().startswith("- **") for line in lines[1:])


def _is_plain_text(text: str) -> bool:
    """Return whether a text opens no fence, and no code span that goes on over lines."""
    if _FENCE.search(text):
        return False
    return all(line.count("`") % 2 == 0 for line in text.split("\n"))


def _read_last_task(known: Sequence[Task], lines: Sequence[str]) -> Task | None:
    """Read the lines and return the one task behind those known; None if these changed."""
    if any(map(_UNDERLINE.fullmatch, lines)):
        return None
    tasks = Spec.parse("\n".join(lines)).tasks
    if len(tasks) != len(known) + 1:
        return None
    *others, last = [_at_place_of(known[0], task) for task in tasks]
    for task, old in zip(others, known, strict=True):
        if replace(task, name=old.name) != old:
            return None
    return last if last.verify.text else None


def _at_place_of(first: Task, task: Task) -> Task:
    """Return a task that was read from lines beginning with `first` as it is in the document."""
    return replace(task.moved(first.line - 1), phase=first.phase)
