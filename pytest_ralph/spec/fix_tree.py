"""Which tasks of a spec were written to fix, or to split, which other task."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_ralph.spec.task import Task


class FixTree:
    """The fixes and parts of every task.

    Tasks are known by their names, which are unique; a `[FIX 1.3]` marker holds an id, which may
    not be. Where several tasks share an id, a fix belongs to the nearest one above it.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks = {task.name: task for task in tasks}
        self._owners = _find_owners(self._tasks)
        self._children: dict[str, list[str]] = defaultdict(list)
        for name, owner in self._owners.items():
            self._children[owner].append(name)

    def owner_of(self, name: str) -> Task | None:
        """Return the task that the fix or part called `name` was written for."""
        owner = self._owners.get(name, "")
        return self._tasks.get(owner)

    def children_of(self, name: str) -> Sequence[str]:
        """Return the names of the fixes and parts written for the task itself."""
        return self._children.get(name, ())

    def descendants_of(self, name: str) -> set[str]:
        """Return the names of the fixes and parts of the task, of theirs, and so on."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            for child in self.children_of(waiting.pop()):
                if child not in found and child != name:
                    found.add(child)
                    waiting.append(child)
        return found

    def shares_verify(self, fix: Task) -> bool:
        """Return whether a fix shares the Verify, and so the result, of the task it fixes."""
        owner = self.owner_of(fix.name)
        if owner is None or not fix.has_marker("FIX"):
            return False
        return has_verify_of(fix, owner)


def has_verify_of(fix: Task, owner: Task) -> bool:
    """Return whether the Verify of a fix is that of the task it fixes.

    The same text counts even if it is read differently: a task may say what to expect, or which
    commands to run, in fields that its fix does not have.
    """
    if fix.verify.checks == owner.verify.checks:
        return True
    words = fix.verify.text.split()
    return bool(words) and words == owner.verify.text.split()


def _find_owners(tasks: Mapping[str, Task]) -> dict[str, str]:
    """Map the name of each fix or part to the name of the task it was written for."""
    # Of each id, the first task in the spec, until the nearest one above takes its place.
    nearest: dict[str, str] = {}
    for task in tasks.values():
        nearest.setdefault(task.id, task.name)

    owners: dict[str, str] = {}
    for task in tasks.values():
        owner = nearest.get(task.fix_for or "", task.name)
        if owner != task.name:
            owners[task.name] = owner
        nearest[task.id] = task.name
    return owners
