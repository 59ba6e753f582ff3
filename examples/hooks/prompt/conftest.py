"""A short prompt for a small model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph import Failure, Task


def pytest_ralph_prompt(task: Task, failure: Failure | None) -> str:
    prompt = f"Task {task.id}: {task.title}. Change only {', '.join(task.files)}.\n"
    if failure is not None:
        prompt += f"It failed with: {failure.error}\n"
    return prompt
