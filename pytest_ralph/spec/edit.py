"""The only edits ever made to a `tasks.md`: a task put in, a box ticked, the total set. All other bytes stay.

Text to text. Where a task begins and ends is the reader's word; nothing here looks for tasks by itself.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ralph.spec.task import Task

_BLOCK = regex(r"- \[ \] (?P<heading>.*)")
_HEADING = regex(r"\ufeff?[ \t]*(#{1,6})(?:[ \t]|$)")
_ITEM = regex(r"\ufeff?(?P<indent>[ \t]*)(?P<bullet>[-*+]|\d{1,9}[.)])")
_BOXES = (
    regex(_ITEM.pattern + r"[ \t]*\[(?P<mark>[ ~-]?)\]"),
    regex(r"\ufeff?[ \t]*#{1,6}[ \t]*\[(?P<mark> )\]"),
    regex(r"\ufeff?[ \t]*#{1,6}[ \t].*[ \t]\[(?P<mark> )\][ \t#]*\r?$"),
    regex(r"\ufeff?[ \t]*#{1,6}[ \t]+[A-Za-z]{0,5}[ -]?\d[\w.-]{0,10}:?[ \t]+`?\[(?P<mark> )\]"),
)
_FRONT_MATTER = regex(r"\ufeff?---[ \t]*\r?\n(?P<body>(?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\r?\n|$)")
_TOTAL = regex(
    r"^(?P<before>total_tasks[ \t]*:[ \t]*(?P<quote>[\"']?))\d+(?=(?P=quote)[ \t]*(?:#.*)?\r?$)",
    re.MULTILINE,
)
_COLUMNS_OF_TAB = 4


class Document(Protocol):
    """What an edit needs to know of a spec."""

    @property
    def source(self) -> str: ...
    @property
    def tasks(self) -> Sequence[Task]: ...


class Insertion(NamedTuple):
    """What is put in, and in front of which character."""

    offset: int
    text: str

    def into(self, source: str) -> str:
        return source[: self.offset] + self.text + source[self.offset :]


def insert_task(spec: Document, original: Task, block: str) -> str:
    """The source with `block` after `original` and all that was inserted for it before, a blank line on either side.

    The block comes as a list item; it takes on the line ends, indentation and form of the original.
    """
    return insertion(spec, original, block).into(spec.source)


def insertion(spec: Document, original: Task, block: str) -> Insertion:
    lines = spec.source.split("\n")
    end = max(task.end_line for task in (original, *lineage(spec, original.name)))
    at = next((at for at in range(min(end, len(lines)) - 1, 0, -1) if lines[at].strip()), 0)
    eol = "\r\n" if lines[min(original.line, len(lines) - 1) - 1].endswith("\r") else "\n"
    offset = sum(len(line) + 1 for line in lines[:at]) + len(lines[at].removesuffix("\r"))
    new = eol.join(
        ["", "", *_styled(re.split(r"\r?\n", block.strip("\r\n")), lines[original.line - 1])]
    )
    followed = at + 1 < len(lines) and lines[at + 1].strip()
    return Insertion(offset, new + (eol if followed else ""))


def tick(source: str, task: Task) -> str:
    """The source with the box of `task` ticked. A task that is ticked, or has no box, leaves it as it is."""
    lines = source.split("\n")
    box = empty_box(lines[task.line - 1])
    if box is None:
        return source
    line = lines[task.line - 1]
    lines[task.line - 1] = f"{line[: box.start]}x{line[box.stop :]}"
    return "\n".join(lines)


def empty_box(line: str) -> slice | None:
    """Where in the first line of a task its tick goes; None if it is ticked or has no box."""
    found = next((match for pattern in _BOXES if (match := pattern.match(line))), None)
    return slice(*found.span("mark")) if found else None


def set_total(source: str, total: int) -> str:
    """The source with `total_tasks` of its front matter set; one that has none gets none."""
    front = _FRONT_MATTER.match(source)
    if front is None:
        return source
    start, end = front.span("body")
    body = _TOTAL.sub(lambda found: f"{found['before']}{total}", source[start:end], count=1)
    return source[:start] + body + source[end:]


def owners(tasks: Iterable[Task]) -> dict[str, str]:
    """Each fix or part by name → the name of the task it was made for; where an id is given twice, the one above."""
    tasks = tuple(tasks)
    anywhere = {task.id: task.name for task in reversed(tasks)}
    above: dict[str, str] = {}
    found: dict[str, str] = {}
    for task in tasks:
        if task.fix_for is not None and (
            owner := above.get(task.fix_for) or anywhere.get(task.fix_for)
        ):
            found[task.name] = owner
        above[task.id] = task.name
    return found


def lineage(spec: Document, original: str) -> tuple[Task, ...]:
    """The fixes of the task of this name, the fixes of those and so on, in file order."""
    made_for: dict[str, list[str]] = defaultdict(list)
    for name, owner in owners(spec.tasks).items():
        made_for[owner].append(name)
    found: set[str] = set()
    waiting = [original]
    while waiting:
        new = set(made_for.pop(waiting.pop(), ()))
        found |= new
        waiting += new
    return tuple(task for task in spec.tasks if task.name in found and task.name != original)


def next_fix_id(spec: Document, original_id: str, used: Iterable[str] = ()) -> str:
    """An id below that of the original which no task has or ever had; `used` are ids that may be gone from the file."""
    stem = original_id.rstrip(".")
    number = re.compile(rf"{re.escape(stem)}\.(\d+)\b")
    taken = (
        match
        for known in (*(task.id for task in spec.tasks), *used)
        if (match := number.match(known))
    )
    return f"{stem}.{max((int(match[1]) for match in taken), default=0) + 1}"


def shifted(lines: Iterable[str], columns: int) -> list[str]:
    """The lines moved to the right, or to the left as far as their own indentation goes. Blank lines stay."""
    if columns > 0:
        return [" " * columns + _spaced(line) if line.strip() else line for line in lines]
    return [_without(line, -columns) for line in lines]


def _styled(block: Sequence[str], model: str) -> list[str]:
    """The block as its author would have written it beside the line `model`."""
    first = _BLOCK.match(block[0])
    if first is None:
        return list(block)
    if heading := _HEADING.match(model):
        return [f"{heading[1]} [ ] {first['heading']}", *shifted(block[1:], -2)]
    item = _ITEM.match(model)
    if item is None:
        return list(block)
    bullet = item["bullet"] if item["bullet"] in "-*+" else "-"
    fields = [re.sub(r"^  - (?=\*\*)", f"  {bullet} ", line) for line in block[1:]]
    indented = [item["indent"] + line if line.startswith("  ") else line for line in fields]
    return [f"{item['indent']}{bullet} [ ] {first['heading']}", *indented]


def _spaced(line: str) -> str:
    content = line.lstrip(" \t")
    return line[: len(line) - len(content)].expandtabs(_COLUMNS_OF_TAB) + content


def _without(line: str, columns: int) -> str:
    at = taken = 0
    while taken < columns and at < len(line) and line[at] in " \t":
        taken += 1 if line[at] == " " else _COLUMNS_OF_TAB - taken % _COLUMNS_OF_TAB
        at += 1
    return line[at:]
