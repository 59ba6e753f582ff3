"""Durations as people write them: `90`, `90s`, `2 min`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from pytest_ralph.spec.task import Task

DURATION = regex(
    r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|sec\w*|s|min\w*|m|hours?|h|d)?", re.IGNORECASE
)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


def seconds(duration: re.Match[str]) -> float:
    """Return how long a match of DURATION is; a number without a unit is in seconds."""
    unit = (duration["unit"] or "s").lower()
    if unit != "ms":
        unit = unit[0]
    return float(duration["number"]) * _SECONDS[unit]


def written_timeout(task: Task) -> re.Match[str] | None:
    """Return the duration in the Timeout field of a task; None if there is none."""
    return DURATION.match(task.fields.get("Timeout", "").strip(" `"))
