"""Commit exactly the given paths, whatever the user's index holds.

The commit is made with an index of its own that starts with the files of HEAD, so that a version
which the user staged neither gets into the commit nor is lost, and so that paths which an agent
removed or renamed with git are found.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from typing import TYPE_CHECKING

from pytest_ralph.files import fault_point
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.fixing.git.command import null_separated
from pytest_ralph.fixing.git.index import (
    flagged_paths,
    index_lines,
    read_index,
    read_tree,
    set_index,
    split_intended,
    stage_files,
    with_intended,
)
from pytest_ralph.fixing.git.scratch import scratch_directory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pytest_ralph.fixing.git.command import GitCommand
    from pytest_ralph.fixing.git.index import Index, IndexEntry
    from pytest_ralph.fixing.git.own_versions import ToCommit

UNKNOWN_COMMITTER = re.compile(
    r"tell me who you are|empty ident|unable to auto-detect email|no email was given",
    re.IGNORECASE,
)
# The last line of git if it was something above that kept it from committing.
UNWRITTEN_COMMIT = "fatal: failed to write commit object"


def commit_paths(
    git: GitCommand,
    git_dir: Path,
    message: str,
    paths: Sequence[str],
    parent: str | None,
    head: Index,
    versions: ToCommit,
) -> None:
    """Commit `paths`, relative to git's directory, as they are in the working tree. Hooks run.

    Those in `versions` are committed as given there. `parent` is the commit of HEAD, None on a
    branch without commits, and `head` are the versions that it has of the paths. In the user's
    index, paths that were not staged become those of the commit.
    """
    # Hooks may take long, and a run that is killed meanwhile leaves the directory to be swept.
    with scratch_directory(git_dir) as scratch:
        env = {"GIT_INDEX_FILE": str(scratch / "index")}
        if parent is not None:
            _read_files_of(parent, git, git_dir / "index", env)
        _stage(git, env, paths, versions)
        to_commit = read_index(git, *paths, env=env)
        index = read_index(git, *paths)
        new = {path: entry for path, entry in index.items() if path not in head}
        index.update(with_intended(git, new))
        not_staged = _not_staged(paths, index, head, to_commit)
        # Before the commit: a run killed in between leaves an index that agrees with the commit.
        set_index(git, not_staged, _with_flags(to_commit, index))
        fault_point("before git commit")
        try:
            if git.commit_id("HEAD") != parent:
                # The new commit would take back what that one has changed.
                raise GitError(
                    "somebody else made a commit or switched the branch at the same time"
                )
            result = git.run("commit", "-q", f"--message={message}", env=env)
        except BaseException as error:
            # Also if a hook hangs, or the run is interrupted.
            _unstage(git, not_staged, to_commit, index)
            if isinstance(error, GitError) and _is_made(git, parent, env):
                # A hook that runs after the commit hangs.
                return
            raise
        if result.status != 0:
            _unstage(git, not_staged, to_commit, index)
            raise GitError(_why_no_commit(result.stdout + result.stderr))
        committed = read_index(git, *paths, env=env)
    if committed != to_commit:
        # A hook changed files and added them. The commit is made, also while another process holds
        # the index.
        with contextlib.suppress(GitError):
            set_index(git, not_staged, _with_flags(committed, index))


def _read_files_of(commit: str, git: GitCommand, users_index: Path, env: Mapping[str, str]) -> None:
    """Make the index that `env` selects that of a commit, with the times of the user's index.

    Without them, `git commit` would read all files of the repository, through their filters.
    """
    with contextlib.suppress(FileNotFoundError):
        shutil.copy2(users_index, env["GIT_INDEX_FILE"])
    git("read-tree", "-i", "-m", commit, env=env)


def _stage(
    git: GitCommand, env: Mapping[str, str], paths: Sequence[str], versions: ToCommit
) -> None:
    """Add what is to be committed to the index that `env` selects."""
    as_they_are = [path for path in paths if path not in versions]
    # git takes files with a flag for unchanged, or for removed.
    for flag, flagged in flagged_paths(as_they_are, read_index(git, *paths, env=env)).items():
        option = flag.replace("--", "--no-")
        git("update-index", option, "-z", "--stdin", stdin=null_separated(flagged), env=env)
    stage_files(git, git.directory, as_they_are, env)
    if not versions:
        return
    kept = {path: version for path, version in versions.items() if version is not None}
    entries = null_separated(index_lines(git, versions, kept))
    git("update-index", "-z", "--replace", "--index-info", stdin=entries, env=env)


def _not_staged(paths: Sequence[str], index: Index, head: Index, to_commit: Index) -> list[str]:
    """Return those of `paths` that the user did not stage in a version of their own."""
    found = []
    for path in paths:
        entry = index.get(path)
        if entry is not None:
            entry = None if entry.is_intended else entry.with_flags_of(None)
        if entry in (head.get(path), to_commit.get(path)):
            found.append(path)
    return found


def _is_made(git: GitCommand, parent: str | None, env: Mapping[str, str]) -> bool:
    """Return whether HEAD is a commit on top of `parent` of the index that `env` selects."""
    head = git.commit_id("HEAD")
    if head in (None, parent) or git.commit_id("HEAD~1") != parent:
        return False
    return git("rev-parse", "HEAD^{tree}") == git("write-tree", env=env)


def _unstage(git: GitCommand, paths: Sequence[str], to_commit: Index, before: Index) -> None:
    """Make paths that were staged for a commit again what they were `before`.

    HEAD may have moved: the commit was made, or the user has made one. So a path becomes what HEAD
    has of it now, unless somebody else has staged it since.
    """
    now = read_index(git, *paths)
    own = [path for path in paths if _is_stored_alike(now.get(path), to_commit.get(path))]
    intended, _ = split_intended(before)
    head = read_tree(git, "HEAD", paths)
    set_index(git, own, {**intended, **_with_flags(head, before)})


def _is_stored_alike(one: IndexEntry | None, other: IndexEntry | None) -> bool:
    """Return whether two entries are of the same content and mode, or both missing."""
    if one is None or other is None:
        return one is other
    return str(one) == str(other)


def _with_flags(entries: Index, index: Index) -> Index:
    """Return `entries` with the flags of those in the user's index."""
    return {path: entry.with_flags_of(index.get(path)) for path, entry in entries.items()}


def _why_no_commit(output: str) -> str:
    if UNKNOWN_COMMITTER.search(output):
        return "git has no author identity: set user.name and user.email with git config"
    lines = output.strip().splitlines()
    if not lines:
        return "git refused the commit (a hook failed without output)"
    reason = lines[-1].strip()
    if reason == UNWRITTEN_COMMIT and len(lines) > 1:
        # Such as: error: gpg failed to sign the data
        reason = lines[-2].strip()
    return f"git refused the commit: {reason}"
