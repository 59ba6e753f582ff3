"""A short prompt for a small model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph import Failure, Task


def pytest_ralph_prompt(task: Task, failure: Failure | None) -> str:
    told = f"Task {task.id} of the house. Be brief, and change nothing but {', '.join(task.files)}.\n"
    return told if failure is None else f"{told}It failed with: {failure.error}\n"
