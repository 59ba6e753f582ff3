"""What must be true before a rollback or a commit. Each function raises GitError if it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.fixing.errors import GitError
from pytest_ralph.fixing.git.index import SUBMODULE_MODE, read_index, read_tree

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.fixing.git.command import GitCommand

# Files in the git directory that exist while an operation waits for the user.
OPERATIONS = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "sequencer": "a cherry-pick or revert",
    "BISECT_LOG": "a bisect",
}


def require_no_operation(top: Path, git_dir: Path) -> None:
    """Refuse while a merge, rebase or the like is in progress."""
    for name, operation in OPERATIONS.items():
        if (git_dir / name).exists():
            raise GitError(f"{operation} is in progress in {top.name}: finish or abort it first")


def require_unlocked_index(git_dir: Path) -> None:
    """Refuse while another process writes the index."""
    if (git_dir / "index.lock").exists():
        raise GitError("another git process holds the index (index.lock)")


def require_usable_index(git: GitCommand, git_dir: Path) -> None:
    """Refuse while another process writes the index, or if it holds conflicts."""
    require_unlocked_index(git_dir)
    if git("ls-files", "--unmerged", "-z"):
        raise GitError("the index has unresolved conflicts")


def require_rollback_target(git: GitCommand, to: str, head: str | None) -> str:
    """Return the id of the commit `to`. Refuse if the current branch cannot go back to it."""
    if head is None:
        raise GitError("nothing to go back to: the branch has no commit yet")
    if not git.succeeds("symbolic-ref", "-q", "HEAD"):
        raise GitError("HEAD is detached: there is no branch to roll back")

    commit = git.commit_id(to) if to else None
    if commit is None:
        raise GitError("nothing to go back to: no task has passed at a commit yet")
    if not git.succeeds("merge-base", "--is-ancestor", commit, head):
        raise GitError(f"the last good commit {commit[:12]} is not part of the current branch")
    return commit


def require_no_nested_repository(git: GitCommand, commit: str) -> None:
    """Refuse if there are submodules or other repositories: no snapshot holds their content."""
    for entries in (read_index(git), read_tree(git, commit, ["."])):
        for path, entry in entries.items():
            if entry.mode == SUBMODULE_MODE:
                raise GitError(f"submodules cannot be rolled back: {path}")

    for path in git.listed("ls-files", "-o", "-z", "--exclude-standard", "--", "."):
        # git lists a repository inside the repository as a directory.
        if path.endswith("/"):
            raise GitError(f"a nested repository cannot be rolled back: {path}")
