"""The version of a tasks.md that a commit holds: HEAD's, with what the program itself wrote.

A person may be editing the plan while its tasks are worked on, and these edits are theirs to
commit. Imported with the first commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.healing.document import insert_tasks
from pytest_ralph.spec.document import Spec, SpecError
from pytest_ralph.spec.edit import ticked_line
from pytest_ralph.spec.fix_tree import FixTree
from pytest_ralph.spec.task import is_same_task

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ralph.healing.document import DocumentEdit


def own_version(in_head: str, now: Spec, edits: Iterable[DocumentEdit]) -> str:
    """Return the text `in_head` with `edits`, and the fix tasks and ticks that the spec has now."""
    if _differs_in_ticks_only(in_head, now.source):
        return now.source
    try:
        text = in_head
        for made in edits:
            text = made.applied_to(text, now.path)
        text = _with_fixes(text, now)
        return _with_ticks(text, now)
    except SpecError:
        # What HEAD has is no spec.
        return in_head


def _differs_in_ticks_only(old: str, new: str) -> bool:
    old_lines = old.split("\n")
    new_lines = new.split("\n")
    if len(old_lines) != len(new_lines):
        return False
    for before, after in zip(old_lines, new_lines, strict=True):
        if before != after and ticked_line(before) != after:
            return False
    return True


def _with_fixes(text: str, now: Spec) -> str:
    """Insert the fix tasks and parts that are missing in `text`, in the order of the document."""
    lines = now.source.split("\n")
    owners = FixTree(now.tasks)
    spec = Spec.parse(text, now.path)
    for fix in now.tasks:
        owner = owners.owner_of(fix.name) if fix.fix_for else None
        if owner is None or fix.id in spec:
            continue
        original = spec.get(owner.name)
        if original is None or not is_same_task(original, owner):
            # The original is an edit of the user, too.
            continue
        block = "\n".join(lines[fix.line - 1 : fix.end_line])
        spec, _ = insert_tasks(spec, original, {fix.id: block}, before=False)
    return spec.source


def _with_ticks(text: str, now: Spec) -> str:
    """Tick the tasks in `text` that are ticked now."""
    lines = text.split("\n")
    for task in Spec.parse(text, now.path).tasks:
        current = now.get(task.name)
        if current is None or not current.checked or not is_same_task(current, task):
            continue
        ticked = ticked_line(lines[task.line - 1])
        if ticked is not None:
            lines[task.line - 1] = ticked
    return "\n".join(lines)
