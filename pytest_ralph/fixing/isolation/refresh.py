"""Bring a worktree up to date: merge what changed in the project since the worktree started."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import SPEC_FILES
from pytest_ralph.fixing.isolation.merge import FileChange, plan_merge, read_side, write_side
from pytest_ralph.fixing.isolation.worktree import START_INDEX

if TYPE_CHECKING:
    from pytest_ralph.fixing.isolation.worktree import Worktree, Worktrees


def refresh(worktrees: Worktrees, worktree: Worktree) -> None:
    """Merge the current state of the project into a worktree, which then starts from that state.

    A file that both sides changed in the same place becomes that of the project.
    """
    index = worktree.container / "next.index"
    tree = worktrees.write_state(index)
    ignored = _changed_ignored_files(worktree)
    changed = {**ignored, **_changed_files(worktree, tree)}
    plan = plan_merge(worktree.git, worktree.path, changed.values())
    for file in plan.files:
        write_side(worktree.path, file.path, file.new)
    for conflict in plan.conflicts:
        write_side(worktree.path, conflict.path, changed[conflict.path].new)
    for path in ignored:
        write_side(worktree.named_base, path, ignored[path].new)

    shutil.copy2(index, worktree.container / START_INDEX)
    worktree.tree = tree
    # Status 1 only means that some files differ from the index.
    worktree.git.run("update-index", "-q", "--refresh")


def _changed_files(worktree: Worktree, tree: str) -> dict[str, FileChange]:
    """Return what changed in the project since the worktree started, with the new versions."""
    options = ("-r", "-z", "--name-status", "--no-renames")
    parts = worktree.git("diff-tree", *options, worktree.tree, tree).split("\0")
    statuses = dict(zip(parts[1::2], parts[::2], strict=False))
    base = worktree.write_base([path for path, status in statuses.items() if status != "A"])
    changes = {}
    for path in statuses:
        # Files of specs are never merged: the run itself writes these.
        start = worktree.path if Path(path).name in SPEC_FILES else base
        changes[path] = FileChange(
            path, read_side(start / path), read_side(worktree.project / path)
        )
    return changes


def _changed_ignored_files(worktree: Worktree) -> dict[str, FileChange]:
    """Return the files that the task names, that git ignores and that changed in the project."""
    base = worktree.named_base
    changes = {}
    for path in {*worktree.named_files(base), *worktree.named_files(worktree.project)}:
        change = FileChange(path, read_side(base / path), read_side(worktree.project / path))
        if change.old != change.new:
            changes[path] = change
    return changes
