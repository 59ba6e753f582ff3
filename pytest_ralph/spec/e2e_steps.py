"""Which tasks start the services of an end-to-end test, and which clean up after it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from pytest_ralph.spec.task import Task

_E2E_STEP = regex(
    r"\be2e\b.*?\b(?:(?P<startup>start(?:-?up)?|set-?up)|(?P<cleanup>clean-?up|tear-?down)"
    r"|check|test|verif\w*)\b",
    re.IGNORECASE,
)
_STARTUP_ID = regex(r"(?:.*\.)?VE-?1", re.IGNORECASE)
_CLEANUP_ID = regex(r"(?:.*\.)?VE-?3", re.IGNORECASE)


def is_e2e_startup(task: Task) -> bool:
    """Return whether the processes that a task starts have to outlive it."""
    step = _e2e_step(task)
    if step is None:
        return _STARTUP_ID.fullmatch(task.id) is not None
    return step["startup"] is not None


def is_e2e_cleanup(task: Task) -> bool:
    """Return whether a task has to run whatever failed before it."""
    if task.has_marker("CLEANUP"):
        return True
    step = _e2e_step(task)
    if step is None:
        return _CLEANUP_ID.fullmatch(task.id) is not None
    return step["cleanup"] is not None


def _e2e_step(task: Task) -> re.Match[str] | None:
    # The title of a fix quotes an error, which may name anything.
    return _E2E_STEP.search(task.title) if task.fix_for is None else None
