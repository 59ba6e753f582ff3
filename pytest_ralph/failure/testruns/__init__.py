"""Test runs: which tests a runner says failed, and with what words. One reader for each way of printing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.failure.testruns import pytest_run, unittest_run
from pytest_ralph.failure.testruns.failing import Failing
from pytest_ralph.failure.testruns.grammars import LAST_RESORTS, grammars, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ralph.failure.transcript import Transcript

__all__ = ["Failing", "read_failing"]


def read_failing(transcript: Transcript, *, is_test_run: bool) -> Sequence[Failing]:
    """The failing tests, by the first runner whose way of printing is met.

    Marks like ✖ mean a failing test only in the output of something known to run tests.
    """
    for reader in (pytest_run.read, unittest_run.read):
        if found := _unique(reader(transcript)):
            return found
    for runner, grammar in grammars().items():
        if (is_test_run or runner not in LAST_RESORTS) and (found := _unique(read(transcript, grammar))):
            return found
    return ()


def _unique(failing: Iterable[Failing]) -> Sequence[Failing]:
    """One entry a name, the one with the most telling error."""
    best: dict[str, Failing] = {}
    for one in failing:
        known = best.get(one.name)
        if known is None or (known.error.endswith(one.name) and len(one.error) > len(known.error)):
            best[one.name] = one
    return tuple(best.values())
