"""Git: the last good commit, snapshots, rollback and commits of a project.

A rollback changes files and index entries, never history: commits made since the good one stay on
their branch.
"""

from __future__ import annotations

import math
import os
import re
import threading
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import RALPH_DIRECTORY, STATE_NAME, is_temporary
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.fixing.file_state import is_too_large, put_back
from pytest_ralph.fixing.git.command import GitCommand, Repository, find_repository
from pytest_ralph.fixing.git.commits import commit_paths
from pytest_ralph.fixing.git.fingerprint import Fingerprints
from pytest_ralph.fixing.git.index import (
    IndexEntry,
    read_head,
    read_index,
    read_index_file,
    set_index,
    stage_files,
    with_intended,
    write_index_file,
)
from pytest_ralph.fixing.git.own_versions import OwnVersions
from pytest_ralph.fixing.git.path_set import PathSet
from pytest_ralph.fixing.git.position import GitPosition, move_back, read_position
from pytest_ralph.fixing.git.preconditions import (
    require_no_nested_repository,
    require_no_operation,
    require_rollback_target,
    require_usable_index,
)
from pytest_ralph.fixing.git.rollback import ABSENT, Rollback, Target, target_of_commit
from pytest_ralph.fixing.git.scratch import scratch_directory, sweep_scratch

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pytest_ralph.fixing.file_state import Change
    from pytest_ralph.fixing.git.index import Index, IndexFile
    from pytest_ralph.fixing.git.own_versions import Versions
    from pytest_ralph.fixing.git.rollback import RollbackResult


# Path → what a commit had of a file before and has now; None if there was or is none.
Commits = dict[str, tuple[IndexEntry | None, IndexEntry | None]]


