"""The branches of a repository while several executors work in worktrees of it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from pytest_ralph.fixing.isolation.worktrees import Worktrees

if TYPE_CHECKING:
    from pathlib import Path


def run_git(directory: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.com")
    command = ["git", *identity, *arguments]
    subprocess.run(command, cwd=directory, check=True, capture_output=True)


def test_branches_of_other_executors_are_no_finding(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    run_git(root, "init", "-q")
    run_git(root, "commit", "-q", "--allow-empty", "-m", "start")
    run_git(root, "branch", "mine")
    worktrees = Worktrees(root, root / ".ralph")
    moving = worktrees.create()
    ending = worktrees.create()
    run_git(moving.path, "switch", "-qc", "moving")
    run_git(ending.path, "switch", "-qc", "ending")

    branches = worktrees.branches()
    run_git(moving.path, "commit", "-q", "--allow-empty", "-m", "more")
    worktrees.remove(ending)
    run_git(root, "branch", "-qD", "mine")
    lines = branches.restore(lambda: "refs/ralph/demo/1.1/refused-1")
    worktrees.close()

    assert len(lines) == 1
    assert lines[0].startswith("deleted branch mine, ")
