"""Git: the last good commit, snapshots, rollback and commits of a project.

A rollback changes files and index entries, never history: commits made since the good one stay on
their branch.
"""

from __future__ import annotations

import math
import os
import threading
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from pytest_ralph.files import RALPH_DIRECTORY, STATE_NAME, is_temporary
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.fixing.file_state import is_too_large, put_back
from pytest_ralph.fixing.git.command import GitCommand, Repository, find_repository
from pytest_ralph.fixing.git.commits import commit_paths
from pytest_ralph.fixing.git.fingerprint import Fingerprints
from pytest_ralph.fixing.git.index import (
    IndexEntry,
    read_index,
    read_index_file,
    read_tree,
    set_index,
    stage_files,
    with_intended,
    write_blob,
    write_index_file,
)
from pytest_ralph.fixing.git.listing import ProjectListing
from pytest_ralph.fixing.git.own_versions import OwnVersions
from pytest_ralph.fixing.git.path_set import PathSet
from pytest_ralph.fixing.git.position import move_back, read_position
from pytest_ralph.fixing.git.preconditions import (
    require_no_nested_repository,
    require_no_operation,
    require_rollback_target,
    require_unlocked_index,
    require_usable_index,
)
from pytest_ralph.fixing.git.refs import TaskRefs
from pytest_ralph.fixing.git.rollback import Rollback, Target, target_of_commit
from pytest_ralph.fixing.git.scratch import scratch_directory, sweep_scratch

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pytest_ralph.fixing.file_state import Change
    from pytest_ralph.fixing.git.index import Index, IndexFile, Versions
    from pytest_ralph.fixing.git.position import GitPosition
    from pytest_ralph.fixing.git.rollback import RollbackResult


Value = TypeVar("Value")


class _Shared(Generic[Value]):
    """A value that takes long to read: threads that ask for it at once share it."""

    def __init__(self, read: Callable[[], Value], lock: threading.RLock) -> None:
        self._read = read
        self._lock = lock
        self._value: Value | None = None
        self._begun = 0.0

    def since(self, asked: float) -> Value:
        """Return the value as it is now, or was after `asked`, a time of the monotonic clock."""
        with self._lock:
            if self._value is None or self._begun <= asked:
                begun = time.monotonic()
                self._value = self._read()
                self._begun = begun
            return self._value


