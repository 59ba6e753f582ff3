"""A tasks.md that a run works on.

The file is read again only after another process wrote it. A tick changes one byte in place, and
an insertion is parsed only around the new task, so that long specs stay fast.
"""

from __future__ import annotations

import errno
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.files import Seen, file_signature, replace_if_unchanged, write_at
from pytest_ralph.healing.errors import SpecFilesError
from pytest_ralph.spec import edit
from pytest_ralph.spec.completion import current_index, with_progress
from pytest_ralph.spec.document import Spec, SpecError
from pytest_ralph.spec.edit import ticked_line
from pytest_ralph.spec.fix_tree import FixTree
from pytest_ralph.spec.task import is_same_task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_ralph.spec.task import Task

# Stands for the signature of a file that was not read yet, and differs from all signatures.
NOT_READ: Seen = ()
# The fields of a task that say when it is done.
CHECK_FIELDS = ("Verify", "Done when", "Expect")
_FIELD = re.compile(r"(?P<indent>[ \t]*)(?:[-*+][ \t]+)?\*\*[^*]+(?:\*\*:|:\*\*)")
# Another process that saves the file without pause must not keep a run waiting for ever.
_MAX_TRIES = 100


class DocumentEdit(NamedTuple):
    """Tasks, by their ids, that were inserted behind or `before` a task.

    `removed` is instead the text of a task that was inserted before and removed again.
    """

    target: Task
    blocks: Mapping[str, str]
    before: bool = False
    removed: str = ""

    def applied_to(self, source: str, path: Path) -> str:
        """Return the text with this edit; unchanged if it has the edit or lacks the target."""
        spec = Spec.parse(source, path)
        if self.removed:
            return _without(spec, self.removed)
        target = spec.get(self.target.name)
        missing = {name: block for name, block in self.blocks.items() if name not in spec}
        if target is None or not missing or not is_same_task(self.target, target, spec.tasks):
            return source
        spec, _ = insert_tasks(spec, target, missing, before=self.before)
        return spec.source


