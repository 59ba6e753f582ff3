"""Names of the refs below `refs/ralph/`."""

from __future__ import annotations

import re


def good_ref(spec: str) -> str:
    """Return the ref that holds the last good commit of a spec."""
    return f"refs/ralph/{_component(spec)}/good"


def task_refs(spec: str, task: str) -> str:
    """Return the directory of the refs that keep what a rollback for `task` replaced."""
    name = _component(task)
    if name == "good":
        # `refs/ralph/<spec>/good` is the last good commit.
        name = "task-good"
    return f"refs/ralph/{_component(spec)}/{name}"


def _component(name: str) -> str:
    """Return `name` as one part of a ref name, by git's rules for these."""
    safe = re.sub(r"[^\w.-]+", "-", name)
    safe = re.sub(r"\.{2,}", ".", safe).strip(".")
    safe = re.sub(r"\.lock$", "-lock", safe)
    return safe or "unnamed"
