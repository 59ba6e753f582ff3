"""The Outline of a markdown text, that is, which lines are checkboxes, headings, code or comments.

The structure comes from a CommonMark parser. What people write and CommonMark cuts short (a heredoc that
leaves the indentation of its fence, a code span that runs over blank lines, `-[x]`) is covered up in the
text given to the parser, line for line, so that every line keeps its number.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal

import pyromark

from pytest_ralph.text.markdown import BACKTICK, QUOTE, heredoc_delimiter, is_open
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Kind = Literal["item", "heading", "code", "hidden"]

_STRUCTURE: dict[str, Kind] = {
    "Item": "item",
    "Heading": "heading",
    "CodeBlock": "code",
    "HtmlBlock": "hidden",
    "BlockQuote": "hidden",
}
# Fields indented too far are code to CommonMark and fields to their author: not masked.
_INDENTED = {"CodeBlock": "Indented"}
# How far behind the start of an item its box opens, even with a two-digit number and a tab before it.
_BOX_REACH = 16
FENCE = regex(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})([^`\n]*)$")
_TIGHT_BOX = regex(r"^([ \t]*[-*+])(?=\[[ xX]\])", re.MULTILINE)
_SPAN_OPENER = regex(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]|\*\*Verif)")
_TASK_FIELD = regex(r"[ \t]*[-*+][ \t]+\*\*(?:Do|Files?|Done when|Verif\w*|Commit)\b")
_NUMBERED_TASK = regex(r"[ \t]*[-*+][ \t]*\[[ xX]\][ \t]*\**[A-Z]{0,2}\d+[\d.]*\b")


@dataclass(frozen=True, slots=True)
class Block:
    """One block of the text: `line` to `end` are indexes into the lines, `end` exclusive."""

    kind: Kind
    line: int
    end: int
    # Of a heading.
    level: int = 0


@dataclass(frozen=True, slots=True)
class Outline:
    """The lines of a text and the blocks that matter for finding tasks, in order of their first line."""

    lines: Sequence[str]
    blocks: tuple[Block, ...]
    # Lines that are code or comment: nothing in them is a field or a task.
    masked: frozenset[int]
    # Lines that open a fence which nothing closes.
    unclosed: tuple[int, ...]


def read_outline(source: str, skip: int = 0) -> Outline:
    """The outline of `source`, whose first `skip` lines (front matter) are not markdown."""
    lines = (
        [line.rstrip("\r") for line in source.split("\n")] if "\r" in source else source.split("\n")
    )
    lines[0] = lines[0].removeprefix("\ufeff")
    spans = list(_long_spans(lines))
    shown = _cover(source, spans, skip)
    blocks, cut = _parse(shown, lines)
    if cut and (mended := _cover_cut_fences(shown.split("\n"), cut[0])) is not None:
        blocks, cut = _parse(mended, lines)
    covered = [(block.line, block.end) for block in blocks if block.kind in ("code", "hidden")]
    covered += [(first + 1, last + 1) for first, last in spans]
    masked = frozenset(number for first, end in covered for number in range(first, end))
    return Outline(
        lines, tuple(block for block in blocks if block.kind != "hidden"), masked, tuple(cut)
    )


def _cover(source: str, spans: Sequence[tuple[int, int]], skip: int) -> str:
    """The text for the parser: same lines, with what CommonMark would misread made harmless."""
    shown = source.replace("\r\n", "\n") if "\r" in source else source
    if "[" in shown:
        shown = _TIGHT_BOX.sub(r"\1 ", shown)
    if skip or shown.startswith("\ufeff"):
        shown = "\n" * skip + shown.removeprefix("\ufeff").split("\n", skip)[-1]
    if not spans:
        return shown
    covered = shown.split("\n")
    for first, last in spans:
        indent = covered[first][: len(covered[first]) - len(covered[first].lstrip())] + "    "
        covered[first + 1 : last + 1] = [indent + "x"] * (last - first)
    return "\n".join(covered)


def _long_spans(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Items and Verify fields whose last code span, still inside a quotation, runs over blank lines or headings."""
    number = 0
    while number < len(lines):
        line = lines[number]
        if "`" in line and '"' in line and _SPAN_OPENER.match(line) and is_open(line):
            last = _closing_line(lines, number)
            if last > number:
                yield number, last
                number = last
        number += 1


