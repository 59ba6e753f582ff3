"""A Spec into which a task was put, read again only around it.

To read all of a document for every fix is what makes a thousand fixes take a thousand times a thousand. Whatever is
not as plain as most documents are is left to the reader of whole documents.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.spec.document import Spec, front_matter_of, problems_of
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.spec.edit import Insertion
    from pytest_ralph.spec.task import Task

# At the margin a bullet ends whatever was open before it, but for a fence that is never closed.
_BULLET_AT_MARGIN = regex(r"[-*+] \[[ xX]\] ")
_FENCE = regex(r"```|~~~")
# What is above it may become a heading, or cease to be one, and with it the phase of all that follows.
_UNDERLINE = regex(r" {0,3}(?:-+|=+)\s*")
_HARMLESS = {"wrong-total", "duplicate-id"}


def spliced(spec: Spec, original: Task, put_in: Insertion, source: str) -> Spec | None:
    """The spec that `source` is, which came of `spec` by the insertion; None where it has to be read as a whole."""
    lines = source.split("\n")
    line = spec.source.count("\n", 0, put_in.offset) + 1
    first = next(
        (at for at, task in enumerate(spec.tasks) if task.name == original.name), len(spec.tasks)
    )
    after = next(
        (at for at in range(first, len(spec.tasks)) if spec.tasks[at].line > line), len(spec.tasks)
    )
    known, rest = spec.tasks[first:after], spec.tasks[after:]
    added = put_in.text.count("\n")
    moved = tuple(_moved(task, added) for task in rest)
    if not (
        known
        and _is_plain(spec, first, lines, [known[0], *moved[:1]])
        and _is_plain_text(put_in.text)
    ):
        return None
    around = lines[known[0].line - 1 : moved[0].line - 1 if moved else len(lines)]
    if any(_UNDERLINE.fullmatch(one) for one in around):
        return None
    new = _read_new(known, around)
    if (
        new is None
        or new.end_line != line + len(put_in.text.rstrip().split("\n")) - 1
        or _is_known(new, spec.tasks)
    ):
        return None
    tasks = (*spec.tasks[:after], new, *moved)
    front, broken = front_matter_of(source)
    problems = (*broken, *problems_of(tasks, (), front))
    return Spec(spec.path, source, tasks, problems, front.data, front.settings, front.setting_lines)


def _moved(task: Task, lines: int) -> Task:
    return replace(task, line=task.line + lines, end_line=task.end_line + lines)


def _is_plain(spec: Spec, first: int, lines: Sequence[str], edges: Sequence[Task]) -> bool:
    """Nothing from above reaches into what is read again, and nothing from there reaches below."""
    return (
        all(problem.code in _HARMLESS for problem in spec.problems)
        and all(_BULLET_AT_MARGIN.match(lines[task.line - 1]) for task in edges)
        and all(task.end_line < edges[0].line for task in spec.tasks[:first])
        and any(
            line.lstrip().startswith("- **") for line in lines[edges[0].line : edges[0].end_line]
        )
    )


def _is_plain_text(text: str) -> bool:
    return not _FENCE.search(text) and all(line.count("`") % 2 == 0 for line in text.split("\n"))


def _read_new(known: Sequence[Task], lines: Sequence[str]) -> Task | None:
    """The task that stands behind those known; None if they are not what they were, or it is not the only one."""
    offset, phase = known[0].line - 1, known[0].phase
    found = [
        replace(_moved(task, offset), phase=phase)
        for task in Spec.parse("\n".join(lines), verify=None).tasks
    ]
    same = [replace(task, name=old.name) for task, old in zip(found, known, strict=False)]
    return (
        found[-1]
        if len(found) == len(known) + 1 and same == list(known) and found[-1].verify.text
        else None
    )


def _is_known(new: Task, tasks: Sequence[Task]) -> bool:
    return any(task.id == new.id for task in tasks)
