"""Modification: what an executor asks to change about the plan (smart-ralph's protocol).

An executor prints `TASK_MODIFICATION_REQUEST` and a JSON object. It may ask for a task before its
own, for one behind it, or for its own to be split. Everything else about the plan is the author's.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ralph.spec.document import Spec, SpecError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

# Not in a quotation, which may show the output of a test.
MARKER = re.compile(r"^[*_`# ]{0,3}TASK_MODIFICATION_REQUEST\b", re.MULTILINE)
SPLIT, PREREQUISITE, FOLLOWUP = "SPLIT_TASK", "ADD_PREREQUISITE", "ADD_FOLLOWUP"
TYPES = (SPLIT, PREREQUISITE, FOLLOWUP)
# Dots in the id of a task that may be added.
MAX_DEPTH = 3
MAX_TASKS = 10
REQUIRED_FIELDS = ("Do", "Verify")
_FIRST_LINE = re.compile(r"(?P<start>- \[) \] (?P<id>\S+)(?P<rest>[^\n]*)")


class ModificationError(Exception):
    """The request cannot be carried out; the message says why in one line."""


@dataclass(frozen=True)
class Modification:
    """A request to change the plan. `blocks` are the tasks to add, as Markdown."""

    type: str
    reason: str
    blocks: tuple[str, ...]


def read_modification(output: str) -> Modification | None:
    """Return the last request in what an executor said, or None if there is none.

    Raise ModificationError if it is not in the form of the protocol.
    """
    markers = list(MARKER.finditer(output))
    if not markers:
        return None
    text = output[markers[-1].end() :]
    start = text.find("{")
    try:
        if start < 0:
            raise ValueError("no JSON object follows it")
        data, _ = json.JSONDecoder().raw_decode(text, start)
        kind = str(data["type"])
        blocks = data["proposedTasks"]
        reason = str(data.get("reasoning") or "")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModificationError(f"it cannot be read: {error}") from None
    if kind not in TYPES:
        raise ModificationError(f"{kind} is not one of {', '.join(TYPES)}")
    if not isinstance(blocks, list) or not 0 < len(blocks) <= MAX_TASKS:
        raise ModificationError(f"it does not propose 1 to {MAX_TASKS} tasks")
    return Modification(kind, reason, tuple(str(block).strip("\r\n") for block in blocks))


def numbered(
    blocks: Sequence[str], path: Path, taken: Collection[str], first_free: str
) -> dict[str, str]:
    """Return the blocks by their ids. An id that is `taken` is replaced with a free one.

    `first_free` is the first free id below the original. Raise ModificationError for a block that
    is not exactly one open task with the fields that every task needs.
    """
    stem, _, number = first_free.rpartition(".")
    next_number = int(number)
    found: dict[str, str] = {}
    for block in blocks:
        task_id = _id_of(block, path)
        if task_id in taken or task_id in found:
            task_id = f"{stem}.{next_number}"
            block = _FIRST_LINE.sub(rf"\g<start> ] {task_id}\g<rest>", block, count=1)  # noqa: PLW2901
        while f"{stem}.{next_number}" in {*taken, *found, task_id}:
            next_number += 1
        found[task_id] = block
    return found


def _id_of(block: str, path: Path) -> str:
    """Check a block and return the id of its task."""
    shown = block.partition("\n")[0]
    first = _FIRST_LINE.match(block)
    try:
        tasks = Spec.parse(block + "\n", path).tasks
    except SpecError:
        tasks = ()
    if first is None or len(tasks) != 1 or tasks[0].id != first["id"]:
        raise ModificationError(f"not one open task: {shown}")
    task = tasks[0]
    missing = [name for name in REQUIRED_FIELDS if not task.fields.get(name, "").strip()]
    if missing:
        raise ModificationError(f"{' and '.join(missing)} missing in {shown}")
    if task.id.rstrip(".").count(".") > MAX_DEPTH:
        raise ModificationError(f"{task.id} is too deep")
    if task.fix_for is not None:
        raise ModificationError(f"{task.id} is marked as a fix or a part")
    return task.id
