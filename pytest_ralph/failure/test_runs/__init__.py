"""The failing tests that a runner names in its output, with their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.failure.test_runs import pytest_run, reports, shapes, tap_run
from pytest_ralph.failure.test_runs.failed_test import FailedTest
from pytest_ralph.failure.test_runs.grammar import load_grammars, read_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ralph.failure.output import CommandOutput

__all__ = ["FailedTest", "read_failed_tests", "read_marked_tests", "read_printed_report"]

# Runners whose output is more than a title with a block below it; they are tried first.
READERS = (
    pytest_run.read,
    tap_run.read,
    reports.read_xml,
)


def read_failed_tests(output: CommandOutput) -> Sequence[FailedTest]:
    """Return the failing tests, by the first runner whose way of printing is recognised."""
    for read in READERS:
        found = _unique(read(output))
        if found:
            return found
    grammars = load_grammars()
    for runner, grammar in grammars.items():
        found = _unique(read_blocks(output, grammar))
        if not found:
            continue
        # Beside tests that failed, the same runner may report files that it could not load.
        loading = grammars.get(f"{runner} load")
        if loading is None:
            return found
        return (*found, *_unique(read_blocks(output, loading)))
    return ()


def read_printed_report(printed: str) -> Sequence[FailedTest]:
    """Return the failing tests of a JSON report, which must be read before lines are shortened."""
    return _unique(reports.read_json(printed))


def read_marked_tests(output: CommandOutput) -> Sequence[FailedTest]:
    """Return failing tests in a general shape, which counts only where tests are known to run."""
    return _unique(shapes.read_shapes(output))


def _unique(tests: Iterable[FailedTest]) -> Sequence[FailedTest]:
    """Return one entry per name, the first that has an error."""
    best: dict[str, FailedTest] = {}
    for test in tests:
        known = best.get(test.name)
        if known is None or (test.error and not known.error):
            best[test.name] = test
    return tuple(best.values())
