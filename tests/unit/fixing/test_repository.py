"""The repository that a worktree gets, for each kind of repository that a project may have."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.files import FileLock
from pytest_ralph.fixing.isolation.registry import Registry
from pytest_ralph.fixing.isolation.worktrees import Worktrees

if TYPE_CHECKING:
    from pathlib import Path

# Each script makes a repository with a commit in the directory `project`.
COMMIT = "git add -A; git commit -qm first"
SOURCE = f"git init -q source; cd source; echo one > a.txt; {COMMIT}; echo two > a.txt; {COMMIT}"
KINDS = {
    "usual": f"git init -q project; cd project; echo one > a.txt; {COMMIT}",
    "with SHA-256": f"git init -q --object-format=sha256 project; cd project; >a.txt; {COMMIT}",
    "shallow clone": f'{SOURCE}; cd ..; git clone -q --depth 1 "file://$PWD/source" project',
    "clone that borrows": f"{SOURCE}; cd ..; git clone -q --shared source project",
    "linked worktree": f"{SOURCE}; git worktree add -q ../project",
    "worktree of a bare one": (
        f"{SOURCE}; cd ..; git clone -q --bare source bare; cd bare; git worktree add -q ../project"
    ),
    "sparse checkout": (
        f"{SOURCE}; mkdir far near; >far/b; >near/c; {COMMIT}; cd ..; git clone -q source project;"
        "cd project; git sparse-checkout set near"
    ),
    "git directory elsewhere": (
        f"git init -q --separate-git-dir=elsewhere project; cd project; >a.txt; {COMMIT}"
    ),
}


def shell(directory: Path, script: str) -> str:
    identity = 'git() { command git -c user.name=T -c user.email=t@example.com "$@"; }'
    ended = subprocess.run(
        ["sh", "-ec", f"{identity}; {script}"],
        cwd=directory,
        check=True,
        capture_output=True,
        text=True,
    )
    return ended.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_repository_can_be_borrowed(tmp_path: Path, kind: str) -> None:
    shell(tmp_path, KINDS[kind])
    root = tmp_path / "project"
    worktrees = Worktrees(root, tmp_path / ".ralph")
    worktree = worktrees.create()
    seen = "git status --porcelain; git log --format='%H %s'; git ls-files -t; git fsck"
    try:
        assert shell(worktree.root, seen) == shell(root, seen)
        shell(worktree.root, f"echo more > near.txt; {COMMIT}; git stash list")
        worktrees.remove(worktree)
        again = worktrees.create()
        assert again.container == worktree.container
        assert shell(again.root, seen) == shell(root, seen)
    finally:
        worktrees.close()


def test_repository_without_commits_can_be_borrowed(tmp_path: Path) -> None:
    shell(tmp_path, "git init -q project; cd project; >a.txt; git add a.txt")
    root = tmp_path / "project"
    worktrees = Worktrees(root, tmp_path / ".ralph")
    worktree = worktrees.create()
    seen = "git status; git symbolic-ref HEAD"
    try:
        assert shell(worktree.root, seen) == shell(root, seen)
    finally:
        worktrees.close()


@pytest.mark.parametrize("name", ["plain", "a:b", 'quoted"\\', "ümlaut #1"])
def test_a_worktree_leaves_no_objects_behind(tmp_path: Path, name: str) -> None:
    root = tmp_path / name
    root.mkdir()
    shell(root, f"git init -q; echo .env > .gitignore; echo one > a.txt; {COMMIT}")
    (root / "a.txt").write_text("not committed\n")
    (root / ".env").write_text("KEY=1\n")
    before = shell(root, "git count-objects")
    worktrees = Worktrees(root, tmp_path / ".ralph")
    worktree = worktrees.create([".env"])
    try:
        assert (worktree.root / "a.txt").read_text() == "not committed\n"
        assert (worktree.root / ".env").read_text() == "KEY=1\n"
        (worktree.root / ".env").write_text("KEY=2\n")
        assert [change.path for change in worktree.changes()] == [".env"]
        assert shell(worktree.root, "git status --porcelain") == " M a.txt\n"
        assert shell(root, "git count-objects") == before
    finally:
        worktrees.close()


def test_a_worktree_that_became_a_link_is_not_used_again(tmp_path: Path) -> None:
    shell(tmp_path, KINDS["usual"])
    root = tmp_path / "project"
    shell(root, f"echo .env > .gitignore; {COMMIT}; echo KEY=1 > .env")
    worktrees = Worktrees(root, tmp_path / ".ralph")
    worktree = worktrees.create()
    try:
        shutil.rmtree(worktree.path)
        worktree.path.symlink_to(root)
        worktrees.remove(worktree)
        again = worktrees.create()
        assert again.container != worktree.container
    finally:
        worktrees.close()
    assert (root / ".env").read_text() == "KEY=1\n"
    assert shell(root, "git fsck; git status --porcelain") == ""


def test_a_copied_directory_has_no_sockets_and_pipes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell(tmp_path, KINDS["usual"])
    root = tmp_path / "project"
    shell(root, f"echo cache > .gitignore; {COMMIT}; mkdir cache; >cache/a; ln -s no cache/link")
    os.mkfifo(root / "cache/pipe")
    # The whole path may be too long for a socket.
    monkeypatch.chdir(root / "cache")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    worktrees = Worktrees(root, tmp_path / ".ralph", copy=["cache"])
    try:
        worktree = worktrees.create()
        copied = {path.name for path in (worktree.root / "cache").iterdir()}
        assert copied == {"a", "link"}
    finally:
        worktrees.close()


def test_a_worktree_that_is_used_again_has_no_pipes(tmp_path: Path) -> None:
    """git would wait for one in the place of a .gitignore, in the run of another executor."""
    shell(tmp_path, KINDS["usual"])
    worktrees = Worktrees(tmp_path / "project", tmp_path / ".ralph")
    worktree = worktrees.create()
    try:
        shell(worktree.root, "rm a.txt; mkfifo a.txt .gitignore; mkdir d; mkfifo d/pipe")
        worktrees.remove(worktree)
        again = worktrees.create()
        assert again.container == worktree.container
        assert {path.name for path in again.root.iterdir()} == {".git", "a.txt"}
        assert (again.root / "a.txt").read_text() == "one\n"
    finally:
        worktrees.close()


def test_the_name_of_the_temporary_directory_need_not_be_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "caf\udce9"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))
    shell(tmp_path, KINDS["usual"])
    worktrees = Worktrees(tmp_path / "project", tmp_path / ".ralph")
    try:
        container = worktrees.create().container
        assert container.parent == temporary
        other = Registry(worktrees.registry.directory)
        monkeypatch.setattr(FileLock, "_try", lambda _: True)
        assert [directories for _, directories in other.left_behind()] == [[container]]
    finally:
        monkeypatch.undo()
        worktrees.close()


@pytest.mark.parametrize("name", ["a" * 300, "a/" + "b" * 300, "a" * 300 + "/*.py"])
def test_a_task_may_name_what_no_file_can_be_called(tmp_path: Path, name: str) -> None:
    shell(tmp_path, KINDS["usual"])
    (tmp_path / "project/a").mkdir()
    worktrees = Worktrees(tmp_path / "project", tmp_path / ".ralph")
    try:
        worktree = worktrees.create([name])
        assert worktree.changes() == ()
    finally:
        worktrees.close()
