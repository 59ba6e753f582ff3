"""Make files and index entries equal to a tree, without touching ignored or protected files."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import GITIGNORE_NAME, RALPH_DIRECTORY, SPEC_FILES, TASKS_NAME
from pytest_ralph.fixing.git.command import GitCommand, null_separated

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator


# Documents that people write beside a tasks.md. A rollback leaves them alone.
SPEC_DOCUMENTS = (
    "requirements.md",
    "design.md",
    "research.md",
    "spec.md",
    "plan.md",
    "proposal.md",
)

# The mode that git's raw diff shows for a file that does not exist.
ABSENT = "000000"


@dataclass(frozen=True)
class TreeChange:
    """One path that differs between an old and a new tree, with the mode and object id of both."""

    path: str
    old_mode: str
    old_object: str
    new_mode: str

    @property
    def added(self) -> bool:
        """Whether only the new tree has the path."""
        return self.old_mode == ABSENT

    @property
    def removed(self) -> bool:
        """Whether only the old tree has the path."""
        return self.new_mode == ABSENT


def parse_raw_diff(raw: str) -> list[TreeChange]:
    """Return the changes in the output of a git diff with the options `--raw -z`."""
    parts = raw.split("\0")
    changes = []
    for header, path in zip(parts[::2], parts[1::2], strict=False):
        old_mode, new_mode, old_object, _, _ = header.lstrip(":").split(" ")
        changes.append(TreeChange(path, old_mode, old_object, new_mode))
    return changes


@dataclass(frozen=True)
class PathSet:
    """A set of paths, given relative to the root: files of some names anywhere, and whole paths.

    A directory in `paths` stands for everything below it.
    """

    paths: tuple[str, ...]
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, root: Path, paths: Iterable[Path]) -> PathSet:
        """Return the set of `paths`. Those outside `root` are left out."""
        return cls(_relative_paths(root, paths))

    @classmethod
    def protected(cls, root: Path, keep: Collection[Path]) -> PathSet:
        """Return what a rollback must not touch: `keep`, and the files of specs and of ralph."""
        documents = [
            path.parent / name
            for path in keep
            if path.name == TASKS_NAME
            for name in SPEC_DOCUMENTS
        ]
        return cls((RALPH_DIRECTORY, *_relative_paths(root, [*keep, *documents])), SPEC_FILES)

    def __contains__(self, path: str) -> bool:
        if path.rpartition("/")[2] in self.names:
            return True
        return any(member in (".", path) or path.startswith(f"{member}/") for member in self.paths)


def _relative_paths(root: Path, paths: Iterable[Path]) -> tuple[str, ...]:
    relative = set()
    for path in paths:
        # Resolve the directory only: the path itself may be a link that is to be kept.
        directory = os.path.realpath((root / path).parent)
        name = os.path.relpath(Path(directory, path.name), root)
        if not name.startswith(".."):
            relative.add(name)
    return tuple(sorted(relative))


@dataclass
class CheckoutResult:
    """The paths that `check_out` wrote and removed, and those it had to leave alone."""

    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def check_out(git: GitCommand, tree: str, changes: list[TreeChange]) -> CheckoutResult:
    """Make git's directory equal to `tree` for the paths in `changes`.

    The caller has kept the old side of the changes.
    """
    result = CheckoutResult()
    removed = [change.path for change in changes if change.removed]
    written = [change for change in changes if not change.removed]
    ignore_files = [change for change in written if Path(change.path).name == GITIGNORE_NAME]
    others = [change for change in written if change not in ignore_files]

    with _index_of(git, tree) as write_paths:
        # Restore .gitignore files first: they may protect files that would be removed otherwise.
        _write(git.directory, ignore_files, write_paths, result)
        ignored = _ignored(git, removed)
        for path in removed:
            if path not in ignored and _remove(git.directory, path):
                result.removed.append(path)
            else:
                result.left.append(path)
        _write(git.directory, others, write_paths, result)
    return result


def reset_index(git: GitCommand, changes: list[TreeChange]) -> None:
    """Make the user's index equal to the old side of `changes`."""
    entries = []
    for change in changes:
        # Mode 0 removes an entry.
        mode = "0" if change.added else change.old_mode
        entries.append(f"{mode} {change.old_object}\t{change.path}")
    git("update-index", "-z", "--index-info", stdin=null_separated(entries))
    # Status 1 only means that some files differ from the index.
    git.run("update-index", "-q", "--refresh")


@contextmanager
def _index_of(git: GitCommand, tree: str) -> Iterator[Callable[[list[str]], None]]:
    """Yield a function that writes paths of `tree` to disk without using the user's index."""
    with tempfile.TemporaryDirectory(prefix="ralph-index-") as directory:
        env = {"GIT_INDEX_FILE": str(Path(directory, "index"))}
        git("read-tree", tree, env=env)

        def write_paths(paths: list[str]) -> None:
            git("checkout-index", "--force", "-z", "--stdin", stdin=null_separated(paths), env=env)

        yield write_paths


def _write(
    top: Path,
    changes: list[TreeChange],
    write_paths: Callable[[list[str]], None],
    result: CheckoutResult,
) -> None:
    blocked = sorted(change.path for change in changes if _is_blocked(top, change))
    written = [change.path for change in changes if change.path not in blocked]
    write_paths(written)
    result.written += written
    result.left += blocked


def _is_blocked(top: Path, change: TreeChange) -> bool:
    """Return whether writing the path would destroy an ignored file or follow a link."""
    if _is_below_link(top, change.path) or _is_directory(top / change.path):
        return True
    return change.added and os.path.lexists(top / change.path)


def _ignored(git: GitCommand, paths: list[str]) -> set[str]:
    result = git.run("check-ignore", "-z", "--stdin", stdin=null_separated(paths))
    return set(result.stdout.split("\0"))


def _remove(top: Path, path: str) -> bool:
    """Remove a file and the directories that become empty. Return False if it must stay."""
    if _is_below_link(top, path) or _is_directory(top / path):
        return False
    with contextlib.suppress(FileNotFoundError):
        (top / path).unlink()
    # Stops at the first directory that is not empty, at the latest at the one with `.git`.
    with contextlib.suppress(OSError):
        os.removedirs((top / path).parent)
    return True


def _is_below_link(top: Path, path: str) -> bool:
    """Return whether a parent of `path` exists and is not a real directory."""
    for parent in Path(path).parents:
        if not parent.parts:
            continue
        if os.path.lexists(top / parent) and not _is_directory(top / parent):
            return True
    return False


def _is_directory(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False
