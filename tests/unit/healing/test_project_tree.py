"""Which file of the project was changed in a given time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
