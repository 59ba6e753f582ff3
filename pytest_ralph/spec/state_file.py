"""Reading a `.ralph-state.json`: which files are accepted, and what is wrong with the others.

A state that smart-ralph wrote is accepted as it is. Only fields that this package works with are
checked; all others belong to other programs.
"""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from pytest_ralph.files import read_regular, unused_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

DEFAULTS: Mapping[str, int] = {
    "taskIndex": 0,
    "totalTasks": 0,
    "taskIteration": 1,
    # One attempt, and one more that knows the error of the first.
    "maxTaskIterations": 2,
    "globalIteration": 1,
    "maxGlobalIterations": 100,
    "maxFixTasksPerOriginal": 3,
    "maxFixTaskDepth": 3,
    "maxModificationsPerTask": 3,
}


class StateError(Exception):
    """The state file cannot be used and stays as it is. `reason` says what is wrong with it."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"ERROR: State file missing or corrupt at {path}")


def read_state(path: Path) -> dict[str, Any] | None:
    """Return the fields of the state file, or None if there is no file."""
    try:
        text = read_regular(path).decode("utf-8-sig")
        data = json.loads(text)
        _check(data)
    except FileNotFoundError:
        return None
    except RecursionError as error:
        raise StateError(path, "nested too deeply") from error
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise StateError(path, reason or type(error).__name__) from error
    state: dict[str, Any] = data
    return state


def set_aside(path: Path, now: datetime | None = None) -> Path | None:
    """Rename a state file, valid or not, and return its new path; None if there is no file."""
    stamp = (now or datetime.now(timezone.utc)).strftime("%Y%m%dT%H%M%SZ")
    try:
        return path.rename(unused_path(path.parent, f"{path.name}.{stamp}"))
    except FileNotFoundError:
        return None


def _check(data: object) -> None:
    """Raise ValueError for the first field that is not what this package expects."""
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    for field in DEFAULTS:
        _check_member(data, field, field, _check_count)
    _check_member(data, "uncommittedTasks", "uncommittedTasks", _check_ids)

    for field, member, check in _MEMBERS:
        for task_id, entry in _checked_map(data, field).items():
            _check_member(entry, member, f"{member} of {task_id}", check)


def _check_member(
    owner: Mapping[str, Any], member: str, name: str, check: Callable[[Any, str], None]
) -> None:
    """Check a member of an object unless it is absent or null."""
    value = owner.get(member)
    if value is not None:
        check(value, name)


def _checked_map(data: dict[str, Any], field: str) -> dict[str, dict[str, Any]]:
    """Return a map of entries, empty if the field is absent. Raise ValueError if it is none."""
    value = data.get(field)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"{field} is not an object")
    if not all(isinstance(entry, dict) for entry in value.values()):
        raise ValueError(f"{field} contains something that is not an object")
    return value


def _check_count(value: object, name: str) -> None:
    # A JSON integer may be written 3.0.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not int or value < 0:
        raise ValueError(f"{name} is not a count")


def _check_ids(value: object, name: str) -> None:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{name} is not a list of ids")


def _check_error(value: object, name: str) -> None:
    # smart-ralph stores a message, this package an object with one entry per attempt.
    if not isinstance(value, dict | str):
        raise ValueError(f"{name} is neither an object nor a message")


# What the entries of a map may hold: field of the state, member of its entries, how to check it.
_MEMBERS = (
    ("fixTaskMap", "attempts", _check_count),
    ("fixTaskMap", "fixTaskIds", _check_ids),
    ("modificationMap", "count", _check_count),
    ("splitTaskMap", "partIds", _check_ids),
    ("taskResults", "attempt", _check_count),
    ("taskResults", "error", _check_error),
)
