"""A tasks.md that a run works on.

The file is read again only after another process wrote it. A tick changes one byte in place, and
an insertion is parsed only around the new task, so that long specs stay fast.
"""

from __future__ import annotations

import errno
import os
import re
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import Seen, file_signature, replace_if_unchanged, write_at
from pytest_ralph.healing.errors import SpecFilesError
from pytest_ralph.spec import edit
from pytest_ralph.spec.completion import current_index, with_progress
from pytest_ralph.spec.document import Spec
from pytest_ralph.spec.fix_tree import FixTree
from pytest_ralph.spec.task import is_same_task

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ralph.spec.task import Task

# Another process that saves the file without pause must not keep a run waiting for ever.
_MAX_TRIES = 100
_ALWAYS_CHANGING = "another process keeps saving the file; nothing was written"


class Document:
    """The spec as it is on disk, with indexes that make looking up tasks cheap."""

    def __init__(self, spec: Spec, verify: Mapping[str, str] | None = None) -> None:
        self.spec = spec
        # Where the file really was when the run began: a link put there later is not followed.
        self._place = Path(os.path.realpath(spec.path))
        self._verify = verify
        # Unknown until first read here: in a worker, the spec at hand is the controller's copy.
        self._seen: Seen = ()
        # How often the file was read because another process had written it.
        self.reads = 0
        self._lines = _Lines(spec.source)
        self._build_indexes()

    @property
    def _where(self) -> str:
        return f"{self.spec.directory.name}/{self.spec.path.name}"

    def _build_indexes(self) -> None:
        self._positions = {task.name: at for at, task in enumerate(self.spec.tasks)}
        self._tree = FixTree(self.spec.tasks)
        self._current_index = 0

    def read(self) -> Spec:
        """Return the spec, read again if the file changed."""
        seen = file_signature(self.spec.path)
        if seen is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.spec.path))
        if seen != self._seen:
            self.reads += 1
            self._use(Spec.load(self.spec.path, verify=self._verify), seen)
        return self.spec

    def _use(self, spec: Spec, seen: Seen) -> None:
        self.spec = with_progress(spec)
        self._seen = seen
        self._lines = _Lines(spec.source)
        self._build_indexes()

    # Looking up tasks

    def find(self, task: Task) -> Task | None:
        """Return the task as it is now, or None if it was removed from the file.

        Its id alone does not identify a task: the author may have deleted it and renumbered the
        tasks below it. So title or Verify have to be the same too.
        """
        self.read()
        position = self._positions.get(task.name)
        if position is not None and is_same_task(self.spec.tasks[position], task):
            return self.spec.tasks[position]

        renumbered = [
            position
            for position, other in enumerate(self.spec.tasks)
            if other.title == task.title and other.verify.text == task.verify.text
        ]
        return self.spec.tasks[renumbered[0]] if len(renumbered) == 1 else None

    def owner_of(self, fix: Task) -> Task | None:
        """Return the task that a fix or part was written for."""
        owner = self._tree.owner_of(fix.name)
        return None if owner is None else self.spec.tasks[self._positions[owner.name]]

    def made_for(self, task: Task) -> list[Task]:
        """Return the fixes and parts of the task itself, in file order."""
        self.read()
        return self._now(self._tree.children_of(task.name))

    def lineage(self, task: Task) -> list[Task]:
        """Return the fixes and parts of the task, theirs, and so on, in file order."""
        self.read()
        return self._now(self._tree.descendants_of(task.name))

    def _now(self, tasks: Sequence[Task]) -> list[Task]:
        # The tree is built when the file is read; a tick since then is only in the spec.
        return [self.spec.tasks[self._positions[task.name]] for task in tasks]

    def index(self) -> int:
        """Return the index of the first open task."""
        self._current_index = current_index(self.spec.tasks, self._current_index)
        return self._current_index

    # Changing the file

    def insert(self, target: Task, *blocks: str, before: bool = False) -> str:
        """Insert tasks behind the last fix of `target`, or `before` it, all in one write.

        Returns the text that was inserted for the last one.
        """
        for _ in range(_MAX_TRIES):
            spec, inserted = self._with_blocks(target, blocks, before=before)
            seen = replace_if_unchanged(self._place, spec.source, self._seen)
            if seen is not None:
                self._use(spec, seen)
                return inserted
            # Another process saved the file at the same moment: insert into what it wrote.
        raise SpecFilesError(f"{self._where}: {_ALWAYS_CHANGING}")

    def remove(self, inserted: str) -> bool:
        """Remove the text of a task that `insert` inserted; False if it was changed since."""
        for _ in range(_MAX_TRIES):
            spec = self.read()
            if spec.source.count(inserted) != 1:
                return False
            source = removed_from(spec, inserted)
            seen = replace_if_unchanged(self._place, source, self._seen)
            if seen is not None:
                self._use(Spec.parse(source, spec.path, verify=self._verify), seen)
                return True
        raise SpecFilesError(f"{self._where}: {_ALWAYS_CHANGING}")

    def _with_blocks(
        self, target: Task, blocks: Sequence[str], *, before: bool
    ) -> tuple[Spec, str]:
        """Return the spec with the blocks inserted, only in memory, and the last inserted text."""
        from pytest_ralph.spec.splice import spliced

        found = self.find(target)
        if found is None or found.id != target.id:
            raise SpecFilesError(
                f"{self._where}: task {target.id} was removed or renumbered during the run; "
                "no fix task was inserted"
            )

        spec = self.spec
        inserted = ""
        for block in blocks:
            original = spec[found.name]
            insertion, source = inserted_into(spec, original, block, before=before)
            changed = None if before else spliced(spec, original, insertion, source)
            if changed is None:
                changed = Spec.parse(source, spec.path, verify=self._verify)
            if len(changed.tasks) <= len(spec.tasks):
                raise SpecFilesError(
                    f"{self._where}:{original.line}: cannot insert a task after {target.id}; "
                    "is a code fence not closed?"
                )
            spec = changed
            inserted = insertion.text
        return spec, inserted

    def tick(self, tasks: Sequence[Task]) -> None:
        """Tick the boxes of the tasks; one that was removed meanwhile has none."""
        for task in tasks:
            self._tick_one(task)

    def _tick_one(self, task: Task) -> None:
        for _ in range(_MAX_TRIES):
            current = self.find(task)
            if current is None or current.checked:
                return
            self._tick(current)
        raise SpecFilesError(f"{self._where}: {_ALWAYS_CHANGING}")

    def _tick(self, task: Task) -> None:
        """Tick one box, unless another process saved the file at the same moment."""
        line = self._lines.line(self.spec.source, task.line)
        ticked = edit.ticked_line(line)
        if ticked is None:
            # A heading without a box: `.progress.md` says that it is done.
            self._mark_checked(task, self.spec.source)
            return

        start = self._lines.start(task.line)
        source = self.spec.source[:start] + ticked + self.spec.source[start + len(line) :]
        if len(ticked) == len(line):
            offset = self._lines.byte(task.line)
            seen = write_at(self._place, offset, line.encode(), ticked.encode())
        else:
            seen = replace_if_unchanged(self._place, source, self._seen)
            self._lines = _Lines(source)
        if seen is None:
            # Read again: the box may be ticked, moved or gone.
            self._seen = ()
            return
        self._seen = seen
        self._mark_checked(task, source)

    def untick(self, task: Task) -> None:
        """Clear the box of a task that another process ticked."""
        for _ in range(_MAX_TRIES):
            current = self.find(task)
            if current is None or not current.checked:
                return
            line = self._lines.line(self.spec.source, current.line)
            cleared = re.sub(r"\[[xX]\]", "[ ]", line, count=1)
            if cleared == line:
                return
            offset = self._lines.byte(current.line)
            write_at(self._place, offset, line.encode(), cleared.encode())
            self._seen = ()
            self._current_index = 0
        raise SpecFilesError(f"{self._where}: {_ALWAYS_CHANGING}")

    def _mark_checked(self, task: Task, source: str) -> None:
        position = self._positions[task.name]
        tasks = list(self.spec.tasks)
        tasks[position] = replace(tasks[position], checked=True)
        self.spec = replace(self.spec, source=source, tasks=tuple(tasks))


def inserted_into(
    spec: Spec, original: Task, block: str, *, before: bool
) -> tuple[edit.Insertion, str]:
    """Return the edit that inserts one task, and the source with it."""
    insert = edit.insertion_before if before else edit.insertion
    insertion = insert(spec, original, block)
    return insertion, _with_total(spec, insertion.into(spec.source), 1)


def removed_from(spec: Spec, inserted: str) -> str:
    """Return the source without the text of one task that was inserted."""
    return _with_total(spec, spec.source.replace(inserted, ""), -1)


def _with_total(spec: Spec, source: str, added: int) -> str:
    total = str(spec.front_matter.get("total_tasks"))
    return edit.set_total(source, int(total) + added) if total.isdigit() else source


class _Lines:
    """Where the lines of a text begin, in characters and in bytes."""

    def __init__(self, source: str) -> None:
        lines = source.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)]
        self._bytes = self._starts
        if not source.isascii():
            self._bytes = [0, *accumulate(len(line.encode()) + 1 for line in lines)]

    def start(self, number: int) -> int:
        return self._starts[number - 1]

    def byte(self, number: int) -> int:
        return self._bytes[number - 1]

    def line(self, source: str, number: int) -> str:
        return source[self._starts[number - 1] : self._starts[number] - 1]
