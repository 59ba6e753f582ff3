"""What must be true before a rollback or a commit. Each function raises GitError if it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.fixing.errors import GitError

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
SUBMODULE_MODE = "160000"


def require_no_operation(top: Path, git_dir: Path) -> None:
    """Refuse while a merge, rebase or the like is in progress."""
    for name, operation in OPERATIONS.items():
        if (git_dir / name).exists():
            raise GitError(f"{operation} is in progress in {top.name}: finish or abort it first")


def require_usable_index(git: GitCommand, git_dir: Path) -> None:
    """Refuse while another process writes the index, or if it holds conflicts."""
    if (git_dir / "index.lock").exists():
        raise GitError("another git process holds the index (index.lock)")
    if git("ls-files", "--unmerged", "-z"):
        raise GitError("the index has unresolved conflicts")


def require_rollback_target(git: GitCommand, to: str, head: str | None) -> str:
    """Return the id of the commit `to`. Refuse if the current branch cannot go back to it."""
    if head is None:
        raise GitError("nothing to go back to: the branch has no commit yet")
    if not git.succeeds("symbolic-ref", "-q", "HEAD"):
        raise GitError("HEAD is detached: there is no branch to roll back")

    found = git.run("rev-parse", "--verify", "-q", "--end-of-options", f"{to}^{{commit}}")
    if not to or found.status != 0:
        raise GitError("nothing to go back to: no task has passed at a commit yet")
    commit = found.stdout.strip()
    if not git.succeeds("merge-base", "--is-ancestor", commit, head):
        raise GitError(f"the last good commit {commit[:12]} is not part of the current branch")
    return commit


def require_no_nested_repository(git: GitCommand, commit: str) -> None:
    """Refuse if there are submodules or other repositories: no snapshot holds their content."""
    staged = git("ls-files", "--stage", "-z", "--", ".").split("\0")
    stored = git("ls-tree", "-r", "-z", commit, "--", ".").split("\0")
    for line in (*staged, *stored):
        if line.startswith(SUBMODULE_MODE):
            path = line.partition("\t")[2]
            raise GitError(f"submodules cannot be rolled back: {path}")

    untracked = git("ls-files", "-o", "-z", "--exclude-standard", "--", ".").split("\0")
    for path in untracked:
        # git lists a repository inside the repository as a directory.
        if path.endswith("/"):
            raise GitError(f"a nested repository cannot be rolled back: {path}")
