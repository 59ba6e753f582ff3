"""Shorten text: to its head, its tail and the lines around an error, or to terminal columns.

Wide characters take two columns.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# A single line longer than this is cut too: a line of 1 MB is as unreadable as 10,000 lines.
WIDEST = 2_000
# Lines kept on each side of the one that matters.
NEAR = 10
# The line that stands for what was left out, here or where the output was stored.
GAP = regex(r"… [\d,]+ (?:lines|bytes) left out …")


def cut_lines(text: str, head: int, tail: int, *, widest: int = WIDEST, around: str = "") -> str:
    """Return the first `head` and the last `tail` lines of `text`.

    Of a line that is wider than `widest`, so many characters are kept. The lines near the first one
    that contains `around` are kept as well.
    """
    lines = text.splitlines()
    if len(lines) > head + tail + 1:
        wanted = set(range(head))
        wanted.update(near(lines, around))
        wanted.update(range(len(lines) - tail, len(lines)))
        lines = list(with_gaps(lines, sorted(wanted)))
    return "\n".join(cut_middle(line, widest) for line in lines)


def near(lines: Sequence[str], text: str, distance: int = NEAR) -> range:
    """Return the indices of the lines around the first one that contains `text`."""
    if not text.strip():
        return range(0)
    for index, line in enumerate(lines):
        if text in line:
            first = max(0, index - distance)
            return range(first, min(len(lines), index + distance + 1))
    return range(0)


def with_gaps(lines: Sequence[str], wanted: Iterable[int]) -> Iterator[str]:
    """Yield the lines at the sorted indices `wanted`, with a line for each gap between them."""
    expected = 0
    for index in wanted:
        if index > expected:
            yield gap_line(index - expected)
        yield lines[index]
        expected = index + 1
    if len(lines) > expected:
        yield gap_line(len(lines) - expected)


def gap_line(count: int, unit: str = "lines") -> str:
    """Return the line that stands for `count` lines, or bytes."""
    return f"… {count:,} {unit} left out …"


def cut_middle(line: str, widest: int) -> str:
    """Return the line, or its first and last characters, `widest` together, around a count."""
    if len(line) <= widest:
        return line
    kept = widest // 2
    missing = len(line) - 2 * kept
    return f"{line[:kept]}… {missing:,} characters left out …{line[kept + missing :]}"


ZERO_WIDTH_CATEGORIES = ("Mn", "Me", "Cf")


def columns(text: str) -> int:
    """Return how many terminal columns `text` takes."""
    if text.isascii():
        return len(text)
    return sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if unicodedata.category(character) in ZERO_WIDTH_CATEGORIES:
        return 0
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    return 1


def cut_to_columns(text: str, width: int, ellipsis: str = "…") -> str:
    """Return `text` cut to `width` columns, with an ellipsis if anything is missing."""
    if columns(text) <= width:
        return text

    used = 0
    for index, character in enumerate(text):
        used += _columns_of(character)
        if used > width - columns(ellipsis):
            return text[:index].rstrip() + ellipsis
    return text


def wrapped(text: str, width: int) -> list[str]:
    """Return lines of at most `width` columns, broken at spaces, or in words that are too long."""
    lines = []
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if columns(longer) <= width:
            line = longer
            continue

        if line:
            lines.append(line)
        *full, line = _split(word, width)
        lines += full
    lines.append(line)
    return lines


def _split(word: str, width: int) -> list[str]:
    """Split a word into pieces of at most `width` columns."""
    pieces = []
    piece = ""
    for character in word:
        if piece and columns(piece + character) > width:
            pieces.append(piece)
            piece = ""
        piece += character
    pieces.append(piece)
    return pieces
