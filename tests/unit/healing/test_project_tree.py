"""Which file of the project was changed in a given time, and what is kept of changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph.fixing.errors import RecoveryError
from pytest_ralph.healing.project_tree import ProjectTree

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [
        (-1.0, 1.0, "a.txt"),
        (0.5, 1.0, ""),
        (-1.0, -0.5, ""),
        # Written right after the end: the kernel's clock for files is a tick behind.
        (-1.0, 0.004, ""),
    ],
    ids=["in that time", "before", "after", "right after"],
)
def test_a_file_changed_in_that_time(tmp_path: Path, start: float, end: float, found: str) -> None:
    changed = tmp_path / "a.txt"
    changed.write_text("a")
    changed_at = changed.stat().st_ctime
    tree = ProjectTree(tmp_path, tmp_path / "backups", None)

    assert tree.file_changed_between(changed_at + start, changed_at + end) == found


def test_changes_that_cannot_be_kept_end_the_task_with_a_clear_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before")
    (tmp_path / "backups").write_text("a file where the directory should be")
    tree = ProjectTree(tmp_path, tmp_path / "backups", None)
    before = tree.snapshots.take()
    (tmp_path / "a.txt").write_text("after")

    with pytest.raises(RecoveryError, match="cannot be kept for --ralph-undo: File exists"):
        tree.record("demo-1.1", tree.changes_since(before))