class Git:
    """The repository of a project.

    Every method either does all that it says or raises GitError and changes nothing.
    """

    def __init__(self, root: Path, environ: Mapping[str, str] | None = None) -> None:
        self.root = Path(root).resolve()
        self._git = GitCommand.at(self.root, environ)
        self._lock = threading.RLock()
        self.listing = ProjectListing(self._git)
        self.refs = TaskRefs(self._git)
        self._fingerprints = Fingerprints(self.root)
        self._fingerprint = _Shared(self._read_fingerprint, self._lock)
        self._position = _Shared(self.position, self._lock)
        # Whether a commit of ours was the first of the branch.
        self._began_branch = False

    def unavailable(self) -> str | None:
        """Return why there is no repository to work with, or None if there is one."""
        try:
            _ = self._location
        except GitError as error:
            return str(error)
        return None

    def sweep(self) -> None:
        """Remove what killed runs left in the git directory."""
        sweep_scratch(self._location.git_dir)

    @property
    def directory(self) -> Path:
        """What git stores for this worktree."""
        return self._location.git_dir

    def head(self) -> str | None:
        """Return the commit that HEAD points to, or None on a branch without commits."""
        return self._git.commit_id("HEAD")

    def position(self) -> GitPosition:
        """Return where HEAD, the branches and the stash are."""
        return read_position(self._git)

    def shared_position(self, asked: float) -> GitPosition:
        """Return the position; siblings whose executors end at once share it."""
        return self._position.since(asked)

    def index_file(self) -> IndexFile | None:
        """Return the index as git stores it; None if there is none."""
        return read_index_file(self._location.git_dir)

    def move_back(self, before: GitPosition, index: IndexFile | None, keep_as: str) -> bool:
        """Undo what an executor did to HEAD, its branch and the index.

        Commits that are on the branch now are kept under the ref `keep_as`; return whether there
        were any.
        """
        with self._lock:
            location = self._location
            is_moved = False
            if read_index_file(location.git_dir) != index:
                require_unlocked_index(location.git_dir)
            if self.position() != before:
                require_no_operation(location.top, location.git_dir)
                is_moved = move_back(self._top, before, keep_as)
            if read_index_file(location.git_dir) != index:
                write_index_file(location.git_dir, index)
            return is_moved

    # Comparing working trees

    def tree_fingerprint(self, asked: float = math.inf) -> str:
        """Return a text that changes with the content of any file that is not ignored.

        The files that a run itself writes do not count. Siblings that fail at once share it.
        """
        return self._fingerprint.since(asked)

    def _read_fingerprint(self) -> str:
        return self._fingerprints.of(self.listing.files())

    # Rollback

    def rollback(
        self,
        to: str | Target,
        keep: Collection[Path],
        ref: str,
        announce: Callable[[str], None] | None = None,
    ) -> RollbackResult:
        """Make files and index below the root what they are in a commit or another target.

        Everything that changes is kept under the new `ref`, and `announce` receives a line about
        it, before any file changes. Spec files, `.ralph/`, the paths in `keep`, ignored files, HEAD
        and all branches stay as they are.
        """
        with self._lock:
            location = self._location
            head = self.head()
            require_no_operation(location.top, location.git_dir)
            require_usable_index(self._git, location.git_dir)
            name = to if isinstance(to, str) else to.commit
            commit = require_rollback_target(self._git, name, head)
            require_no_nested_repository(self._git, commit)
            if isinstance(to, str) and self._began_branch:
                # Its commits lack everything that the user never committed.
                raise GitError("nothing to go back to: the branch had no commit before this run")
            assert head is not None
            with scratch_directory(location.git_dir) as scratch:
                target = to
                if isinstance(target, str):
                    target = target_of_commit(self._top, commit, location.prefix, scratch)
                protected = PathSet.protected(self.root, keep)
                rollback = Rollback(self._top, self.root, location.prefix, scratch, protected)
                return rollback.perform(target, head, ref, announce)

    def index(self) -> Index:
        """Return the entries of the index."""
        return with_intended(self._top, read_index(self._top))

    def undo_rollback(self, changes: Collection[Change], index: Index) -> tuple[str, ...]:
        """Undo the changes that a rollback made; return the paths that could not be put back."""
        with self._lock:
            left = put_back(self.root, changes)
            set_index(self._top, [self._location.prefix + one.path for one in changes], index)
        return left

    # Commits

    def commit(
        self,
        message: str,
        paths: Collection[Path],
        *,
        changes: Sequence[Change] = (),
        task_files: Collection[str] = (),
        texts: Mapping[Path, bytes] | None = None,
        committed: Versions | None = None,
    ) -> str | None:
        """Commit what differs from HEAD in `paths`, and return the commit; None if nothing does.

        A directory stands for everything below it. Of files in `changes`, which were made for a
        task, only what they changed is committed, and files in `texts` are committed with the
        content given there. Files in `committed`, which an executor committed itself, are
        committed as if it had not: it may have changed them back since. What the user staged stays
        staged, and hooks run. The state file and `.ralph/` are never committed.
        """
        with self._lock:
            location = self._location
            require_no_operation(location.top, location.git_dir)
            committed = committed or {}
            parent = self.head()
            changed = self.uncommitted([*paths, *(self.root / path for path in committed)])
            if not changed:
                return None
            require_usable_index(self._git, location.git_dir)
            in_repository = [location.prefix + path for path in changed]
            head = {} if parent is None else read_tree(self._top, parent, in_repository)
            own_versions = OwnVersions(self._top, location.prefix, head, committed)
            versions = own_versions.find(changed, changes, task_files)
            given = {self._in_repository(path): text for path, text in (texts or {}).items()}
            for name in given.keys() & in_repository:
                replaced = head.get(name)
                mode = "100644" if replaced is None else replaced.mode
                blob = write_blob(self._top, given[name], f"--path={name}")
                versions[name] = IndexEntry(mode, blob)
            if versions == {path: head.get(path) for path in in_repository}:
                # What differs from HEAD are edits of the user.
                return None
            if parent is None:
                self._began_branch = True
            commit_paths(
                self._top, location.git_dir, message, in_repository, parent, head, versions
            )
            return self.head()

    def read_head(self, file: Path) -> bytes | None:
        """Return the content that HEAD has of a file; None if it has none."""
        stored = self._top.run("cat-file", "blob", f"HEAD:{self._in_repository(file)}")
        if stored.status != 0:
            return None
        return os.fsencode(stored.stdout)

    def uncommitted(self, paths: Collection[Path]) -> tuple[str, ...]:
        """Return which files in `paths` differ from HEAD, relative to the root.

        A directory does not stand for files of which git was told to ignore the changes, such as
        those that a sparse checkout leaves out.
        """
        wanted = PathSet.of(self.root, paths)
        with self._lock, scratch_directory(self._location.git_dir) as scratch:
            # No object is written, and the user's index stays as it is.
            env = {
                "GIT_INDEX_FILE": str(scratch / "index"),
                **self._location.writing_objects_to(scratch),
            }
            head = self.head()
            if head is not None:
                self._git("read-tree", head, env=env)
            in_head = self._git.listed("ls-files", "-z", env=env)
            index = read_index(self._git)
            hidden = {path for path, entry in index.items() if entry.has_flags} - wanted.paths
            candidates = []
            for path in sorted({*in_head, *self.listing.files()}):
                if path not in wanted or path in hidden or _is_private(path):
                    continue
                if not is_too_large(self.root / path):
                    candidates.append(path)
            stage_files(self._git, self.root, candidates, env)
            options = ("--cached", "-z", "--name-only", "--no-renames", "--relative")
            # Without a commit, the empty tree.
            base = head or self._git("hash-object", "-t", "tree", "--stdin").strip()
            return tuple(self._git.listed("diff-index", *options, base, "--", ".", env=env))

    # Calls of git

    @cached_property
    def _location(self) -> Repository:
        """Where the project is. GitError if it is not in a repository that can be used."""
        repository = find_repository(self._git)
        if repository.prefix and self._git.succeeds("check-ignore", "-q", "."):
            raise GitError(f"{self.root.name} is ignored by the git repository around it")
        return repository

    def _in_repository(self, file: Path) -> str:
        """Return the path of a file relative to the top of the repository."""
        return self._location.prefix + os.path.relpath(file.resolve(), self.root)

    @property
    def _top(self) -> GitCommand:
        return GitCommand(self._location.top, self._git.environ)


def _is_private(path: str) -> bool:
    """Return whether a file is never committed."""
    parts = path.split("/")
    return parts[0] == RALPH_DIRECTORY or parts[-1] == STATE_NAME or is_temporary(parts[-1])
