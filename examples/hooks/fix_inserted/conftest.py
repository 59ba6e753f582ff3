"""Add each fix task to a to-do list."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph import Task


def pytest_ralph_fix_inserted(fix: Task) -> None:
    with Path("todo.txt").open("a", encoding="utf-8") as todo:
        todo.write(f"{fix.id}: {fix.title}\n")
