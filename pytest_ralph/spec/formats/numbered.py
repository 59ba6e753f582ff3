"""Headings and list items that are tasks in a spec that has no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.spec.candidates import HEADING_FIELDS, TaskBlock, find_sections
from pytest_ralph.spec.outline import lines_of
from pytest_ralph.spec.task_extent import VERIFY_FIELD, set_extent, set_extents
from pytest_ralph.spec.task_line import TaskLine, heading_kind, read_item
from pytest_ralph.spec.verify_text import inline_verify, verify_sentence
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.spec.candidates import TaskText

# `## Phase 1: Parser`, `### Slice 2 — Wire it up`, `### Fix B5: Remove it`, `# Micro-Task 1.3`,
# `### Task A: Wire it up`, `### 任务1: 写代码`
_NUMBERED_HEADING = regex(
    r"[ \t]*#{1,6}[ \t]+\W*[^\W\d]+(?:-[^\W\d]+)*(?:[ \t]+|(?<=[\u3040-\u9fff\uac00-\ud7af]))"
    r"(?P<id>[A-Z]?\d+(?:\.\d+)*[A-Za-z]?\b|[A-Z](?=[ \t]*[:：–—]))"
    r"[ \t:：.–—-]*(?P<title>.*)"
)


def find_numbered_headings(text: TaskText) -> list[TaskBlock]:
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

        title = TaskLine(heading["id"], heading["title"].strip(" *#"))
        block = TaskBlock(title, line, end, sections[line].level, own_end=end)
        block.fields = text.read_fields(line + 1, end)
        if block.has_field(VERIFY_FIELD):
            set_extent(text, block, end)
            tasks.append(block)
    return tasks


def named_headings(text: TaskText, candidates: Sequence[TaskBlock]) -> list[TaskBlock]:
    """Return the headings with the id of a task, such as `## T1`, if there are several."""
    named = []
    for block in candidates:
        kind = heading_kind(text.lines[block.line])
        if block.level and (kind in ("T", "TASK") or "-T" in kind):
            named.append(block)
    if len(named) < 2:
        return []
    set_extents(text, named)
    return named


def are_groups(
    text: TaskText,
    headings: Sequence[TaskBlock],
    items: Sequence[TaskBlock],
    fixes: Sequence[TaskBlock],
) -> bool:
    """Whether headings only group the items below them, and are no tasks themselves.

    They are tasks if they have fields of their own, or if the ids of the items occur twice.
    """
    if [heading.level for heading in headings] == [1]:
        # The title of the document.
        return True
    ids = {item.title.id for item in items}
    if headings and len(ids) < len(items):
        return False
    below = lines_of([*items, *fixes])
    for heading in headings:
        for number in range(heading.line + 1, heading.own_end):
            if number not in below and text.field_name(number) in HEADING_FIELDS:
                return False
    return True


def find_list_items(text: TaskText) -> list[TaskBlock]:
    """Return the items with a Verify field, of each numbered list that is mostly of such items.

    In another list, the one with the field only ends what the heading above it is about.
    """
    tasks = []
    for items in _lists(text):
        verified = [item for item in items if _is_verified(text, item)]
        if len(verified) * 2 > len(items):
            tasks += verified
    for block in tasks:
        set_extent(text, block, block.end)
    return tasks


def _lists(text: TaskText) -> Iterator[list[TaskBlock]]:
    """Yield the items with a number or an id, those below a heading together."""
    headings = {block.line for block in text.outline.blocks if block.level}
    items: list[TaskBlock] = []
    # Backwards: an item ends where what is below it begins.
    end = len(text.lines)
    for number in reversed(range(len(text.lines))):
        if number in text.masked:
            continue
        title = read_item(text.lines[number])
        if title:
            items.append(TaskBlock(title, number, end, own_end=end))
        if title or number in headings or _is_new_paragraph(text.lines, number):
            end = number
        if number in headings:
            yield items
            items = []
    yield items


def _is_new_paragraph(lines: Sequence[str], number: int) -> bool:
    """Whether a line at the margin begins something below a blank line."""
    at_margin = lines[number][:1].strip() != ""
    return at_margin and not lines[number - 1].strip()


def _is_verified(text: TaskText, item: TaskBlock) -> bool:
    """Whether an item has a Verify field, and is none itself."""
    if text.field_name(item.line):
        return False
    item.fields = text.read_fields(item.line + 1, item.end)
    if item.has_field(VERIFY_FIELD):
        return True
    line = text.lines[item.line]
    return inline_verify(line) != "" or verify_sentence(line) != ""
