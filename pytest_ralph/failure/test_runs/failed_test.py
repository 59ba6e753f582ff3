"""FailedTest: one test that a runner names as failed, and the search for the words of its error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Sequence


@dataclass(frozen=True)
class FailedTest:
    """A failed test; `named` is False for a file that stopped before any of its tests could run.

    `line` is the number of the line that the error was read from, `details` what only a report says
    about the test and its places.
    """

    name: str
    error: str
    line: int = -1
    named: bool = True
    details: str = ""


def unique(tests: Iterable[FailedTest]) -> Sequence[FailedTest]:
    """Return one entry per name, the first that has an error."""
    best: dict[str, FailedTest] = {}
    for test in tests:
        known = best.get(test.name)
        if known is None or (test.error and not known.error):
            best[test.name] = test
    return tuple(best.values())


class Quote(NamedTuple):
    """Words of the output and the number of their line."""

    line: int
    text: str


def first_quote(
    lines: Sequence[str], numbers: Sequence[int], patterns: Iterable[re.Pattern[str]]
) -> Quote | None:
    """Return what a pattern catches in the numbered lines; the first pattern that matches counts.

    The first group that caught something is quoted, without groups the whole line.
    """
    for pattern in patterns:
        for number in numbers:
            match = pattern.match(lines[number])
            if match:
                caught = first_group(match) or lines[number]
                return Quote(number, caught.strip())
    return None


def first_group(match: re.Match[str]) -> str:
    """Return what the first group caught that caught something, else an empty string."""
    for group in match.groups():
        if group:
            return str(group)
    return ""


def numbers_until(
    ends: Callable[[str], object], lines: Sequence[str], numbers: Iterable[int]
) -> list[int]:
    """Return the numbers of the lines before the first that ends a block."""
    block: list[int] = []
    for number in numbers:
        if ends(lines[number]):
            break
        block.append(number)
    return block


def first_line(text: str) -> str:
    """Return the first line that is not blank, with the next one if it only announces that."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    shown = lines[:1]
    if shown and shown[0].endswith(":"):
        shown = lines[:2]
    return " ".join(shown)
