"""A tasks.md being worked on. Read again only when somebody else wrote it; a tick is one byte, and moves no line."""

from __future__ import annotations

import errno
import os
from collections import defaultdict
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from pytest_ralph.files import Seen, file_signature, replace_if_unchanged, write_at
from pytest_ralph.healing.errors import SpecFilesError
from pytest_ralph.spec import edit
from pytest_ralph.spec.completion import with_progress
from pytest_ralph.spec.document import Spec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ralph.spec.task import Task


class Document:
    """The spec as it is on disk, with what would take time to find out of it again and again."""

    def __init__(self, spec: Spec, verify: Mapping[str, str] | None = None) -> None:
        self.spec = spec
        self._verify = verify
        # Unknown until first read here: in a worker, the spec at hand is the controller's copy.
        self._seen: Seen = ()
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
        seen = file_signature(self.spec.path)
        if seen is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.spec.path))
        if seen != self._seen:
            self._take(Spec.load(self.spec.path, verify=self._verify), seen)
        return self.spec

    def _take(self, spec: Spec, seen: Seen) -> None:
        self.spec, self._seen = with_progress(spec), seen
        self._lines = _Lines(spec.source)
        self._look()

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
            new = [
                one
                for one in self.made_for(waiting.pop())
                if one.name not in found and one.name != task.name
            ]
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

    def insert(self, target: Task, *blocks: str) -> None:
        """Put tasks in after the last fix of `target`, all at once, and count them where the front matter counts."""
        while True:
            spec = self._with(self.read(), target, blocks)
            if seen := replace_if_unchanged(spec.path, spec.source, self._seen):
                self._take(spec, seen)
                return
            # Somebody saved it at the same moment: what they wrote is what we write into.

    def _with(self, spec: Spec, target: Task, blocks: Sequence[str]) -> Spec:
        from pytest_ralph.spec.splice import spliced

        for block in blocks:
            original = spec.get(target.name) or target
            put_in = edit.insertion(spec, original, block)
            source, total = put_in.into(spec.source), spec.front_matter.get("total_tasks")
            source = edit.set_total(source, int(str(total)) + 1) if str(total).isdigit() else source
            again = spliced(spec, original, put_in, source) or Spec.parse(
                source, spec.path, verify=self._verify
            )
            before, spec = len(spec.tasks), again
            if len(spec.tasks) <= before:
                where = f"{spec.directory.name}/{spec.path.name}:{target.line}"
                raise SpecFilesError(
                    f"{where}: nothing can be put in after {target.id}: is a code fence not closed?"
                )
        return spec

    def tick(self, tasks: Sequence[Task]) -> None:
        """Check them off; one that somebody took out meanwhile has no box."""
        for task in tasks:
            while (now := self.find(task)) is not None and not now.checked and not self._tick(now):
                continue

    def _tick(self, task: Task) -> bool:
        """False where somebody saved the document at the same moment."""
        line = self._lines.line(self.spec.source, task.line)
        box = edit.empty_box(line)
        if box is None:
            # A heading may have none: that it is done stands in the progress log.
            source = self.spec.source
        elif (source := self._with_tick(task.line, box)) and not self._write_tick(
            task.line, line, box, source
        ):
            return False
        at = self._place[task.name]
        tasks = (
            *self.spec.tasks[:at],
            replace(self.spec.tasks[at], checked=True),
            *self.spec.tasks[at + 1 :],
        )
        self.spec = replace(self.spec, source=source, tasks=tasks)
        self._seen = file_signature(self.spec.path)
        return True

    def _with_tick(self, number: int, box: slice) -> str:
        start = self._lines.start(number)
        return f"{self.spec.source[: start + box.start]}x{self.spec.source[start + box.stop :]}"

    def _write_tick(self, number: int, line: str, box: slice, source: str) -> bool:
        """One byte where that is all it takes."""
        if len(line[box]) == 1:
            ticked = f"{line[: box.start]}x{line[box.stop :]}"
            return write_at(
                self.spec.path, self._lines.byte(number), line.encode(), ticked.encode()
            )
        if seen := replace_if_unchanged(self.spec.path, source, self._seen):
            self._lines, self._seen = _Lines(source), seen
        return seen is not None


class _Lines:
    """Where the lines of a text begin, in characters and in bytes."""

    def __init__(self, source: str) -> None:
        lines = source.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)]
        plain = source.isascii()
        self._bytes = (
            self._starts if plain else [0, *accumulate(len(line.encode()) + 1 for line in lines)]
        )

    def start(self, number: int) -> int:
        return self._starts[number - 1]

    def byte(self, number: int) -> int:
        return self._bytes[number - 1]

    def line(self, source: str, number: int) -> str:
        return source[self._starts[number - 1] : self._starts[number] - 1]
