"""Note each recovered task with the fixes that helped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph import Task


def pytest_ralph_recovered(task: Task, fixes: tuple[str, ...]) -> None:
    with Path("thanks.txt").open("a", encoding="utf-8") as news:
        news.write(f"{task.id} was recovered by {', '.join(fixes)}\n")
