"""Failing tests of mocha and those that print like it (Cypress, Hardhat): numbered titles of several lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.test_runs.failing import Failing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ralph.failure.output import CommandOutput

COUNT = re.compile(r"^\s+[1-9]\d* failing\b")
NUMBERED = re.compile(r"^\s+\d+\) (\S.*)$")
DEEPEST = 12


def read(transcript: CommandOutput) -> Iterator[Failing]:
    """`1) Cart` above `adds:` is the test `adds`; the error is the first line below its titles."""
    if not transcript.has("failing"):
        return
    lines = transcript.lines
    start = next((number for number, line in enumerate(lines) if COUNT.match(line)), len(lines))
    for number in range(start, len(lines)):
        if match := NUMBERED.match(lines[number]):
            titles = [match[1], *lines[number + 1 : number + DEEPEST]]
            depth = next(
                (at for at, title in enumerate(titles) if title.rstrip().endswith(":")), None
            )
            if depth is not None:
                below = number + depth + 1
                at = next(
                    (n for n in range(below, min(below + 4, len(lines))) if lines[n].strip()),
                    number,
                )
                yield Failing(titles[depth].strip().removesuffix(":"), lines[at].strip(), at)
