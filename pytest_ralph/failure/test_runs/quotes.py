"""Numbered lines of an output, and the search for the words to quote from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Sequence


class Quote(NamedTuple):
    """A line of the output, or words of it, with the number of the line."""

    line: int
    text: str


def numbered(lines: Iterable[str]) -> Sequence[Quote]:
    """Return the lines with their numbers."""
    return [Quote(number, text) for number, text in enumerate(lines)]


def below(lines: Sequence[Quote], number: int, most: int) -> Sequence[Quote]:
    """Return at most so many lines below a line."""
    return lines[number + 1 : number + 1 + most]


def above(lines: Sequence[Quote], number: int, most: int) -> Sequence[Quote]:
    """Return at most so many lines above a line, the nearest first."""
    return lines[max(0, number - most) : number][::-1]


def until(ends: Callable[[str], object], lines: Iterable[Quote]) -> list[Quote]:
    """Return the lines before the first that ends a block."""
    block: list[Quote] = []
    for line in lines:
        if ends(line.text):
            break
        block.append(line)
    return block


def first_quote(lines: Sequence[Quote], patterns: Iterable[re.Pattern[str]]) -> Quote | None:
    """Return what a pattern catches in one of the lines; the first pattern that matches counts.

    The first group that caught something is quoted, without groups the whole line.
    """
    for pattern in patterns:
        for number, line in lines:
            match = pattern.match(line)
            if match:
                caught = next(filter(None, match.groups()), line)
                return Quote(number, caught.strip())
    return None
