"""The outline of a Markdown text: which lines are checkboxes, headings, code or comments.

A CommonMark parser finds the structure. Before it does, lines that it would read differently from
their author (a heredoc that leaves the indentation of its fence, a code span that goes on over
blank lines, `-[x]`) are replaced in the text it gets, line for line, so that line numbers stay.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyromark

from pytest_ralph.text.markdown import BACKTICK, LIST_MARKER, QUOTE, heredoc_delimiter, is_open
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_ralph.spec.candidates import TaskBlock

Kind = Literal["item", "heading", "code", "hidden"]

_STRUCTURE: dict[str, Kind] = {
    "Item": "item",
    "Heading": "heading",
    "CodeBlock": "code",
    "HtmlBlock": "hidden",
    "BlockQuote": "hidden",
}
# Fields indented too far are code to CommonMark and fields to their author: they stay visible.
_INDENTED = {"CodeBlock": "Indented"}
# A box opens at most this far behind the start of its item: after a long number and a tab.
_BOX_REACH = 16
# A span of more lines than this is none.
_LONGEST_SPAN = 200
FENCE = regex(rf"[ \t>]*(?:{LIST_MARKER}[ \t]+)*(`{{3,}}|~{{3,}})([^`\n]*)$")
_AS_SPACE = regex(r"\S")
_TASKS_TAG = regex(r"^[ \t]*</?tasks>[ \t]*$", re.MULTILINE)
_TIGHT_BOX = regex(r"^([ \t]*[-*+])(?=\[[ xX]\])", re.MULTILINE)
_SPAN_OPENER = regex(rf"[ \t]*(?:{LIST_MARKER}[ \t]|\*\*Verif)")
_TASK_FIELD = regex(r"[ \t]*[-*+][ \t]+\*\*(?:Do|Files?|Done when|Verif\w*|Commit)\b")
_NUMBERED_TASK = regex(r"[ \t]*[-*+][ \t]*\[[ xX]\][ \t]*\**[A-Z]{0,2}\d+[\d.]*\b")


class Block(NamedTuple):
    """One block of the text, from line index `line` to `end`, which is exclusive.

    `level` is that of a heading, and 0 for any other block.
    """

    kind: Kind
    line: int
    end: int
    level: int = 0


class Outline(NamedTuple):
    """The lines of a text and the blocks that matter for finding tasks, in file order.

    `masked` are lines of code and comments, which hold no field and no task. `unclosed` are lines
    that open a fence which nothing closes.
    """

    lines: Sequence[str]
    blocks: tuple[Block, ...]
    masked: frozenset[int]
    unclosed: tuple[int, ...]


def read_outline(source: str, skip: int = 0) -> Outline:
    """Return the outline of `source`, whose first `skip` lines are front matter."""
    text = source.replace("\r\n", "\n").removeprefix("\ufeff")
    lines = text.split("\n")
    if "\r" in text:
        lines = [line.rstrip("\r") for line in lines]

    shown = _readable_lines(text, skip)
    masked: set[int] = set()
    for span in _long_spans(lines):
        _hide_span(shown, span)
        masked.update(span)
    blocks, unclosed = _parse(shown, lines)
    if unclosed and _blank_cut_fences(shown, unclosed[0]):
        blocks, unclosed = _parse(shown, lines)

    no_text = [block for block in blocks if block.kind in ("code", "hidden")]
    masked |= lines_of(no_text)
    visible = [block for block in blocks if block.kind != "hidden"]
    return Outline(lines, tuple(visible), frozenset(masked), tuple(unclosed))


def lines_of(blocks: Iterable[Block | TaskBlock]) -> set[int]:
    """Return the indexes of all lines of these blocks."""
    lines: set[int] = set()
    for block in blocks:
        lines.update(range(block.line, block.end))
    return lines


def _readable_lines(text: str, skip: int) -> list[str]:
    """Return the lines for the parser: without front matter, and with `-[x]` as `- [x]`.

    CommonMark takes a list that follows the line `<tasks>` for HTML.
    """
    if "<tasks>" in text:
        text = _TASKS_TAG.sub("", text)
    # Only to CommonMark does a carriage return alone end a line: one of ours would be two tasks.
    text = text.replace("\r", " ")
    if "[" in text:
        text = _TIGHT_BOX.sub(r"\1 ", text)
    lines = text.split("\n")
    lines[:skip] = [""] * min(skip, len(lines))
    return lines


def _hide_span(shown: list[str], span: range) -> None:
    """Replace the lines of a long span by ones that cannot end its list item."""
    opening = shown[span.start - 1]
    indent = opening[: len(opening) - len(opening.lstrip())]
    for number in span:
        shown[number] = f"{indent}    x"


def _long_spans(lines: Sequence[str]) -> Iterator[range]:
    """Yield the lines behind the first one of spans that go on, inside a quotation, over lines."""
    last = -1
    for number, line in enumerate(lines):
        # Most lines have no quotation, and are spared the patterns.
        if number <= last or '"' not in line:
            continue
        if not _SPAN_OPENER.match(line) or not is_open(line):
            continue
        last = _closing_line(lines, number)
        if last > number:
            yield range(number + 1, last + 1)


def _closing_line(lines: Sequence[str], opened: int) -> int:
    """Return the line that closes a span and all quotations in it, or `opened` if none does."""
    quotes = len(QUOTE.findall(lines[opened]))
    delimiter = heredoc_delimiter(lines[opened])

    for number in range(opened + 1, min(opened + _LONGEST_SPAN, len(lines))):
        line = lines[number]
        if "```" in line or _TASK_FIELD.match(line):
            return opened
        if delimiter and line.strip().rstrip(")\"'`") != delimiter:
            continue
        delimiter = ""

        closed = BACKTICK.search(line)
        in_span = line[: closed.start()] if closed else line
        quotes += len(QUOTE.findall(in_span))
        if closed:
            has_closed_quotes = quotes % 2 == 0
            return number if has_closed_quotes else opened
    return opened


def _blank_cut_fences(lines: list[str], start: int) -> bool:
    """Blank the content of fences that ends their list item before the fence is closed.

    Return whether there was one.
    """
    changed = False
    never_closed: dict[str, int] = {}
    last = -1

    for number in range(start, len(lines)):
        if number <= last:
            continue
        opened = FENCE.match(lines[number])
        if opened is None:
            continue
        last = _closing_fence(lines, number, opened[1], never_closed)
        if last > number + 1:
            lines[number + 1 : last] = [""] * (last - number - 1)
            # With its tabs: a list item of fewer columns would end before the fence.
            lines[last] = _AS_SPACE.sub(" ", lines[number][: opened.start(1)]) + opened[1]
            changed = True
    return changed


def _closing_fence(
    lines: Sequence[str], opened: int, fence: str, never_closed: dict[str, int]
) -> int:
    """Return the line that closes the fence opened on line `opened`, or -1.

    `never_closed` remembers the shortest fence of each kind that has no end, so that a document
    full of them is not searched to its end for every one.
    """
    if len(fence) >= never_closed.get(fence[0], len(fence) + 1):
        return -1

    delimiter = ""
    for number in range(opened + 1, len(lines)):
        line = lines[number]
        if delimiter:
            if line.strip() == delimiter:
                delimiter = ""
            continue
        found = FENCE.match(line)
        if found and found[1].startswith(fence):
            return -1 if found[2].strip() else number
        if _NUMBERED_TASK.match(line):
            return -1
        delimiter = heredoc_delimiter(line)
    never_closed[fence[0]] = len(fence)
    return -1


def _parse(shown: Sequence[str], lines: Sequence[str]) -> tuple[list[Block], list[int]]:
    """Return the blocks of the text and the lines of fences that were not closed."""
    text = "\n".join(shown)
    data = text.encode()
    # The offset of each line.
    starts = [0]
    starts += (newline.end() for newline in re.finditer(b"\n", data))

    blocks: list[Block] = []
    unclosed: list[int] = []
    quoted_until = 0
    for name, level, begin, end in _structure(text, data):
        place = begin
        if data[begin] in b"\r\n":
            # pulldown-cmark places an item indented with a tab on the line break before it.
            place = begin + 1
        first = bisect_right(starts, place) - 1
        if name == "Item" and "[" not in lines[first]:
            continue
        if name == "BlockQuote":
            quoted_until = max(quoted_until, end)
        kind = _STRUCTURE[name]
        if begin < quoted_until:
            kind = "hidden"
        after = max(bisect_left(starts, end), first + 1)
        block = Block(kind, first, after, level)
        blocks.append(block)
        if name == "CodeBlock" and not _is_closed(lines, block):
            unclosed.append(first)
    return blocks, unclosed


def _structure(text: str, data: bytes) -> Iterator[tuple[str, int, int, int]]:
    """Yield name, heading level, begin and end of each block that an outline is made of."""
    event: Any
    for event, span in pyromark.events_with_range(text):
        if "Start" not in event:
            continue
        tag = event["Start"]
        begin = span["start"]
        if tag == "Item":
            # Most items have no box. This check keeps them cheap.
            if b"[" in data[begin : begin + _BOX_REACH]:
                yield tag, 0, begin, span["end"]
            continue

        name = tag if type(tag) is str else next(iter(tag))
        if name in _STRUCTURE and tag != _INDENTED:
            level = int(tag[name]["level"][1]) if name == "Heading" else 0
            yield name, level, begin, span["end"]


def _is_closed(lines: Sequence[str], block: Block) -> bool:
    """Return whether a fence has an end of its own, not only that of the text or of an item."""
    last = block.end - 1
    if last == block.line:
        return False
    opened = FENCE.match(lines[block.line])
    if opened is None:
        return False
    closed = FENCE.match(lines[last])
    if closed is None or not closed[1].startswith(opened[1]):
        return False
    return not closed[2].strip()
