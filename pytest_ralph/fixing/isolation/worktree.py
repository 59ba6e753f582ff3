"""Worktrees: copies of the project at its current state, in which executors work.

A worktree has the files of the project as they are, with uncommitted changes and untracked files,
and without ignored ones. Its HEAD is detached at the project's HEAD, and its index has what the
user staged. Nothing of the main worktree is written: index, stash, branches and hooks stay as they
are. Worktrees are outside the project, so that tools which search the project do not find them.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import tempfile
import threading
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.files import RALPH_DIRECTORY, SPEC_FILES, fault_point
from pytest_ralph.fixing.git.command import GitCommand, GitError, null_separated
from pytest_ralph.fixing.isolation.links import add_ignored
from pytest_ralph.fixing.isolation.merge import (
    JOURNAL_SUFFIX,
    MergedFile,
    UnfinishedMerge,
    read_side,
)
from pytest_ralph.fixing.isolation.patch import patch_path, write_patch
from pytest_ralph.fixing.isolation.registry import Registry, remove_directory
from pytest_ralph.fixing.isolation.stash import Stash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Commits must work where git does not know the user's name yet.
AUTHOR = {
    "GIT_AUTHOR_NAME": "pytest-ralph",
    "GIT_AUTHOR_EMAIL": "pytest-ralph@localhost",
    "GIT_COMMITTER_NAME": "pytest-ralph",
    "GIT_COMMITTER_EMAIL": "pytest-ralph@localhost",
}
NOT_OURS = f":(exclude,glob)**/{RALPH_DIRECTORY}/**"
SUBMODULE = "160000"
VANISHED_FILE = re.compile(r"No such file or directory|unable to (?:stat|index|open)")
ADD_TRIES = 6

# The files that git keeps about a worktree in which no merge, rebase or the like is going on.
ORDINARY = {"COMMIT_EDITMSG", "FETCH_HEAD", "HEAD", "ORIG_HEAD", "commondir", "gitdir", "index"}
ORDINARY |= {"logs", "refs"}
CONTAINER_PREFIX = "ralph-worktree-"
# In the container of a worktree whose changes were merged, kept elsewhere or refused.
IDLE_MARK = "idle"
SWITCHED = re.compile(r"\tcheckout: moving from \S+ to (\S+)$", re.MULTILINE)

# Files in memory are created many times faster than on most disks.
MEMORY = Path("/dev/shm")  # noqa: S108 - a directory of our own is created in it
# The share of the free memory that worktrees may take, and how many of them there may be.
MEMORY_SHARE = 0.5
EXPECTED_WORKTREES = 16


class WorktreeChange(NamedTuple):
    """A file that differs from the start of a worktree; None where it does not exist.

    path: Relative to the project root.
    base: A copy of the file as it was at the start.
    new: The file in the worktree.
    """

    path: str
    base: Path | None
    new: Path | None

    def sides(self) -> MergedFile:
        """Return the file before and after with its content."""
        return MergedFile(self.path, read_side(self.base), read_side(self.new))


class _Location(NamedTuple):
    """The repository around a project. `prefix` is empty or ends with a slash."""

    top: Path
    prefix: str
    index_file: Path
    stash_log: Path


@dataclass
class Worktree:
    """One worktree.

    container: The directory that holds the worktree and what is kept about it.
    path: The worktree, which is a copy of the whole repository `project`.
    root: The root of the project in it.
    branches: The branches of the repository when the worktree was created.
    linked: Paths that lead to ignored files of the project, or are copies of them.
    """

    container: Path
    project: Path
    path: Path
    root: Path
    git: GitCommand
    prefix: str
    tree: str
    branches: frozenset[str]
    linked: tuple[str, ...] = ()
    outside: tuple[str, ...] = field(default=(), init=False)

    @property
    def start(self) -> dict[str, str]:
        """The environment that selects the index with the files as they were at the start."""
        return {"GIT_INDEX_FILE": str(self.container / "start.index")}

    def changes(self) -> tuple[WorktreeChange, ...]:
        """Return what differs from the start, without ignored files."""
        options = ("-z", "-t", "-m", "-d", "-o", "--exclude-standard")
        listed = self.git("ls-files", *options, env=self.start)
        tags: dict[str, str] = {}
        for entry in listed.split("\0"):
            tag, _, path = entry.partition(" ")
            # A removed file is listed twice, and a repository in the worktree as a directory.
            if path and not path.endswith("/") and not self._is_linked(path):
                tags[path] = tag if tags.get(path) != "R" else "R"
        inside = [path for path in sorted(tags) if path.startswith(self.prefix)]
        self.outside = tuple(path for path in sorted(tags) if not path.startswith(self.prefix))
        base = self.write_base([path for path in inside if tags[path] != "?"])

        changes = []
        for path in inside:
            old = None if tags[path] == "?" else base / path
            new = None if tags[path] == "R" else self.path / path
            changes.append(WorktreeChange(path.removeprefix(self.prefix), old, new))
        return tuple(changes)

    def _is_linked(self, path: str) -> bool:
        return any(path == linked or path.startswith(f"{linked}/") for linked in self.linked)

    def write_base(self, paths: Iterable[str]) -> Path:
        """Write files as they were at the start into a directory, and return it."""
        directory = self.container / "base"
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        options = ("-q", "-f", "-z", "--stdin", f"--prefix={directory}/")
        self.git("checkout-index", *options, stdin=null_separated(paths), env=self.start)
        return directory


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
        self.registry = Registry(directory)
        self._link = link
        self._copy = copy
        self._git = GitCommand.at(self.root, environ)
        self._threads = threading.Lock()
        # Worktrees that are not used any more, to be used again.
        self._idle: list[Worktree] = []

    @property
    def git(self) -> GitCommand:
        """Calls git in the main worktree."""
        return self._top

    def new_journal(self) -> Path:
        """Return the path for the journal of a merge, found again by `sweep` after a kill."""
        self.registry.open()
        name = f"{self.registry.token}-{secrets.token_hex(4)}{JOURNAL_SUFFIX}"
        return self.registry.directory / name

    def stash(self) -> Stash:
        """Return the stash of the project as it is now."""
        return Stash(self._top, self._location.stash_log)

    def require_usable(self) -> None:
        """Raise GitError, in one line, if the repository cannot be used for worktrees."""
        names: dict[str, str] = {}
        ignore_case = self._git.run("config", "--bool", "core.ignorecase").stdout.strip() == "true"
        for entry in self._top("ls-files", "--stage", "-z").split("\0"):
            _, _, path = entry.partition("\t")
            if entry.startswith(SUBMODULE):
                raise GitError(f"submodules cannot be isolated: {path}")
            if not ignore_case or not path:
                continue
            other = names.setdefault(path.casefold(), path)
            if other != path:
                raise GitError(
                    f"names that differ only in case cannot be isolated: {other}, {path}"
                )

    @cached_property
    def _location(self) -> _Location:
        files = ("--git-path", "index", "--git-path", "logs/refs/stash")
        # An empty prefix is an empty line.
        lines = self._git("rev-parse", "--show-toplevel", *files, "--show-prefix").split("\n")
        return _Location(Path(lines[0]), lines[3], self.root / lines[1], self.root / lines[2])

    @property
    def _top(self) -> GitCommand:
        return GitCommand(self._location.top, self._git.environ)

    def create(self) -> Worktree:
        """Return a worktree at the current state of the project. Raise GitError if git cannot."""
        with self._threads:
            idle = self._idle.pop() if self._idle else None
        if idle is not None:
            try:
                return self._renew(idle)
            except (GitError, OSError):
                self._discard(idle.container)
        container = Path(tempfile.mkdtemp(prefix=CONTAINER_PREFIX, dir=self._place()))
        self.registry.add(container)
        fault_point("before a worktree is created")
        try:
            worktree = self._create(container)
        except BaseException:
            self._discard(container)
            raise
        fault_point("after a worktree is created")
        return worktree

    def _create(self, container: Path) -> Worktree:
        location = self._location
        path = container / location.top.name
        environ = {"GIT_INDEX_FILE": str(container / "start.index")}
        tree = self.write_state(container / "start.index")
        head, branches = self._head_and_branches(tree)
        options = ("-q", "--no-checkout", "--detach", "--force")
        # git fails over a worktree that another process is adding at the same moment.
        with self.registry.adding():
            self._top("worktree", "add", *options, str(path), head)
        fault_point("before a worktree is checked out")
        git = GitCommand(path, self._git.environ)
        git("checkout-index", "-a", "-f", "-u", "-q", env=environ)
        self._copy_index(container, path, tree)
        linked = add_ignored(self._top, path, self._link, self._copy)
        return Worktree(
            container=container,
            project=location.top,
            path=path,
            root=path / location.prefix,
            git=git,
            prefix=location.prefix,
            tree=tree,
            branches=branches,
            linked=linked,
        )

    def _renew(self, worktree: Worktree) -> Worktree:
        """Bring a worktree that was used before to the current state of the project.

        Far less has to be written than for a new one. Nothing stays of the run before.
        """
        fault_point("before a worktree is used again")
        (worktree.container / IDLE_MARK).unlink()
        index = worktree.container / "next.index"
        tree = self.write_state(index)
        index.unlink()
        administrative = _administrative_directory(worktree.path)
        head, branches = self._head_and_branches(tree)
        (administrative / "HEAD").write_text(f"{head}\n", encoding="utf-8")
        (administrative / "logs" / "HEAD").unlink(missing_ok=True)
        worktree.git("clean", "-ffdxq", env=worktree.start)
        worktree.git("read-tree", "--reset", "-u", tree, env=worktree.start)
        self._copy_index(worktree.container, worktree.path, tree)
        linked = add_ignored(self._top, worktree.path, self._link, self._copy)
        return replace(worktree, tree=tree, branches=branches, linked=linked)

    def write_state(self, index: Path) -> str:
        """Write the current state of the project to an index file, and return its tree."""
        environ = {"GIT_INDEX_FILE": str(index)}
        index.unlink(missing_ok=True)
        if self._location.index_file.exists():
            shutil.copy2(self._location.index_file, index)
        for _ in range(ADD_TRIES):
            result = self._top.run("add", "-A", "--", ".", NOT_OURS, env=environ)
            # A file vanished while git looked: other programs are at work.
            if not VANISHED_FILE.search(result.stderr):
                break
        result.check("add")
        return self._top("write-tree", env=environ).strip()

    def _head_and_branches(self, tree: str) -> tuple[str, frozenset[str]]:
        """Return the commit that a worktree starts from, and the branches of the repository.

        On a branch without commits a new commit of `tree` is made.
        """
        branches = ("--symbolic", "--branches")
        found = self._git.run("rev-parse", "HEAD^{commit}", *branches)
        if found.status == 0:
            head, *names = found.stdout.splitlines()
            return head, frozenset(names)
        head = self._git("commit-tree", tree, "-m", "no commit yet", env=AUTHOR).strip()
        return head, frozenset(self._git("rev-parse", *branches).splitlines())

    def _copy_index(self, container: Path, path: Path, tree: str) -> None:
        """Give the worktree an index with what the user has staged."""
        git = GitCommand(path, self._git.environ)
        options = ("--cached", "--raw", "-z", "--no-renames", "--no-abbrev")
        raw = self._top("diff-index", *options, tree)
        parts = raw.split("\0")
        entries = []
        for header, name in zip(parts[::2], parts[1::2], strict=False):
            # From the state of the files to the index of the user.
            file_mode, mode, _, identity, status = header.lstrip(":").split(" ")
            if status == "U":
                raise GitError("the index holds unresolved conflicts")
            if SUBMODULE in (file_mode, mode):
                raise GitError(f"a repository inside the repository cannot be isolated: {name}")
            # Mode 0 removes an entry.
            entries.append(f"{mode.replace('000000', '0')} {identity}\t{name}")
        own_index = _administrative_directory(path) / "index"
        shutil.copy2(container / "start.index", own_index)
        if entries:
            git("update-index", "-z", "--index-info", stdin=null_separated(entries))

    def _place(self) -> str | None:
        """Where worktrees are created: in memory if there is room, else with temporary files."""
        if "TMPDIR" in self._git.environ:
            return None
        try:
            status = os.statvfs(MEMORY)
        except OSError:
            return None
        if status.f_flag & (os.ST_NOEXEC | os.ST_RDONLY) or not os.access(MEMORY, os.W_OK):
            return None
        free = status.f_bavail * status.f_frsize
        if self._size * EXPECTED_WORKTREES > free * MEMORY_SHARE:
            return None
        return str(MEMORY)

    @cached_property
    def _size(self) -> int:
        """The size of all tracked files in bytes."""
        size = 0
        for name in self._top("ls-files", "-z").split("\0"):
            try:
                status = os.lstat(self._location.top / name)
            except OSError:
                continue
            # Files in memory take whole pages.
            size += status.st_size + 4096
        return size

    def remove(self, worktree: Worktree) -> None:
        """Give a worktree back: it is used again, or else removed. A second call does nothing."""
        if not self._is_in_use(worktree):
            return
        administrative = _administrative_directory(worktree.path)
        self._remove_branches(worktree, administrative)
        ordinary = {entry.name for entry in administrative.iterdir()} <= ORDINARY
        if not ordinary or self._copy or self._is_sparse:
            self._discard(worktree.container)
            return
        (worktree.container / IDLE_MARK).touch()
        with self._threads:
            self._idle.append(worktree)

    def _is_in_use(self, worktree: Worktree) -> bool:
        with self._threads:
            idle = [one.container for one in self._idle]
        return worktree.container in self.registry.paths and worktree.container not in idle

    def _remove_branches(self, worktree: Worktree, administrative: Path) -> None:
        """Remove the branches that an executor created and switched to in its worktree."""
        try:
            log = (administrative / "logs" / "HEAD").read_text("utf-8", "surrogateescape")
        except OSError:
            return
        for name in set(SWITCHED.findall(log)) - worktree.branches:
            # A commit is no branch, and a branch may have been removed again.
            self._top.run("update-ref", "-d", f"refs/heads/{name}")

    @cached_property
    def _is_sparse(self) -> bool:
        """Whether the project has only a part of its files checked out."""
        setting = self._git.run("config", "--bool", "core.sparseCheckout")
        return setting.stdout.strip() == "true"

    def _discard(self, container: Path) -> None:
        if container not in self.registry.paths:
            return
        fault_point("before a worktree is removed")
        self._remove_files(container)
        self.registry.remove(container)

    def _remove_files(self, container: Path) -> None:
        path = container / self._location.top.name
        administrative = _administrative_directory(path) if path.is_dir() else None
        remove_directory(container)
        if administrative is None:
            # It was not complete: git finds out what belongs to no worktree.
            self._top.run("worktree", "prune")
        else:
            remove_directory(administrative)
            with contextlib.suppress(OSError):
                # Empty after the last worktree.
                administrative.parent.rmdir()

    def sweep(self) -> list[str]:
        """Remove what processes that were killed left behind; return a line about each process.

        What executors did there and was not merged is kept as patches.
        """
        lines = []
        for token, directories in self.registry.left_behind():
            containers = [one for one in directories if one.name.startswith(CONTAINER_PREFIX)]
            # Before their files are taken back: what was merged needs no other patch.
            kept = [self._keep_patch(container) for container in containers]
            for container in containers:
                remove_directory(container)
            if containers:
                self._top.run("worktree", "prune")
                line = f"removed the worktrees of a run that was killed: {len(containers)}"
                lines.append(line + _kept_as(kept))
            for journal in sorted(self.registry.directory.glob(f"{token}-*{JOURNAL_SUFFIX}")):
                lines += self._take_back(journal)
            for temporary in self.registry.directory.glob(f".{token}-*"):
                temporary.unlink(missing_ok=True)
        return lines

    def _keep_patch(self, container: Path) -> str:
        """Keep what a killed run left in a worktree; return where, empty if there is nothing."""
        path = container / self._location.top.name
        if (container / IDLE_MARK).exists() or not path.is_dir():
            return ""
        worktree = Worktree(
            container=container,
            project=self._location.top,
            path=path,
            root=path / self._location.prefix,
            git=GitCommand(path, self._git.environ),
            prefix=self._location.prefix,
            tree="",
            branches=frozenset(),
        )
        try:
            files = [one.sides() for one in worktree.changes() if self._is_work(one)]
        except (GitError, OSError):
            # It was not complete yet, or the executor broke it.
            return ""
        return self._write_patch(files, container.name)

    def _is_work(self, change: WorktreeChange) -> bool:
        """Whether a change in a worktree is the work of an executor that the project lacks."""
        if change.path.rpartition("/")[2] in SPEC_FILES:
            return False
        if change.new is not None and change.new.is_symlink():
            # Ignored files of the project are linked.
            return not change.new.resolve().is_relative_to(self._location.top)
        return read_side(change.new) != read_side(self.root / change.path)

    def _write_patch(self, files: Sequence[MergedFile], name: str) -> str:
        if not files:
            return ""
        patch = patch_path(self.registry.directory.parent, name)
        write_patch(patch, self.root, files)
        return os.path.relpath(patch, self.root)

    def _take_back(self, journal: Path) -> list[str]:
        merge = UnfinishedMerge(self.root, journal)
        kept = self._write_patch(merge.files(), f"merge-{journal.stem}")
        restored = merge.take_back()
        lines = []
        if restored:
            line = f"took back the merge of a run that was killed: {', '.join(restored)}"
            lines.append(line + _kept_as([kept]))
        if merge.changed:
            changed = ", ".join(merge.changed)
            lines.append(f"merged by a run that was killed, and changed since: {changed}")
        return lines

    def close(self) -> None:
        """Remove all worktrees that are left, and the record of them."""
        for container in self.registry.paths:
            self._discard(container)
        self.registry.close()


def _administrative_directory(path: Path) -> Path:
    """Return the directory inside the repository that holds HEAD and index of a worktree."""
    link = (path / ".git").read_text(encoding="utf-8", errors="surrogateescape")
    return Path(link.removeprefix("gitdir:").strip())


def _kept_as(patches: Iterable[str]) -> str:
    """Return the end of a line that names patches; empty if there are none."""
    kept = ", ".join(filter(None, patches))
    return f" (kept as {kept})" if kept else ""
