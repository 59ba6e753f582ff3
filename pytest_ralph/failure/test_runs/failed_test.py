"""FailedTest: one test that a runner names as failed, with the words of its error."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FailedTest:
    """A failed test; `named` is False for a file that stopped before any of its tests could run.

    `line` is the number of the line that the error was read from.
    """

    name: str
    error: str
    line: int = -1
    named: bool = True
