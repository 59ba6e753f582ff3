"""Worktree: a copy of the project in which an executor works, and what differs in it."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import RALPH_DIRECTORY, SPEC_FILES
from pytest_ralph.fixing.git.command import GitCommand, null_separated
from pytest_ralph.fixing.git.index import LITERAL
from pytest_ralph.fixing.isolation.links import ignored_paths
from pytest_ralph.fixing.isolation.merge import (
    FileChange,
    kept_side,
    plan_merge,
    read_side,
    write_side,
)
from pytest_ralph.fixing.snapshot import Change, is_too_large, stored_state

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

# In the container: the index with the files as they were at the start.
START_INDEX = "start.index"
# In the container: files as they were at the start, tracked ones and those of `Worktree.named`. The
# worktree is there, too, with the name of the project.
BASE = ".ralph-base"
NAMED_BASE = ".ralph-named"


@dataclass
class Worktree:
    """One worktree.

    container: The directory that holds the worktree and what is kept about it.
    path: The worktree, which is a copy of the whole repository `project`.
    root: The root of the project in it.
    git: Calls git for the files of the worktree, with the index of their start. It works with the
        project's own git directory, whatever an executor does to that of the worktree.
    linked: Paths that lead to ignored files of the project, or are copies of them.
    named: Files, directories and patterns that the task names, and that are missing here at the
        start: git ignores them, or they do not exist yet.
    outside: Changed paths of the repository that are not below the root of the project.
    too_large: Changed paths of files that are too large to be merged.
    nested: Directories that are repositories of their own, which cannot be merged.
    """

    container: Path
    project: Path
    path: Path
    root: Path
    git: GitCommand
    prefix: str
    tree: str = ""
    linked: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    too_large: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()

    def changes(self) -> tuple[Change, ...]:
        """Return what differs from the start, without ignored files that the task does not name."""
        changed = self._changed_paths()
        inside = [path for path in changed if path.startswith(self.prefix)]
        self.too_large = tuple(path for path in inside if is_too_large(self.path / path))
        self.outside = tuple(path for path in changed if not path.startswith(self.prefix))
        base = self._write_base([path for path in inside if changed[path] != "?"])
        changes = []
        for path in inside:
            if path in self.too_large:
                continue
            before = stored_state(base, path)
            after = stored_state(self.path, path)
            changes.append(Change(path.removeprefix(self.prefix), before, after))
        return (*changes, *self._ignored_changes(changed))

    def _ignored_changes(self, changed: Container[str]) -> Iterator[Change]:
        """Yield how ignored files that the task names differ from the start."""
        named = {*self._named_files(self.path), *self._named_files(self.named_base)}
        paths = sorted(path for path in named if path not in changed and self._is_own(path))
        if not paths:
            return
        tracked = self.git("ls-files", "-z", "--", *paths, env=LITERAL).split("\0")
        for path in paths:
            before = stored_state(self.named_base, path)
            after = stored_state(self.path, path)
            if path not in tracked and kept_side(before) != kept_side(after):
                yield Change(path.removeprefix(self.prefix), before, after)

    def _is_own(self, path: str) -> bool:
        """Whether no directory above a path is a link, which would lead out of the worktree."""
        directory = (self.path / path).parent
        return directory.resolve() == directory

    @property
    def named_base(self) -> Path:
        """The directory with the ignored files that the task names as they were at the start."""
        return self.container / NAMED_BASE

    def add_named(self, files: Iterable[str]) -> None:
        """Copy the ignored files that a task names, and make them part of the changes.

        Every file of the project that is missing here is ignored.
        """
        shutil.rmtree(self.named_base, ignore_errors=True)
        names = [os.path.normpath(self.prefix + file) for file in files if _is_in_project(file)]
        self.named = tuple(name for name in names if self._is_missing(name))
        for path in self._named_files(self.project):
            target = self.path / path
            is_missing = self._is_linked(path) or not os.path.lexists(target)
            if is_missing and self._is_own(path):
                _copy_file(self.project / path, target)
                _copy_file(target, self.named_base / path)

    def _is_missing(self, name: str) -> bool:
        """Whether a file or directory is not here, or files of a pattern may not be."""
        place = self.path / name
        if place.is_symlink():
            return False
        if place.exists():
            return self._is_linked(name)
        # To search whole trees for files that git ignores would take too long.
        return "**" not in name

    def _named_files(self, top: Path) -> list[str]:
        """Return the files below the directory `top` that the task names."""
        found = []
        for name in self.named:
            for place in (top / name, *top.glob(name)):
                files = place.rglob("*") if place.is_dir() else [place]
                usable = [file for file in files if file.is_file() and not is_too_large(file)]
                found += [str(file.relative_to(top)) for file in usable]
        return found

    def lost_files(self) -> list[str]:
        """Return the ignored files and directories that the project does not have."""
        paths = ignored_paths(self.git)
        return [path for path in paths if not os.path.lexists(self.project / path)]

    def _changed_paths(self) -> dict[str, str]:
        """Return the paths that differ from the start, sorted; untracked ones have the tag `?`."""
        options = ("-z", "-t", "-m", "-d", "-o", "--exclude-standard")
        tags: dict[str, str] = {}
        for entry in self.git("ls-files", *options).split("\0"):
            tag, _, path = entry.partition(" ")
            if path and not self._is_linked(path):
                tags[path] = tag
        # git lists a repository in the worktree as a directory.
        self.nested = tuple(path for path in tags if path.endswith("/"))
        for path in self.nested:
            del tags[path]
        links = [path for path in tags if tags[path] == "?" and (self.path / path).is_symlink()]
        if links:
            # git compares what a new link leads to with the files of the directory that was there.
            behind = self.git("ls-files", "-z", "--", *links, env=LITERAL).split("\0")
            tags.update((path, "R") for path in behind if path)
        return dict(sorted(tags.items()))

    def _is_linked(self, path: str) -> bool:
        return any(path == linked or path.startswith(f"{linked}/") for linked in self.linked)

    def _write_base(self, paths: Iterable[str]) -> Path:
        """Write files as they were at the start into a directory, and return it."""
        directory = self.container / BASE
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        options = ("-q", "-f", "-z", "--stdin", f"--prefix={directory}/")
        self.git("checkout-index", *options, stdin=null_separated(paths))
        return directory

    # Bringing it up to date

    def update(self, tree: str, index: Path) -> None:
        """Merge the state of the project that is in `tree` and `index`; start from it.

        A file that both sides changed in the same place becomes that of the project.
        """
        ignored = self._changed_ignored_files()
        changed = {**ignored, **self._changed_files(tree)}
        plan = plan_merge(self.git, self.path, changed.values())
        sides = {conflict.path: changed[conflict.path].new for conflict in plan.conflicts}
        sides.update((file.path, file.new) for file in plan.files)
        # First remove files: a directory of the same name may be needed.
        for path in sorted(sides, key=lambda path: sides[path] is not None):
            write_side(self.path, path, sides[path])
        for path, change in ignored.items():
            write_side(self.named_base, path, change.new)

        shutil.copy2(index, self.container / START_INDEX)
        self.tree = tree
        # Status 1 only means that some files differ from the index.
        self.git.run("update-index", "-q", "--refresh")

    def _changed_files(self, tree: str) -> dict[str, FileChange]:
        """Return what differs in the project from the start, with the new versions."""
        options = ("-r", "-z", "--name-status", "--no-renames")
        parts = self.git("diff-tree", *options, self.tree, tree).split("\0")
        statuses = dict(zip(parts[1::2], parts[::2], strict=False))
        base = self._write_base([path for path, status in statuses.items() if status != "A"])
        changes = {}
        for path in statuses:
            # Files of specs are never merged: the run itself writes these.
            start = self.path if Path(path).name in SPEC_FILES else base
            new = read_side(self.project, path)
            changes[path] = FileChange(path, read_side(start, path), new)
        return changes

    def _changed_ignored_files(self) -> dict[str, FileChange]:
        """Return the ignored files that the task names and that differ in the project."""
        changes = {}
        for path in {*self._named_files(self.named_base), *self._named_files(self.project)}:
            old = read_side(self.named_base, path)
            new = read_side(self.project, path)
            if old != new:
                changes[path] = FileChange(path, old, new)
        return changes


def _is_in_project(file: str) -> bool:
    """Whether a path that a task names is that of a file which an executor may write."""
    parts = Path(os.path.normpath(file)).parts
    return not Path(file).is_absolute() and not {"..", ".git", RALPH_DIRECTORY}.intersection(parts)


def _copy_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)
