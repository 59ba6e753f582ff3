"""RunSummary: one run of pytest, as the HTML report and GitHub Actions show it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.results import BAD, OUTCOMES

if TYPE_CHECKING:
    from pytest_ralph.history.stats import KindCounts, RunCounts
    from pytest_ralph.results import TaskResult


class RunSummary(NamedTuple):
    """One run of pytest over any number of specs."""

    tasks: tuple[TaskResult, ...] = ()
    started: float = 0.0
    duration: float = 0.0
    command_line: str = ""
    root: str = ""
    version: str = ""
    notes: tuple[str, ...] = ()
    # For the HTML report: earlier runs and this one, oldest first, and the kinds of their failures.
    runs: tuple[RunCounts, ...] = ()
    failure_kinds: tuple[KindCounts, ...] = ()
    # Names and values that tell where it ran: branch, commit, Python, …
    environment: tuple[tuple[str, str], ...] = ()
    # The halt summary of each spec that was halted.
    halts: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Outcome → number of tasks, without zeros, in the order of OUTCOMES."""
        counts = Counter(task.outcome for task in self.tasks)
        return {outcome: counts[outcome] for outcome in OUTCOMES if outcome in counts}

    @property
    def specs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(task.spec for task in self.tasks))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Every failure kind that occurred, sorted."""
        kinds: set[str] = set()
        for task in self.tasks:
            kinds.update(attempt.kind for attempt in task.attempts)
        return tuple(sorted(kinds - {""}))

    @property
    def ok(self) -> bool:
        """Whether no task failed, and none was kept from running by one that did."""
        return {*BAD, "blocked"}.isdisjoint(self.counts)
