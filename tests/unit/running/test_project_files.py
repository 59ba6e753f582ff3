"""The files below a directory: which they are, and when the last of them was changed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pytest_ralph.running import project_files
from pytest_ralph.running.project_files import files_below, last_change

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_directories_of_tools_are_skipped(tmp_path: Path) -> None:
    for name in ("a.py", "src/b.py", "node_modules/c.js", ".git/config", "src/__pycache__/b.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert [*files_below(tmp_path)] == ["a.py", "src/b.py"]


def test_the_last_change_is_not_one_of_ours(tmp_path: Path) -> None:
    for name, moment in (("a.py", 2), ("src/b.py", 3), ("tasks.md", 4), (".ralph/log", 5)):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.touch()
        os.utime(file, (moment, moment))
    assert last_change(tmp_path) == 3
    assert last_change(tmp_path / "gone") == 0


def test_the_number_of_files_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_files, "MAX_FILES", 3)
    for name in "edcba":
        (tmp_path / name).touch()
    assert [*files_below(tmp_path)] == ["a", "b", "c"]


def test_missing_directories_and_links_are_not_followed(tmp_path: Path) -> None:
    assert [*files_below(tmp_path / "gone")] == []
    (tmp_path / "link").symlink_to(tmp_path)
    assert [*files_below(tmp_path)] == ["link"]
