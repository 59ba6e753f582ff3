"""Block: the words by which an executor reports a task it could not do.

Task 1.3: Add failure parser FAILED
- Error: File not found: src/parser.ts
- Attempted fix: CheckResult alternate paths
- Status: Blocked, needs manual intervention
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_ralph.failure.failure import NO_ERROR, NO_FIX, NO_STATUS, NOT_COMPLETE
from pytest_ralph.failure.output import clean

MARKER = re.compile(
    r"^[ \t>*#_-]*Task[ \t]+(?P<id>[A-Za-z]{0,3}-?[A-Za-z]?\d[\w.~-]*?|V[A-Z]*\d*)\.?[ \t]*:(?P<title>.*?)\**[ \t]*"
    r"\bFAILED\b[ \t*_.!]*$",
    re.MULTILINE,
)
FIELD = r"^[ \t>]*[-*•]?[ \t]*\**{name}\**[ \t]*:\**[ \t]*(?P<value>\S.*?)[ \t]*$"
NEXT_TASK = re.compile(r"^[ \t>*#_-]*Task[ \t]+\S+:", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """What can be read from an executor's words; every field has its fallback."""

    task_id: str = ""
    error: str = NOT_COMPLETE
    attempted_fix: str = NO_FIX
    status: str = NO_STATUS
    title: str = ""
    marked: bool = False


def parse_block(text: str, task_id: str = "") -> Block:
    """The last FAILED block of a text. Without a marker the task simply did not complete."""
    text = clean(text[-200_000:])
    found = list(MARKER.finditer(text))
    if not found:
        return Block(task_id)
    marker = found[-1]
    after = text[marker.end() :]
    stop = NEXT_TASK.search(after)
    body = after[: stop.start()] if stop else after
    return Block(
        marker["id"],
        _field(body, "Error") or NO_ERROR,
        _field(body, r"Attempted fix(?:es)?") or NO_FIX,
        _field(body, "Status") or NO_STATUS,
        marker["title"].strip(),
        marked=True,
    )


def _field(body: str, name: str) -> str:
    match = re.search(FIELD.format(name=name), body, re.MULTILINE | re.IGNORECASE)
    return match["value"].strip("* ") if match else ""
