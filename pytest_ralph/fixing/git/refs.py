"""The refs below `refs/ralph/`: the last good commits, and what rollbacks replaced."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph.fixing.git.command import GitCommand


class TaskRefs:
    """The refs of all specs and tasks of a project."""

    def __init__(self, git: GitCommand) -> None:
        self._git = git

    def mark_good(self, spec: str) -> str | None:
        """Remember HEAD as the last good commit of `spec`, because one of its tasks passed."""
        head = self._git.commit_id("HEAD")
        if head is not None:
            self._git("update-ref", "-m", "pytest-ralph: last good", _good_ref(spec), head)
        return head

    def last_good(self, spec: str) -> str | None:
        """Return the last good commit of `spec`, if there is one."""
        return self._git.commit_id(_good_ref(spec))

    def next(self, spec: str, task: str, prefix: str = "") -> str:
        """Return the first free ref `refs/ralph/<spec>/<task>/<prefix><n>`."""
        directory = _task_refs(spec, task)
        highest = 0
        for name in self._git("for-each-ref", "--format=%(refname)", directory).split():
            number = name.rpartition("/")[2].removeprefix(prefix)
            if number.isdigit():
                highest = max(highest, int(number))
        return f"{directory}/{prefix}{highest + 1}"


def _good_ref(spec: str) -> str:
    """Return the ref that holds the last good commit of a spec."""
    return f"refs/ralph/{_component(spec)}/good"


def _task_refs(spec: str, task: str) -> str:
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
