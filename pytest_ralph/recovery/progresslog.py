"""The `.progress.md` of one spec as a run writes it. Read again only when somebody else wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.disk import write_whole
from pytest_ralph.spec import progress
from pytest_ralph.spec.completion import read_progress

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pytest_ralph.spec.task import Task


class ProgressLog:
    """What is done and what was fixed, one entry a task."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._text = ""
        self._signature: tuple[int, ...] | None = None
        # Where the last entry of the completed tasks ends, as long as the text is the one we wrote.
        self._end = 0

    def completed(self, tasks: Iterable[Task], commit: str = "") -> None:
        before = text = self._read()
        for task in tasks:
            text = self._with(text, task, commit)
        # That it was passed can be seen again; that it was committed cannot.
        self._write(before, text, durable=bool(commit))

    def fixes(self, task: Task, fix_ids: Sequence[str], final: str) -> None:
        """How the fixes of a task ended; a task that needed none has no entry."""
        if fix_ids:
            before = self._read()
            self._end = 0
            self._write(before, progress.fixes(before, task.name, fix_ids, final), durable=True)

    def learnings(self) -> list[str]:
        return progress.learnings(self._read())

    def _with(self, text: str, task: Task, commit: str) -> str:
        """As `progress.completed` has it; behind the last entry at once where it is known and this one is new."""
        entry = f"- [x] {task.name} {task.title}".rstrip()
        if self._end and task.title and not commit and f"] {task.name} " not in text:
            text = f"{text[: self._end]}{entry}\n{text[self._end :]}"
            self._end += len(entry) + 1
            return text
        text = progress.completed(text, task.name, task.title, commit)
        at = text.rfind(f"{entry}\n")
        self._end = at + len(entry) + 1 if at >= 0 and not commit else 0
        return text

    def _read(self) -> str:
        signature = _signature(self.path)
        if signature is None or signature != self._signature:
            self._text, self._signature, self._end = read_progress(self.path), signature, 0
        return self._text

    def _write(self, before: str, text: str, *, durable: bool) -> None:
        if text != before:
            write_whole(self.path, text, durable=durable)
            self._text, self._signature = text, _signature(self.path)


def _signature(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
