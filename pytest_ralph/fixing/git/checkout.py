"""Room fixing: files and index entries made what a tree says, ignored files and kept ones untouched."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.fixing.git.command import GitCommand, null_separated

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

SPEC_FILES = frozenset({"tasks.md", ".progress.md", ".ralph-state.json"})
# What people write beside a tasks.md; a broken build is never a reason to take it away.
_SPEC_DOCUMENTS = (
    "requirements.md",
    "design.md",
    "research.md",
    "spec.md",
    "plan.md",
    "proposal.md",
)
_ABSENT = "000000"


@dataclass(frozen=True)
class Entry:
    """One path that differs between an old and a new side. `old` and `new` are (mode, object)."""

    path: str
    old: tuple[str, str]
    new: tuple[str, str]

    @property
    def added(self) -> bool:
        return self.old[0] == _ABSENT

    @property
    def removed(self) -> bool:
        return self.new[0] == _ABSENT


def entries(raw: str) -> list[Entry]:
    """The entries of git's `--raw -z` output."""
    parts = raw.split("\0")
    found = []
    for header, path in zip(parts[::2], parts[1::2], strict=False):
        old_mode, new_mode, old, new, _ = header.lstrip(":").split(" ")
        found.append(Entry(path, (old_mode, old), (new_mode, new)))
    return found


@dataclass(frozen=True)
class Kept:
    """Which paths (named from the root) stay as they are: spec files wherever they are, and some more."""

    names: frozenset[str]
    directories: tuple[str, ...]

    @classmethod
    def of(cls, root: Path, keep: Collection[Path]) -> Kept:
        beside = [
            path.parent / name
            for path in keep
            if path.name == "tasks.md"
            for name in _SPEC_DOCUMENTS
        ]
        return cls(SPEC_FILES, (".ralph", *_below(root, [*keep, *beside])))

    @staticmethod
    def paths(root: Path, chosen: Iterable[Path]) -> Callable[[str], bool]:
        return Kept(frozenset(), _below(root, chosen))

    def __call__(self, path: str) -> bool:
        if path.rpartition("/")[2] in self.names:
            return True
        return any(
            path == kept or path.startswith(f"{kept}/") or kept == "." for kept in self.directories
        )


def _below(root: Path, paths: Iterable[Path]) -> tuple[str, ...]:
    relative = (
        os.path.relpath(Path(os.path.realpath((root / path).parent)) / path.name, root)
        for path in paths
    )
    return tuple(sorted({name for name in relative if not name.startswith("..")}))


@dataclass
class Moved:
    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def move_files(git: GitCommand, tree: str, changes: list[Entry]) -> Moved:
    """Make the working tree (git's directory) what `tree` says for these changes. Old sides are known to be kept."""
    moved = Moved()
    leaving = [entry.path for entry in changes if entry.removed]
    coming = [entry for entry in changes if not entry.removed]
    with _index_of(git, tree) as check_out:
        # First what is ignored, then the rest: a lost .gitignore must not cost the files it protected.
        rules = [entry for entry in coming if Path(entry.path).name == ".gitignore"]
        _write(git.directory, rules, check_out, moved)
        ignored = _ignored(git, leaving)
        for path in leaving:
            (
                moved.left if path in ignored or not _remove(git.directory, path) else moved.removed
            ).append(path)
        _write(git.directory, [entry for entry in coming if entry not in rules], check_out, moved)
    return moved


def _write(
    top: Path, coming: list[Entry], check_out: Callable[[list[str]], None], moved: Moved
) -> None:
    blocked = {entry.path for entry in coming if _in_the_way(top, entry)}
    written = [entry.path for entry in coming if entry.path not in blocked]
    check_out(written)
    moved.written += written
    moved.left += sorted(blocked)


def _ignored(git: GitCommand, paths: list[str]) -> set[str]:
    _, output, _ = git.status("check-ignore", "-z", "--stdin", stdin=null_separated(paths))
    return set(output.split("\0"))


def _remove(top: Path, path: str) -> bool:
    if _linked(top, path) or _is_directory(top / path):
        return False
    with contextlib.suppress(FileNotFoundError):
        (top / path).unlink()
    # Stops, as it should, at the first directory in which something is left; `.git` ends it at the top.
    with contextlib.suppress(OSError):
        os.removedirs((top / path).parent)
    return True


def _in_the_way(top: Path, entry: Entry) -> bool:
    """Would writing it destroy what no snapshot holds: an ignored file, a directory of them, what a link leads to?"""
    if _linked(top, entry.path) or _is_directory(top / entry.path):
        return True
    return entry.added and os.path.lexists(top / entry.path)


def _linked(top: Path, path: str) -> bool:
    """Is a parent of `path` something else than a directory?"""
    parents = [top / parent for parent in Path(path).parents if parent.parts]
    return any(os.path.lexists(parent) and not _is_directory(parent) for parent in parents)


def _is_directory(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return stat.S_ISDIR(path.lstat().st_mode)
    return False


@contextmanager
def _index_of(git: GitCommand, tree: str) -> Iterator[Callable[[list[str]], None]]:
    """A function that writes paths of `tree` to disk, with an index of its own."""
    with tempfile.TemporaryDirectory(prefix="ralph-index-") as directory:
        env = {"GIT_INDEX_FILE": str(Path(directory, "index"))}
        git("read-tree", tree, env=env)

        def check_out(paths: list[str]) -> None:
            git("checkout-index", "--force", "-z", "--stdin", stdin=null_separated(paths), env=env)

        yield check_out


def move_index(git: GitCommand, changes: list[Entry]) -> None:
    """Make the user's index what the old side of `changes` (a tree against the index) says."""
    lines = b"".join(
        (f"0 {entry.old[1]}\t" if entry.added else f"{entry.old[0]} {entry.old[1]}\t").encode()
        + os.fsencode(entry.path)
        + b"\0"
        for entry in changes
    )
    git("update-index", "-z", "--index-info", stdin=lines)
    # Exit status 1 only says that some files differ from the index.
    git.status("update-index", "-q", "--refresh")
