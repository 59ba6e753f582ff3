"""FailedTest: one test that a runner names as failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


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


def first_line(text: str) -> str:
    """Return the first line that is not blank, with the next one if it only announces that."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = "".join(lines[:1])
    if first.endswith(":"):
        return " ".join(lines[:2])
    return first