class Document:
    """The spec as it is on disk, with indexes that make looking up tasks cheap."""

    def __init__(self, spec: Spec, verify: Mapping[str, str] | None = None) -> None:
        self.spec = spec
        self._tasks_at_start = spec.tasks
        # Where the file really was when the run began: a link put there later is not followed.
        self._place = Path(os.path.realpath(spec.path))
        self._verify = verify
        # In a worker, the spec at hand is the controller's copy: the file may be another.
        self._seen: Seen = NOT_READ
        # How many writes in a row have failed because another process saved the file.
        self._failed_writes = 0
        # How often the file was read because another process had written it.
        self.reads = 0
        # What this process has inserted and removed, and the text of each inserted task.
        self.edits: list[DocumentEdit] = []
        self._texts: dict[str, str] = {}
        # The boxes that this process has ticked or cleared, by the names of their tasks.
        self.boxes: dict[str, bool] = {}
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
            self.spec = with_progress(Spec.load(self.spec.path, verify=self._verify))
            self._seen = seen
            self._build_indexes()
        return self.spec

    def put_back_if_gone(self) -> None:
        """Write the file as it was read last if somebody has removed it."""
        if self._seen and not os.path.lexists(self._place):
            self._place.parent.mkdir(parents=True, exist_ok=True)
            self._seen = replace_if_unchanged(self._place, self.spec.source, None)

    # Looking up tasks

    def find(self, task: Task) -> Task | None:
        """Return the task as it is now, or None if it was removed from the file.

        Its id alone does not identify a task: the author may have inserted or deleted one and
        renumbered those below it. So title or Verify have to be the same too.
        """
        self.read()
        position = self._positions.get(task.name)
        current = None if position is None else self.spec.tasks[position]
        if current is not None and current.title == task.title:
            return current

        renumbered = [
            other
            for other in self.spec.tasks
            if other.title == task.title and other.verify.text == task.verify.text
        ]
        if len(renumbered) == 1:
            return renumbered[0]
        if current is not None and is_same_task(current, task, self._tasks_at_start):
            return current
        return None

    def named(self, name: str) -> Task:
        """Return the task with this name or id."""
        position = self._positions.get(name)
        return self.spec[name] if position is None else self.spec.tasks[position]

    def owner_of(self, fix: Task) -> Task | None:
        """Return the task that a fix or part was written for."""
        owner = self._tree.owner_of(fix.name)
        return None if owner is None else self.named(owner.name)

    def made_for(self, task: Task) -> list[Task]:
        """Return the fixes and parts of the task itself, in file order."""
        self.read()
        return self._in_file_order(self._tree.children_of(task.name))

    def lineage(self, task: Task) -> list[Task]:
        """Return the fixes and parts of the task, theirs, and so on, in file order."""
        self.read()
        return self._in_file_order(self._tree.descendants_of(task.name))

    def _in_file_order(self, names: Iterable[str]) -> list[Task]:
        return [self.spec.tasks[at] for at in sorted(self._positions[name] for name in names)]

    def index(self) -> int:
        """Return the index of the first open task."""
        self._current_index = current_index(self.spec.tasks, self._current_index)
        return self._current_index

    # Changing the file

    def insert(self, target: Task, blocks: Mapping[str, str], *, before: bool = False) -> None:
        """Insert tasks behind the last fix of `target`, or `before` it, all in one write.

        `blocks` are their texts by their ids, in order.
        """
        while True:
            original = self._require(target)
            spec, texts = insert_tasks(
                self.spec, original, blocks, before=before, verify=self._verify
            )
            if self._replace(spec):
                self._texts |= texts
                self.edits.append(DocumentEdit(original, blocks, before))
                return

    def _require(self, target: Task) -> Task:
        """Return a task as it is now. Raise SpecFilesError if it is no longer there."""
        found = self.find(target)
        if found is None or found.id != target.id:
            raise SpecFilesError(
                f"{self._where}: task {target.id} was removed or renumbered during the run; "
                "no fix task was inserted"
            )
        return found

    def remove(self, fix: Task) -> bool:
        """Remove a task that `insert` inserted; False if its text was changed since."""
        inserted = self._texts[fix.id]
        while self.read().source.count(inserted) == 1:
            source = _without(self.spec, inserted)
            spec = with_progress(Spec.parse(source, self.spec.path, verify=self._verify))
            if self._replace(spec):
                self.edits.append(DocumentEdit(fix, {}, removed=inserted))
                return True
        return False

    def tick(self, task: Task) -> None:
        """Tick the box of a task; one that was removed meanwhile has none."""
        self._set_box(task, checked=True)

    def untick(self, task: Task) -> None:
        """Clear the box of a task that another process ticked."""
        self._set_box(task, checked=False)

    def _set_box(self, task: Task, *, checked: bool) -> None:
        current = self.find(task)
        while current is not None and current.checked != checked:
            if self._write_box(current, checked=checked):
                self.boxes[current.name] = checked
                return
            # The box may be ticked, moved or gone.
            current = self.find(task)

    def _write_box(self, task: Task, *, checked: bool) -> bool:
        """Tick or clear one box; False if another process saved the file at the same moment."""
        line = self.spec.lines.line(task.line)
        changed = (ticked_line(line) or line) if checked else cleared_line(line)
        start = self.spec.lines.start(task.line)
        source = self.spec.source[:start] + changed + self.spec.source[start + len(line) :]
        # Of a heading without a box, `.progress.md` says whether it is done.
        if changed != line:
            if len(changed) == len(line):
                offset = self._byte_offset(start)
                seen = write_at(self._place, offset, line.encode(), changed.encode())
            else:
                seen = self._replace_source(source)
            if not self._is_written(seen):
                return False

        position = self._positions[task.name]
        tasks = list(self.spec.tasks)
        tasks[position] = replace(task, checked=checked)
        self.spec = replace(self.spec, source=source, tasks=tuple(tasks))
        self.spec.note_line(task.line, start)
        if not checked:
            self._current_index = 0
        return True

    def _replace(self, spec: Spec) -> bool:
        """Write the whole file; False if another process saved it at the same moment."""
        if not self._is_written(self._replace_source(spec.source)):
            return False
        self.spec = spec
        self._build_indexes()
        return True

    def _replace_source(self, source: str) -> Seen:
        """Write the whole file; None if another process saved it since it was read."""
        # After a tick, the signature may already be that of an edit.
        old = self.spec.source.encode()
        return replace_if_unchanged(self._place, source, self._seen, old=old)

    def _is_written(self, seen: Seen) -> bool:
        """Note the signature of the file after a write; None if another process saved it."""
        if seen is not None:
            self._seen = seen
            self._failed_writes = 0
            return True
        self._seen = NOT_READ
        self._failed_writes += 1
        if self._failed_writes > _MAX_TRIES:
            raise SpecFilesError(
                f"{self._where}: another process keeps saving the file; nothing was written"
            )
        return False

    def _byte_offset(self, offset: int) -> int:
        """Return the position in the file of a character of the source."""
        if self.spec.source.isascii():
            return offset
        return len(self.spec.source[:offset].encode())


