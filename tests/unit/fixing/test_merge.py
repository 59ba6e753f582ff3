"""Writing the files of a merge."""

from __future__ import annotations

import errno
import stat
import subprocess
from typing import TYPE_CHECKING

import pytest

from pytest_ralph import files
from pytest_ralph.fixing.errors import RecoveryError
from pytest_ralph.fixing.file_state import (
    Change,
    FileState,
    is_same_now,
    kept_state,
    new_state,
    put_back,
    stored_state,
    write_state,
)
from pytest_ralph.fixing.git.command import GitCommand
from pytest_ralph.fixing.isolation import applied_merge
from pytest_ralph.fixing.isolation.applied_merge import apply_merge
from pytest_ralph.fixing.isolation.merge import MAX_TEXT_SIZE, plan_merge
from pytest_ralph.fixing.isolation.patch import keep_patch

if TYPE_CHECKING:
    from pathlib import Path


def new_file(directory: Path, content: bytes = b"after", mode: int = 0o644) -> FileState:
    return new_state(content, mode, directory / "states")


@pytest.mark.parametrize("mode", [0o644, stat.S_IFLNK, None])
def test_nothing_is_written_behind_a_link(tmp_path: Path, mode: int | None) -> None:
    outside = tmp_path / "outside"
    root = tmp_path / "project"
    for directory in (outside, root):
        directory.mkdir()
    (outside / "file").write_text("theirs")
    (root / "src").symlink_to(outside)

    state = None if mode is None else new_file(tmp_path, b"new", mode)
    with pytest.raises(OSError, match="src"):
        write_state(root, "src/file", state)

    assert (outside / "file").read_text() == "theirs"
    assert [path.name for path in outside.iterdir()] == ["file"]


def test_a_failed_merge_leaves_no_half_of_it(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "changed").write_text("before")
    before = stored_state(root, "changed")
    changed = Change("changed", before, new_file(tmp_path))
    added = Change("added", None, new_file(tmp_path))
    # The content is gone, and cannot be written for that.
    failing = Change("failing", None, new_file(tmp_path)._replace(copy=str(tmp_path / "gone")))
    journal = tmp_path / "1.merge"
    with pytest.raises(OSError, match="gone"):
        apply_merge(root, [changed, added, failing], backups=tmp_path / "b", journal=journal)

    assert {file.name: file.read_text() for file in root.iterdir()} == {"changed": "before"}
    assert not journal.exists()


def test_a_merge_that_cannot_be_copied_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "file").write_text("before")
    planned = Change("file", stored_state(root, "file"), new_file(tmp_path))

    def keep_on_full_disk(root: Path, path: str, directory: Path) -> FileState | None:
        if (root / path).read_text() == "after":
            raise OSError(errno.ENOSPC, "no space left")
        return kept_state(root, path, directory)

    monkeypatch.setattr(applied_merge, "kept_state", keep_on_full_disk)
    journal = tmp_path / "1.merge"
    with pytest.raises(OSError, match="no space left"):
        apply_merge(root, [planned], backups=tmp_path / "b", journal=journal)

    assert (root / "file").read_text() == "before"
    assert not journal.exists()


def test_what_a_failed_merge_leaves_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "file").write_text("before")
    planned = Change("file", stored_state(root, "file"), new_file(tmp_path))

    def save(name: str) -> None:
        if name == "during a merge":
            (root / "file").write_text("edited")
            raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(files, "on_fault_point", save)
    journal = tmp_path / "1.merge"
    with pytest.raises(RecoveryError, match=r"no space left.* is not undone: file: changed since"):
        apply_merge(root, [planned], backups=tmp_path / "b", journal=journal)

    assert (root / "file").read_text() == "edited"


def test_an_interrupted_merge_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "project"
    root.mkdir()
    changes = [Change(name, None, new_file(tmp_path)) for name in ("a", "b")]

    def interrupt(name: str) -> None:
        if name == "during a merge":
            raise KeyboardInterrupt

    monkeypatch.setattr(files, "on_fault_point", interrupt)
    journal = tmp_path / "1.merge"
    with pytest.raises(KeyboardInterrupt):
        apply_merge(root, changes, backups=tmp_path / "b", journal=journal)

    assert list(root.iterdir()) == []
    assert not journal.exists()


