"""ProgressLog writes the `.progress.md` of one spec.

The file is read again only after another process wrote it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import Seen, file_signature, replace_if_unchanged
from pytest_ralph.spec import progress
from pytest_ralph.spec.completion import read_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pytest_ralph.spec.task import Task


class ProgressLog:
    """One entry per completed task, and one per task that needed fixes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Where the file really is now: a link that an executor puts there is not followed.
        self._place = Path(os.path.realpath(path))
        self._text = ""
        self._seen: Seen = None
        # Where the last entry of the completed tasks ends, as long as the text is the one we wrote.
        self._end = 0

    def completed(self, tasks: Iterable[Task], commit: str = "") -> None:
        def change(text: str) -> str:
            for task in tasks:
                text = self._with(text, task, commit)
            return text

        self._change(change)

    def reopened(self, task: Task) -> None:
        """Remove the entry of a completed task."""

        def change(text: str) -> str:
            self._end = 0
            return progress.reopened(text, task.name)

        self._change(change)

    def fixes(self, task: Task, fix_ids: Sequence[str], final: str) -> None:
        """Write how the fixes of a task ended; a task without fixes gets no entry."""

        def change(text: str) -> str:
            self._end = 0
            return progress.fixes(text, task.name, fix_ids, final)

        if fix_ids:
            self._change(change)

    def learnings(self) -> list[str]:
        return progress.learnings(self._read())

    def _with(self, text: str, task: Task, commit: str) -> str:
        """Add an entry like `progress.completed`, after the last one if its place is known."""
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
        seen = file_signature(self.path)
        if seen is None or seen != self._seen:
            self._text = read_progress(self.path)
            self._seen = seen
            self._end = 0
        return self._text

    def _change(self, change: Callable[[str], str]) -> None:
        """Apply `change`, again on the new text if another process saved the file meanwhile.

        A power failure may undo it: what has passed can be verified again.
        """
        while True:
            before = self._read()
            text = change(before)
            if text == before:
                return
            seen = replace_if_unchanged(self._place, text, self._seen, durable=False)
            if seen is not None:
                self._text = text
                self._seen = seen
                return
