"""Write fix tasks that name their owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph import Failure, Task


def pytest_ralph_fix_task(task: Task, failure: Failure, number: str) -> str:
    summary = failure.error.replace("`", "'")[:50]
    return "\n".join(
        [
            f"- [ ] {number} [FIX {task.id}] Fix: {summary}",
            "  - **Owner**: the greeting team",
            f"  - **Do**: Find and fix the cause: {summary}",
            f"  - **Verify**: {task.verify.text}",
        ]
    )