def test_a_merged_link_is_taken_back(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    link = Change("link", None, new_file(tmp_path, b"target", stat.S_IFLNK | 0o777))
    journal = tmp_path / "1.merge"
    applied = apply_merge(root, [link], backups=tmp_path / "b", journal=journal)

    assert (root / "link").readlink().name == "target"
    assert applied is not None
    assert applied.undo() == ()
    assert list(root.iterdir()) == []


def test_a_link_made_again_is_no_change(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    state = stored_state(tmp_path, "link")
    (tmp_path / "link").rename(tmp_path / "old")
    (tmp_path / "link").symlink_to("target")

    assert is_same_now(tmp_path, "link", state)


def test_a_file_saved_since_the_plan_stays(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "file").write_text("before")
    planned = Change("file", stored_state(root, "file"), new_file(tmp_path))
    (root / "file").write_text("edited")

    journal = tmp_path / "1.merge"
    assert apply_merge(root, [planned], backups=tmp_path / "b", journal=journal) is None
    assert put_back(root, [planned.reversed()]) == ("file",)
    assert (root / "file").read_text() == "edited"


def test_a_second_patch_leaves_the_first(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    contents = [b"one\n", b"two\n"]

    names = []
    for one in contents:
        changes = [Change("a", None, new_file(tmp_path, one))]
        names.append(keep_patch(tmp_path, tmp_path, changes, "demo", "1.1", announce=pytest.fail))

    assert names == ["patches/demo-1.1.patch", "patches/demo-1.1-2.patch"]
    assert "+one" in (tmp_path / names[0]).read_text()


@pytest.mark.parametrize(("large", "count"), [(300, 1), (10, 30)])
def test_large_files_are_no_part_of_a_patch(tmp_path: Path, large: int, count: int) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    changes = [Change("small", None, new_file(tmp_path, b"small\n"))]
    for number in range(count):
        name = f"large-{number}"
        with (tmp_path / name).open("wb") as file:
            file.truncate(large << 20)
        changes.append(Change(name, None, stored_state(tmp_path, name)))

    lines: list[str] = []
    patch = keep_patch(tmp_path, tmp_path, changes, "demo", announce=lines.append)

    assert "+small" in (tmp_path / patch).read_text()
    assert (tmp_path / patch).stat().st_size < 10 << 20
    assert (tmp_path / patch).stat().st_mode & 0o777 == 0o600
    [line] = lines
    assert line.startswith("too large to be kept in a patch: large-")
    lines.clear()
    if count == 1:
        assert keep_patch(tmp_path, tmp_path, changes[1:], "demo", announce=lines.append) == ""


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
    base = new_file(tmp_path, b"1\n2\n3\n4\n5\n", 0o755 if mode & 0o100 else 0o644)
    change = Change("file", base, new_file(tmp_path, b"0\n2\n3\n4\n5\n", new_mode))

    (planned,) = plan_merge(GitCommand.at(tmp_path), tmp_path, [change], tmp_path).changes

    assert planned.after is not None
    assert planned.after.content() == b"0\n2\n3\n4\n5\n" + b"6\n" * edited
    assert stat.S_IMODE(planned.after.mode) == merged_mode


def test_large_files_are_not_merged_line_by_line(tmp_path: Path) -> None:
    states = []
    for name in ("base", "project", "worktree"):
        directory = tmp_path / name
        directory.mkdir()
        with (directory / "data").open("wb") as file:
            file.write(name.encode())
            file.truncate(MAX_TEXT_SIZE + 1)
        states.append(stored_state(directory, "data"))
    change = Change("data", states[0], states[2])
    plan = plan_merge(GitCommand.at(tmp_path), tmp_path / "project", [change], tmp_path / "merged")

    assert plan.changes == ()
    [conflict] = plan.conflicts
    assert conflict.text.startswith("(it is too large, and both sides changed it)\n")
    assert len(conflict.text) < 200


def test_a_large_file_is_read_in_blocks(tmp_path: Path) -> None:
    with (tmp_path / "data").open("wb") as file:
        file.truncate(50_000_000)
    state = stored_state(tmp_path, "data")
    assert state is not None
    assert max(map(len, state.blocks())) < 2_000_000


def test_a_link_is_one_block(tmp_path: Path) -> None:
    assert list(new_file(tmp_path, b"target", stat.S_IFLNK).blocks()) == [b"target"]
