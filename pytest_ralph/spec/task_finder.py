"""Which checkboxes and headings of a spec are tasks.

Most of both are none: checkboxes list criteria, headings structure the document. The id and the
fields of a candidate decide.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING

from pytest_ralph.spec.candidates import (
    HEADING_FIELDS,
    WORK_FIELDS,
    Phases,
    TaskBlock,
    TaskText,
    by_line,
    find_candidates,
)
from pytest_ralph.spec.outline import lines_of
from pytest_ralph.spec.task_extent import VERIFY_FIELD, set_extents
from pytest_ralph.spec.task_line import heading_kind, read_title
from pytest_ralph.spec.verify_text import inline_verify, verify_sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.spec.outline import Outline


def find_tasks(outline: Outline) -> list[TaskBlock]:
    """Return every task of the outline, in file order."""
    text = TaskText(outline)
    found = find_candidates(text)
    candidates = [block for block in found if not _is_document_title(block, found)]
    tasks = _Selection(text, candidates).select()
    set_extents(text, tasks)

    tasks = _with_xml_tasks(tasks, _xml_tasks(outline))
    fixes = [block for block in tasks if _is_fix(block)]
    others = [block for block in tasks if not _is_fix(block)]
    # Many specs with tasks also have tables and phases that only describe these.
    if not others:
        others = _table_rows(outline) or _other_headings(text, candidates)
    elif any(_is_bare_heading(block) for block in others):
        others = _with_rows_for_headings(others, _table_rows(outline))
    if all(_may_head_list(text, block) for block in others):
        others = _list_items(text, others, fixes) or others
    tasks = sorted([*fixes, *others], key=by_line)
    certain = [block for block in candidates if block.title.certain]
    phases = Phases(outline, [*certain, *tasks])
    for block in tasks:
        block.phase = phases.at(block.line)
    return tasks


def _with_xml_tasks(tasks: list[TaskBlock], xml_tasks: list[TaskBlock]) -> list[TaskBlock]:
    """Return the tasks, with those inside of XML elements replaced by these."""
    inside = lines_of(xml_tasks)
    outside = [block for block in tasks if block.line not in inside]
    return [*outside, *xml_tasks]


def _is_document_title(heading: TaskBlock, candidates: Sequence[TaskBlock]) -> bool:
    """Whether a heading is over the tasks of the document: `# Task 014: Split the bill`."""
    if heading.level != 1:
        return False
    tasks = [block.line for block in candidates if block.level > 1 and block.title.certain]
    return _holds_any(heading, tasks)


def _is_bare_heading(block: TaskBlock) -> bool:
    """Whether a task is a heading with no field that says what to do or how to verify it."""
    return block.level > 0 and not block.has_field(HEADING_FIELDS)


def _with_rows_for_headings(tasks: list[TaskBlock], rows: list[TaskBlock]) -> list[TaskBlock]:
    """Return the tasks, with each bare heading over a table of tasks replaced by its rows."""
    found: list[TaskBlock] = []
    for block in tasks:
        first = bisect_right(rows, block.line, key=by_line)
        last = bisect_left(rows, block.own_end, key=by_line)
        own_rows = rows[first:last]
        if own_rows and _is_bare_heading(block):
            found += own_rows
        else:
            found.append(block)
    return found


def _may_head_list(text: TaskText, block: TaskBlock) -> bool:
    """Whether a task is a heading that calls itself neither a task nor a step."""
    if not block.level or block.title.certain:
        return False
    return not heading_kind(text.lines[block.line])


def _is_fix(block: TaskBlock) -> bool:
    return any(marker.upper().startswith(("FIX ", "SPLIT ")) for marker in block.title.markers)


# Checkboxes and headings


class _Selection:
    """Decides which of the candidates are tasks; `tasks` are the lines of those found so far."""

    def __init__(self, text: TaskText, candidates: Sequence[TaskBlock]) -> None:
        self.text = text
        self.candidates = candidates
        # Checkboxes that are tasks by their id alone. A heading is not over a fix: it is fixed.
        self.sure_boxes = [
            block.line for block in candidates if block.is_sure_box and not _is_fix(block)
        ]
        self.tasks: set[int] = set()

    def select(self) -> list[TaskBlock]:
        """Return the candidates that are tasks."""
        self._read_fields()
        self.tasks = {block.line for block in self.candidates if self._is_task(block)}
        self.tasks |= self._beside_tasks()
        self.tasks |= self._verified_on_their_line()
        self.tasks -= self._boxes_of_headings()
        return [block for block in self.candidates if block.line in self.tasks]

    def _read_fields(self) -> None:
        """Read the fields of each candidate, from the lines that are its own."""
        # Backwards: they end where the next heading or sure task starts.
        next_start = len(self.text.lines)
        for block in reversed(self.candidates):
            block.own_end = min(block.end, next_start)
            block.fields = self.text.read_fields(block.line + 1, block.own_end)
            if block.title.certain or block.level:
                next_start = block.line

    def _is_task(self, block: TaskBlock) -> bool:
        """Whether a candidate is a task by its id and fields."""
        if block.level == 1 and self._has_work_below(block):
            # The title of a document: `# S01: Capture the text` over its tasks.
            return False
        if block.level and _holds_any(block, self.sure_boxes):
            # A heading over numbered checkboxes groups them, unless it is verified itself.
            return block.title.certain and block.has_field(VERIFY_FIELD)
        if block.title.certain:
            return True
        names = HEADING_FIELDS if block.level else WORK_FIELDS
        return block.has_field(names) and self._has_own_field(block)

    def _has_work_below(self, heading: TaskBlock) -> bool:
        return any(block.has_field(WORK_FIELDS) for block in self._below(heading))

    def _has_own_field(self, parent: TaskBlock) -> bool:
        """Whether a field stands below a candidate that is not part of a task below it."""
        tasks = [block for block in self._below(parent) if block.has_field(WORK_FIELDS)]
        in_tasks = lines_of(tasks)
        for number in range(parent.line + 1, parent.end):
            if number not in in_tasks and self.text.field_name(number):
                return True
        return False

    def _beside_tasks(self) -> set[int]:
        """Return headings without fields next to tasks like them: `### Step 2` beside Step 1."""
        alike: dict[tuple[str, int, int], list[TaskBlock]] = defaultdict(list)
        for block in self.candidates:
            if not block.level:
                continue
            kind = heading_kind(self.text.lines[block.line])
            if kind:
                alike[kind, block.level, block.parent].append(block)

        found: set[int] = set()
        task_lines = sorted(self.tasks)
        for blocks in alike.values():
            if not any(block.line in self.tasks for block in blocks):
                continue
            for block in blocks:
                if not _holds_any(block, task_lines):
                    found.add(block.line)
        return found

    def _verified_on_their_line(self) -> set[int]:
        """Return boxes such as `- [ ] Add the guide. Verify: `make guide`` outside of all tasks.

        A check in words makes one beside those with a command.
        """
        found: set[int] = set()
        in_words: set[int] = set()
        task_end = 0
        for block in self.candidates:
            if block.line in self.tasks:
                task_end = max(task_end, block.end)
            if block.line < task_end:
                continue
            if self.text.field_name(block.line) == "Verify":
                # `- [ ] Verify: …` is a field.
                continue
            line = self.text.lines[block.line]
            if inline_verify(line):
                found.add(block.line)
            elif not block.level and verify_sentence(line):
                in_words.add(block.line)
        return found | in_words if found else found

    def _boxes_of_headings(self) -> set[int]:
        """Return boxes without an id that hold the fields of the heading above them.

        `### Task 2: Read the rows` with one box below it is one task, not two.
        """
        found: set[int] = set()
        for heading in self.candidates:
            if not heading.level or heading.line not in self.tasks:
                continue
            boxes = [block for block in self._below(heading) if block.line in self.tasks]
            if len(boxes) != 1:
                continue
            box = boxes[0]
            lines_above_box = range(heading.line + 1, box.line)
            is_verified = "Verify" in map(self.text.field_name, lines_above_box)
            if not box.title.certain and not is_verified:
                found.add(box.line)
        return found

    def _below(self, parent: TaskBlock) -> Sequence[TaskBlock]:
        """Return the candidates on the lines of another one."""
        first = bisect_right(self.candidates, parent.line, key=by_line)
        last = bisect_left(self.candidates, parent.end, key=by_line)
        return self.candidates[first:last]


def _holds_any(block: TaskBlock, lines: Sequence[int]) -> bool:
    """Whether one of the sorted lines is among those of the block."""
    return bisect_left(lines, block.end) > bisect_left(lines, block.line)


# Other formats


def _xml_tasks(outline: Outline) -> list[TaskBlock]:
    """Return the tasks that are XML elements."""
    if not any("<task" in line for line in outline.lines):
        return []
    # Imported here, as below: few specs have tasks in this form.
    from pytest_ralph.spec.formats.xml_tasks import find_xml_tasks

    code = lines_of(block for block in outline.blocks if block.kind == "code")
    tasks = []
    for number, found in enumerate(find_xml_tasks(outline.lines, code), 1):
        title = read_title(found.name)
        task_id = title.id or found.id or str(number)
        block = TaskBlock(
            title=title._replace(id=task_id),
            line=found.line,
            end=found.end,
            fields=found.fields,
        )
        tasks.append(block)
    return tasks


def _table_rows(outline: Outline) -> list[TaskBlock]:
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
            fields=row.fields,
            checked=row.checked,
        )
        tasks.append(block)
    return tasks


def _other_headings(text: TaskText, candidates: Sequence[TaskBlock]) -> list[TaskBlock]:
    """Return the headings that are tasks only in a spec without others."""
    from pytest_ralph.spec.formats.numbered import find_numbered_headings, named_headings

    return find_numbered_headings(text) or named_headings(text, candidates)


def _list_items(
    text: TaskText, headings: Sequence[TaskBlock], fixes: Sequence[TaskBlock]
) -> list[TaskBlock]:
    """Return the tasks that are list items, unless the headings over them are the tasks."""
    from pytest_ralph.spec.formats.numbered import are_groups, find_list_items

    items = find_list_items(text)
    if not are_groups(text, headings, items, fixes):
        return []
    return items
