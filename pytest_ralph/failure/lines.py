"""Walk over the lines of an output: those that match, and those below or above one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator, Sequence


def matching(
    find: Callable[[str], re.Match[str] | None], lines: Iterable[str]
) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the number and the match of every line in which `PATTERN.match` finds something."""
    for number, match in enumerate(map(find, lines)):
        if match is not None:
            yield number, match


def numbers_of(accepts: Callable[[str], object], lines: Iterable[str]) -> list[int]:
    """Return the numbers of the lines that are accepted."""
    return [number for number, accepted in enumerate(map(accepts, lines)) if accepted]


def number_of(text: str, lines: Iterable[str]) -> int | None:
    """Return the number of the first line that contains a text."""
    return next((number for number, line in enumerate(lines) if text in line), None)


def below(lines: Sequence[str], number: int, most: int) -> range:
    """Return the numbers of the lines below a line."""
    return range(number + 1, min(len(lines), number + 1 + most))


def lines_below(lines: Sequence[str], number: int, most: int) -> Sequence[str]:
    """Return the lines below a line."""
    return lines[number + 1 : number + 1 + most]


def line_above(lines: Sequence[str], number: int) -> str:
    """Return the line above a line; empty for the first one."""
    return lines[number - 1] if number > 0 else ""


def above(number: int, most: int) -> range:
    """Return the numbers of the lines above a line, the nearest first."""
    return range(number - 1, max(-1, number - 1 - most), -1)


def indent_of(line: str) -> int:
    """Return how far a line is indented."""
    return len(line) - len(line.lstrip())
