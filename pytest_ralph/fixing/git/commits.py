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
from pytest_ralph.fixing.git.command import GitError, null_separated
from pytest_ralph.fixing.git.kept_state import LITERAL, NO_ENTRY
from pytest_ralph.fixing.git.own_versions import Version

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ralph.fixing.git.command import GitCommand
    from pytest_ralph.fixing.git.own_versions import Versions

UNKNOWN_COMMITTER = re.compile(
    r"tell me who you are|empty ident|unable to auto-detect email|no email was given",
    re.IGNORECASE,
)


def commit_paths(
    git: GitCommand,
    message: str,
    paths: Sequence[str],
    in_head: Mapping[str, Version],
    versions: Versions,
) -> None:
    """Commit `paths`, relative to git's directory, as they are in the working tree. Hooks run.

    Those in `versions` are committed as given there; `in_head` are the versions that HEAD has of
    them. In the user's index, paths that were not
    staged become those of the commit.
    """
    with tempfile.TemporaryDirectory(prefix="ralph-index-") as directory:
        index = {"GIT_INDEX_FILE": str(Path(directory, "index"))}
        if git.succeeds("rev-parse", "--verify", "-q", "HEAD"):
            git("read-tree", "HEAD", env=index)
        as_they_are = [path for path in paths if path not in versions]
        options = ("--add", "--remove", "--replace", "-z", "--stdin")
        git("update-index", *options, stdin=null_separated(as_they_are), env=index)
        _set_entries(git, list(versions), versions, index)

        to_commit = _entries_of_index(git, paths, index)
        not_staged = _not_staged(git, paths, in_head, to_commit)
        # Before the commit: a run killed in between leaves an index that agrees with the commit.
        _set_entries(git, not_staged, to_commit)
        fault_point("before git commit")
        result = git.run("commit", "-q", f"--message={message}", env=index)
    if result.status != 0:
        _set_entries(git, not_staged, in_head)
        raise GitError(_why_no_commit(result.stdout + result.stderr))
    # Status 1 only means that some files differ from the index.
    git.run("update-index", "-q", "--refresh")


def _not_staged(
    git: GitCommand,
    paths: Sequence[str],
    in_head: Mapping[str, Version],
    to_commit: Mapping[str, Version],
) -> list[str]:
    """Return those of `paths` that the user did not stage in a version of their own."""
    in_index = _entries_of_index(git, paths, {})
    found = []
    for path in paths:
        entry = in_index.get(path)
        if entry == in_head.get(path) or entry == to_commit.get(path):
            found.append(path)
    return found


def _entries_of_index(
    git: GitCommand, paths: Sequence[str], env: Mapping[str, str]
) -> dict[str, Version]:
    """Return the versions that an index has of `paths`."""
    entries = {}
    listed = git("ls-files", "--stage", "-z", "--", *paths, env={**LITERAL, **env})
    for line in listed.split("\0"):
        entry, _, path = line.partition("\t")
        if path:
            mode, identity, _ = entry.split(" ")
            entries[path] = Version(mode, identity)
    return entries


def _set_entries(
    git: GitCommand,
    paths: Sequence[str],
    entries: Mapping[str, Version | None],
    env: Mapping[str, str] | None = None,
) -> None:
    """Make the entries of `paths` in an index those given; remove the others."""
    if not paths:
        return
    lines = [f"{entries.get(path) or NO_ENTRY}\t{path}" for path in paths]
    options = ("-z", "--replace", "--index-info")
    git("update-index", *options, stdin=null_separated(lines), env=env)


def _why_no_commit(output: str) -> str:
    if UNKNOWN_COMMITTER.search(output):
        return "git does not know who commits: set user.name and user.email with git config"
    lines = output.strip().splitlines()
    if not lines:
        return "git refused the commit (a hook that printed nothing)"
    return f"git refused the commit: {lines[-1].strip()}"
