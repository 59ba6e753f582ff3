"""Worktrees: copies of the project at its current state, in which executors work.

A worktree has the files of the project as they are, with uncommitted changes and untracked files,
and without ignored ones. It has a repository of its own, whose HEAD is detached at the project's
HEAD and whose index has what the user staged, so whatever an executor does with git stays there.
Worktrees are outside the project, so that tools which search the project do not find them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import (
    SPEC_FILES,
    WORKTREES_NAME,
    fault_point,
    lasting_directory,
    remove_temporary_directories,
    sweep,
    temporary_directory,
)
from pytest_ralph.fixing.change_log import read_changes, undo_changes
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.fixing.file_state import is_same_now
from pytest_ralph.fixing.git.command import (
    GitCommand,
    Repository,
    find_repository,
)
from pytest_ralph.fixing.isolation.applied_merge import (
    JOURNAL_SUFFIX,
    AppliedMerge,
    apply_merge,
    written_changes,
)
from pytest_ralph.fixing.isolation.links import add_ignored
from pytest_ralph.fixing.isolation.merge import Conflict, plan_merge
from pytest_ralph.fixing.isolation.patch import keep_patch
from pytest_ralph.fixing.isolation.project_state import ProjectState
from pytest_ralph.fixing.isolation.registry import (
    Registry,
    remove_directory,
    remove_special_files,
)
from pytest_ralph.fixing.isolation.repository import borrow_repository
from pytest_ralph.fixing.isolation.worktree import OBJECTS, START_INDEX, Worktree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_ralph.fixing.file_state import Change

# How often a merge is planned again because a file was written meanwhile.
MERGE_TRIES = 10

CONTAINER_PREFIX = "ralph-worktree-"
# In the container: the index with the files as they are in the project now.
NEXT_INDEX = "next.index"
# In the container while no executor works there: the worktree is not complete yet, or its changes
# were merged, kept elsewhere or refused.
IDLE_MARK = "idle"

# Files in memory are created many times faster than on most disks.
MEMORY = Path("/dev/shm")  # noqa: S108 - a directory of our own is created in it
# The share of the free memory that worktrees may take, and how many of them there may be.
MEMORY_SHARE = 0.5
EXPECTED_WORKTREES = 16


class Worktrees:
    """Creates the worktrees of one process, and removes them.

    directory: The project's `.ralph`.
    link, copy: Names or patterns of ignored files that a worktree gets, too.
    """

    def __init__(
        self,
        root: Path,
        directory: Path,
        *,
        link: Sequence[str] = (),
        copy: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.root = root.resolve()
        self._directory = directory
        self.registry = Registry(lasting_directory(self.root, WORKTREES_NAME))
        self._link = link
        self._copy = copy
        self._git = GitCommand.at(self.root, environ)
        self._threads = threading.Lock()
        # Worktrees that are not used any more, to be used again.
        self._idle: list[Worktree] = []

    def require_usable(self) -> None:
        """Raise GitError, in one line, if the repository cannot be used for worktrees."""
        self._state.require_usable()

    def create(self, files: Iterable[str] = ()) -> Worktree:
        """Return a worktree at the current state of the project. Raise GitError if git cannot.

        It has those of `files`, which a task names, that git ignores.
        """
        worktree = self._unused_worktree()
        worktree.name(files)
        if self._state.ignored_files(worktree.named):
            self.refresh(worktree)
        return worktree

    def _unused_worktree(self) -> Worktree:
        """Return a worktree that was used before, or else a new one."""
        with self._threads:
            idle = self._idle.pop() if self._idle else None
        if idle is not None:
            try:
                return self._renewed(idle.container)
            except (GitError, OSError):
                # The executor broke it.
                self._discard(idle.container)
        # git records real paths, and the directory for temporary files may be a link.
        container = self._place().resolve() / f"{CONTAINER_PREFIX}{os.urandom(6).hex()}"
        # First: if it cannot be recorded, nothing is left, and nothing after a kill either.
        self.registry.add(container)
        fault_point("before a worktree is created")
        try:
            container.mkdir(mode=0o700)
            worktree = self._worktree_in(container)
            worktree.objects.mkdir()
            worktree.path.mkdir()
            (container / IDLE_MARK).touch()
            self._check_out(worktree)
        except BaseException:
            self._discard(container)
            raise
        fault_point("after a worktree is created")
        return worktree

    def _renewed(self, container: Path) -> Worktree:
        """Return a worktree that was used before, with nothing left of that.

        Far less has to be written than for a new one.
        """
        fault_point("before a worktree is used again")
        worktree = self._worktree_in(container)
        if worktree.path.is_symlink():
            # git would clean where it leads to, which may be the project.
            raise GitError(f"{worktree.path.name} is a link now")
        worktree.git("clean", "-ffdxq")
        remove_special_files(worktree.path)
        self._check_out(worktree)
        return worktree

    def _check_out(self, worktree: Worktree) -> None:
        """Give a worktree the files of the project, its repository, and what it needs besides."""
        worktree.tree = self._state.write(worktree.container / NEXT_INDEX, worktree.objects)
        fault_point("before a worktree is checked out")
        worktree.git("read-tree", "--reset", "-u", worktree.tree)
        worktree.take_permissions()

        own_index = borrow_repository(self.git, self._location, worktree.path) / "index"
        shutil.copy2(worktree.container / START_INDEX, own_index)
        staged = self._state.staged()
        if staged != worktree.tree:
            # Entries of files that are as they were staged keep the times of the files.
            worktree.git("read-tree", "-m", staged, env={"GIT_INDEX_FILE": str(own_index)})
        worktree.linked = add_ignored(self.git, worktree.path, self._link, self._copy)
        (worktree.container / IDLE_MARK).unlink()

    def _worktree_in(self, container: Path) -> Worktree:
        """Return the worktree of a container, which may not exist yet."""
        location = self._location
        path = container / location.top.name
        variables = {
            "GIT_DIR": str(location.git_dir),
            "GIT_WORK_TREE": str(path),
            "GIT_INDEX_FILE": str(container / START_INDEX),
            **location.writing_objects_to(container / OBJECTS),
        }
        git = GitCommand(path, {**self._git.environ, **variables})
        return Worktree(container, location.top, path, path / location.prefix, git, location.prefix)

    def _place(self) -> Path:
        """Where worktrees are created: in memory if there is room, else with temporary files."""
        on_disk = Path(tempfile.gettempdir())
        if "TMPDIR" in self._git.environ:
            return on_disk
        try:
            status = os.statvfs(MEMORY)
        except OSError:
            return on_disk
        if status.f_flag & (os.ST_NOEXEC | os.ST_RDONLY) or not os.access(MEMORY, os.W_OK):
            return on_disk
        free = status.f_bavail * status.f_frsize
        if self._state.size * EXPECTED_WORKTREES > free * MEMORY_SHARE:
            return on_disk
        return MEMORY

    def refresh(self, worktree: Worktree) -> None:
        """Merge the current state of the project into a worktree, which then starts from it."""
        index = worktree.container / NEXT_INDEX
        tree = self._state.write(index, worktree.objects, worktree.named)
        worktree.update(tree, index)

    def remove(self, worktree: Worktree) -> None:
        """Give a worktree back: it is used again, or else removed."""
        if not worktree.path.is_dir():
            self._discard(worktree.container)
            return
        (worktree.container / IDLE_MARK).touch()
        with self._threads:
            self._idle.append(worktree)

    def _discard(self, container: Path) -> None:
        if container not in self.registry.paths:
            return
        fault_point("before a worktree is removed")
        remove_directory(container)
        self.registry.remove(container)

    # Merging

    def merge(
        self, changes: Sequence[Change], backups: Path
    ) -> tuple[AppliedMerge | None, tuple[Conflict, ...]]:
        """Make changes of files in the project, too, or return why that is not possible.

        The files as they were and as they are then are kept in `backups`.
        """
        # A merge, too, may leave something behind.
        self.registry.open()
        with temporary_directory("merged") as directory:
            for _ in range(MERGE_TRIES):
                plan = plan_merge(self._git, self.root, changes, directory)
                if plan.conflicts:
                    return None, plan.conflicts
                applied = apply_merge(self.root, plan.changes, backups, self._new_journal())
                if applied is not None:
                    return applied, ()
        # Another program writes the same files all the time.
        return None, tuple(Conflict(one.path, "(it is being written)") for one in changes)

    def _new_journal(self) -> Path:
        """Return the path for the journal of a merge, found again by `sweep` after a kill."""
        self.registry.open()
        name = f"{self.registry.token}-{os.urandom(4).hex()}{JOURNAL_SUFFIX}"
        return self.registry.directory / name

    # What killed runs left

    def sweep(self) -> list[str]:
        """Remove what processes that were killed left behind; return a line about each process.

        What executors did there and was not merged is kept as patches.
        """
        lines: list[str] = []
        for token, directories in self.registry.left_behind():
            remove_temporary_directories(int(token.partition("-")[0]))
            containers = [one for one in directories if one.name.startswith(CONTAINER_PREFIX)]
            # Before their files are taken back: what was merged needs no other patch.
            kept = [self._keep_patch(container, lines.append) for container in containers]
            count = sum(container.exists() for container in containers)
            for container in containers:
                remove_directory(container)
            if count:
                line = f"removed the worktrees of a run that was killed: {count}"
                lines.append(line + _kept_as(kept))
            for journal in sorted(self.registry.directory.glob(f"{token}-*{JOURNAL_SUFFIX}")):
                lines += self._undo_merge(journal)
        return lines

    def _keep_patch(self, container: Path, announce: Callable[[str], None]) -> str:
        """Keep what a killed run left in a worktree; return where, empty if there is nothing."""
        worktree = self._worktree_in(container)
        if (container / IDLE_MARK).exists() or not worktree.path.is_dir():
            return ""
        try:
            changes = [one for one in worktree.changes() if self._is_work(one, worktree)]
        except (GitError, OSError):
            # It was not complete yet, or the executor broke it.
            return ""
        return keep_patch(self.root, self._directory, changes, container.name, announce=announce)

    def _is_work(self, change: Change, worktree: Worktree) -> bool:
        """Whether a change in a worktree is the work of an executor that the project lacks."""
        if change.path.rpartition("/")[2] in SPEC_FILES:
            return False
        if change.after is not None and change.after.is_link:
            # Ignored files of the project are linked.
            target = (worktree.root / change.path).resolve()
            return not target.is_relative_to(self._location.top)
        return not is_same_now(self.root, change.path, change.after)

    def _undo_merge(self, journal: Path) -> list[str]:
        """Undo a merge that a killed run has not confirmed; return lines about it."""
        for change in read_changes(journal):
            sweep(self.root / change.path)
        merged = written_changes(self.root, journal)
        lines: list[str] = []
        kept = keep_patch(
            self.root,
            self._directory,
            merged,
            f"merge-{journal.stem}",
            announce=lines.append,
        )
        undone = undo_changes(self.root, journal)
        remove_directory(journal)
        if undone.restored:
            restored = ", ".join(sorted(undone.restored))
            line = f"undid the merge of a run that was killed: {restored}"
            lines.append(line + _kept_as([kept]))
        lines += [f"merged by a run that was killed: {problem}" for problem in undone.problems]
        return lines

    def close(self) -> None:
        """Remove all worktrees that are left, and the record of them."""
        for container in self.registry.paths:
            self._discard(container)
        self.registry.close()

    @property
    def git(self) -> GitCommand:
        """Calls git in the main worktree."""
        return GitCommand(self._location.top, self._git.environ)

    @cached_property
    def _location(self) -> Repository:
        return find_repository(self._git)

    @cached_property
    def _state(self) -> ProjectState:
        return ProjectState(self.git, self._location)


def _kept_as(patches: Iterable[str]) -> str:
    """Return the end of a line that names patches; empty if there are none."""
    kept = ", ".join(filter(None, patches))
    return f" (kept as {kept})" if kept else ""
