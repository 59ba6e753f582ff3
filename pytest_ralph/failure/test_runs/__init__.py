"""The failing tests that a runner names in its output, with their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.failure.test_runs import json_report, junit, pytest_run, shapes, tap_run
from pytest_ralph.failure.test_runs.failed_test import FailedTest, unique
from pytest_ralph.failure.test_runs.grammar import read_runners
from pytest_ralph.failure.test_runs.several import RunsReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.failure.output import CommandOutput

__all__ = [
    "FailedTest",
    "are_counted",
    "read_failed_tests",
    "read_marked_tests",
    "read_printed_report",
]

READERS = (pytest_run.read, tap_run.read, read_runners, junit.read_printed)


def read_failed_tests(output: CommandOutput, *, several: bool = False) -> Sequence[FailedTest]:
    """Return the failing tests, by the first runner whose way of printing is recognised.

    If several runners may have printed the output, those of the others are read above and below
    what the first one says.
    """
    if not output.text:
        # Many commands say nothing when they fail, such as `grep -q`.
        return ()
    for read in READERS:
        found = unique(read(output))
        if found and several:
            return RunsReader(output, found, READERS).read()
        if found:
            return found
    return ()


def read_printed_report(printed: str) -> Sequence[FailedTest]:
    """Return the failing tests of a JSON report, which must be read before lines are shortened."""
    return unique(json_report.read(printed))


def read_marked_tests(output: CommandOutput) -> Sequence[FailedTest]:
    """Return failing tests in a general shape, which counts only where tests are known to run."""
    return shapes.read_shapes(output)


def are_counted(output: CommandOutput, tests: Sequence[FailedTest]) -> bool:
    """Return whether a line of the output says that this many tests failed."""
    return shapes.are_counted(output, tests)
