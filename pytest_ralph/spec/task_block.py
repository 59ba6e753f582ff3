"""The TaskBlock, that is, which lines of a spec make up which task, and what they say."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.spec.fields import field_name, read_fields
from pytest_ralph.spec.outline import Block
from pytest_ralph.spec.task_line import (
    TaskLine,
    heading_level,
    kin,
    read_bold,
    read_checkbox,
    read_heading,
)
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.spec.fields import Field
    from pytest_ralph.spec.outline import Outline

_PHASE = regex(
    r"\b(?:phase|fase|étape|этап|фаза|milestone|stage|sprint|wave)\b|阶段|階段|フェーズ",
    re.IGNORECASE,
)
# A checkbox without an id is a task if it has one of these; a heading with an id also if it has one of the others.
_WORK = frozenset(("Do", "Verify"))
_HEADING_WORK = _WORK | {"Files", "Done when", "Commit"}
# A bold line heads what is below it down to the next one, or to any heading.
_BOLD = 7
_NOT_PROSE = regex(r"[-*+#|>]|\d{1,9}[.)][ \t]|[ \t]+(?![-*+][ \t]+\*\*)\S")
_INDENTED_FIELD = regex(r"[ \t]+[-*+][ \t]+\*\*[^*\n]{1,60}\*\*")


class TaskBlock(NamedTuple):
    """A task's own lines are `line` to `own_end`: those of a task nested in it are not its own."""

    named: TaskLine
    phase: str
    line: int
    end: int
    own_end: int
    fields: tuple[Field, ...]
    # A heading has no box of its own, but may have boxes below it.
    checked: bool


class _Candidate(NamedTuple):
    named: TaskLine
    phase: str
    line: int
    end: int
    heading: bool


def find_blocks(outline: Outline) -> Iterator[TaskBlock]:
    """Every task of the outline, in file order."""
    candidates = list(_candidates(outline))
    sure_boxes = [c.line for c in candidates if c.named.certain and not c.heading]
    starts = [c.line for c in candidates if c.named.certain or c.heading]
    blocks = [_block(candidate, outline, starts) for candidate in candidates]
    works = [
        _is_task(candidate, block, sure_boxes)
        and not _only_groups(candidate, candidates, blocks, outline)
        for candidate, block in zip(candidates, blocks, strict=True)
    ]
    beside = _beside_tasks(candidates, works, outline)
    tasks = [block for at, block in enumerate(blocks) if works[at] or at in beside]
    tails = _tails(tasks, outline)
    ends = set(tails.values())
    for index, block in enumerate(tasks):
        limit = tasks[index + 1].line if index + 1 < len(tasks) else len(outline.lines)
        settled = _settled(block, outline, block.end if block.end in ends else limit)
        if tail := tails.get(index):
            below = read_fields(outline.lines, tail, block.end, outline.masked)
            settled = settled._replace(fields=(*settled.fields, *below))
        yield settled


def _beside_tasks(
    candidates: Sequence[_Candidate], works: Sequence[bool], outline: Outline
) -> set[int]:
    """Headings without a field beside one of their kind that is a task: `### Step 2` next to a verified step."""
    named = [at for at, one in enumerate(candidates) if one.heading and not one.named.certain]
    if len({works[at] for at in named}) < 2:
        return set()
    certain = {one.line for one in candidates if one.heading and one.named.certain}
    sections = _sections(outline, [candidates[at].line for at in named])
    kinds: dict[int, tuple[str, int, int]] = {}
    for at in named:
        line = candidates[at].line
        section = sections.get(line, -1)
        if section not in certain and (called := kin(outline.lines[line])):
            kinds[at] = (called, heading_level(outline.lines[line]), section)
    worked = {kind for at, kind in kinds.items() if works[at]}
    sure = [one.line for one in candidates if one.named.certain and not one.heading]
    return {
        at
        for at, kind in kinds.items()
        if kind in worked
        and bisect_left(sure, candidates[at].end) == bisect_left(sure, candidates[at].line)
    }


def _sections(outline: Outline, headings: Sequence[int]) -> dict[int, int]:
    """By the line of each heading, that of the heading it stands under; of one at the top nothing."""
    levels = {block.line: block.level for block in outline.blocks if block.level}
    levels |= {line: level for line in headings if (level := heading_level(outline.lines[line]))}
    sections: dict[int, int] = {}
    above: list[int] = []
    for line in sorted(levels):
        while above and levels[above[-1]] >= levels[line]:
            above.pop()
        if above:
            sections[line] = above[-1]
        above.append(line)
    return sections


