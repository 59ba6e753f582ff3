"""A run in a few words, the same in every report."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph.results import RunSummary


def count(number: int, one: str, many: str = "") -> str:
    """`1 fix`, `2 fixes`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def headline(story: RunSummary) -> str:
    counts = story.counts
    need = sum(task.bad for task in story.tasks)
    done = counts.get("passed", 0) + counts.get("recovered", 0)
    if not story.tasks:
        return "No tasks ran"
    if need:
        return f"{count(need, 'task needs', 'tasks need')} you"
    if blocked := counts.get("blocked", 0):
        return count(blocked, "task is blocked", "tasks are blocked")
    if not done:
        return "Nothing to verify"
    if manual := counts.get("manual", 0):
        return f"{count(done, 'task passes', 'tasks pass')}, {manual:,} to check by hand"
    if done < len(story.tasks):
        return count(done, "task passes", "tasks pass")
    return "The task passes" if done == 1 else f"All {done:,} tasks pass"


def lede(story: RunSummary) -> str:
    counts = story.counts
    done = counts.get("passed", 0) + counts.get("recovered", 0)
    text = f"{done:,} of {count(len(story.tasks), 'task passes', 'tasks pass')}"
    if recovered := counts.get("recovered", 0):
        text += f", {recovered:,} of them after recovery"
    if blocked := counts.get("blocked", 0):
        text += f"; {count(blocked, 'is', 'are')} blocked"
    return f"{text}."


def duration(seconds: float) -> tuple[str, str]:
    """A number and its unit, as a person would say it."""
    if seconds < 0.9995:
        return f"{round(seconds * 1000)}", "ms"
    if seconds < 59.95:
        return f"{seconds:.1f}", "s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02}", "min"
    return f"{minutes // 60}:{minutes % 60:02}", "h"
