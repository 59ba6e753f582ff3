"""Carry out tasks about the greeting in Python; leave the others to the executor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph import Task


def pytest_ralph_execute(task: Task) -> bool | None:
    if "greeting.txt" not in task.files:
        # Not our task: the configured executor carries it out.
        return None
    Path("greeting.txt").write_text("hello\n", encoding="utf-8")
    return True
