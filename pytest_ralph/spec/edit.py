"""The only edits ever made to a tasks.md: insert a task, tick a box, set the total.

These functions map text to text and leave every other byte as it is. They take the position of a
task from the parsed spec and never search for tasks themselves.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.spec.fix_tree import FixTree
from pytest_ralph.spec.frontmatter import FRONT_MATTER
from pytest_ralph.spec.task_line import BOXED_HEADING
from pytest_ralph.text.markdown import LIST_MARKER
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ralph.spec.document import Spec
    from pytest_ralph.spec.task import Task

_BLOCK = regex(r"- \[ \] (?P<heading>.*)")
_HEADING = regex(r"\ufeff?[ \t]*(#{1,6})(?:[ \t]|$)")
_ITEM = regex(rf"\ufeff?(?P<indent>[ \t]*)(?P<bullet>{LIST_MARKER})")
_EMPTY_BOXES = (
    # - [ ] 1.3 Title · - ### [ ] 1.3 Title
    regex(_ITEM.pattern + r"[ \t]*(?:#{1,6}[ \t]+)?\[(?P<mark>[ ~-]?)\]"),
    # ### [ ] 1.3 Title · ### - [ ] 1.3 Title
    regex(r"\ufeff?[ \t]*#{1,6}[ \t]*(?:[-*+][ \t]+)?\[(?P<mark> )\]"),
    # ### 1.3 Title [ ]
    regex(r"\ufeff?[ \t]*#{1,6}[ \t].*[ \t]\[(?P<mark> )\][ \t#]*\r?$"),
    # ### 1.3: [ ] Title
    regex(r"\ufeff?[ \t]*#{1,6}[ \t]+[A-Za-z]{0,5}[ -]?\d[\w.-]{0,10}:?[ \t]+`?\[(?P<mark> )\]"),
)
_TOTAL = regex(
    r"^total_tasks[ \t]*:[ \t]*(?P<quote>[\"']?)(?P<total>\d+)(?P=quote)[ \t]*(?:#.*)?\r?$",
    re.MULTILINE,
)
_NUMBER = regex(r"\.(\d+)\b")
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
    source = spec.source
    names = FixTree(spec.tasks).descendants_of(original.name)
    fixes = [task for task in spec.tasks if task.name in names]
    last_line = max(task.end_line for task in (original, *fixes))
    start = spec.lines.start(original.line)
    content = source[start : spec.lines.end(last_line)].rstrip()

    # The end of the line with the last word, before its `\r` if it has one.
    content_end = start + len(content)
    line_end = content_end + len(_line_from(source, content_end))
    offset = line_end
    if source[line_end - 1] == "\r":
        offset -= 1

    eol = _line_end(source, start)
    new_lines = _in_form_of(spec.lines.line(original.line), block)
    text = eol.join(["", "", *new_lines])
    next_line = _line_from(source, line_end + 1)
    if next_line.strip():
        text += eol
    return Insertion(offset, text)


def insertion_before(spec: Spec, original: Task, block: str) -> Insertion:
    """Return the edit that inserts `block` before `original`, with a blank line between them."""
    model = spec.lines.line(original.line)
    offset = spec.lines.start(original.line)
    eol = _line_end(spec.source, offset)
    if model.startswith("\ufeff"):
        offset += 1
    new_lines = _in_form_of(model, block)
    return Insertion(offset, eol.join([*new_lines, "", ""]))


def _line_from(source: str, start: int) -> str:
    """Return the rest of the line that goes on at `start`."""
    newline = source.find("\n", start)
    return source[start:] if newline < 0 else source[start:newline]


def _line_end(source: str, start: int) -> str:
    """Return the line end of the line that starts at `start`, or of the one above it."""
    newline = source.find("\n", start)
    if newline < 0:
        # The last line of the file has none.
        newline = start - 1
    return "\r\n" if source[max(newline - 1, 0)] == "\r" else "\n"


def ticked_line(line: str) -> str | None:
    """Return the first line of a task with its box ticked, or None if it has no empty box."""
    for pattern in _EMPTY_BOXES:
        box = pattern.match(line)
        if box is not None:
            return f"{line[: box.start('mark')]}x{line[box.end('mark') :]}"
    return None


def set_total(source: str, total: int) -> str:
    """Return the source with `total_tasks` set, if its front matter has that key."""
    front = FRONT_MATTER.match(source)
    if front is None:
        return source
    found = _TOTAL.search(source, *front.span("body"))
    if found is None:
        return source
    return source[: found.start("total")] + str(total) + source[found.end("total") :]


def next_id(original_id: str, known_ids: Iterable[str]) -> str:
    """Return an id below `original_id` with a higher number than any of the known ids."""
    stem = original_id.rstrip(".")
    highest = 0
    for known in known_ids:
        number = _NUMBER.match(known, len(stem)) if known.startswith(stem) else None
        if number is not None:
            highest = max(highest, int(number[1]))
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
    is_numbered = item["bullet"] not in "-*+"
    bullet = "-" if is_numbered else item["bullet"]
    lines = [f"{indent}{bullet} {_box_like(model)} {task['heading']}"]
    for line in others:
        if line.startswith("  - **"):
            field = line.removeprefix("  - ")
            lines.append(f"{indent}  {bullet} {field}")
        elif line.startswith(("  ", "\t")):
            lines.append(indent + line)
        else:
            lines.append(line)
    return lines


def _box_like(model: str) -> str:
    """Return an empty box in the form of the first line of another list item."""
    heading = BOXED_HEADING.match(model.removeprefix("\ufeff"))
    if heading is None:
        return "[ ]"
    if heading["behind"]:
        return f"[ ] {heading['behind']}"
    return f"{heading['before']} [ ]"


def _indented(line: str, columns: int) -> str:
    """Return the line with its own indentation behind `columns` more; a blank one as it is."""
    content = line.lstrip(" \t")
    if not content.strip():
        return line
    indent = line[: len(line) - len(content)].expandtabs(_TAB_WIDTH)
    return " " * columns + indent + content


def _outdented(line: str, columns: int) -> str:
    """Return the line without `columns` of its indentation, as far as it has them."""
    position = 0
    removed = 0
    while removed < columns and line[position : position + 1] in (" ", "\t"):
        removed += 1 if line[position] == " " else _TAB_WIDTH - removed % _TAB_WIDTH
        position += 1
    # A tab may stand for more columns than the line loses.
    return " " * (removed - columns) + line[position:]
