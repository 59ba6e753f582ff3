"""Which lines belong to each task, and which fields those lines hold."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_ralph.spec.candidates import TaskBlock, TaskText, by_line
from pytest_ralph.spec.edit import ticked_line
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.spec.fields import Field

VERIFY_FIELD = frozenset(["Verify"])
_NOT_PROSE = regex(r"[-*+#|>]|\d{1,9}[.)][ \t]|[ \t]+(?![-*+][ \t]+\*\*)\S")
_INDENTED_FIELD = regex(r"[ \t]+[-*+][ \t]+\*\*[^*\n]{1,60}\*\*")


def set_extents(text: TaskText, tasks: Sequence[TaskBlock]) -> None:
    """Set the final extent, the fields and the tick of each task of a spec."""
    tails = _find_tails(text, tasks)
    ends_before_tail = set(tails.values())
    lines = [block.line for block in tasks]
    next_lines = [*lines[1:], len(text.lines)]
    for block, next_line in zip(tasks, next_lines, strict=False):
        end = block.end
        limit = next_line
        if end in ends_before_tail:
            # The fields behind the last child are its parent's, not the child's.
            limit = end
        set_extent(text, block, limit)
        if block.line in tails:
            block.fields += text.read_fields(tails[block.line], end)
        if not block.has_field(VERIFY_FIELD):
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
        if tail < parent.end and not _has_fields_between(text, children):
            tails[parent.line] = tail
    return tails


def _has_fields_between(text: TaskText, children: Sequence[TaskBlock]) -> bool:
    for child, following in pairwise(children):
        if text.has_field_name(child.end, following.line):
            return True
    return False


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
    first_line = text.lines[block.line]
    is_heading = first_line.lstrip().startswith("#")
    # A heading mostly has no box of its own, but may have boxes below it.
    if is_heading and not block.checked and ticked_line(first_line) is None:
        block.checked = _all_ticked(text, block.line + 1, own_end)


def _all_ticked(text: TaskText, first: int, last: int) -> bool:
    """Whether there are boxes on these lines, and all of them are ticked."""
    boxes = list(filter(None, map(text.checkbox, range(first, last))))
    return bool(boxes) and all(box.checked for box in boxes)


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
