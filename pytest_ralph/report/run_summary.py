"""RunSummary: one run of pytest, as the HTML report and GitHub Actions show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.results import OUTCOMES

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
        outcomes = [task.outcome for task in self.tasks]
        return {outcome: outcomes.count(outcome) for outcome in OUTCOMES if outcome in outcomes}

    @property
    def specs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(task.spec for task in self.tasks))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Every failure kind that occurred, sorted."""
        attempts = [attempt for task in self.tasks for attempt in task.attempts]
        return tuple(sorted({attempt.kind for attempt in attempts if attempt.kind}))

    @property
    def ok(self) -> bool:
        return not any(task.bad or task.outcome == "blocked" for task in self.tasks)
