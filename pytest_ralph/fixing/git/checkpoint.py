"""Git: the last good commit, snapshots, rollback and commits of a project.

A snapshot is a commit made with an index of its own: HEAD, the user's index, stash and branches do
not move for it. Its tree is the whole working tree with untracked files; its second parent holds
the index. A rollback changes files and index entries, never history: commits made since the good
one stay on their branch.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
import weakref
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.files import RALPH_DIRECTORY, STATE_NAME, fault_point, is_temporary
from pytest_ralph.fixing.git.checkout import (
    PathSet,
    TreeChange,
    check_out,
    parse_raw_diff,
    reset_index,
)
from pytest_ralph.fixing.git.command import GitCommand, GitError
from pytest_ralph.fixing.git.commits import commit_paths
from pytest_ralph.fixing.git.preconditions import (
    require_no_nested_repository,
    require_no_operation,
    require_rollback_target,
    require_usable_index,
)
from pytest_ralph.fixing.git.refs import good_ref, task_refs
from pytest_ralph.fixing.git.tree_snapshot import digest, take_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

__all__ = ["Git", "GitError", "RollbackResult"]

# Snapshots must work where git does not know the user's name yet.
SNAPSHOT_AUTHOR = {
    "GIT_AUTHOR_NAME": "pytest-ralph",
    "GIT_AUTHOR_EMAIL": "pytest-ralph@localhost",
    "GIT_COMMITTER_NAME": "pytest-ralph",
    "GIT_COMMITTER_EMAIL": "pytest-ralph@localhost",
}

# What a run itself writes is not work on the project.
NO_BOOKKEEPING = (
    ":(exclude,glob)**/tasks.md",
    ":(exclude,glob)**/.progress.md",
    ":(exclude,glob)**/.ralph-state.json",
    ":(exclude,glob)**/.ralph/**",
)
VANISHED_FILE = re.compile(r"No such file or directory|unable to (?:stat|index|open)")
ADD_TRIES = 6


@dataclass(frozen=True)
class RollbackResult:
    """What a rollback did; all files are named relative to the project root.

    `ref` and `kept` are the ref and the commit that hold everything as it was. Files in `left` were
    not touched, because an ignored file or a link is in the way.
    """

    to: str
    ref: str
    kept: str
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    def __str__(self) -> str:
        done = f"{len(self.written)} restored, {len(self.removed)} removed"
        if not self.written and not self.removed:
            done = "nothing had changed"
        if self.left:
            done += f"; left as they are: {', '.join(self.left)}"
        return f"went back to {self.to[:12]} ({done}); what was there: {self.ref}"


class GitPosition(NamedTuple):
    """Where a repository is. Each part is empty if there is none."""

    branch: str
    commit: str
    stash: str


@dataclass(frozen=True)
class _Location:
    """Where the project is in its repository. `prefix` is empty or ends with a slash."""

    top: Path
    prefix: str
    git_dir: Path


class Git:
    """The repository of a project.

    Every method either does all that it says or raises GitError and changes nothing.
    """

    def __init__(self, root: Path, environ: Mapping[str, str] | None = None) -> None:
        self.root = Path(root).resolve()
        self._git = GitCommand.at(self.root, environ)
        self._lock = threading.RLock()
        # How many commits `commit` has made, or begun to make.
        self.commits = 0

    def close(self) -> None:
        """Remove the objects that were made for comparisons. Also done when the program ends."""
        if "_scratch" in self.__dict__:
            scratch = self.__dict__.pop("_scratch")
            shutil.rmtree(scratch["GIT_OBJECT_DIRECTORY"], ignore_errors=True)

    def unavailable(self) -> str | None:
        """Return why there is no repository to work with, or None if there is one."""
        try:
            _ = self._location
        except GitError as error:
            return str(error)
        return None

    def head(self) -> str | None:
        """Return the commit that HEAD points to, or None on a branch without commits."""
        return self._commit_of("HEAD")

    def position(self) -> GitPosition:
        """Return which branch, commit and stash are current."""
        branch = self._git.run("symbolic-ref", "-q", "--short", "HEAD").stdout.strip()
        stash = self._commit_of("refs/stash")
        return GitPosition(branch, self.head() or "", stash or "")

    def files(self) -> tuple[str, ...]:
        """Return the files below the root, tracked or not, without those that git ignores."""
        options = ("--cached", "--others", "--exclude-standard", "--deduplicate")
        listed = self._git("ls-files", "-z", *options, "--", ".")
        # git lists a repository inside the repository as a directory.
        return tuple(path for path in listed.split("\0") if path and not path.endswith("/"))

    # Comparing working trees

    def tree_fingerprint(self) -> str:
        """Return a text that changes with the content of any file that is not ignored.

        The files that a run itself writes do not count.
        """
        if self.unavailable():
            return f"files:{digest(take_snapshot(self.root))}"
        with self._lock:
            return self._write_tree(*NO_BOOKKEEPING, env=self._scratch)

    # Good commits and rollback

    def mark_good(self, spec: str) -> str | None:
        """Remember HEAD as the last good commit of `spec`, because one of its tasks passed."""
        head = self.head()
        if head is not None:
            self._git("update-ref", "-m", "pytest-ralph: last good", good_ref(spec), head)
        return head

    def last_good(self, spec: str) -> str | None:
        """Return the last good commit of `spec`, if there is one."""
        if self.unavailable():
            return None
        return self._commit_of(good_ref(spec))

    def next_ref(self, spec: str, task: str) -> str:
        """Return the first free ref `refs/ralph/<spec>/<task>/<n>`."""
        directory = task_refs(spec, task)
        highest = 0
        for name in self._git("for-each-ref", "--format=%(refname)", directory).split():
            number = name.rpartition("/")[2]
            if number.isdigit():
                highest = max(highest, int(number))
        return f"{directory}/{highest + 1}"

    def rollback(
        self,
        to: str,
        keep: Collection[Path],
        ref: str,
        announce: Callable[[str], None] | None = None,
    ) -> RollbackResult:
        """Make files and index below the root what they are in commit `to`.

        Everything as it was is kept under the new `ref`, and `announce` receives a line about it,
        before any file changes. Spec files, `.ralph/`, the paths in `keep`, ignored files, HEAD and
        all branches stay as they are.
        """
        with self._lock:
            location = self._location
            require_no_operation(location.top, location.git_dir)
            require_usable_index(self._git, location.git_dir)
            commit = require_rollback_target(self._git, to, self.head())
            require_no_nested_repository(self._git, commit)

            kept = self._keep_everything(ref, f"pytest-ralph: before going back to {commit}")
            if announce is not None:
                restore = f"git restore --source={ref} -- ."
                announce(f"kept everything as it was under {ref}; to get it back: {restore}")
            return self._go_back(kept, commit, PathSet.protected(self.root, keep), ref)

    def _keep_everything(self, ref: str, message: str) -> str:
        """Keep working tree, untracked files and index as a commit under the new `ref`."""
        head = self.head()
        parents = ("-p", head) if head else ()
        with self._copied_index() as index:
            index_tree = self._git("write-tree", env=index).strip()
        index_commit = self._commit_tree(index_tree, parents, "the index")

        # The index is the second parent, also on a branch without commits.
        first_parent = head or index_commit
        both = ("-p", first_parent, "-p", index_commit)
        commit = self._commit_tree(self._write_tree(), both, message)
        fault_point("before keeping ref")
        # The empty old value makes git refuse to overwrite a ref.
        self._git("update-ref", "-m", "pytest-ralph: keep", ref, commit, "")
        return commit

    def _go_back(self, kept: str, to: str, protected: PathSet, ref: str) -> RollbackResult:
        tree = f"{to}^{{tree}}"
        changes = self._unprotected(self._diff_trees(kept, tree), protected)
        fault_point("before files move")
        done = check_out(self._top, tree, changes)

        diff_options = ("--cached", "-z", "--raw", "--no-renames", "--no-abbrev")
        index_diff = self._git("diff-index", *diff_options, tree, "--", ".")
        fault_point("before index moves")
        reset_index(self._top, self._unprotected(parse_raw_diff(index_diff), protected))

        return RollbackResult(
            to,
            ref,
            kept,
            written=tuple(self._relative(path) for path in done.written),
            removed=tuple(self._relative(path) for path in done.removed),
            left=tuple(self._relative(path) for path in done.left),
        )

    def _unprotected(self, changes: list[TreeChange], protected: PathSet) -> list[TreeChange]:
        return [change for change in changes if self._relative(change.path) not in protected]

    # Commits

    def commit(self, message: str, paths: Collection[Path]) -> str | None:
        """Commit what differs from HEAD in `paths`, and return the commit; None if nothing does.

        A directory stands for everything below it. What the user staged stays staged, and hooks
        run. The state file and `.ralph/` are never committed.
        """
        with self._lock:
            require_no_operation(self._location.top, self._location.git_dir)
            changed = self.uncommitted(paths)
            if not changed:
                return None
            require_usable_index(self._git, self._location.git_dir)
            self.commits += 1
            commit_paths(self._top, message, [self._location.prefix + path for path in changed])
            return self.head()

    def uncommitted(self, paths: Collection[Path]) -> tuple[str, ...]:
        """Return which files in `paths` differ from HEAD, relative to the root."""
        with self._lock:
            base = self.head() or self._empty_tree()
            tree = self._write_tree(env=self._scratch)
            wanted = PathSet.of(self.root, paths)
            private = PathSet.of(self.root, [self.root / RALPH_DIRECTORY])
            changed = []
            for change in self._diff_trees(base, tree, env=self._scratch):
                path = self._relative(change.path)
                if path in wanted and path not in private and not _is_private(path):
                    changed.append(path)
            return tuple(changed)

    # Calls of git

    @cached_property
    def _location(self) -> _Location:
        """Where the project is. GitError if it is not in a repository that can be used."""
        questions = ("--is-inside-work-tree", "--is-bare-repository", "--absolute-git-dir")
        result = self._git.run("rev-parse", *questions)
        if result.status != 0:
            raise GitError(_why_no_repository(self.root, result.stderr))
        inside, bare, git_dir = result.stdout.splitlines()[:3]
        if bare == "true" or inside != "true":
            raise GitError(f"{self.root.name}: a bare repository has no files to go back to")

        top = self._git("rev-parse", "--show-toplevel").rstrip("\n")
        prefix = self._git("rev-parse", "--show-prefix").rstrip("\n")
        if prefix and self._git.succeeds("check-ignore", "-q", "."):
            raise GitError(f"{self.root.name} is ignored by the git repository around it")
        return _Location(Path(top), prefix, Path(git_dir))

    @property
    def _top(self) -> GitCommand:
        return GitCommand(self._location.top, self._git.environ)

    @cached_property
    def _scratch(self) -> dict[str, str]:
        """The environment that keeps objects made for comparisons out of the repository."""
        objects = self._git("rev-parse", "--git-path", "objects").rstrip("\n")
        directory = tempfile.mkdtemp(prefix="ralph-objects-")
        weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)
        return {
            "GIT_OBJECT_DIRECTORY": directory,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str((self.root / objects).resolve()),
        }

    @contextmanager
    def _copied_index(self) -> Iterator[dict[str, str]]:
        """Yield the environment that selects a copy of the user's index.

        The user's own index is not written, and unchanged files need not be read again.
        """
        with tempfile.TemporaryDirectory(prefix="ralph-index-") as directory:
            index = self._git("rev-parse", "--git-path", "index").rstrip("\n")
            copy = Path(directory, "index")
            if (self.root / index).exists():
                shutil.copy2(self.root / index, copy)
            yield {"GIT_INDEX_FILE": str(copy)}

    def _write_tree(self, *pathspecs: str, env: Mapping[str, str] | None = None) -> str:
        """Write the working tree below the root, with untracked files, as a tree object."""
        with self._copied_index() as index:
            env = {**index, **(env or {})}
            self._add_all(pathspecs, env)
            return self._git("write-tree", env=env).strip()

    def _add_all(self, pathspecs: tuple[str, ...], env: Mapping[str, str]) -> None:
        """Add all files to the index.

        git gives up if a file vanishes while it looks, and other programs are at work in the tree,
        so this tries again.
        """
        for _ in range(ADD_TRIES):
            result = self._git.run("add", "-A", "--", ".", *pathspecs, env=env)
            if not VANISHED_FILE.search(result.stderr):
                break
        result.check("add")

    def _diff_trees(
        self, old: str, new: str, env: Mapping[str, str] | None = None
    ) -> list[TreeChange]:
        options = ("-r", "-z", "--raw", "--no-renames", "--no-abbrev")
        return parse_raw_diff(self._git("diff-tree", *options, old, new, "--", ".", env=env))

    def _commit_tree(self, tree: str, parents: tuple[str, ...], message: str) -> str:
        commit = self._git("commit-tree", tree, *parents, "-m", message, env=SNAPSHOT_AUTHOR)
        return commit.strip()

    def _commit_of(self, ref: str) -> str | None:
        _ = self._location
        result = self._git.run("rev-parse", "--verify", "-q", f"{ref}^{{commit}}")
        return result.stdout.strip() if result.status == 0 else None

    def _empty_tree(self) -> str:
        return self._git("hash-object", "-t", "tree", "--stdin").strip()

    def _relative(self, path: str) -> str:
        """Return a path of the repository relative to the project root."""
        return path.removeprefix(self._location.prefix)


def _is_private(path: str) -> bool:
    name = Path(path).name
    return name == STATE_NAME or is_temporary(name)


def _why_no_repository(root: Path, errors: str) -> str:
    if "not a git repository" in errors:
        return f"{root.name} is not in a git repository"
    lines = errors.strip().splitlines()
    return f"{root.name}: {lines[0].strip() if lines else 'git cannot read it'}"
