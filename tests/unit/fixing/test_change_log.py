"""The list of changes of a run: written by several workers, and undone as far as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph.fixing.change_log import LIST_NAME, append_changes, read_changes, undo_changes
from pytest_ralph.fixing.file_state import Change, stored_state
from tests.limits import limited_file_size

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "new").write_text("new")
    return root


def added(root: Path, path: str = "new") -> Change:
    return Change(path, None, stored_state(root, path))


def test_a_line_behind_an_incomplete_one_counts(root: Path, tmp_path: Path) -> None:
    append_changes(tmp_path, [added(root)], "1.1")
    with (tmp_path / LIST_NAME).open("a") as file:
        # Of a worker that was killed, or whose disk was full.
        file.write('["1.2", "other.py", nul')
    append_changes(tmp_path, [added(root)], "1.3")

    assert len(read_changes(tmp_path)) == 2
    assert len(read_changes(tmp_path, "1.3")) == 1


def test_a_list_that_is_cut_off_is_an_error(root: Path, tmp_path: Path) -> None:
    with limited_file_size(10), pytest.raises(OSError, match="No space left"):
        append_changes(tmp_path, [added(root)], "1.1")


def test_the_reason_why_a_file_is_left_is_told(root: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").write_text("before" * 100)
    changed = Change("new", stored_state(tmp_path, "copy"), stored_state(root, "new"))
    append_changes(tmp_path, [changed], "1.1")

    with limited_file_size(10):
        undone = undo_changes(root, tmp_path)

    assert undone.restored == ()
    assert undone.problems == ("new: File too large",)
