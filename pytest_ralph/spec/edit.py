"""The only edits ever made to a tasks.md: insert a task, tick a box, set the total.

These functions map text to text and leave every other byte as it is. They take the position of a
task from the parsed spec and never search for tasks themselves.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.spec.fix_tree import FixTree
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ralph.spec.document import Spec
    from pytest_ralph.spec.task import Task

_BLOCK = regex(r"- \[ \] (?P<heading>.*)")
_HEADING = regex(r"\ufeff?[ \t]*(#{1,6})(?:[ \t]|$)")
_ITEM = regex(r"\ufeff?(?P<indent>[ \t]*)(?P<bullet>[-*+]|\d{1,9}[.)])")
_EMPTY_BOXES = (
    # - [ ] 1.3 Title
    regex(_ITEM.pattern + r"[ \t]*\[(?P<mark>[ ~-]?)\]"),
    # ### [ ] 1.3 Title
    regex(r"\ufeff?[ \t]*#{1,6}[ \t]*\[(?P<mark> )\]"),
    # ### 1.3 Title [ ]
    regex(r"\ufeff?[ \t]*#{1,6}[ \t].*[ \t]\[(?P<mark> )\][ \t#]*\r?$"),
    # ### 1.3: [ ] Title
    regex(r"\ufeff?[ \t]*#{1,6}[ \t]+[A-Za-z]{0,5}[ -]?\d[\w.-]{0,10}:?[ \t]+`?\[(?P<mark> )\]"),
)
_FRONT_MATTER = regex(r"\ufeff?---[ \t]*\r?\n(?P<body>(?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\r?\n|$)")
_TOTAL = regex(
    r"^(?P<before>total_tasks[ \t]*:[ \t]*(?P<quote>[\"']?))\d+(?=(?P=quote)[ \t]*(?:#.*)?\r?$)",
    re.MULTILINE,
)
_TAB_WIDTH = 4


class Insertion(NamedTuple):
    """A text to insert before the character at `offset`."""

    offset: int
    text: str

    def into(self, source: str) -> str:
        return source[: self.offset] + self.text + source[self.offset :]


def insertion(spec: Spec, original: Task, block: str) -> Insertion:
    """Return the edit that inserts `block` behind `original` and its fixes, between blank lines.

    The block is written as a list item. It takes on the line ends, indentation and form (list item
    or heading) of the original.
    """
    lines = spec.source.split("\n")
    # The last line of the file may have no line end: the one above it has.
    ended = lines[min(original.line, len(lines) - 1) - 1]
    eol = _line_end(ended)

    family = [original, *FixTree(spec.tasks).descendants_of(original.name)]
    last = min(max(task.end_line for task in family), len(lines)) - 1
    while last > 0 and not lines[last].strip():
        last -= 1
    offset = _start_of(lines, last) + len(lines[last].removesuffix("\r"))

    new_lines = _in_form_of(lines[original.line - 1], block)
    text = eol.join(["", "", *new_lines])
    is_end = last + 1 == len(lines)
    if not is_end and lines[last + 1].strip():
        text += eol
    return Insertion(offset, text)


def insertion_before(spec: Spec, original: Task, block: str) -> Insertion:
    """Return the edit that inserts `block` before `original`, with a blank line between them."""
    lines = spec.source.split("\n")
    model = lines[original.line - 1]
    offset = _start_of(lines, original.line - 1)
    if model.startswith("\ufeff"):
        offset += 1
    new_lines = _in_form_of(model, block)
    new_lines[0] = new_lines[0].removeprefix("\ufeff")
    return Insertion(offset, _line_end(model).join([*new_lines, "", ""]))


def _line_end(line: str) -> str:
    """Return the line end of a line that was split off at its newline."""
    return "\r\n" if line.endswith("\r") else "\n"


def _start_of(lines: Sequence[str], index: int) -> int:
    """Return the offset at which a line begins."""
    return sum(len(line) + 1 for line in lines[:index])


def ticked_line(line: str) -> str | None:
    """Return the first line of a task with its box ticked, or None if it has no empty box."""
    for pattern in _EMPTY_BOXES:
        box = pattern.match(line)
        if box is not None:
            return f"{line[: box.start('mark')]}x{line[box.end('mark') :]}"
    return None


def set_total(source: str, total: int) -> str:
    """Return the source with `total_tasks` set, if its front matter has that key."""
    front = _FRONT_MATTER.match(source)
    if front is None:
        return source
    start, end = front.span("body")
    body = _TOTAL.sub(lambda found: f"{found['before']}{total}", source[start:end], count=1)
    return source[:start] + body + source[end:]


def next_fix_id(spec: Spec, original_id: str, used: Iterable[str] = ()) -> str:
    """Return an id below `original_id` that no task has; `used` are ids that were removed."""
    stem = original_id.rstrip(".")
    child = re.compile(rf"{re.escape(stem)}\.(\d+)\b")
    highest = 0
    for known in (*(task.id for task in spec.tasks), *used):
        match = child.match(known)
        if match:
            highest = max(highest, int(match[1]))
    return f"{stem}.{highest + 1}"


def shifted(lines: Iterable[str], columns: int) -> list[str]:
    """Return the lines indented by `columns` more, or less where `columns` is negative.

    A line loses at most its own indentation. Blank lines stay as they are.
    """
    if columns <= 0:
        return [_outdented(line, -columns) for line in lines]
    return [_indented(line, columns) for line in lines]


def _in_form_of(model: str, block: str) -> list[str]:
    """Return the lines of `block` in the form of `model`, the first line of another task."""
    first, *others = re.split(r"\r?\n", block.strip("\r\n"))
    task = _BLOCK.match(first)
    if task is None:
        return [first, *others]

    heading = _HEADING.match(model)
    if heading:
        return [f"{heading[1]} [ ] {task['heading']}", *shifted(others, -2)]

    item = _ITEM.match(model)
    if item is None:
        return [first, *others]
    indent = item["indent"]
    bullet = item["bullet"] if item["bullet"] in "-*+" else "-"
    lines = [f"{indent}{bullet} [ ] {task['heading']}"]
    for line in others:
        if line.startswith("  "):
            field = re.sub(r"^  - (?=\*\*)", f"  {bullet} ", line)
            lines.append(indent + field)
        else:
            lines.append(line)
    return lines


def _indented(line: str, columns: int) -> str:
    content = line.lstrip(" \t")
    if not content.strip():
        return line
    indent = line[: len(line) - len(content)].expandtabs(_TAB_WIDTH)
    return " " * columns + indent + content


def _outdented(line: str, columns: int) -> str:
    position = 0
    removed = 0
    while removed < columns and line[position : position + 1] in (" ", "\t"):
        removed += 1 if line[position] == " " else _TAB_WIDTH - removed % _TAB_WIDTH
        position += 1
    # A tab may stand for more columns than the line loses.
    return " " * (removed - columns) + line[position:]
