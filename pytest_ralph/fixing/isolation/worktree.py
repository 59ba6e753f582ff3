"""Worktree: a copy of the project in which an executor works, and what differs in it."""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import RALPH_DIRECTORY, SPEC_FILES
from pytest_ralph.fixing.file_state import Change, is_too_large, stored_state, write_state
from pytest_ralph.fixing.git.command import GitCommand, null_separated
from pytest_ralph.fixing.git.index import LITERAL, git_mode, read_diff, refresh_index
from pytest_ralph.fixing.git.path_set import is_within
from pytest_ralph.fixing.isolation.links import ignored_paths, named_ignored_files
from pytest_ralph.fixing.isolation.merge import plan_merge

if TYPE_CHECKING:
    from collections.abc import Iterable

# In the container: the index with the files as they were at the start.
START_INDEX = "start.index"
# In the container: files as they were at the start. The worktree is there, too, named like the
# project.
BASE = ".ralph-base"
# In the container: texts that are merged when the worktree is brought up to date.
MERGED = ".ralph-merged"
# In the container: what git writes for the worktree.
OBJECTS = ".ralph-objects"

# What an executor did to changed paths that cannot be merged.
OUTSIDE = "changed files outside the project: not merged"
TOO_LARGE = "left files that are too large to be merged"
NESTED = "created repositories that cannot be merged"


