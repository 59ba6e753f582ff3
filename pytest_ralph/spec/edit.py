"""The only edits ever made to a `tasks.md`: a task put in, a box ticked, the total set. All other bytes stay.

Text to text. Where a task begins and ends is the reader's word; nothing here looks for tasks by itself.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ralph.spec.task import Task

_BLOCK = re.compile(r"- \[ \] (?P<heading>.*)")
_HEADING = re.compile(r"\ufeff?[ \t]*(#{1,6})(?:[ \t]|$)")
_ITEM = re.compile(r"\ufeff?(?P<indent>[ \t]*)(?P<bullet>[-*+]|\d{1,9}[.)])")
_BOXES = (
    re.compile(_ITEM.pattern + r"[ \t]*\[(?P<mark>[ ~-]?)\]"),
    re.compile(r"\ufeff?[ \t]*#{1,6}[ \t]*\[(?P<mark> )\]"),
    re.compile(r"\ufeff?[ \t]*#{1,6}[ \t].*[ \t]\[(?P<mark> )\][ \t#]*\r?$"),
)
_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\r?\n(?P<body>(?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\r?\n|$)")
_TOTAL = re.compile(
    r"^(?P<before>total_tasks[ \t]*:[ \t]*(?P<quote>[\"']?))\d+(?=(?P=quote)[ \t]*(?:#.*)?\r?$)", re.MULTILINE
)
_COLUMNS_OF_TAB = 4


class Document(Protocol):
    """What an edit needs to know of a spec."""

    @property
    def source(self) -> str: ...
    @property
    def tasks(self) -> Sequence[Task]: ...


def insert_task(spec: Document, original: Task, block: str) -> str:
    """The source with `block` after `original` and all that was inserted for it before, a blank line on either side.

    The block comes as a list item; it takes on the line ends, indentation and form of the original.
    """
    lines = spec.source.split("\n")
    end = max(task.end_line for task in (original, *lineage(spec, original.name)))
    at = next((at for at in range(min(end, len(lines)) - 1, 0, -1) if lines[at].strip()), 0)
    eol = "\r\n" if lines[min(original.line, len(lines) - 1) - 1].endswith("\r") else "\n"
    offset = sum(len(line) + 1 for line in lines[:at]) + len(lines[at].removesuffix("\r"))
    new = eol.join(["", "", *_styled(re.split(r"\r?\n", block.strip("\r\n")), lines[original.line - 1])])
    followed = at + 1 < len(lines) and lines[at + 1].strip()
    return spec.source[:offset] + new + (eol if followed else "") + spec.source[offset:]


def tick(source: str, task: Task) -> str:
    """The source with the box of `task` ticked. A task that is ticked, or has no box, leaves it as it is."""
    lines = source.split("\n")
    line = lines[task.line - 1]
    box = next((found for pattern in _BOXES if (found := pattern.match(line))), None)
    if box is None:
        return source
    lines[task.line - 1] = f"{line[: box.start('mark')]}x{line[box.end('mark') :]}"
    return "\n".join(lines)


def set_total(source: str, total: int) -> str:
    """The source with `total_tasks` of its front matter set; one that has none gets none."""
    front = _FRONT_MATTER.match(source)
    if front is None:
        return source
    start, end = front.span("body")
    body = _TOTAL.sub(lambda found: f"{found['before']}{total}", source[start:end], count=1)
    return source[:start] + body + source[end:]


def lineage(spec: Document, original: str) -> tuple[Task, ...]:
    """The fixes of a task, the fixes of those and so on, in file order."""
    known = [task for task in spec.tasks if task.name == original or task.id == original]
    if not known:
        return ()
    # Where an id is given twice, a fix belongs to the one above it.
    first = next((task for task in known if task.name == original), known[0])
    limit = min((task.line for task in spec.tasks if task.id == first.id and task.line > first.line), default=None)
    fixes: dict[str, list[Task]] = defaultdict(list)
    for task in spec.tasks:
        if task.fix_for is not None and task.line > first.line and (limit is None or task.line < limit):
            fixes[task.fix_for].append(task)
    found: dict[str, Task] = {}
    waiting = [first.id]
    while waiting:
        for task in fixes.pop(waiting.pop(), ()):
            found[task.name] = task
            waiting.append(task.id)
    return tuple(sorted(found.values(), key=lambda task: task.line))


def next_fix_id(spec: Document, original_id: str, used: Iterable[str] = ()) -> str:
    """An id below that of the original which no task has or ever had; `used` are ids that may be gone from the file."""
    stem = original_id.rstrip(".")
    number = re.compile(rf"{re.escape(stem)}\.(\d+)\b")
    taken = (match for known in (*(task.id for task in spec.tasks), *used) if (match := number.match(known)))
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
