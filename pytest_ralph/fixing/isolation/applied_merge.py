"""Making the changes of a planned merge, and undoing them.

While a merge is applied and verified, a list of its changes is kept as a journal, with which a
later run can undo it.
"""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.files import fault_point
from pytest_ralph.fixing.change_log import append_changes, read_changes, undo_changes
from pytest_ralph.fixing.errors import RecoveryError
from pytest_ralph.fixing.file_state import (
    Change,
    is_same_now,
    kept_state,
    make_change,
    stored_state,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

JOURNAL_SUFFIX = ".merge"
# The changes in a journal belong to no task.
NO_OWNER = ""


class AppliedMerge(NamedTuple):
    """A merge whose files have been written, until it is confirmed or undone."""

    root: Path
    journal: Path
    changes: tuple[Change, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(change.path for change in self.changes)

    def confirm(self) -> None:
        """Keep the merge: no later run undoes it."""
        self._remove_journal()

    def undo(self) -> tuple[str, ...]:
        """Put back what was there; return a line about each file that is left as it is."""
        undone = undo_changes(self.root, self.journal)
        self._remove_journal()
        return undone.problems

    def _remove_journal(self) -> None:
        shutil.rmtree(self.journal, ignore_errors=True)


def apply_merge(
    root: Path, plan: Sequence[Change], backups: Path, journal: Path
) -> AppliedMerge | None:
    """Make the changes of a plan. Return None, with nothing changed, if a file is not as planned.

    The changes have copies of the files as they were and as they were written, in `backups`.
    Raise RecoveryError if they can neither be made nor undone.
    """
    planned = []
    for change in plan:
        before = kept_state(root, change.path, backups)
        after = change.after
        if after is not None:
            # It is new to the programs that compare times.
            after = after._replace(modified=time.time_ns())
        planned.append(Change(change.path, before, after))
    if not all(is_same_now(root, change.path, change.before) for change in plan):
        return None
    merge = AppliedMerge(root, journal, tuple(planned))
    try:
        append_changes(journal, planned, NO_OWNER)
        fault_point("before a merge")
        for change in planned:
            if not make_change(root, change):
                # The user saved the file a moment ago.
                merge.undo()
                return None
            fault_point("during a merge")
        written = []
        for change in planned:
            after = kept_state(root, change.path, backups)
            written.append(Change(change.path, change.before, after))
        # With the times that the file system keeps, which may be less exact than those planned.
        append_changes(journal, written, NO_OWNER)
    except BaseException as error:
        # Such as a disk that is full, or Ctrl+C.
        left = merge.undo()
        if left and isinstance(error, OSError):
            lines = "; ".join(left)
            raise RecoveryError(f"a merge failed ({error}) and is not undone: {lines}") from error
        raise
    fault_point("after a merge")
    return merge._replace(changes=tuple(written))


def written_changes(root: Path, journal: Path) -> list[Change]:
    """Return what an unfinished merge has changed."""
    changes = {}
    for change in read_changes(journal):
        path = change.path
        if is_same_now(root, path, change.after) and not is_same_now(root, path, change.before):
            changes[path] = Change(path, change.before, stored_state(root, path))
    return list(changes.values())
