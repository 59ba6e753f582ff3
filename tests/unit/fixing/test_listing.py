"""Whether anything in a directory changed is seen without reading it, and without following what leads elsewhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.fixing.git import listing as module
from pytest_ralph.fixing.git.listing import digest, listing

if TYPE_CHECKING:
    from pathlib import Path


def test_files_are_listed_but_not_what_tools_leave_behind(tmp_path: Path) -> None:
    for name in ("a.py", "src/b.py", "node_modules/c.js", ".git/config", "src/__pycache__/b.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert [*listing(tmp_path)] == ["a.py", "src/b.py"]


@pytest.mark.parametrize("change", ["size", "time", "name", "new"])
def test_any_change_changes_the_digest(tmp_path: Path, change: str) -> None:
    file = tmp_path / "a.py"
    file.write_text("x")
    os.utime(file, ns=(1, 1))
    before = digest(listing(tmp_path))
    assert digest(listing(tmp_path)) == before
    if change == "size":
        file.write_text("xy")
        os.utime(file, ns=(1, 1))
    elif change == "time":
        os.utime(file, ns=(2, 2))
    elif change == "name":
        file.rename(tmp_path / "b.py")
    else:
        (tmp_path / "b.py").touch()
    assert digest(listing(tmp_path)) != before


def test_the_first_files_in_order_are_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_FILES", 3)
    for name in "edcba":
        (tmp_path / name).touch()
    assert [*listing(tmp_path)] == ["a", "b", "c"]


def test_a_directory_that_is_gone_has_no_files_and_a_link_is_not_followed(tmp_path: Path) -> None:
    assert listing(tmp_path / "gone") == {}
    (tmp_path / "link").symlink_to(tmp_path)
    assert [*listing(tmp_path)] == ["link"]
