"""Which lines of a spec make up which task.

A task is a checkbox or a heading. Most of both are none: checkboxes list criteria, headings
structure the document. Every checkbox and every heading with an id is a candidate; its id and its
fields decide.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.spec.fields import field_name, read_fields
from pytest_ralph.spec.formats.tables import find_table_rows
from pytest_ralph.spec.formats.xml_tasks import find_xml_tasks
from pytest_ralph.spec.outline import Block
from pytest_ralph.spec.task_line import (
    TaskLine,
    boxed_heading_level,
    heading_kind,
    read_bold,
    read_checkbox,
    read_heading,
    read_title,
)
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from pytest_ralph.spec.fields import Field
    from pytest_ralph.spec.outline import Outline

_PHASE = regex(
    r"\b(?:phase|fase|étape|этап|фаза|milestone|stage|sprint|wave)\b|阶段|階段|フェーズ",
    re.IGNORECASE,
)
_PHASE_HEADING = regex(
    r"[ \t]*#{1,6}[ \t]+\W*(?:phase|milestone|stage|sprint"
    r"|wave)[ \t]+(?P<id>\d+(?:\.\d+)*[A-Za-z]?)\b"
    r"[ \t:.–—-]*(?P<title>.*)",
    re.IGNORECASE,
)
# A checkbox without an id is a task if it has one of these fields.
_WORK = frozenset(("Do", "Verify"))
# A heading with an id is a task if it has one of these.
_HEADING_WORK = _WORK | {"Files", "Done when", "Commit"}
# A bold line heads what is below it down to the next one, or to any heading.
_BOLD_LEVEL = 7
_NOT_PROSE = regex(r"[-*+#|>]|\d{1,9}[.)][ \t]|[ \t]+(?![-*+][ \t]+\*\*)\S")
_INDENTED_FIELD = regex(r"[ \t]+[-*+][ \t]+\*\*[^*\n]{1,60}\*\*")

_by_line = attrgetter("line")


@dataclass(slots=True)
class TaskBlock:
    """The lines of one task, as indexes: from `line` to `end`, which is exclusive.

    Up to `own_end` they are the task's own; behind it the first task nested in it begins.
    """

    title: TaskLine
    phase: str
    line: int
    end: int
    # 1 to 6 for a heading, 7 for a bold line, 0 for a checkbox.
    level: int
    # The line of the heading above a heading; -1 without one.
    parent: int = -1
    own_end: int = 0
    fields: tuple[Field, ...] = ()
    checked: bool = False

    def has_field(self, names: frozenset[str]) -> bool:
        return any(field.name in names for field in self.fields)


class _Section(NamedTuple):
    """Where the section under a heading ends, and under which heading it stands itself."""

    level: int
    parent: int
    end: int


def find_tasks(outline: Outline) -> list[TaskBlock]:
    """Return every task of the outline, in file order."""
    finder = _TaskFinder(outline)
    tasks = finder.find()
    xml_tasks = finder.find_xml()
    if xml_tasks:
        inside = {line for block in xml_tasks for line in range(block.line, block.end)}
        tasks = [block for block in tasks if block.line not in inside] + xml_tasks
    # Many specs with tasks also have tables and phases that only describe these.
    if all(_is_fix(block) for block in tasks):
        tasks += finder.find_table_rows() or finder.find_phases()
    elif any(_is_bare_heading(block) for block in tasks):
        tasks = _with_rows_for_headings(tasks, finder.find_table_rows())
    return sorted(tasks, key=_by_line)


def _is_bare_heading(block: TaskBlock) -> bool:
    """Whether a task is a heading with no field that says what to do or how to verify it."""
    return block.level > 0 and not block.has_field(_HEADING_WORK)


def _with_rows_for_headings(tasks: list[TaskBlock], rows: list[TaskBlock]) -> list[TaskBlock]:
    """Return the tasks, with each bare heading over a table of tasks replaced by its rows."""
    found: list[TaskBlock] = []
    for block in tasks:
        own_rows = [row for row in rows if block.line < row.line < block.own_end]
        if own_rows and _is_bare_heading(block):
            found += own_rows
        else:
            found.append(block)
    return found


def _is_fix(block: TaskBlock) -> bool:
    return any(marker.upper().startswith(("FIX ", "SPLIT ")) for marker in block.title.markers)


class _TaskFinder:
    """Finds the tasks of one outline, in the order of its methods."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._lines = outline.lines
        self._masked = outline.masked
        # The line of each heading that begins a phase, and its name.
        self._phases: list[tuple[int, str]] = []

    def find(self) -> list[TaskBlock]:
        blocks = list(self._candidates())
        starts = [block.line for block in blocks if block.title.certain or block.level]
        for block in blocks:
            following = bisect_right(starts, block.line)
            block.own_end = min([block.end, *starts[following : following + 1]])
            block.fields = self._read_fields(block.line + 1, block.own_end)

        tasks = self._select(blocks)
        tails = self._find_tails(tasks)
        ends_before_tail = set(tails.values())
        limits = [*(block.line for block in tasks), len(self._lines)][1:]
        for block, limit in zip(tasks, limits, strict=True):
            end = block.end
            # The fields behind the last child are its parent's, not the child's.
            self._settle(block, end if end in ends_before_tail else limit)
            if block.line in tails:
                block.fields += self._read_fields(tails[block.line], end)
        return tasks

    def _read_fields(self, first: int, last: int) -> tuple[Field, ...]:
        return read_fields(self._lines, first, last, self._masked)

    def _field_name(self, number: int) -> str:
        return "" if number in self._masked else field_name(self._lines[number])

    def _has_field_name(self, first: int, last: int) -> bool:
        return any(self._field_name(number) for number in range(first, last))

    # Other formats

    def find_xml(self) -> list[TaskBlock]:
        """Return the tasks that are XML elements."""
        if not any("<task" in line for line in self._lines):
            return []
        code: set[int] = set()
        for fence in self._outline.blocks:
            if fence.kind == "code":
                code.update(range(fence.line, fence.end))
        tasks = []
        for number, found in enumerate(find_xml_tasks(self._lines, code), 1):
            title = read_title(found.name)
            title = title._replace(id=title.id or found.id or str(number))
            phase = self._phase_at(found.line)
            block = TaskBlock(title, phase, found.line, found.end, 0, fields=found.fields)
            tasks.append(block)
        return tasks

    def find_table_rows(self) -> list[TaskBlock]:
        """Return the tasks that are rows of a table.

        They end with the table, because a fix inserted between two rows would cut it in two.
        """
        tasks = []
        for row in find_table_rows(self._lines, self._masked):
            title = read_title(row.name)
            if title.id:
                phase = self._phase_at(row.line)
                block = TaskBlock(title, phase, row.line, row.table_end, 0, fields=row.fields)
                block.checked = row.checked
                tasks.append(block)
        return tasks

    def find_phases(self) -> list[TaskBlock]:
        """Return the headings of phases that have a Verify field."""
        tasks = []
        blocks = [block for block in self._outline.blocks if block.level]
        for line, section in self._sections(blocks).items():
            heading = _PHASE_HEADING.match(self._lines[line])
            if heading is None:
                continue
            title = TaskLine(heading["id"], heading["title"].strip(" *#"), certain=True)
            block = TaskBlock(title, "", line, section.end, section.level, own_end=section.end)
            block.fields = self._read_fields(line + 1, section.end)
            if block.has_field(frozenset(["Verify"])):
                self._settle(block, section.end)
                tasks.append(block)
        return tasks

    def _phase_at(self, line: int) -> str:
        phase = ""
        for start, name in self._phases:
            if start < line:
                phase = name
        return phase

    # Candidates

    def _candidates(self) -> Iterator[TaskBlock]:
        """Yield checkboxes and headings that may be tasks, each with its phase."""
        blocks = self._with_bold_lines()
        sections = self._sections(blocks)
        headings: list[tuple[int, str]] = []
        phase = ""
        item_end = 0
        for block in blocks:
            line = self._lines[block.line]
            section = sections.get(block.line)
            if block.kind == "item":
                item_end = max(item_end, block.end)
                title = read_checkbox(line)
                if title is not None and section is not None:
                    yield TaskBlock(
                        title, phase, block.line, section.end, section.level, section.parent
                    )
                elif title is not None:
                    yield TaskBlock(title, phase, block.line, block.end, 0)
            elif section is not None and block.line >= item_end:
                title = read_heading(line) or self._read_bold(block.line, section.end)
                if title is not None:
                    yield TaskBlock(
                        title, phase, block.line, section.end, section.level, section.parent
                    )
                is_task = title is not None and title.certain
                if not is_task and block.level != _BOLD_LEVEL:
                    headings = [heading for heading in headings if heading[0] < block.level]
                    headings.append((block.level, line.strip().strip("#").strip()))
                    phase = _phase(headings)
                    self._phases.append((block.line, phase))

    def _with_bold_lines(self) -> Sequence[Block]:
        """Return the blocks of the outline and the bold lines that may name a task."""
        known = {block.line for block in self._outline.blocks}
        bold = []
        for number, line in enumerate(self._lines):
            if "**" not in line[:8] or number in known or number in self._masked:
                continue
            if read_bold(line):
                bold.append(Block("heading", number, number + 1, _BOLD_LEVEL))
        if not bold:
            return self._outline.blocks
        return sorted([*self._outline.blocks, *bold], key=_by_line)

    def _sections(self, blocks: Sequence[Block]) -> dict[int, _Section]:
        """Return the section under each heading; it ends at the next one of its level or above."""
        sections: dict[int, _Section] = {}
        open_lines: list[int] = []
        for block in blocks:
            level = block.level or self._boxed_level(block)
            if not level:
                continue
            while open_lines and sections[open_lines[-1]].level >= level:
                closed = open_lines.pop()
                sections[closed] = sections[closed]._replace(end=block.line)
            parent = open_lines[-1] if open_lines else -1
            sections[block.line] = _Section(level, parent, len(self._lines))
            open_lines.append(block.line)
        return sections

    def _boxed_level(self, block: Block) -> int:
        """Return the level of a list item with an id that is written as a heading, or 0."""
        line = self._lines[block.line]
        if block.kind != "item" or "#" not in line:
            return 0
        level = boxed_heading_level(line)
        title = read_checkbox(line) if level else None
        return level if title is not None and title.certain else 0

    def _read_bold(self, line: int, end: int) -> TaskLine | None:
        """Return the task that a bold line names, if it is done or verified below."""
        title = read_bold(self._lines[line])
        if title is None:
            return None
        for number in range(line + 1, end):
            if self._field_name(number) in _WORK:
                return title._replace(certain=True)
            box = read_checkbox(self._lines[number])
            if box is not None and box.certain:
                return None
        return None

    # Selection

    def _select(self, blocks: Sequence[TaskBlock]) -> list[TaskBlock]:
        boxes = [block.line for block in blocks if block.title.certain and not block.level]
        tasks = {}
        for block in blocks:
            holds_boxes = bisect_left(boxes, block.end) > bisect_left(boxes, block.line)
            if self._is_task(block, holds_boxes) and not self._only_groups(block, blocks):
                tasks[block.line] = block
        for block in self._beside_tasks(blocks, tasks.keys(), boxes):
            tasks[block.line] = block
        return [block for block in blocks if block.line in tasks]

    def _is_task(self, block: TaskBlock, holds_boxes: bool) -> bool:
        if not block.level:
            return block.title.certain or block.has_field(_WORK)
        if holds_boxes:
            # A heading over numbered checkboxes groups them, unless it is verified itself.
            return block.title.certain and block.has_field(frozenset(["Verify"]))
        return block.title.certain or block.has_field(_HEADING_WORK)

    def _only_groups(self, heading: TaskBlock, blocks: Sequence[TaskBlock]) -> bool:
        """Return whether all fields under a heading belong to checkboxes that are tasks."""
        if not heading.level or heading.title.certain:
            return False
        first = bisect_right(blocks, heading.line, key=_by_line)
        last = bisect_left(blocks, heading.end, key=_by_line)
        start = heading.line + 1
        has_tasks = False
        for block in blocks[first:last]:
            if block.level or not block.has_field(_WORK):
                continue
            if self._has_field_name(start, block.line):
                return False
            has_tasks = True
            start = max(start, block.end)
        return has_tasks and not self._has_field_name(start, heading.end)

    def _beside_tasks(
        self, blocks: Sequence[TaskBlock], tasks: Collection[int], boxes: Sequence[int]
    ) -> list[TaskBlock]:
        """Return headings without fields next to tasks like them: `### Step 2` beside Step 1."""
        uncertain = [block for block in blocks if block.level and not block.title.certain]
        if all(block.line in tasks for block in uncertain):
            return []
        certain = {block.line for block in blocks if block.level and block.title.certain}
        kinds: dict[int, tuple[str, int, int]] = {}
        for block in uncertain:
            kind = heading_kind(self._lines[block.line])
            if kind and block.parent not in certain:
                kinds[block.line] = (kind, block.level, block.parent)

        kinds_of_tasks = {kind for line, kind in kinds.items() if line in tasks}
        beside = []
        for block in uncertain:
            holds_boxes = bisect_left(boxes, block.end) > bisect_left(boxes, block.line)
            if kinds.get(block.line) in kinds_of_tasks and not holds_boxes:
                beside.append(block)
        return beside

    # The extent of each task

    def _find_tails(self, tasks: Sequence[TaskBlock]) -> dict[int, int]:
        """Return, by the line of a parent, where its own fields go on behind its last child.

        Fields between the children belong to the child above them, and then so do the last ones.
        """
        tails: dict[int, int] = {}
        for index, parent in enumerate(tasks):
            if parent.level:
                continue
            last = bisect_left(tasks, parent.end, key=_by_line)
            children = tasks[index + 1 : last]
            if not children:
                continue
            tail = max(child.end for child in children)
            if not self._has_field_name(tail, parent.end):
                continue
            gaps = [(child.end, following.line) for child, following in pairwise(children)]
            if not any(self._has_field_name(first, end) for first, end in gaps):
                tails[parent.line] = tail
        return tails

    def _settle(self, block: TaskBlock, limit: int) -> None:
        """Set the final extent of a task, which reaches at most to the line `limit`."""
        own_end = min(self._end_of_siblings(block, limit), limit)
        if own_end != block.own_end:
            block.own_end = own_end
            block.fields = self._read_fields(block.line + 1, own_end)
        block.end = max(block.end, own_end)
        while block.end > block.line + 1 and not self._lines[block.end - 1].strip():
            block.end -= 1

        block.checked = block.title.checked
        # A heading has no box of its own, but may have boxes below it.
        if not block.checked and self._lines[block.line].lstrip().startswith("#"):
            block.checked = self._all_ticked(block.line + 1, own_end)

    def _all_ticked(self, first: int, last: int) -> bool:
        ticks = []
        for number in range(first, last):
            box = None if number in self._masked else read_checkbox(self._lines[number])
            if box is not None:
                ticks.append(box.checked)
        return bool(ticks) and all(ticks)

    def _end_of_siblings(self, block: TaskBlock, limit: int) -> int:
        """Return where a checkbox ends whose fields are written beside it, not under it."""
        end = block.own_end
        if end < block.end or block.level in range(1, _BOLD_LEVEL):
            return end
        # A fence at the margin belongs to the field above it that has no text yet.
        takes_fence = bool(block.fields) and not block.fields[-1].text.strip()
        in_field = False
        fields_start = 0 if block.fields else self._fields_below_prose(end, limit)
        if fields_start:
            end = fields_start
            in_field = True
        for number in range(end, limit):
            line = self._lines[number]
            if not line.strip():
                continue
            if self._field_name(number):
                in_field = True
            elif number in self._masked:
                if not (in_field or takes_fence):
                    return end
            elif not in_field or line[0] not in " \t":
                return end
            end = number + 1
        return end

    def _fields_below_prose(self, start: int, limit: int) -> int:
        """Return where indented fields begin below a paragraph at the margin, or 0."""
        for number in range(start, limit):
            line = self._lines[number]
            if number in self._masked or _NOT_PROSE.match(line):
                return 0
            if _INDENTED_FIELD.match(line):
                return number
        return 0


def _phase(headings: Sequence[tuple[int, str]]) -> str:
    """Return the innermost heading that calls itself a phase, or else the innermost one."""
    below_title = [text for level, text in headings if level > 1]
    for text in reversed(below_title):
        if _PHASE.search(text):
            return text
    return below_title[-1] if below_title else ""
