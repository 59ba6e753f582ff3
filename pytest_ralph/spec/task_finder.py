"""Which checkboxes and headings of a spec are tasks.

Most of both are none: checkboxes list criteria, headings structure the document. The id and the
fields of a candidate decide.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from pytest_ralph.spec.candidates import (
    WORK_FIELDS,
    Phases,
    TaskBlock,
    TaskText,
    by_line,
    find_candidates,
    find_sections,
)
from pytest_ralph.spec.formats.tables import find_table_rows
from pytest_ralph.spec.formats.xml_tasks import find_xml_tasks
from pytest_ralph.spec.task_extent import set_extent, set_extents
from pytest_ralph.spec.task_line import TaskLine, heading_kind, read_title
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pytest_ralph.spec.outline import Outline

_PHASE_HEADING = regex(
    r"[ \t]*#{1,6}[ \t]+\W*(?:phase|milestone|stage|sprint"
    r"|wave)[ \t]+(?P<id>\d+(?:\.\d+)*[A-Za-z]?)\b"
    r"[ \t:.–—-]*(?P<title>.*)",
    re.IGNORECASE,
)
_VERIFY_FIELD = frozenset(["Verify"])
# A heading with an id is a task if it has one of these.
_HEADING_FIELDS = WORK_FIELDS | {"Files", "Done when", "Commit"}


def find_tasks(outline: Outline) -> list[TaskBlock]:
    """Return every task of the outline, in file order."""
    text = TaskText(outline)
    candidates = find_candidates(text)
    phases = Phases(outline, candidates)
    tasks = _select(text, candidates)
    set_extents(text, tasks)
    for block in tasks:
        block.phase = phases.at(block.line)

    xml_tasks = _xml_tasks(outline, phases)
    if xml_tasks:
        inside = {line for block in xml_tasks for line in range(block.line, block.end)}
        tasks = [block for block in tasks if block.line not in inside] + xml_tasks
    # Many specs with tasks also have tables and phases that only describe these.
    if all(_is_fix(block) for block in tasks):
        tasks += _table_rows(outline, phases) or _phase_tasks(text)
    elif any(_is_bare_heading(block) for block in tasks):
        tasks = _with_rows_for_headings(tasks, _table_rows(outline, phases))
    return sorted(tasks, key=by_line)


def _is_bare_heading(block: TaskBlock) -> bool:
    """Whether a task is a heading with no field that says what to do or how to verify it."""
    return block.level > 0 and not block.has_field(_HEADING_FIELDS)


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


# Checkboxes and headings


def _select(text: TaskText, candidates: Sequence[TaskBlock]) -> list[TaskBlock]:
    """Return the candidates that are tasks."""
    # Backwards: a candidate's own lines end where the next heading or sure task starts.
    next_start = len(text.lines)
    for block in reversed(candidates):
        block.own_end = min(block.end, next_start)
        block.fields = text.read_fields(block.line + 1, block.own_end)
        if block.title.certain or block.level:
            next_start = block.line

    boxes = [block.line for block in candidates if block.title.certain and not block.level]
    tasks = set()
    for block in candidates:
        if _is_task(block, boxes) and not _only_groups(text, block, candidates):
            tasks.add(block.line)
    tasks |= _beside_tasks(text, candidates, tasks)
    return [block for block in candidates if block.line in tasks]


def _is_task(block: TaskBlock, boxes: Sequence[int]) -> bool:
    """Whether a candidate is a task by its id and fields. `boxes` are lines of sure tasks."""
    if not block.level:
        return block.title.certain or block.has_field(WORK_FIELDS)
    if _holds_any(block, boxes):
        # A heading over numbered checkboxes groups them, unless it is verified itself.
        return block.title.certain and block.has_field(_VERIFY_FIELD)
    return block.title.certain or block.has_field(_HEADING_FIELDS)


def _holds_any(block: TaskBlock, boxes: Sequence[int]) -> bool:
    return bisect_left(boxes, block.end) > bisect_left(boxes, block.line)


def _only_groups(text: TaskText, heading: TaskBlock, candidates: Sequence[TaskBlock]) -> bool:
    """Whether all fields under a heading belong to checkboxes that are tasks."""
    if not heading.level or heading.title.certain:
        return False
    first = bisect_right(candidates, heading.line, key=by_line)
    last = bisect_left(candidates, heading.end, key=by_line)
    start = heading.line + 1
    has_tasks = False
    for block in candidates[first:last]:
        if block.level or not block.has_field(WORK_FIELDS):
            continue
        if text.has_field_name(start, block.line):
            return False
        has_tasks = True
        start = max(start, block.end)
    return has_tasks and not text.has_field_name(start, heading.end)


def _beside_tasks(
    text: TaskText, candidates: Sequence[TaskBlock], tasks: Collection[int]
) -> set[int]:
    """Return headings without fields next to tasks like them: `### Step 2` beside Step 1."""
    headings = [block for block in candidates if block.level]
    uncertain = [block for block in headings if not block.title.certain]
    if all(block.line in tasks for block in uncertain):
        return set()

    certain = {block.line for block in headings if block.title.certain}
    alike: dict[tuple[str, int, int], list[TaskBlock]] = {}
    for block in uncertain:
        kind = heading_kind(text.lines[block.line])
        if kind and block.parent not in certain:
            alike.setdefault((kind, block.level, block.parent), []).append(block)

    found: set[int] = set()
    task_lines = sorted(tasks)
    for blocks in alike.values():
        if any(block.line in tasks for block in blocks):
            found.update(block.line for block in blocks if not _holds_any(block, task_lines))
    return found


# Other formats


def _xml_tasks(outline: Outline, phases: Phases) -> list[TaskBlock]:
    """Return the tasks that are XML elements."""
    if not any("<task" in line for line in outline.lines):
        return []
    code: set[int] = set()
    for fence in outline.blocks:
        if fence.kind == "code":
            code.update(range(fence.line, fence.end))
    tasks = []
    for number, found in enumerate(find_xml_tasks(outline.lines, code), 1):
        title = read_title(found.name)
        title = title._replace(id=title.id or found.id or str(number))
        block = TaskBlock(title, found.line, found.end, phase=phases.at(found.line))
        block.fields = found.fields
        tasks.append(block)
    return tasks


def _table_rows(outline: Outline, phases: Phases) -> list[TaskBlock]:
    """Return the tasks that are rows of a table.

    They end with the table, because a fix inserted between two rows would cut it in two.
    """
    tasks = []
    for row in find_table_rows(outline.lines, outline.masked):
        title = read_title(row.name)
        if title.id:
            block = TaskBlock(title, row.line, row.table_end, phase=phases.at(row.line))
            block.fields = row.fields
            block.checked = row.checked
            tasks.append(block)
    return tasks


def _phase_tasks(text: TaskText) -> list[TaskBlock]:
    """Return the headings of phases that have a Verify field."""
    tasks = []
    headings = [block for block in text.outline.blocks if block.level]
    for line, section in find_sections(headings, text.lines).items():
        heading = _PHASE_HEADING.match(text.lines[line])
        if heading is None:
            continue
        title = TaskLine(heading["id"], heading["title"].strip(" *#"), certain=True)
        block = TaskBlock(title, line, section.end, section.level, own_end=section.end)
        block.fields = text.read_fields(line + 1, section.end)
        if block.has_field(_VERIFY_FIELD):
            set_extent(text, block, section.end)
            tasks.append(block)
    return tasks