def insert_tasks(
    spec: Spec,
    target: Task,
    blocks: Mapping[str, str],
    *,
    before: bool,
    verify: Mapping[str, str] | None = None,
) -> tuple[Spec, dict[str, str]]:
    """Return the spec with tasks behind the last fix of `target`, or `before` it.

    Also return the text that was inserted for each. Raise SpecFilesError if a text is not read as a
    task with its id in its place, or if a task that was there is not read any more.
    """
    # Imported here: a passing task inserts nothing.
    from pytest_ralph.spec.splice import spliced

    insertion_at = edit.insertion_before if before else edit.insertion
    texts = {}
    neighbour = target.name
    for task_id, block in blocks.items():
        original = spec[neighbour]
        insertion = insertion_at(spec, original, block)
        source = _with_total(spec, insertion.into(spec.source), 1)
        changed = None if before else spliced(spec, original, insertion, source)
        if changed is None:
            changed = with_progress(Spec.parse(source, spec.path, verify=verify))
        names = {task.name for task in changed.tasks}
        if not names.issuperset([task_id, *(task.name for task in spec.tasks)]):
            raise SpecFilesError(
                f"{spec.directory.name}/{spec.path.name}:{target.line}: cannot insert a task after"
                f" {target.id}; is a code fence not closed?"
            )
        spec = changed
        texts[task_id] = insertion.text
        if not before:
            neighbour = task_id
    return spec, texts


def _without(spec: Spec, inserted: str) -> str:
    """Return the source without the text of one task that was inserted."""
    if inserted not in spec.source:
        return spec.source
    return _with_total(spec, spec.source.replace(inserted, ""), -1)


def _with_total(spec: Spec, source: str, added: int) -> str:
    total = str(spec.front_matter.get("total_tasks"))
    return edit.set_total(source, int(total) + added) if total.isdigit() else source


def with_boxes(source: str, path: Path, boxes: Mapping[str, bool]) -> str:
    """Return the text with the boxes of these tasks, by their names, ticked or cleared."""
    lines = source.split("\n")
    for task in Spec.parse(source, path).tasks:
        line = lines[task.line - 1]
        ticked = boxes.get(task.name)
        if ticked is True:
            lines[task.line - 1] = ticked_line(line) or line
        elif ticked is False:
            lines[task.line - 1] = cleared_line(line)
    return "\n".join(lines)


def cleared_line(line: str) -> str:
    """Return the first line of a task with its box cleared; unchanged if it has no ticked box."""
    for box in re.finditer(r"\[[xX]\]", line):
        before = line[: box.start()]
        after = line[box.end() :]
        cleared = f"{before}[ ]{after}"
        # Not one in the title.
        if ticked_line(cleared) == f"{before}[x]{after}":
            return cleared
    return line


def own_version(in_head: str, now: Spec, edits: Sequence[DocumentEdit]) -> str:
    """Return the text `in_head` with `edits`, and the fix tasks and ticks that the spec has now.

    That is what a commit holds: a person may be editing the plan while its tasks are worked on,
    and these edits are theirs to commit.
    """
    if differs_in_ticks_only(in_head, now.source):
        return now.source
    try:
        text = in_head
        no_fixes = {task.name for task in now.tasks if not task.fix_for}
        for made in edits:
            if made.removed or not no_fixes.isdisjoint(made.blocks):
                text = made.applied_to(text, now.path)
        # In the order of the document: HEAD may lack earlier ones, too.
        inserted = {name: block for made in edits for name, block in made.blocks.items()}
        text = _with_fixes(text, now, inserted)
        return _with_ticks(text, now)
    except SpecError:
        # What HEAD has is no spec.
        return in_head