def _tails(tasks: Sequence[TaskBlock], outline: Outline) -> dict[int, int]:
    """By the index of each parent, where its own fields go on behind its last child; not where children have such."""
    tails: dict[int, int] = {}
    for index, parent in enumerate(tasks):
        if (
            heading_level(outline.lines[parent.line])
            or index + 1 == len(tasks)
            or tasks[index + 1].line >= parent.end
        ):
            continue
        last = bisect_left(tasks, parent.end, key=attrgetter("line"))
        children = tasks[index + 1 : last]
        tail = max(child.end for child in children)
        apart = [
            (child.end, following.line)
            for child, following in pairwise(children)
            if child.end <= following.line
        ]
        if _names_field(outline, tail, parent.end) and not any(
            _names_field(outline, *gap) for gap in apart
        ):
            tails[index] = tail
    return tails


def _names_field(outline: Outline, start: int, end: int) -> bool:
    return any(
        n not in outline.masked and bool(field_name(outline.lines[n])) for n in range(start, end)
    )


def _candidates(outline: Outline) -> Iterator[_Candidate]:
    """Checkboxes and headings that may be tasks, each with the phase it stands in."""
    blocks = _with_bold_lines(outline)
    ends = _section_ends(outline, blocks)
    above: list[tuple[int, str]] = []
    phase = ""
    item_end = 0
    for block in blocks:
        line = outline.lines[block.line]
        if block.kind == "item":
            item_end = max(item_end, block.end)
            if named := read_checkbox(line):
                end = ends.get(block.line, block.end)
                yield _Candidate(named, phase, block.line, end, heading=block.line in ends)
        elif block.kind == "heading" and block.line >= item_end:
            named = read_heading(line) or _read_bold(outline, block.line, ends[block.line])
            if named:
                yield _Candidate(named, phase, block.line, ends[block.line], heading=True)
            if not (named and named.certain) and block.level != _BOLD:
                above = [heading for heading in above if heading[0] < block.level]
                above.append((block.level, line.strip().strip("#").strip()))
                phase = _phase(above)


def _phase(headings: Sequence[tuple[int, str]]) -> str:
    """The innermost heading that calls itself a phase, or else the innermost one."""
    called = [text for level, text in headings if level > 1 and _PHASE.search(text)]
    below_title = [text for level, text in headings if level > 1]
    return (called or below_title or [""])[-1]


def _read_bold(outline: Outline, line: int, end: int) -> TaskLine | None:
    """A task named in bold; only what is done or verified is one, for much else is written in bold."""
    named = read_bold(outline.lines[line])
    if named is None:
        return None
    for number in range(line + 1, end):
        below = outline.lines[number]
        if number not in outline.masked and field_name(below) in _WORK:
            return named._replace(certain=True)
        if (box := read_checkbox(below)) and box.certain:
            return None
    return None


def _with_bold_lines(outline: Outline) -> Sequence[Block]:
    """The blocks of the outline and the lines in bold that name a task, in order."""
    known = {block.line for block in outline.blocks} | outline.masked
    bold = [
        Block("heading", number, number + 1, _BOLD)
        for number, line in enumerate(outline.lines)
        if "**" in line[:8] and number not in known and read_bold(line)
    ]
    return sorted((*outline.blocks, *bold), key=attrgetter("line")) if bold else outline.blocks


def _section_ends(outline: Outline, blocks: Sequence[Block]) -> dict[int, int]:
    """For each line that heads a section, where the section ends: at the next heading of its level or above."""
    ends: dict[int, int] = {}
    open_sections: list[tuple[int, int]] = []
    for block in blocks:
        level = block.level if block.kind == "heading" else _boxed_level(block, outline)
        if not level:
            continue
        while open_sections and open_sections[-1][0] >= level:
            ends[open_sections.pop()[1]] = block.line
        open_sections.append((level, block.line))
    return ends | {line: len(outline.lines) for _, line in open_sections}


def _boxed_level(block: Block, outline: Outline) -> int:
    """The level of a numbered list item that is written as a heading."""
    line = outline.lines[block.line]
    if block.kind != "item" or "#" not in line or not (level := heading_level(line)):
        return 0
    named = read_checkbox(line)
    return level if named and named.certain else 0


