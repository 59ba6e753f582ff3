"""Which checkboxes and headings of a spec are tasks, and which lines belong to each.

Most of both are none: checkboxes list criteria, headings structure the document. The id and the
fields of a candidate decide.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import pairwise
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
from pytest_ralph.spec.task_line import TaskLine, heading_kind, read_checkbox, read_title
from pytest_ralph.spec.task_verify import inline_verify
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pytest_ralph.spec.fields import Field
    from pytest_ralph.spec.outline import Outline

# `## Phase 1: Parser`, `### Slice 2 — Wire it up`, `### Fix B5: Remove it`
_NUMBERED_HEADING = regex(
    r"[ \t]*#{1,6}[ \t]+\W*[^\W\d]+[ \t]+(?P<id>[A-Z]?\d+(?:\.\d+)*[A-Za-z]?)\b"
    r"[ \t:.–—-]*(?P<title>.*)"
)
_VERIFY_FIELD = frozenset(["Verify"])
# A heading with an id is a task if it has one of these.
_HEADING_FIELDS = WORK_FIELDS | {"Files", "Done when", "Depends on", "Commit"}


def find_tasks(outline: Outline) -> list[TaskBlock]:
    """Return every task of the outline, in file order."""
    text = TaskText(outline)
    found = find_candidates(text)
    candidates = [block for block in found if not _is_document_title(block, found)]
    phases = Phases(outline, candidates)
    tasks = _select(text, candidates)
    set_extents(text, tasks)
    for block in tasks:
        block.phase = phases.at(block.line)

    xml_tasks = _xml_tasks(outline, phases)
    if xml_tasks:
        inside: set[int] = set()
        for block in xml_tasks:
            inside.update(range(block.line, block.end))
        tasks = [block for block in tasks if block.line not in inside]
        tasks += xml_tasks
    # Many specs with tasks also have tables and phases that only describe these.
    if all(_is_fix(block) for block in tasks):
        tasks += _table_rows(outline, phases) or _numbered_headings(text)
    elif any(_is_bare_heading(block) for block in tasks):
        tasks = _with_rows_for_headings(tasks, _table_rows(outline, phases))
    return sorted(tasks, key=by_line)


def _is_document_title(heading: TaskBlock, candidates: Sequence[TaskBlock]) -> bool:
    """Whether a heading is over the tasks of the document: `# Task 014: Split the bill`."""
    if heading.level != 1:
        return False
    tasks = [block.line for block in candidates if block.level > 1 and block.title.certain]
    return _holds_any(heading, tasks)


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

    sure_boxes = [block.line for block in candidates if block.is_sure_box]
    tasks = set()
    for block in candidates:
        if _is_task(block, sure_boxes, text, candidates):
            tasks.add(block.line)
    tasks |= _beside_tasks(text, candidates, tasks)
    tasks |= _verified_on_their_line(text, candidates, tasks)
    tasks -= _boxes_of_headings(text, candidates, tasks)
    return [block for block in candidates if block.line in tasks]


def _is_task(
    block: TaskBlock,
    sure_boxes: Sequence[int],
    text: TaskText,
    candidates: Sequence[TaskBlock],
) -> bool:
    """Whether a candidate is a task by its id and fields.

    `sure_boxes` are the lines of the checkboxes that are tasks by their id alone.
    """
    if block.level == 1 and any(one.has_field(WORK_FIELDS) for one in _below(block, candidates)):
        # The title of a document: `# S01: Capture the text` over its tasks.
        return False
    if block.level and _holds_any(block, sure_boxes):
        # A heading over numbered checkboxes groups them, unless it is verified itself.
        return block.title.certain and block.has_field(_VERIFY_FIELD)
    if block.title.certain:
        return True
    names = _HEADING_FIELDS if block.level else WORK_FIELDS
    return block.has_field(names) and not _only_groups(text, block, candidates)


def _verified_on_their_line(
    text: TaskText, candidates: Sequence[TaskBlock], tasks: Collection[int]
) -> set[int]:
    """Return boxes such as `- [ ] Add the guide | Verify: …`, but not the criteria of a task."""
    found: set[int] = set()
    task_end = 0
    for block in candidates:
        if block.line in tasks:
            task_end = max(task_end, block.end)
        if block.line < task_end:
            continue
        # `- [ ] Verify: …` is a field.
        if text.field_name(block.line) != "Verify" and inline_verify(text.lines[block.line]):
            found.add(block.line)
    return found


def _boxes_of_headings(
    text: TaskText, candidates: Sequence[TaskBlock], tasks: Collection[int]
) -> set[int]:
    """Return boxes without an id that hold the fields of the heading above them.

    `### Task 2: Read the rows` with one box below it is one task, not two.
    """
    found: set[int] = set()
    for heading in candidates:
        if not heading.level or heading.line not in tasks:
            continue
        boxes = [block for block in _below(heading, candidates) if block.line in tasks]
        if len(boxes) != 1 or boxes[0].title.certain:
            continue
        box = boxes[0]
        names_above_box = map(text.field_name, range(heading.line + 1, box.line))
        if "Verify" not in names_above_box:
            found.add(box.line)
    return found


def _below(parent: TaskBlock, candidates: Sequence[TaskBlock]) -> Sequence[TaskBlock]:
    """Return the candidates on the lines of another one."""
    first = bisect_right(candidates, parent.line, key=by_line)
    last = bisect_left(candidates, parent.end, key=by_line)
    return candidates[first:last]


def _holds_any(block: TaskBlock, lines: Sequence[int]) -> bool:
    """Whether one of the sorted lines is among those of the block."""
    return bisect_left(lines, block.end) > bisect_left(lines, block.line)


def _only_groups(text: TaskText, heading: TaskBlock, candidates: Sequence[TaskBlock]) -> bool:
    """Whether all fields under a heading belong to checkboxes that are tasks."""
    in_tasks: set[int] = set()
    for block in _below(heading, candidates):
        if block.has_field(WORK_FIELDS):
            in_tasks.update(range(block.line, block.end))
    lines = range(heading.line + 1, heading.end)
    own_lines = [number for number in lines if number not in in_tasks]
    return not any(map(text.field_name, own_lines))


def _beside_tasks(
    text: TaskText, candidates: Sequence[TaskBlock], tasks: Collection[int]
) -> set[int]:
    """Return headings without fields next to tasks like them: `### Step 2` beside Step 1."""
    alike: dict[tuple[str, int, int], list[TaskBlock]] = defaultdict(list)
    for block in candidates:
        kind = heading_kind(text.lines[block.line]) if block.level else ""
        if kind:
            alike[kind, block.level, block.parent].append(block)

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
    # Imported here, as below: few specs have tasks in this form.
    from pytest_ralph.spec.formats.xml_tasks import find_xml_tasks

    code: set[int] = set()
    for fence in outline.blocks:
        if fence.kind == "code":
            code.update(range(fence.line, fence.end))
    tasks = []
    for number, found in enumerate(find_xml_tasks(outline.lines, code), 1):
        title = read_title(found.name)
        task_id = title.id or found.id or str(number)
        block = TaskBlock(
            title=title._replace(id=task_id),
            line=found.line,
            end=found.end,
            phase=phases.at(found.line),
            fields=found.fields,
        )
        tasks.append(block)
    return tasks


def _table_rows(outline: Outline, phases: Phases) -> list[TaskBlock]:
    """Return the tasks that are rows of a table.

    They end with the table, because a fix inserted between two rows would cut it in two.
    """
    from pytest_ralph.spec.formats.tables import find_table_rows

    tasks = []
    for row in find_table_rows(outline.lines, outline.masked):
        title = read_title(row.name)
        if not title.id:
            continue
        block = TaskBlock(
            title=title,
            line=row.line,
            end=row.table_end,
            phase=phases.at(row.line),
            fields=row.fields,
            checked=row.checked,
        )
        tasks.append(block)
    return tasks


def _numbered_headings(text: TaskText) -> list[TaskBlock]:
    """Return the headings with a word and a number that have a Verify field."""
    tasks = []
    sections = find_sections(text.outline.blocks, text.lines)

    # Backwards: what stands below a nested heading is not that of the heading above it.
    next_line = len(text.lines)
    for line in reversed(sections):
        heading = _NUMBERED_HEADING.match(text.lines[line])
        if heading is None:
            continue
        end = min(sections[line].end, next_line)
        next_line = line

        title = TaskLine(heading["id"], heading["title"].strip(" *#"), certain=True)
        block = TaskBlock(title, line, end, sections[line].level, own_end=end)
        block.fields = text.read_fields(line + 1, end)
        if block.has_field(_VERIFY_FIELD):
            set_extent(text, block, end)
            tasks.append(block)
    return tasks


_NOT_PROSE = regex(r"[-*+#|>]|\d{1,9}[.)][ \t]|[ \t]+(?![-*+][ \t]+\*\*)\S")
_INDENTED_FIELD = regex(r"[ \t]+[-*+][ \t]+\*\*[^*\n]{1,60}\*\*")


def set_extents(text: TaskText, tasks: Sequence[TaskBlock]) -> None:
    """Set the final extent, the fields and the tick of each task of a spec."""
    tails = _find_tails(text, tasks)
    ends_before_tail = set(tails.values())
    next_lines = [*(block.line for block in tasks), len(text.lines)][1:]
    for block, next_line in zip(tasks, next_lines, strict=True):
        end = block.end
        # The fields behind the last child are its parent's, not the child's.
        limit = end if end in ends_before_tail else next_line
        set_extent(text, block, limit)
        if block.line in tails:
            block.fields += text.read_fields(tails[block.line], end)
        if not block.has_field(_VERIFY_FIELD):
            block.fields += _nested_verify(text, block)


def _nested_verify(text: TaskText, block: TaskBlock) -> tuple[Field, ...]:
    """Return the fields from the first Verify on that stands in the text of another field."""
    for number in range(block.line + 1, block.own_end):
        if text.field_name(number) == "Verify":
            return text.read_fields(number, block.own_end)
    return ()


def _find_tails(text: TaskText, tasks: Sequence[TaskBlock]) -> dict[int, int]:
    """Return, by the line of a parent, where its own fields go on behind its last child.

    Fields between the children belong to the child above them, and then so do the last ones.
    """
    tails: dict[int, int] = {}
    for index, parent in enumerate(tasks):
        if parent.level:
            continue
        last = bisect_left(tasks, parent.end, key=by_line)
        children = tasks[index + 1 : last]
        if not children:
            continue

        tail = max(child.end for child in children)
        gaps = [(child.end, following.line) for child, following in pairwise(children)]
        if not any(text.has_field_name(first, end) for first, end in gaps):
            tails[parent.line] = tail
    return tails


def set_extent(text: TaskText, block: TaskBlock, limit: int) -> None:
    """Set the final extent of a task, which reaches at most to the line `limit`."""
    own_end = min(_own_end(text, block, limit), limit)
    if own_end != block.own_end:
        block.own_end = own_end
        block.fields = text.read_fields(block.line + 1, own_end)
    block.end = max(block.end, own_end)
    while not text.lines[block.end - 1].strip():
        block.end -= 1

    block.checked = block.title.checked
    # A heading has no box of its own, but may have boxes below it.
    is_heading = text.lines[block.line].lstrip().startswith("#")
    if is_heading and not block.checked:
        block.checked = _all_ticked(text, block.line + 1, own_end)


def _all_ticked(text: TaskText, first: int, last: int) -> bool:
    """Whether there are boxes on these lines, and all of them are ticked."""
    has_boxes = False
    for number in range(first, last):
        if number in text.masked:
            continue
        box = read_checkbox(text.lines[number])
        if box is None:
            continue
        if not box.checked:
            return False
        has_boxes = True
    return has_boxes


def _own_end(text: TaskText, block: TaskBlock, limit: int) -> int:
    """Return where the lines of a task end, with fields that are written beside it."""
    if block.fields:
        # A fence at the margin belongs to the field above it that has no text yet.
        takes_fence = not block.fields[-1].text.strip()
        return _end_of_fields(text, block.own_end, limit, takes_fence=takes_fence)

    fields_start = _fields_below_prose(text, block.own_end, limit)
    if fields_start:
        return _end_of_fields(text, fields_start, limit, in_field=True)
    return _end_of_fields(text, block.own_end, limit)


def _end_of_fields(
    text: TaskText, start: int, limit: int, *, in_field: bool = False, takes_fence: bool = False
) -> int:
    """Return where the fields end that begin on the line `start`; `start` if none do."""
    end = start
    for number in range(start, limit):
        line = text.lines[number]
        if not line.strip():
            continue
        if line.startswith("#") and number not in text.masked:
            # `## Dependencies` begins a section of the document, not a field of the task above.
            return end
        if text.field_name(number):
            in_field = True
        elif number in text.masked:
            if not in_field and not takes_fence:
                return end
        elif not in_field or line[0] not in " \t":
            return end
        end = number + 1
    return end


def _fields_below_prose(text: TaskText, start: int, limit: int) -> int:
    """Return where indented fields begin below a paragraph at the margin, or 0."""
    for number in range(start, limit):
        line = text.lines[number]
        if number in text.masked or _NOT_PROSE.match(line):
            return 0
        if _INDENTED_FIELD.match(line):
            return number
    return 0