def differs_in_ticks_only(old: str, new: str) -> bool:
    """Whether the texts are the same but for boxes that are ticked in the new one."""
    old_lines = old.split("\n")
    new_lines = new.split("\n")
    if len(old_lines) != len(new_lines):
        return False
    for before, after in zip(old_lines, new_lines, strict=True):
        if before == after:
            continue
        ticked = ticked_line(before)
        if ticked is None or after not in (ticked, ticked.replace("[x]", "[X]", 1)):
            return False
    return True


def changed_checks(before: Spec, now: Spec) -> list[str]:
    """Return `Verify of 1.3` and the like for each field of a check that differs."""
    return [f"{name} of {old.id}" for name, old, _ in _edited_checks(before, now)]


def with_checks_of(before: Spec, now: Spec) -> str:
    """Return the text of `now` with the tasks whose checks differ as they were `before`.

    Boxes stay, and so do tasks that were added since. What was edited in these is put back, too: a
    fix task has the checks of its original.
    """
    edited = _edited_checks(before, now)
    edited_tasks = {old.name for _, old, _ in edited}
    lines = now.source.split("\n")
    old_lines = before.source.split("\n")
    for task in reversed(now.tasks):
        block = slice(task.line - 1, task.end_line)
        old = before.get(task.name)
        if task.name in edited_tasks and old is not None:
            lines[block] = old_lines[old.line - 1 : old.end_line]
        elif old is None:
            text = "\n".join(lines[block])
            for name, original, changed in edited:
                if changed.fields.get(name):
                    text = text.replace(changed.fields[name], original.fields.get(name, ""))
            lines[block] = text.split("\n")
    return with_boxes("\n".join(lines), now.path, {one.name: one.checked for one in now.tasks})


def _edited_checks(before: Spec, now: Spec) -> list[tuple[str, Task, Task]]:
    """Return the name of each field of a check that differs, with its task before and now."""
    edited = []
    for task in before.tasks:
        current = now.get(task.name) or task
        names = [name for name in CHECK_FIELDS if _differs(task, current, name)]
        if not names and task.verify.checks != current.verify.checks:
            # The command is in another field, in the title or in the front matter.
            names = ["Verify"]
        edited += [(name, task, current) for name in names]
    return edited


def _differs(task: Task, other: Task, field: str) -> bool:
    return task.fields.get(field) != other.fields.get(field)


def _with_fixes(text: str, now: Spec, inserted: Mapping[str, str]) -> str:
    """Insert the fix tasks and parts that are missing in `text`, in the order of the document.

    Those that this run `inserted`, by their ids, are as it wrote them.
    """
    lines = now.source.split("\n")
    owners = FixTree(now.tasks)
    spec = Spec.parse(text, now.path)
    for fix in now.tasks:
        owner = owners.owner_of(fix.name) if fix.fix_for else None
        if owner is None or fix.id in spec:
            continue
        original = spec.get(owner.name)
        if original is None or not is_same_task(owner, original, spec.tasks):
            # The original is an edit of the user, too.
            continue
        block = inserted.get(fix.id) or _without_remarks(lines[fix.line - 1 : fix.end_line])
        spec, _ = insert_tasks(spec, original, {fix.id: block}, before=False)
    return spec.source


def _without_remarks(block: Sequence[str]) -> str:
    """Return a fix task that an earlier run inserted, without what follows its last field.

    A person may have written that below the task, where it is read as a part of it.
    """
    last_field = None
    end = len(block)
    for number, line in enumerate(block):
        field = _FIELD.match(line)
        if field is not None:
            last_field = len(field["indent"])
            end = number + 1
        elif last_field is not None and end == number and _is_deeper(line, last_field):
            end = number + 1
    return "\n".join(block[:end])


def _is_deeper(line: str, indent: int) -> bool:
    """Return whether a line belongs to the field above it, which is indented so far."""
    return not line.strip() or line[: indent + 1].isspace()


def _with_ticks(text: str, now: Spec) -> str:
    """Tick the tasks in `text` that are ticked now."""
    boxes = {}
    tasks = Spec.parse(text, now.path).tasks
    for task in tasks:
        current = now.get(task.name)
        if current is not None and current.checked and is_same_task(current, task, tasks):
            boxes[task.name] = True
    return with_boxes(text, now.path, boxes)
