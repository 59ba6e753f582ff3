"""The house's own way of doing things."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph import Task


def pytest_ralph_execute(task: Task) -> bool | None:
    if "greeting.txt" not in task.files:
        # Not ours: whoever else can do it may.
        return None
    Path("greeting.txt").write_text("hello\n", encoding="utf-8")
    return True
