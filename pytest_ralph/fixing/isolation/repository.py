"""The repository of a worktree, which borrows the objects of the project's repository.

It has the branches, settings and hooks that the project has at that moment. What an executor does
with git in its worktree, such as commits and stashes, never reaches the project.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from typing import TYPE_CHECKING

from pytest_ralph.files import read_or_empty
from pytest_ralph.fixing.isolation.registry import remove_directory

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.fixing.git.command import GitCommand, Repository

# The stash is the user's, and `refs/ralph` is ours.
SHARED_REFS = ("refs/heads", "refs/tags", "refs/remotes", "refs/notes", "refs/replace")
# Settings that tell where the files, settings and refs of the project's own repository are.
OWN_PLACES = re.compile(
    r"^\s*(?:bare|worktree|worktreeconfig|refstorage)\s*=.*\n", re.IGNORECASE | re.MULTILINE
)


def borrow_repository(git: GitCommand, location: Repository, worktree: Path) -> Path:
    """Give the directory `worktree` a repository, in place of any other, and return it.

    Its HEAD is detached at the project's HEAD, and it has no index yet.
    """
    own = worktree / ".git"
    _remove(own)
    (own / "objects" / "info").mkdir(parents=True)
    (own / "refs").mkdir()
    refs = git("for-each-ref", "--format=%(objectname) %(refname)", *SHARED_REFS)
    _write(own / "objects" / "info" / "alternates", f"{location.common_dir}/objects\n")
    _write(own / "packed-refs", refs)
    _write(own / "HEAD", _head(git))
    _write(own / "config", _settings(location))
    # A project that is a linked worktree has its own patterns of a sparse checkout.
    for directory in dict.fromkeys((location.common_dir, location.git_dir)):
        for name in ("info", "hooks"):
            _copy_directory(directory / name, own / name)
    # Which commits of a shallow clone have no parents.
    with contextlib.suppress(FileNotFoundError):
        shutil.copy2(location.common_dir / "shallow", own)
    return own


def _head(git: GitCommand) -> str:
    """Return the content of HEAD: a commit, or the name of a branch without commits."""
    commit = git.commit_id("HEAD")
    if commit is not None:
        return f"{commit}\n"
    return f"ref: {git('symbolic-ref', 'HEAD')}"


def _settings(location: Repository) -> str:
    """Return the settings of the project; what is set for one linked worktree counts last."""
    shared = read_or_empty(location.common_dir / "config")
    own = read_or_empty(location.git_dir / "config.worktree")
    return OWN_PLACES.sub("", f"{shared}\n{own}")


def _copy_directory(source: Path, target: Path) -> None:
    if source.is_dir():
        no_samples = shutil.ignore_patterns("*.sample")
        shutil.copytree(source, target, symlinks=True, ignore=no_samples, dirs_exist_ok=True)


def _remove(own: Path) -> None:
    """Remove what an executor left in the place of a repository, if there is something."""
    if own.is_dir() and not own.is_symlink():
        remove_directory(own)
    else:
        own.unlink(missing_ok=True)


def _write(file: Path, text: str) -> None:
    file.write_text(text, "utf-8", "surrogateescape")
