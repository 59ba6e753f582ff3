"""Writing the files of a merge."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.fixing.git.command import GitCommand
from pytest_ralph.fixing.isolation import merge
from pytest_ralph.fixing.isolation.merge import (
    FileChange,
    Side,
    apply_merge,
    plan_merge,
    read_side,
    write_side,
)
from pytest_ralph.fixing.isolation.patch import keep_patch

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.fixing.snapshot import FileState


@pytest.mark.parametrize("result", [Side(b"new", 0o644), Side(b"target", 0, True), None])
def test_nothing_is_written_behind_a_link(tmp_path: Path, result: Side | None) -> None:
    outside = tmp_path / "outside"
    root = tmp_path / "project"
    for directory in (outside, root):
        directory.mkdir()
    (outside / "file").write_text("theirs")
    (root / "src").symlink_to(outside)

    with pytest.raises(OSError, match="src"):
        write_side(root, "src/file", result)

    assert (outside / "file").read_text() == "theirs"
    assert [path.name for path in outside.iterdir()] == ["file"]


def test_a_full_disk_leaves_no_half_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_until_full(root: Path, path: str, side: Side | None, state: FileState | None) -> None:
        if path == "large":
            raise OSError(28, "No space left on device")
        write_side(root, path, side, state)

    monkeypatch.setattr(merge, "write_side", write_until_full)
    root = tmp_path / "project"
    root.mkdir()
    (root / "changed").write_text("before")
    changed = FileChange("changed", read_side(root, "changed"), Side(b"after", 0o644))
    added = FileChange("added", None, Side(b"after", 0o644))
    large = FileChange("large", None, Side(b"after", 0o644))
    journal = tmp_path / "1.merge"
    with pytest.raises(OSError, match="No space left"):
        apply_merge(root, [changed, added, large], backups=tmp_path / "b", journal=journal)

    assert {file.name: file.read_text() for file in root.iterdir()} == {"changed": "before"}
    assert not journal.exists()


def test_a_second_patch_leaves_the_first(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    contents = [b"one\n", b"two\n"]

    names = [
        keep_patch(tmp_path, tmp_path, [FileChange("a", None, Side(content, 0o644))], "demo", "1.1")
        for content in contents
    ]

    assert names == ["patches/demo-1.1.patch", "patches/demo-1.1-2.patch"]
    assert "+one" in (tmp_path / names[0]).read_text()


@pytest.mark.parametrize(
    ("mode", "new_mode", "merged_mode"),
    [
        (0o444, 0o644, 0o444),
        (0o600, 0o644, 0o600),
        (0o640, 0o755, 0o750),
        (0o755, 0o644, 0o644),
        (0o700, 0o755, 0o700),
    ],
)
@pytest.mark.parametrize("edited", [False, True])
def test_a_merge_keeps_permissions_that_git_does_not_know(
    tmp_path: Path, mode: int, new_mode: int, merged_mode: int, *, edited: bool
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    file = tmp_path / "file"
    file.write_text("1\n2\n3\n4\n5\n" + "6\n" * edited)
    file.chmod(mode)
    # As git writes it into a worktree.
    base = Side(b"1\n2\n3\n4\n5\n", 0o755 if mode & 0o100 else 0o644)
    change = FileChange("file", base, Side(b"0\n2\n3\n4\n5\n", new_mode))

    (planned,) = plan_merge(GitCommand.at(tmp_path), tmp_path, [change]).files

    assert planned.new == Side(b"0\n2\n3\n4\n5\n" + b"6\n" * edited, merged_mode)
