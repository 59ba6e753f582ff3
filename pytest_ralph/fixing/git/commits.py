"""Commit exactly the given paths, whatever the user's index holds.

The commit is made with an index of its own that starts as a copy of HEAD, so that a version which
the user staged neither gets into the commit nor is lost, and so that paths which an agent removed
or renamed with git are found.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import fault_point
from pytest_ralph.fixing.git.command import GitCommand, GitError, null_separated

if TYPE_CHECKING:
    from collections.abc import Sequence

UNKNOWN_COMMITTER = re.compile(
    r"tell me who you are|empty ident|unable to auto-detect email|no email was given",
    re.IGNORECASE,
)
LITERAL = {"GIT_LITERAL_PATHSPECS": "1"}


def commit_paths(git: GitCommand, message: str, paths: Sequence[str]) -> None:
    """Commit `paths`, relative to git's directory, as they are in the working tree. Hooks run.

    In the user's index, paths that were not staged become those of the commit.
    """
    not_staged = _not_staged(git, paths)
    with tempfile.TemporaryDirectory(prefix="ralph-index-") as directory:
        index = {"GIT_INDEX_FILE": str(Path(directory, "index"))}
        if git.succeeds("rev-parse", "--verify", "-q", "HEAD"):
            git("read-tree", "HEAD", env=index)
        options = ("--add", "--remove", "--replace", "-z", "--stdin")
        git("update-index", *options, stdin=null_separated(paths), env=index)
        fault_point("before git commit")
        result = git.run("commit", "-q", f"--message={message}", env=index)
    if result.status != 0:
        raise GitError(_why_no_commit(result.stdout + result.stderr))
    _update_index(git, not_staged)


def _not_staged(git: GitCommand, paths: Sequence[str]) -> list[str]:
    """Return those of `paths` whose entry in the user's index is that of HEAD."""
    in_head = _entries_of_head(git, paths)
    in_index: dict[str, str] = {}
    for line in git("ls-files", "--stage", "-z", "--", *paths, env=LITERAL).split("\0"):
        entry, _, path = line.partition("\t")
        mode, _, identity = entry.partition(" ")
        in_index[path] = f"{mode} {identity.partition(' ')[0]}"
    return [path for path in paths if in_index.get(path) == in_head.get(path)]


def _entries_of_head(git: GitCommand, paths: Sequence[str]) -> dict[str, str]:
    """Return path → `mode object` for those of `paths` that HEAD has."""
    listed = git.run("ls-tree", "-r", "-z", "HEAD", "--", *paths, env=LITERAL)
    if listed.status != 0:
        # A branch without commits.
        return {}
    entries = {}
    for line in listed.stdout.split("\0"):
        entry, _, path = line.partition("\t")
        if path:
            mode, _, identity = entry.split(" ")
            entries[path] = f"{mode} {identity}"
    return entries


def _update_index(git: GitCommand, paths: Sequence[str]) -> None:
    """Make the user's index equal to HEAD for `paths`."""
    if not paths:
        return
    in_head = _entries_of_head(git, paths)
    # Mode 0 removes an entry.
    nothing = "0 " + "0" * 40
    entries = [f"{in_head.get(path, nothing)}\t{path}" for path in paths]
    git("update-index", "-z", "--index-info", stdin=null_separated(entries))
    # Status 1 only means that some files differ from the index.
    git.run("update-index", "-q", "--refresh")


def _why_no_commit(output: str) -> str:
    if UNKNOWN_COMMITTER.search(output):
        return "git does not know who commits: set user.name and user.email with git config"
    lines = output.strip().splitlines()
    if not lines:
        return "git refused the commit (a hook that printed nothing)"
    return f"git refused the commit: {lines[-1].strip()}"
