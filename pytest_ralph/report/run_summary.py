"""RunSummary: one run of pytest, as the HTML report and GitHub Actions show it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.results import BAD, OUTCOMES
from pytest_ralph.text.listing import count

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
    def passed(self) -> int:
        return sum(task.passed for task in self.tasks)

    @property
    def failed(self) -> int:
        return sum(task.bad for task in self.tasks)

    @property
    def fix_count(self) -> int:
        return sum(len(task.all_fixes) for task in self.tasks)

    @property
    def ok(self) -> bool:
        """Whether no task failed, and none was kept from running by one that did."""
        return {*BAD, "blocked"}.isdisjoint(self.counts)

    @property
    def headline(self) -> str:
        """The result in a few words."""
        if not self.tasks:
            return "No tasks ran"
        blocked = self.counts.get("blocked", 0)
        manual = self.counts.get("manual", 0)
        if self.failed:
            return f"{count(self.failed, 'task needs', 'tasks need')} you"
        if blocked:
            return count(blocked, "task is blocked", "tasks are blocked")
        if not self.passed:
            return "Nothing to verify"
        passes = count(self.passed, "task passes", "tasks pass")
        if manual:
            return f"{passes}, {manual:,} to check by hand"
        if self.passed < len(self.tasks):
            return passes
        return "The task passes" if self.passed == 1 else f"All {self.passed:,} tasks pass"

    @property
    def subheadline(self) -> str:
        """The sentence below the headline."""
        text = f"{self.passed:,} of {count(len(self.tasks), 'task passes', 'tasks pass')}"
        recovered = self.counts.get("recovered", 0)
        if recovered:
            text += f", {recovered:,} of them after recovery"
        blocked = self.counts.get("blocked", 0)
        if blocked:
            text += f"; {count(blocked, 'is', 'are')} blocked"
        return f"{text}."
