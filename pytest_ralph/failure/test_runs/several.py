"""The failing tests of several runs in one output, each by another runner."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from pytest_ralph.failure.output import CommandOutput
from pytest_ralph.failure.test_runs.blocks import COMPARED, MACRO, THROWN
from pytest_ralph.failure.test_runs.failed_test import unique
from pytest_ralph.failure.test_runs.shapes import are_counted, counts_by_line, read_shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pytest_ralph.failure.test_runs.failed_test import FailedTest

    Read = Callable[[CommandOutput], Iterable[FailedTest]]

MOST_RUNS = 4
WORD = re.compile(r"\w+")


class RunsReader:
    """Reads the runs above and below one that is known, by other ways of printing.

    `runs` are the failing tests of each run that is found, in the order of the output.
    """

    def __init__(
        self, output: CommandOutput, found: Sequence[FailedTest], readers: Sequence[Read]
    ) -> None:
        self.output = output
        self.readers = readers
        self.runs = [found]

    def read(self) -> Sequence[FailedTest]:
        """Return the failing tests of all runs."""
        while len(self.runs) < MOST_RUNS:
            above = self._read_above(self.runs[0])
            below = self._read_below(self.runs[-1])
            if not above and not below:
                break
            self.runs = list(filter(None, [above, *self.runs, below]))
        return tuple(chain.from_iterable(self.runs))

    def _read_above(self, run: Sequence[FailedTest]) -> Sequence[FailedTest]:
        start = min((test.line for test in run), default=-1)
        return self._read_part(0, start, self.readers) or self._read_part(0, start, [_counted])

    def _read_below(self, run: Sequence[FailedTest]) -> Sequence[FailedTest]:
        last = max((test.line for test in run), default=-1)
        if last < 0:
            return ()
        end = len(self.output.lines)
        found = self._read_part(last + 1, end, self.readers)
        return found or self._read_part(self._end_of_run(last), end, [_counted])

    def _end_of_run(self, last: int) -> int:
        """Return the number of the line below the counts of a run whose last test is known."""
        counts = counts_by_line(self.output)
        number = next((number for number in counts if number > last), len(self.output.lines))
        while number in counts:
            number += 1
        return number

    def _read_part(self, start: int, end: int, readers: Iterable[Read]) -> Sequence[FailedTest]:
        """Return the failing tests of another run between two lines."""
        lines = self.output.lines
        if start >= end:
            return ()
        part = CommandOutput("\n".join(lines[start:end]))
        elsewhere = "\n".join([*lines[:start], *lines[end:]])
        for read in readers:
            tests = [test for test in unique(read(part)) if test.named]
            if tests and not any(self._is_known(test, elsewhere) for test in tests):
                return [_moved(test, start) for test in tests]
        return ()

    def _is_known(self, test: FailedTest, elsewhere: str) -> bool:
        """Return whether a test is of a known run, perhaps by a longer or shorter name."""
        if test.name in elsewhere:
            return True
        words = _words(test)
        known = map(_words, chain.from_iterable(self.runs))
        return any(words <= other or other <= words for other in known)


def _counted(output: CommandOutput) -> Sequence[FailedTest]:
    """Return the failing tests in a general shape if all are counted and each says why."""
    tests = read_shapes(output)
    if all(map(_says_why, tests)) and are_counted(output, tests):
        return tests
    return ()


def _says_why(test: FailedTest) -> bool:
    return any(pattern.match(test.error) for pattern in (THROWN, MACRO, COMPARED))


def _words(test: FailedTest) -> frozenset[str]:
    return frozenset(WORD.findall(test.name))


def _moved(test: FailedTest, by: int) -> FailedTest:
    """Return a test with the number that its line has in the whole output."""
    if test.line < 0:
        return test
    return replace(test, line=test.line + by)
