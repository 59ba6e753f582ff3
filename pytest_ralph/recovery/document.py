"""A tasks.md being worked on. Read again only when somebody else wrote it; a tick is one byte, and moves no line."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from pytest_ralph.disk import write_at, write_whole
from pytest_ralph.spec import edit
from pytest_ralph.spec.completion import with_progress
from pytest_ralph.spec.document import Spec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pytest_ralph.spec.task import Task


class Document:
    """The spec as it is on disk, with what would take time to find out of it again and again."""

    def __init__(self, spec: Spec, verify: Mapping[str, str] | None = None) -> None:
        self.spec = spec
        self._verify = verify
        # Unknown until first read here: in a worker, the spec at hand is the controller's copy.
        self._signature: tuple[int, ...] = ()
        self._lines = _Lines(spec.source)
        self._look()

    def _look(self) -> None:
        self._place = {task.name: at for at, task in enumerate(self.spec.tasks)}
        self._owner = edit.owners(self.spec.tasks)
        self._made: dict[str, list[str]] = defaultdict(list)
        for name, owner in self._owner.items():
            self._made[owner].append(name)
        self._index = 0

    def read(self) -> Spec:
        signature = _signature(self.spec.path)
        if signature != self._signature:
            self.spec = with_progress(Spec.load(self.spec.path, verify=self._verify))
            self._signature = signature
            self._lines = _Lines(self.spec.source)
            self._look()
        return self.spec

    # What is in it

    def find(self, task: Task) -> Task | None:
        """The task as it is now; None if somebody took it out."""
        self.read()
        return self._named(task.name)

    def _named(self, name: str) -> Task | None:
        at = self._place.get(name)
        return None if at is None else self.spec.tasks[at]

    def owner_of(self, fix: Task) -> Task | None:
        return self._named(self._owner.get(fix.name, ""))

    def made_for(self, task: Task) -> list[Task]:
        """Its own fixes and parts, in file order."""
        self.read()
        return [self.spec.tasks[self._place[name]] for name in self._made.get(task.name, ())]

    def lineage(self, task: Task) -> list[Task]:
        """Its fixes and parts, theirs, and so on."""
        found: dict[str, Task] = {}
        waiting = [task]
        while waiting:
            new = [one for one in self.made_for(waiting.pop()) if one.name not in found and one.name != task.name]
            found.update({one.name: one for one in new})
            waiting += new
        return sorted(found.values(), key=lambda one: one.line)

    def index(self) -> int:
        """Where the spec stands: at its first unchecked task, which a fix never is while an original waits."""
        tasks, at = self.spec.tasks, self._index
        while at < len(tasks) and (tasks[at].checked or tasks[at].fix_for is not None):
            at += 1
        # What was checked stays so until the document is read again.
        self._index = at
        if at < len(tasks):
            return at
        return next((place for place, task in enumerate(tasks) if not task.checked), len(tasks))

    # What is done to it

    def insert(self, target: Task, new_id: str, block: str) -> Task:
        """Put a task in after the last fix of `target`, and count it where the front matter counts."""
        spec = self.read()
        source = edit.insert_task(spec, self._named(target.name) or target, block)
        total = spec.front_matter.get("total_tasks")
        if str(total).isdigit():
            source = edit.set_total(source, int(str(total)) + 1)
        write_whole(spec.path, source)
        return self.read()[new_id]

    def tick(self, tasks: Sequence[Task]) -> None:
        """Check off tasks of the document as it was last read."""
        for task in tasks:
            self._tick(task)
        if tasks:
            self._signature = _signature(self.spec.path)

    def _tick(self, task: Task) -> None:
        at = self._place[task.name]
        tasks = (*self.spec.tasks[:at], replace(self.spec.tasks[at], checked=True), *self.spec.tasks[at + 1 :])
        line = self._lines.line(self.spec.source, task.line)
        box = edit.empty_box(line)
        # A heading may have none: that it is done stands in the progress log.
        source = self.spec.source if box is None else self._write_tick(task.line, line, box)
        self.spec = replace(self.spec, source=source, tasks=tasks)

    def _write_tick(self, number: int, line: str, box: slice) -> str:
        start = self._lines.start(number)
        source = f"{self.spec.source[: start + box.start]}x{self.spec.source[start + box.stop :]}"
        place = self._lines.byte(number) + len(line[: box.start].encode())
        if len(line[box]) != 1 or not write_at(self.spec.path, place, line[box].encode(), b"x"):
            write_whole(self.spec.path, source)
            self._lines = _Lines(source)
        return source


class _Lines:
    """Where the lines of a text begin, in characters and in bytes."""

    def __init__(self, source: str) -> None:
        lines = source.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)]
        self._bytes = [0, *accumulate(len(line.encode()) + 1 for line in lines)]

    def start(self, number: int) -> int:
        return self._starts[number - 1]

    def byte(self, number: int) -> int:
        return self._bytes[number - 1]

    def line(self, source: str, number: int) -> str:
        return source[self._starts[number - 1] : self._starts[number] - 1]


def _signature(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino
