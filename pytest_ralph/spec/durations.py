"""Durations as people write them: `90`, `90s`, `2 min`, `1h 30m`, `1,000 ms`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from pytest_ralph.spec.task import Task

_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?"
_UNIT = r"(?:ms|milli\w*|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![A-Za-z])"
DURATION = regex(
    rf"{_NUMBER}\s*{_UNIT}(?:\s*{_NUMBER}\s*{_UNIT})*|{_NUMBER}",
    re.IGNORECASE,
)
_PART = regex(rf"(?P<number>{_NUMBER})\s*(?P<unit>{_UNIT})?", re.IGNORECASE)
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


def seconds(duration: re.Match[str]) -> float:
    """Return how long a match of DURATION is; a number without a unit is in seconds."""
    total = 0.0
    for part in _PART.finditer(duration[0]):
        unit = (part["unit"] or "s").lower()
        factor = 0.001 if unit.startswith(("ms", "milli")) else _SECONDS[unit[0]]
        total += float(part["number"].replace(",", "")) * factor
    return total


def written_timeout(task: Task) -> re.Match[str] | None:
    """Return the duration in the Timeout field of a task; None if there is none."""
    return DURATION.match(task.fields.get("Timeout", "").strip(" `"))
