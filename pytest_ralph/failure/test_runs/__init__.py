"""Test runs: which tests a runner says failed, and with what words. One reader for each way of printing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.failure.test_runs import mocha_run, pytest_run, tap_run, unittest_run
from pytest_ralph.failure.test_runs.failing import Failing
from pytest_ralph.failure.test_runs.grammars import LAST_RESORTS, grammars, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ralph.failure.output import CommandOutput

# Runners whose output is more than a title and a block; they are asked first.
READERS = (
    pytest_run.read,
    unittest_run.read,
    unittest_run.read_trial,
    mocha_run.read,
    tap_run.read,
)
__all__ = ["Failing", "read_failing", "read_marked"]


def read_failing(transcript: CommandOutput) -> Sequence[Failing]:
    """The failing tests, by the first runner whose way of printing is met."""
    for reader in READERS:
        if found := _unique(reader(transcript)):
            return found
    for runner, grammar in grammars().items():
        if runner not in LAST_RESORTS and (found := _unique(read(transcript, grammar))):
            return (*found, *_unloaded(transcript, runner))
    return ()


def _unloaded(transcript: CommandOutput, runner: str) -> Sequence[Failing]:
    """Beside tests that failed, what the same runner could not load."""
    grammar = grammars().get(f"{runner} load")
    return _unique(read(transcript, grammar)) if grammar else ()


def read_marked(transcript: CommandOutput) -> Sequence[Failing]:
    """Lines marked as failed, which means a failing test only in the output of something known to run tests."""
    return next(
        (found for name in LAST_RESORTS if (found := _unique(read(transcript, grammars()[name])))),
        (),
    )


def _unique(failing: Iterable[Failing]) -> Sequence[Failing]:
    """One entry a name, the one with the most telling error."""
    best: dict[str, Failing] = {}
    for one in failing:
        known = best.get(one.name)
        if known is None or (not known.error and one.error):
            best[one.name] = one
    return tuple(best.values())
