"""Text: head and tail of what is too long, with a line that says how much is missing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# A single line longer than this is cut too: one 1 MB line is as much to read as 10,000 lines.
WIDEST = 2_000
# Lines kept on each side of the one that matters.
NEAR = 10
GAP = re.compile(r"… [\d,]+ (?:lines|bytes) left out …")


def bounded(text: str, head: int, tail: int, *, widest: int = WIDEST, around: str = "") -> str:
    """The first `head` and the last `tail` lines of `text`, no line wider than `widest`.

    What surrounds the first line that contains `around` is kept too.
    """
    lines = text.splitlines()
    if len(lines) <= head + tail + 1:
        return "\n".join(narrowed(line, widest) for line in lines)
    wanted = {*range(head), *range(len(lines) - tail, len(lines)), *near(lines, around)}
    return "\n".join(narrowed(line, widest) for line in with_gaps(lines, sorted(wanted)))


def near(lines: Sequence[str], text: str, distance: int = NEAR) -> range:
    """The numbers of the lines around the first one that contains `text`."""
    at = (
        next((number for number, line in enumerate(lines) if text in line), None)
        if text.strip()
        else None
    )
    return (
        range(0) if at is None else range(max(0, at - distance), min(len(lines), at + distance + 1))
    )


def with_gaps(lines: Sequence[str], wanted: Iterable[int]) -> Iterator[str]:
    """The wanted lines, with one between them that says how many are missing there."""
    after = 0
    for number in wanted:
        yield from _gap(number - after)
        yield lines[number]
        after = number + 1
    yield from _gap(len(lines) - after)


def _gap(count: int) -> Iterator[str]:
    if count:
        yield f"… {count:,} lines left out …"


def narrowed(line: str, widest: int) -> str:
    """One line, its middle replaced by a count where it is too wide."""
    if len(line) <= widest:
        return line
    kept = widest // 2
    return (
        f"{line[:kept]}… {len(line) - 2 * kept:,} characters left out …{line[len(line) - kept :]}"
    )
