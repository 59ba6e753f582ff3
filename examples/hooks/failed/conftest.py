"""Log every failed attempt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph import Failure, Task


def pytest_ralph_failed(task: Task, failure: Failure, attempt: int) -> None:
    with Path("failures.log").open("a", encoding="utf-8") as log:
        log.write(f"{task.id} attempt {attempt}: {failure.kind}: {failure.error}\n")