class Git:
    """The repository of a project.

    Every method either does all that it says or raises GitError and changes nothing.
    """

    def __init__(self, root: Path, environ: Mapping[str, str] | None = None) -> None:
        self.root = Path(root).resolve()
        self._git = GitCommand.at(self.root, environ)
        self._lock = threading.RLock()
        self._fingerprints = Fingerprints(self.root)
        self._fingerprint = ""
        self._fingerprint_begun = 0.0
        self._position = GitPosition("", "", {})
        self._position_begun = 0.0
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
        return self._commit_of("HEAD")

    def position(self) -> GitPosition:
        """Return where HEAD, the branches and the stash are."""
        return read_position(self._git)

    def shared_position(self, asked: float) -> GitPosition:
        """Return the position.

        One that was read after `asked`, a time of the monotonic clock, is not read again: siblings
        whose executors end at once share it.
        """
        with self._lock:
            if self._position_begun <= asked:
                self._position_begun = time.monotonic()
                self._position = self.position()
            return self._position

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
            if self.position() != before:
                require_no_operation(location.top, location.git_dir)
                is_moved = move_back(self._top, before, keep_as)
            if read_index_file(location.git_dir) != index:
                write_index_file(location.git_dir, index)
            return is_moved

    def files(self) -> tuple[str, ...]:
        """Return the files below the root, tracked or not, without those that git ignores."""
        options = ("--cached", "--others", "--exclude-standard", "--deduplicate")
        listed = self._git("ls-files", "-z", *options, "--", ".")
        # git lists a repository inside the repository as a directory.
        return tuple(path for path in listed.split("\0") if path and not path.endswith("/"))

    def ignored_files(self) -> tuple[str, ...]:
        """Return the files below the root that git ignores, outside ignored directories."""
        options = ("--others", "--ignored", "--exclude-standard", "--directory")
        listed = self._git("ls-files", "-z", *options, "--", ".")
        return tuple(path for path in listed.split("\0") if path and not path.endswith("/"))

    def changed_tracked_files(self) -> tuple[str, ...]:
        """Return the tracked files below the root that are not as in the index, or are gone."""
        listed = self._git("diff-files", "--name-only", "--relative", "-z", "--", ".")
        return tuple(path for path in listed.split("\0") if path)

    def staged(self, paths: Collection[Path]) -> tuple[str, ...]:
        """Return which files in `paths` are staged in another version than HEAD's."""
        wanted = PathSet.of(self.root, paths)
        options = ("--cached", "--name-only", "--no-renames", "--relative", "-z")
        listed = self._git("diff-index", *options, "HEAD", "--", ".")
        return tuple(path for path in listed.split("\0") if path and path in wanted)

    def committed_between(self, old: str, new: str) -> Commits:
        """Return the files below the root that differ between two commits, in both versions."""
        options = ("-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--relative")
        parts = self._git("diff-tree", *options, old, new, "--", ".").split("\0")
        found = {}
        for header, path in zip(parts[::2], parts[1::2], strict=False):
            old_mode, mode, old_identity, identity, _ = header.lstrip(":").split(" ")
            before = None if old_mode == ABSENT else IndexEntry(old_mode, old_identity)
            after = None if mode == ABSENT else IndexEntry(mode, identity)
            found[path] = (before, after)
        return found

    # Comparing working trees

    def tree_fingerprint(self, since: float = math.inf) -> str:
        """Return a text that changes with the content of any file that is not ignored.

        The files that a run itself writes do not count. One that was begun after `since`, a time of
        the monotonic clock, is not computed again: siblings that fail at once share it.
        """
        with self._lock:
            if self._fingerprint_begun <= since:
                self._fingerprint_begun = time.monotonic()
                self._fingerprint = self._fingerprints.of(self.files())
            return self._fingerprint

    # Good commits and rollback

    def mark_good(self, spec: str) -> str | None:
        """Remember HEAD as the last good commit of `spec`, because one of its tasks passed."""
        head = self.head()
        if head is not None:
            self._git("update-ref", "-m", "pytest-ralph: last good", _good_ref(spec), head)
        return head

    def last_good(self, spec: str) -> str | None:
        """Return the last good commit of `spec`, if there is one."""
        return self._commit_of(_good_ref(spec))

    def next_ref(self, spec: str, task: str, prefix: str = "") -> str:
        """Return the first free ref `refs/ralph/<spec>/<task>/<prefix><n>`."""
        directory = _task_refs(spec, task)
        highest = 0
        for name in self._git("for-each-ref", "--format=%(refname)", directory).split():
            number = name.rpartition("/")[2].removeprefix(prefix)
            if number.isdigit():
                highest = max(highest, int(number))
        return f"{directory}/{prefix}{highest + 1}"

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
        changes: Collection[Change] = (),
        task_files: Collection[str] = (),
        texts: Mapping[Path, bytes] | None = None,
        committed: Commits | None = None,
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
            changed = self.uncommitted([*paths, *(self.root / path for path in committed)])
            if not changed:
                return None
            require_usable_index(self._git, location.git_dir)
            in_repository = [location.prefix + path for path in changed]
            head = read_head(self._top, in_repository)
            versions = self._own_versions(changed, changes, task_files, committed, head)
            for path, text in (texts or {}).items():
                name = location.prefix + os.path.relpath(path.resolve(), self.root)
                if name in in_repository:
                    versions[name] = self._version_of(name, text, head.get(name))
            if versions == {path: head.get(path) for path in in_repository}:
                # What differs from HEAD are edits of the user.
                return None
            if self.head() is None:
                self._began_branch = True
            commit_paths(self._top, location.git_dir, message, in_repository, head, versions)
            return self.head()

    def _own_versions(
        self,
        paths: Collection[str],
        changes: Collection[Change],
        task_files: Collection[str],
        committed: Commits,
        head: Index,
    ) -> Versions:
        """Return the versions of `paths` that hold what was changed for a task, and no more."""
        prefix = self._location.prefix
        base = self._without(committed, head)
        own_changes = [change for change in changes if change.path in paths]
        versions = OwnVersions(self._top, prefix, base).find(own_changes, task_files)
        changed_back = committed.keys() - {change.path for change in changes}
        for path in changed_back.intersection(paths):
            versions[prefix + path] = base.get(prefix + path)
        return versions

    def _without(self, committed: Commits, head: Index) -> Index:
        """Return what HEAD has of files without what an executor committed."""
        base = dict(head)
        for path, (before, after) in committed.items():
            name = self._location.prefix + path
            if head.get(name) != after:
                # The user has committed the file since.
                continue
            base.pop(name, None)
            if before is not None:
                base[name] = before
        return base

    def _version_of(self, path: str, text: bytes, replaced: IndexEntry | None) -> IndexEntry:
        """Write a text into the repository as the file `path`."""
        blob = self._top("hash-object", "-w", f"--path={path}", "--stdin", stdin=text).strip()
        return IndexEntry(replaced.mode if replaced else "100644", blob)

    def read_head(self, file: Path) -> bytes | None:
        """Return the content that HEAD has of a file; None if it has none."""
        path = self._location.prefix + os.path.relpath(file.resolve(), self.root)
        stored = self._top.run("cat-file", "blob", f"HEAD:{path}")
        return os.fsencode(stored.stdout) if stored.status == 0 else None

    def uncommitted(self, paths: Collection[Path]) -> tuple[str, ...]:
        """Return which files in `paths` differ from HEAD, relative to the root."""
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
            in_head = self._git("ls-files", "-z", env=env).split("\0")
            candidates = [
                path
                for path in sorted({*in_head, *self.files()})
                if path in wanted and not _is_private(path) and not is_too_large(self.root / path)
            ]
            stage_files(self._git, self.root, candidates, env)
            options = ("--cached", "-z", "--name-only", "--no-renames", "--relative")
            # Without a commit, the empty tree.
            base = head or self._git("hash-object", "-t", "tree", "--stdin").strip()
            listed = self._git("diff-index", *options, base, "--", ".", env=env)
        return tuple(filter(None, listed.split("\0")))

    # Calls of git

    @cached_property
    def _location(self) -> Repository:
        """Where the project is. GitError if it is not in a repository that can be used."""
        repository = find_repository(self._git)
        if repository.prefix and self._git.succeeds("check-ignore", "-q", "."):
            raise GitError(f"{self.root.name} is ignored by the git repository around it")
        return repository

    @property
    def _top(self) -> GitCommand:
        return GitCommand(self._location.top, self._git.environ)

    def _commit_of(self, ref: str) -> str | None:
        _ = self._location
        result = self._git.run("rev-parse", "--verify", "-q", f"{ref}^{{commit}}")
        return result.stdout.strip() if result.status == 0 else None


def _is_private(path: str) -> bool:
    """Return whether a file is never committed; the empty path stands for no file."""
    first, _, _ = path.partition("/")
    name = path.rpartition("/")[2]
    return first in ("", RALPH_DIRECTORY) or name == STATE_NAME or is_temporary(name)


# Names of the refs below refs/ralph/


def _good_ref(spec: str) -> str:
    """Return the ref that holds the last good commit of a spec."""
    return f"refs/ralph/{_component(spec)}/good"


def _task_refs(spec: str, task: str) -> str:
    """Return the directory of the refs that keep what a rollback for `task` replaced."""
    name = _component(task)
    if name == "good":
        # `refs/ralph/<spec>/good` is the last good commit.
        name = "task-good"
    return f"refs/ralph/{_component(spec)}/{name}"


def _component(name: str) -> str:
    """Return `name` as one part of a ref name, by git's rules for these."""
    safe = re.sub(r"[^\w.-]+", "-", name)
    safe = re.sub(r"\.{2,}", ".", safe).strip(".")
    safe = re.sub(r"\.lock$", "-lock", safe)
    return safe or "unnamed"
