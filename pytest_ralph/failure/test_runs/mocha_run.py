"""Failing tests of mocha and of runners that print like it (Cypress, Hardhat).

1) Cart
     adds:
   AssertionError: expected 1 to equal 2
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.test_runs.failed_test import FailedTest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.output import CommandOutput

COUNT = re.compile(r"^\s+[1-9]\d* failing\b")
NUMBERED = re.compile(r"^\s+\d+\) (\S.*)$")
DEEPEST_TITLE = 12
LINES_BELOW = 4


def read(output: CommandOutput) -> Iterator[FailedTest]:
    """Yield the numbered failures below the count; the innermost title is the name."""
    if not output.has("failing"):
        return
    is_below_count = False
    for number, line in enumerate(output.lines):
        if COUNT.match(line):
            is_below_count = True
        match = NUMBERED.match(line)
        if not is_below_count or match is None:
            continue
        titles = [match[1], *output.lines[number + 1 : number + DEEPEST_TITLE]]
        depth = _innermost(titles)
        if depth is None:
            continue
        name = titles[depth].strip().removesuffix(":")
        at = _first_line(output.lines, number + depth + 1, number)
        yield FailedTest(name, output.lines[at].strip(), at)


def _innermost(titles: Sequence[str]) -> int | None:
    """Return the depth of the title that ends with a colon."""
    for depth, title in enumerate(titles):
        if title.rstrip().endswith(":"):
            return depth
    return None


def _first_line(lines: Sequence[str], start: int, default: int) -> int:
    for number in range(start, min(start + LINES_BELOW, len(lines))):
        if lines[number].strip():
            return number
    return default
