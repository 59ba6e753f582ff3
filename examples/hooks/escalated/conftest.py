"""Save the report of each task that was given up for the person on duty."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph import Failure, Task


def pytest_ralph_escalated(task: Task, failure: Failure, reason: str) -> None:
    reports = Path("on-duty")
    reports.mkdir(exist_ok=True)
    (reports / f"{task.name}.txt").write_text(f"{reason}\n\n{failure.report()}\n", encoding="utf-8")