def _closing_line(lines: Sequence[str], opened: int) -> int:
    """The line whose backtick closes the span, with every quotation in it closed too; `opened` if there is none."""
    quotes = len(QUOTE.findall(lines[opened]))
    document_end = heredoc_delimiter(lines[opened])
    for number in range(opened + 1, min(opened + 200, len(lines))):
        line = lines[number]
        if "```" in line or _TASK_FIELD.match(line):
            return opened
        if document_end and line.strip().rstrip(")\"'`") != document_end:
            continue
        document_end = ""
        closed = BACKTICK.search(line)
        quotes += len(QUOTE.findall(line, 0, closed.start() if closed else len(line)))
        if closed:
            return number if quotes % 2 == 0 else opened
    return opened


def _cover_cut_fences(lines: list[str], start: int) -> str | None:
    """Blank the inside of fences that are left by their indentation before they are closed."""
    changed = False
    hopeless: dict[str, int] = {}
    number = start
    while number < len(lines):
        opened = FENCE.match(lines[number])
        if opened is None:
            number += 1
            continue
        last = _closing_fence(lines, number, opened[1], hopeless)
        if last > number + 1:
            lines[number + 1 : last] = [""] * (last - number - 1)
            lines[last] = " " * _content_indent(lines[number]) + opened[1]
            changed = True
        number = max(last, number) + 1
    return "\n".join(lines) if changed else None


def _closing_fence(lines: Sequence[str], opened: int, fence: str, hopeless: dict[str, int]) -> int:
    """The line that closes the fence opened on line `opened`, or -1."""
    if len(fence) >= hopeless.get(fence[0], len(fence) + 1):
        return -1
    document_end = ""
    for number in range(opened + 1, len(lines)):
        line = lines[number]
        if document_end:
            document_end = "" if line.strip() == document_end else document_end
            continue
        found = FENCE.match(line)
        if found and found[1][0] == fence[0] and len(found[1]) >= len(fence):
            return -1 if found[2].strip() else number
        if _NUMBERED_TASK.match(line):
            return -1
        document_end = heredoc_delimiter(line)
    hopeless[fence[0]] = len(fence)
    return -1


def _content_indent(line: str) -> int:
    opened = FENCE.match(line)
    return opened.start(1) if opened else 0


def _parse(text: str, lines: Sequence[str]) -> tuple[list[Block], list[int]]:
    """The blocks of `text` and the lines of fences that were not closed."""
    data = text.encode()
    starts = _line_starts(data)
    blocks: list[Block] = []
    cut: list[int] = []
    quoted_until = 0
    for name, tag, begin, end in _structure(text, data):
        # pulldown-cmark places an item indented with a tab on the line break before it.
        first = bisect_right(starts, begin + (data[begin] in b"\r\n")) - 1
        if name == "Item" and "[" not in lines[first]:
            continue
        if name == "BlockQuote":
            quoted_until = max(quoted_until, end)
        kind = _STRUCTURE[name] if begin >= quoted_until else "hidden"
        level = int(tag["Heading"]["level"][1]) if name == "Heading" else 0
        block = Block(kind, first, max(bisect_left(starts, end), first + 1), level)
        blocks.append(block)
        if name == "CodeBlock" and not _is_closed(lines, block):
            cut.append(first)
    return blocks, cut


def _structure(text: str, data: bytes) -> Iterator[tuple[str, Any, int, int]]:
    """Where the blocks start that an outline is made of: (name, tag, begin, end)."""
    event: Any
    for event, span in pyromark.events_with_range(text):
        if "Start" not in event:
            continue
        tag = event["Start"]
        if tag == "Item":
            begin = span["start"]
            # Most items are no checkboxes: nothing more is done about them.
            if b"[" in data[begin : begin + _BOX_REACH]:
                yield tag, tag, begin, span["end"]
            continue
        name = tag if type(tag) is str else next(iter(tag))
        if name in _STRUCTURE and tag != _INDENTED:
            yield name, tag, span["start"], span["end"]


def _is_closed(lines: Sequence[str], block: Block) -> bool:
    opened, closed = FENCE.match(lines[block.line]), FENCE.match(lines[block.end - 1])
    if opened is None or closed is None or block.end - block.line < 2:
        return False
    return closed[1].startswith(opened[1]) and not closed[2].strip()


def _line_starts(data: bytes) -> list[int]:
    return [0, *accumulate(len(line) + 1 for line in data.split(b"\n"))][:-1]
