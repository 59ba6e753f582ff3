"""The checkboxes and headings of a spec that may be tasks, and the phases they stand in."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.spec.fields import field_name, read_fields
from pytest_ralph.spec.outline import Block
from pytest_ralph.spec.task_line import (
    TaskLine,
    boxed_heading_level,
    heading_kind,
    read_bold,
    read_checkbox,
    read_heading,
)
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ralph.spec.fields import Field
    from pytest_ralph.spec.outline import Outline

_PHASE = regex(
    r"\b(?:phase|fase|étape|этап|фаза|milestone|stage|sprint|wave)\b|阶段|階段|フェーズ",
    re.IGNORECASE,
)
# A checkbox or a bold line is a task if it has one of these fields.
WORK_FIELDS = frozenset(("Do", "Verify"))
# A heading with an id is a task if it has one of these.
HEADING_FIELDS = WORK_FIELDS | {"Files", "Done when", "Depends on", "Commit"}
# A bold line heads what is below it down to the next one, or to any heading.
BOLD_LEVEL = 7

by_line = attrgetter("line")


@dataclass(slots=True, eq=False, repr=False)
class TaskBlock:
    """The lines of one task, as indexes: from `line` to `end`, which is exclusive.

    Up to `own_end` they are the task's own; behind it the first task nested in it begins.
    """

    title: TaskLine
    line: int
    end: int
    # 1 to 6 for a heading, 7 for a bold line, 0 for a checkbox.
    level: int = 0
    # The line of the heading above a heading; -1 without one.
    parent: int = -1
    phase: str = ""
    own_end: int = 0
    fields: tuple[Field, ...] = ()
    checked: bool = False

    @property
    def is_sure_box(self) -> bool:
        """Whether it is a checkbox that is a task by its id alone."""
        return self.title.certain and not self.level

    def has_field(self, names: frozenset[str]) -> bool:
        return any(field.name in names for field in self.fields)


class Section(NamedTuple):
    """What stands under a heading: down to line `end`, below the heading on line `parent`."""

    level: int
    parent: int
    end: int


class TaskText:
    """The text of a spec as the search for tasks sees it: code and comments hold no field."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.lines = outline.lines
        self.masked = outline.masked

    def read_fields(self, first: int, last: int) -> tuple[Field, ...]:
        return read_fields(self.lines, first, last, self.masked)

    def field_name(self, number: int) -> str:
        """Return the name of the well-known field that a line starts, or an empty string."""
        if number in self.masked:
            return ""
        return field_name(self.lines[number])

    def checkbox(self, number: int) -> TaskLine | None:
        """Return the checkbox on a line, if there is one."""
        if number in self.masked:
            return None
        return read_checkbox(self.lines[number])

    def has_field_name(self, first: int, last: int) -> bool:
        """Return whether a well-known field starts on one of these lines."""
        return any(map(self.field_name, range(first, last)))


def find_candidates(text: TaskText) -> list[TaskBlock]:
    """Return the checkboxes, and the headings with an id or a box, in file order."""
    blocks = _with_bold_lines(text)
    sections = find_sections(blocks, text.lines)

    found = []
    certain: set[int] = set()
    for block in _outside_items(blocks):
        line = block.line
        item = Section(level=0, parent=-1, end=block.end)
        section = sections.get(line, item)
        if block.kind == "item":
            title = read_checkbox(text.lines[line])
        elif section.parent in certain and heading_kind(text.lines[line]) == "step":
            # `#### Step 2: Check` is a part of the task above it.
            continue
        else:
            title = _read_heading(text, line, section.end)

        if title is None:
            continue
        if title.certain:
            certain.add(line)
        found.append(TaskBlock(title, line, section.end, section.level, section.parent))
    return found


def find_sections(blocks: Sequence[Block], lines: Sequence[str]) -> dict[int, Section]:
    """Return the section under each heading; it ends at the next one of its level or above."""
    sections: dict[int, Section] = {}
    open_lines: list[int] = []
    for block in blocks:
        level = block.level or boxed_heading_level(lines[block.line])
        if not level:
            continue
        while open_lines and sections[open_lines[-1]].level >= level:
            closed = open_lines.pop()
            sections[closed] = sections[closed]._replace(end=block.line)

        parent = open_lines[-1] if open_lines else -1
        sections[block.line] = Section(level, parent, len(lines))
        open_lines.append(block.line)
    return sections


def _with_bold_lines(text: TaskText) -> Sequence[Block]:
    """Return the blocks of the outline and the bold lines that may name a task."""
    blocks = text.outline.blocks
    known = {block.line for block in blocks}
    bold = []
    for number, line in enumerate(text.lines):
        # Most lines are not bold, and are spared the pattern.
        if "**" not in line[:8] or number in known or number in text.masked:
            continue
        if read_bold(line):
            bold.append(Block("heading", number, number + 1, BOLD_LEVEL))
    return sorted([*blocks, *bold], key=by_line)


def _outside_items(blocks: Sequence[Block]) -> list[Block]:
    """Return the list items, and the other blocks that are not part of one."""
    found = []
    item_end = 0
    for block in blocks:
        if block.kind == "item":
            item_end = max(item_end, block.end)
            found.append(block)
        elif block.line >= item_end:
            found.append(block)
    return found


def _read_heading(text: TaskText, line: int, end: int) -> TaskLine | None:
    """Read a heading with an id or a box, or a bold line whose task is done or verified below."""
    title = read_heading(text.lines[line])
    if title is not None:
        return title
    title = read_bold(text.lines[line])
    if title is None:
        return None

    for number in range(line + 1, end):
        if text.field_name(number) in WORK_FIELDS:
            return title._replace(certain=True)
    return None


class Heading(NamedTuple):
    """A heading and its level."""

    level: int
    title: str


class Phases:
    """The headings that are not tasks themselves: each begins a phase."""

    def __init__(self, outline: Outline, tasks: Iterable[TaskBlock]) -> None:
        # The lines where phases begin or end; above the first one there is none.
        self._lines: list[int] = []
        self._names = [""]

        task_lines = {block.line for block in tasks}
        headings: list[Heading] = []
        for block in _outside_items(outline.blocks):
            if not block.level:
                continue
            # The heading of a task ends the phases beside it, too.
            while headings and headings[-1].level >= block.level:
                headings.pop()
            if block.line not in task_lines:
                title = outline.lines[block.line].strip(" \t#")
                headings.append(Heading(block.level, title))
            self._lines.append(block.line)
            self._names.append(_phase_name(headings))

    def at(self, line: int) -> str:
        """Return the name of the phase that a line stands in, empty above the first heading."""
        return self._names[bisect_right(self._lines, line)]


def _phase_name(headings: Sequence[Heading]) -> str:
    """Return the innermost heading that calls itself a phase, or else the innermost one."""
    below_title = [heading.title for heading in headings if heading.level > 1]
    for title in reversed(below_title):
        if _PHASE.search(title):
            return title
    if not below_title:
        return ""
    return below_title[-1]