def _block(candidate: _Candidate, outline: Outline, starts: Sequence[int]) -> TaskBlock:
    following = bisect_right(starts, candidate.line)
    own_end = min(candidate.end, starts[following] if following < len(starts) else candidate.end)
    fields = read_fields(outline.lines, candidate.line + 1, own_end, outline.masked)
    named = candidate.named
    return TaskBlock(
        named, candidate.phase, candidate.line, candidate.end, own_end, fields, named.checked
    )


def _is_task(candidate: _Candidate, block: TaskBlock, sure_boxes: Sequence[int]) -> bool:
    works = any(
        field.name in (_HEADING_WORK if candidate.heading else _WORK) for field in block.fields
    )
    if not candidate.heading:
        return candidate.named.certain or works
    inside = bisect_left(sure_boxes, candidate.end) > bisect_left(sure_boxes, candidate.line)
    if inside:
        # A heading over numbered checkboxes groups them, unless it is worked and verified itself.
        return candidate.named.certain and any(field.name == "Verify" for field in block.fields)
    return candidate.named.certain or works


def _only_groups(
    candidate: _Candidate,
    candidates: Sequence[_Candidate],
    blocks: Sequence[TaskBlock],
    outline: Outline,
) -> bool:
    """Whether a heading has no fields but those of boxes below it that are tasks themselves."""
    if not candidate.heading or candidate.named.certain:
        return False
    first = bisect_right(blocks, candidate.line, key=attrgetter("line"))
    last = bisect_left(blocks, candidate.end, key=attrgetter("line"))
    boxes = [
        block
        for inner, block in zip(candidates[first:last], blocks[first:last], strict=True)
        if not inner.heading and any(field.name in _WORK for field in block.fields)
    ]
    start = candidate.line + 1
    for box in boxes:
        if _names_field(outline, start, box.line):
            return False
        start = max(start, box.end)
    return bool(boxes) and not _names_field(outline, start, candidate.end)


def _settled(block: TaskBlock, outline: Outline, limit: int) -> TaskBlock:
    """The block with its fields up to the next task, also where they stand beside the box, not under it."""
    own_end = min(_with_siblings(block, outline, limit), limit)
    fields = block.fields
    if own_end != block.own_end:
        fields = read_fields(outline.lines, block.line + 1, own_end, outline.masked)
    end = max(block.end, own_end)
    while end > block.line + 1 and not outline.lines[end - 1].strip():
        end -= 1
    checked = block.checked or (
        _is_bare_heading(block, outline) and _all_ticked(block.line + 1, own_end, outline)
    )
    return TaskBlock(block.named, block.phase, block.line, end, own_end, fields, checked)


def _is_bare_heading(block: TaskBlock, outline: Outline) -> bool:
    return outline.lines[block.line].lstrip().startswith("#")


def _all_ticked(first: int, last: int, outline: Outline) -> bool:
    boxes = [
        read_checkbox(outline.lines[number])
        for number in range(first, last)
        if number not in outline.masked
    ]
    return any(boxes) and all(box.checked for box in boxes if box)


def _fields_below_prose(outline: Outline, start: int, limit: int) -> int:
    """Where indented fields begin that a paragraph at the margin sets apart from their checkbox, or 0."""
    for number in range(start, limit):
        line = outline.lines[number]
        if number in outline.masked or _NOT_PROSE.match(line):
            return 0
        if _INDENTED_FIELD.match(line):
            return number
    return 0


def _with_siblings(block: TaskBlock, outline: Outline, limit: int) -> int:
    """Where a checkbox ends that is followed by its fields as siblings, or by the fence of its last field."""
    end = block.own_end
    if end < block.end or heading_level(outline.lines[block.line]):
        return end
    # A fence written at the margin belongs to the field above it that says nothing yet.
    waiting = bool(block.fields) and not block.fields[-1].text.strip()
    inside = False
    if not block.fields and (below := _fields_below_prose(outline, end, limit)):
        end, inside = below, True
    for number in range(end, limit):
        line = outline.lines[number]
        if not line.strip():
            continue
        name = "" if number in outline.masked else field_name(line)
        if not (
            name
            or (number in outline.masked and (inside or waiting))
            or (inside and line[0] in " \t")
        ):
            return end
        inside = inside or bool(name)
        end = number + 1
    return end