@dataclass
class Worktree:
    """One worktree.

    container: The directory that holds the worktree and what is kept about it.
    path: The worktree, which is a copy of the whole repository `project`.
    root: The root of the project in it.
    git: Calls git for the files of the worktree, with the index of their start. It works with the
        project's own git directory, whatever an executor does to that of the worktree.
    linked: Paths that lead to ignored files of the project, or are copies of them.
    named: Files, directories and patterns that the task names and that are missing here without
        it: git ignores them, or they do not exist yet.
    left_out: Changed paths that cannot be merged, by what the executor did.
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
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def changes(self) -> tuple[Change, ...]:
        """Return what differs from the start, without ignored files that the task does not name."""
        tracked, untracked = self._changed_paths()
        mergeable = []
        self.left_out = {OUTSIDE: [], TOO_LARGE: [], NESTED: []}
        for path in sorted(tracked | untracked):
            # git lists a repository in the worktree as a directory.
            if path.endswith("/"):
                self.left_out[NESTED].append(path)
            elif not path.startswith(self.prefix):
                self.left_out[OUTSIDE].append(path)
            elif is_too_large(self.path / path):
                self.left_out[TOO_LARGE].append(path)
            else:
                mergeable.append(path)

        base = self._write_base([path for path in mergeable if path in tracked])
        changes = []
        for path in mergeable:
            before = stored_state(base, path)
            after = stored_state(self.path, path)
            if before is not None and after is not None and git_mode(before) == git_mode(after):
                # That of the copy is git's.
                before = before._replace(mode=after.mode)
            changes.append(Change(path.removeprefix(self.prefix), before, after))
        return tuple(changes)

    @property
    def objects(self) -> Path:
        """The directory for what git writes for the worktree."""
        return self.container / OBJECTS

    def name(self, files: Iterable[str]) -> None:
        """Make ignored files that a task names part of the changes."""
        named = []
        for file in files:
            name = os.path.normpath(self.prefix + file)
            if _is_in_project(file) and self._is_missing(name):
                named.append(name)
        self.named = tuple(named)

    def _is_missing(self, name: str) -> bool:
        """Whether a file or directory is not here, or files of a pattern may not be."""
        # Unlike a Path, these take a name that is too long for one that does not exist.
        place = os.path.join(self.path, name)  # noqa: PTH118
        if os.path.islink(place):  # noqa: PTH114
            return False
        if os.path.exists(place):  # noqa: PTH110
            return self._is_linked(name)
        # To search whole trees for files that git ignores would take too long.
        return "**" not in name

    def lost_files(self) -> list[str]:
        """Return the ignored files and directories that the project does not have."""
        paths = ignored_paths(self.git)
        return [path for path in paths if not os.path.lexists(self.project / path)]

    def _changed_paths(self) -> tuple[set[str], set[str]]:
        """Return the tracked paths that differ from the start, and the untracked ones."""
        options = ("-z", "-t", "-m", "-d", "-o", "--exclude-standard")
        tracked: set[str] = set()
        untracked: set[str] = set()
        for entry in self.git.listed("ls-files", *options):
            tag, _, path = entry.partition(" ")
            if tag != "?":
                tracked.add(path)
            elif not self._is_linked(path):
                untracked.add(path)

        listed = tracked | untracked
        named = [name for name in self.named if name not in listed]
        untracked.update(named_ignored_files(self.git, named))
        links = [path for path in untracked if (self.path / path).is_symlink()]
        if links:
            # git compares what a new link leads to with the files of the directory that was there.
            tracked.update(self.git.listed("ls-files", "-z", "--", *links, env=LITERAL))
        return tracked, untracked

    def _is_linked(self, path: str) -> bool:
        return any(is_within(path, linked) for linked in self.linked)

    def _write_base(self, paths: Iterable[str]) -> Path:
        """Write files as they were at the start into a directory, and return it."""
        directory = self.container / BASE
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        options = ("-q", "-f", "-z", "--stdin", f"--prefix={directory}/")
        self.git("checkout-index", *options, stdin=null_separated(paths))
        return directory

    # Permissions

    def take_permissions(self) -> None:
        """Give the files the permissions that they have in the project.

        git only knows whether a file is executable. An executor may move a private file, and the
        new one would be readable by all.
        """
        is_changed = False
        for path in self.git.listed("ls-files", "-z"):
            # A Path for each file would be most of the cost.
            here = f"{self.path}/{path}"
            mode = _permissions(f"{self.project}/{path}")
            current = _permissions(here)
            if mode is None or current is None or mode == current:
                continue
            # It has to be readable for us.
            Path(here).chmod(mode | stat.S_IRUSR)
            is_changed = True
        if is_changed:
            # Else git would read these files each time it looks for changes.
            refresh_index(self.git)

    # Bringing it up to date

    def update(self, tree: str, index: Path) -> None:
        """Merge the state of the project that is in `tree` and `index`; start from it.

        A file that both sides changed in the same place becomes that of the project.
        """
        changed = self._changed_files(tree)
        merged = self.container / MERGED
        plan = plan_merge(self.git, self.path, changed.values(), merged)
        states = {conflict.path: changed[conflict.path].after for conflict in plan.conflicts}
        states.update((change.path, change.after) for change in plan.changes)
        # First remove files: a directory of the same name may be needed.
        for path in sorted(states, key=lambda path: states[path] is not None):
            write_state(self.path, path, states[path])
        shutil.rmtree(merged, ignore_errors=True)

        shutil.copy2(index, self.container / START_INDEX)
        self.tree = tree
        refresh_index(self.git)

    def _changed_files(self, tree: str) -> dict[str, Change]:
        """Return what differs in the project from the start."""
        versions = read_diff(self.git, "diff-tree", "-r", self.tree, tree)
        base = self._write_base([path for path, (before, _) in versions.items() if before])
        changes = {}
        for path in versions:
            # Files of specs are never merged: the run itself writes these.
            start = self.path if Path(path).name in SPEC_FILES else base
            before = stored_state(start, path)
            after = stored_state(self.project, path)
            changes[path] = Change(path, before, after)
        return changes


def _permissions(file: str) -> int | None:
    """Return the permissions of a regular file; None if it is none."""
    try:
        mode = os.lstat(file).st_mode
    except OSError:
        return None
    return stat.S_IMODE(mode) if stat.S_ISREG(mode) else None


def _is_in_project(file: str) -> bool:
    """Whether a path that a task names is that of a file which an executor may write."""
    path = Path(os.path.normpath(file))
    if path.is_absolute():
        return False
    return {"..", ".git", RALPH_DIRECTORY}.isdisjoint(path.parts)
