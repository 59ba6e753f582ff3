"""What workers on other machines send home, when it does not pass here."""

from __future__ import annotations

import subprocess
from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.fixing.file_state import Change, new_state
from pytest_ralph.fixing.isolation.worktrees import Worktrees
from pytest_ralph.results import TaskResult
from pytest_ralph.session.xdist.inbox import Inbox, RemoteWork

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def merge(tmp_path: Path, holds: Callable[[Any], bool]) -> tuple[TaskResult, str]:
    """Merge a change of `file`, which `holds` verifies in the project."""
    root = tmp_path / "project"
    subprocess.run(["git", "init", "-q", root], check=True)
    after = new_state(b"merged", 0o644, tmp_path / "states")
    spec_run: Any = SimpleNamespace(
        services=SimpleNamespace(tree_lock=nullcontext(), backups=tmp_path / "backups"),
        spec_files=SimpleNamespace(name="demo"),
        holds=holds,
    )
    task: Any = SimpleNamespace(id="1.1", name="1.1")
    worktrees = Worktrees(root, root / ".ralph")
    run: Any = SimpleNamespace(
        root=root,
        directory=root / ".ralph",
        id="run",
        resources=SimpleNamespace(worktrees=worktrees),
        messages=SimpleNamespace(note=pytest.fail),
    )
    work = RemoteWork(spec_run, task, [Change("file", None, after)], ())
    try:
        return Inbox(run)._merge(work, TaskResult("1.1"))
    finally:
        worktrees.close()


def test_an_interrupted_merge_is_taken_back(tmp_path: Path) -> None:
    def interrupt(_: Any) -> bool:
        assert (tmp_path / "project/file").read_text() == "merged"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        merge(tmp_path, interrupt)

    assert not (tmp_path / "project/file").exists()


def test_what_cannot_be_taken_back_is_named(tmp_path: Path) -> None:
    def edit(_: Any) -> bool:
        (tmp_path / "project/file").write_text("mine")
        return False

    _, problem = merge(tmp_path, edit)

    assert problem.endswith("; file: changed since then, left as it is")
    assert (tmp_path / "project/file").read_text() == "mine"
