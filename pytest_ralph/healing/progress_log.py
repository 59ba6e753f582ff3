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

    def passed(self, tasks: Iterable[Task], fixed: Task, fix_ids: Sequence[str]) -> None:
        """Write the completed tasks, and which fixes one of them needed, all at once."""

        def change(text: str) -> str:
            for task in tasks:
                text = progress.completed(text, task.name, task.title)
            return _with_fixes(text, fixed, fix_ids, "PASS")

        self._change(change)

    def committed(self, task: Task, commit: str) -> None:
        """Add the commit of a completed task to its entry."""
        self._change(lambda text: progress.completed(text, task.name, task.title, commit))

    def reopened(self, task: Task) -> None:
        """Remove the entry of a completed task."""
        self._change(lambda text: progress.reopened(text, task.name))

    def gave_up(self, task: Task, fix_ids: Sequence[str], final: str) -> None:
        """Write which fixes of a task did not help."""
        self._change(lambda text: _with_fixes(text, task, fix_ids, f"FAIL ({final})"))

    def learnings(self) -> list[str]:
        return progress.learnings(self._read())

    def put_back_if_gone(self) -> None:
        """Write the file as it was read last if somebody has removed it."""
        if self._seen and not os.path.lexists(self._place):
            self._seen = replace_if_unchanged(self._place, self._text, None, durable=False)

    def _read(self) -> str:
        seen = file_signature(self.path)
        if seen is None or seen != self._seen:
            self._text = read_progress(self.path)
            self._seen = seen
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


def _with_fixes(text: str, task: Task, fix_ids: Sequence[str], final: str) -> str:
    """Add how the fixes of a task ended; a task without fixes gets no entry."""
    return progress.fixes(text, task.name, fix_ids, final) if fix_ids else text
