"""Snapshots of a directory: sizes and times of files, links not followed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.fixing.git import tree_snapshot
from pytest_ralph.fixing.git.tree_snapshot import digest, take_snapshot

if TYPE_CHECKING:
    from pathlib import Path


def test_directories_of_tools_are_skipped(tmp_path: Path) -> None:
    for name in ("a.py", "src/b.py", "node_modules/c.js", ".git/config", "src/__pycache__/b.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert [*take_snapshot(tmp_path)] == ["a.py", "src/b.py"]


@pytest.mark.parametrize("change", ["size", "time", "name", "new"])
def test_any_change_changes_the_digest(tmp_path: Path, change: str) -> None:
    file = tmp_path / "a.py"
    file.write_text("x")
    os.utime(file, ns=(1, 1))
    before = digest(take_snapshot(tmp_path))
    assert digest(take_snapshot(tmp_path)) == before
    if change == "size":
        file.write_text("xy")
        os.utime(file, ns=(1, 1))
    elif change == "time":
        os.utime(file, ns=(2, 2))
    elif change == "name":
        file.rename(tmp_path / "b.py")
    else:
        (tmp_path / "b.py").touch()
    assert digest(take_snapshot(tmp_path)) != before


def test_the_number_of_files_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_snapshot, "MAX_FILES", 3)
    for name in "edcba":
        (tmp_path / name).touch()
    assert [*take_snapshot(tmp_path)] == ["a", "b", "c"]


def test_missing_directories_and_links_are_not_followed(tmp_path: Path) -> None:
    assert take_snapshot(tmp_path / "gone") == {}
    (tmp_path / "link").symlink_to(tmp_path)
    assert [*take_snapshot(tmp_path)] == ["link"]
