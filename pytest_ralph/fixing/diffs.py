"""Diffs of what an executor run or a repair changed, for reports and later prompts."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ralph.fixing.file_state import Change, FileState

# Larger files are seldom written by hand, and a diff of them says little.
MAX_FILE_SIZE = 200_000


def diff_of(changes: Iterable[Change], *, prompt: str = "") -> str:
    """Return the changes in about the form in which git shows them.

    Files that hold a copy of `prompt` are logs of the executor, and are left out.
    """
    prompt = prompt.strip()
    parts = []
    for change in changes:
        before = _lines(change.before)
        after = _lines(change.after)
        if before is None or after is None:
            note = "the content is not text, or too large to show"
            parts.append(f"{_heading(change.path)}\n{note}\n")
            continue
        is_log = bool(prompt) and prompt in "\n".join(after)
        if not is_log:
            parts.append(_diff_of_file(change, before, after))
    return "".join(parts)


def _lines(state: FileState | None) -> list[str] | None:
    """Return the lines of a file, none if it does not exist; None if they cannot be shown."""
    if state is None:
        return []
    if state.is_link:
        return [f"link to {state.target}"]
    if not state.copy or state.size > MAX_FILE_SIZE:
        return None
    try:
        data = Path(state.copy).read_bytes()
    except OSError:
        return None
    if b"\0" in data:
        return None
    return data.decode("utf-8", "replace").splitlines()


def _diff_of_file(change: Change, before: list[str], after: list[str]) -> str:
    old_name = "/dev/null" if change.added else f"a/{change.path}"
    new_name = "/dev/null" if change.deleted else f"b/{change.path}"
    lines = [_heading(change.path), *_mode_lines(change)]
    lines += difflib.unified_diff(before, after, old_name, new_name, lineterm="")
    if before == after and _differ_in_size(change):
        lines.append("only the ends of lines, or of the file, have changed")
    return "\n".join([*lines, ""])


def _differ_in_size(change: Change) -> bool:
    before = change.before
    after = change.after
    return before is not None and after is not None and before.size != after.size


def _mode_lines(change: Change) -> list[str]:
    before = change.before
    after = change.after
    if before is None or after is None:
        return []
    if before.mode == after.mode:
        return []
    return [f"old mode {before.mode:o}", f"new mode {after.mode:o}"]


def _heading(path: str) -> str:
    return f"diff --git a/{path} b/{path}"
