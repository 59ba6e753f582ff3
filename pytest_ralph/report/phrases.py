"""Phrases that several reports share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.failure.wording import without_shell
from pytest_ralph.results import total_cost
from pytest_ralph.text.listing import count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ralph.results import Attempt, TaskResult

# How a fix ended after which the task failed in another way.
ANOTHER_FAILURE = "another failure followed"


def cost(parts: Iterable[TaskResult | Attempt]) -> str:
    """Return what executors cost: `$0.12`, or an empty string if none of them reported it."""
    return dollars(total_cost(parts))


def dollars(amount: float | None) -> str:
    """Return an amount of money, an empty string if it is unknown."""
    return "" if amount is None else f"${amount:,.2f}"


def token_count(tasks: Iterable[TaskResult]) -> int:
    """Return how many tokens executors used, as far as they reported it."""
    total = 0
    for task in tasks:
        total += sum(attempt.tokens or 0 for attempt in task.attempts)
    return total


def fix_count(task: TaskResult) -> str:
    """Return how many fixes a task took, or an empty string for none."""
    fixes = len(task.all_fixes)
    return count(fixes, "fix", "fixes") if fixes else ""


def problem(task: TaskResult) -> str:
    """Return the error of a task: the last, or the first of a task that passes now.

    Return the reason for the outcome of a task that did not fail.
    """
    failure = task.last_failure
    if failure is None:
        return task.reason
    if task.passed and task.earlier_failures:
        failure = task.earlier_failures[0]
    return without_shell(failure.error)


def duration(seconds: float) -> tuple[str, str]:
    """Return a number and its unit."""
    if seconds < 0.9995:
        return f"{round(seconds * 1000)}", "ms"
    if seconds < 59.95:
        return f"{seconds:.1f}", "s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02}", "min"
    return f"{minutes // 60}:{minutes % 60:02}", "h"
