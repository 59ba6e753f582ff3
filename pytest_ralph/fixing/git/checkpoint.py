"""Room fixing: git as the keeper of what worked: last good commit, everything as it was, going back, committing.

A snapshot is a commit made aside, with an index of its own: HEAD, the user's index, stash and branches never move
for it. Its tree is the whole working tree, untracked files included; its second parent holds the index as it was.
Going back changes files and index entries, never history: commits made since the good one stay on their branch.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pytest_ralph.files import fault_point, is_temporary
from pytest_ralph.fixing.git.checkout import Entry, Kept, entries, move_files, move_index
from pytest_ralph.fixing.git.command import GitCommand, GitError, null_separated
from pytest_ralph.fixing.git.listing import digest, listing

__all__ = ["Git", "GitError", "RollbackResult"]

Tell = Callable[[str], None]

_UNFINISHED = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "sequencer": "a cherry-pick or revert",
    "BISECT_LOG": "a bisect",
}
# A snapshot must be possible where nobody has told git a name yet.
_IDENTITY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "pytest-ralph"), ("EMAIL", "pytest-ralph@localhost"))
}
# What a run itself writes is no work on the project.
_BOOKKEEPING = tuple(
    f":(exclude,glob)**/{name}"
    for name in ("tasks.md", ".progress.md", ".ralph-state.json", ".ralph/**")
)
_VANISHED = re.compile(r"No such file or directory|unable to (?:stat|index|open)")
_GITLINK = "160000"
_REMEMBERED = 32


@dataclass(frozen=True)
class RollbackResult:
    """What a rollback did: where to, where what was there is kept, and the files (below the project root)."""

    to: str
    ref: str
    kept: str
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    # Not touched, because an ignored file or a link is in the way.
    left: tuple[str, ...] = ()

    @property
    def moved(self) -> bool:
        return bool(self.written or self.removed)

    def __str__(self) -> str:
        done = (
            f"{len(self.written)} restored, {len(self.removed)} removed"
            if self.moved
            else "nothing had changed"
        )
        left = f"; left as they are: {', '.join(self.left)}" if self.left else ""
        return f"went back to {self.to[:12]} ({done}{left}); what was there: {self.ref}"


@dataclass(frozen=True)
class _Place:
    """Where the project is in its repository. `prefix` is empty or ends in a slash."""

    top: Path
    prefix: str
    git_dir: Path


class Git:
    """The project's repository. Every method either does all of what it says or raises GitError with no change."""

    def __init__(self, root: Path, environ: Mapping[str, str] | None = None) -> None:
        self.root = Path(root).resolve()
        self._git = GitCommand.at(self.root, environ)
        self._lock = threading.RLock()
        self._listings: dict[str, dict[str, tuple[int, int]]] = {}

    def close(self) -> None:
        """Forget the objects made for comparing; also done when the program ends."""
        if "_aside" in self.__dict__:
            shutil.rmtree(self.__dict__.pop("_aside")["GIT_OBJECT_DIRECTORY"], ignore_errors=True)

    # What is there

    def unavailable(self) -> str | None:
        """Why there is no repository to work with, or None."""
        try:
            self._require()
        except GitError as error:
            return str(error)
        return None

    def head(self) -> str | None:
        """The commit HEAD is at; None on a branch without commits."""
        self._require()
        status, output, _ = self._git.status("rev-parse", "--verify", "-q", "HEAD^{commit}")
        return output.strip() if status == 0 else None

    def tree_fingerprint(self) -> str:
        """Changes when the content of any unignored file below the root does, the run's own files aside."""
        if self.unavailable():
            files = listing(self.root)
            key = f"files:{digest(files)}"
            self._listings[key] = files
            while len(self._listings) > _REMEMBERED:
                self._listings.pop(next(iter(self._listings)), None)
            return key
        with self._lock:
            return self._tree(*_BOOKKEEPING, env=self._aside)

    def changed_files(self, since: str) -> tuple[str, ...]:
        """The files below the root, named from there, that differ from when `tree_fingerprint` gave `since`."""
        now = self.tree_fingerprint()
        if now in self._listings:
            old, new = self._listings.get(since, {}), self._listings[now]
            return tuple(
                sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
            )
        return tuple(self._named(entry) for entry in self._difference(since, now, env=self._aside))

    # Good commits and snapshots

    def mark_good(self, spec: str) -> str | None:
        """Remember HEAD as the last good commit of `spec`: a task of it has just passed."""
        head = self.head()
        if head is not None:
            self._git("update-ref", "-m", "pytest-ralph: last good", _good_ref(spec), head)
        return head

    def last_good(self, spec: str) -> str | None:
        if self.unavailable():
            return None
        status, output, _ = self._git.status(
            "rev-parse", "--verify", "-q", f"{_good_ref(spec)}^{{commit}}"
        )
        return output.strip() if status == 0 else None

    def next_ref(self, spec: str, task: str) -> str:
        """The first free `refs/ralph/<spec>/<task>/<n>`."""
        base = f"refs/ralph/{_component(spec)}/{_task_component(task)}"
        numbers = [
            name.rpartition("/")[2]
            for name in self._git("for-each-ref", "--format=%(refname)", base).split()
        ]
        return (
            f"{base}/{max((int(number) for number in numbers if number.isdigit()), default=0) + 1}"
        )

    def keep(self, ref: str, message: str = "pytest-ralph: everything as it was") -> str:
        """Keep the working tree, untracked files and the index as they are now under the new `ref`."""
        with self._lock:
            return self._snapshot(ref, message)

    def rollback(
        self, to: str, keep: Collection[Path], ref: str, tell: Tell | None = None
    ) -> RollbackResult:
        """Make files and index below the root what they are in commit `to`.

        Everything as it was is under `ref`, and `tell` has said so, before anything moves. Left as they are: the
        spec files, `.ralph/`, whatever is in `keep`, ignored files, HEAD and all branches.
        """
        with self._lock:
            commit = self._check_rollback(to)
            kept = self._snapshot(ref, f"pytest-ralph: before going back to {commit}")
            if tell is not None:
                tell(
                    f"kept everything as it was under {ref}; to get it back: git restore --source={ref} -- ."
                )
            return self._move(
                kept,
                f"{commit}^{{tree}}",
                f"{commit}^{{tree}}",
                Kept.of(self.root, keep),
                commit,
                ref,
            )

    def restore(self, ref: str, keep: Collection[Path] = ()) -> RollbackResult:
        """Bring back what `keep` or `rollback` kept under `ref`; what is there now is kept under `<ref>-undone…`."""
        with self._lock:
            self._check_unfinished()
            if self._git.status("rev-parse", "--verify", "-q", f"{ref}^2")[0] != 0:
                raise GitError(f"nothing is kept under {ref}")
            aside = self._free(f"{ref}-undone")
            kept = self._snapshot(aside, f"pytest-ralph: before restoring {ref}")
            commit = self._git("rev-parse", f"{ref}^{{commit}}").strip()
            return self._move(
                kept,
                f"{ref}^{{tree}}",
                f"{ref}^2^{{tree}}",
                Kept.of(self.root, keep),
                commit,
                aside,
            )

    # Commits

    def commit(
        self,
        message: str,
        exclude: Collection[Path] = (),
        *,
        since: str | None = None,
        also: Collection[Path] = (),
    ) -> str | None:
        """Commit what changed below the root; None if nothing did.

        With `since` (a fingerprint): only what changed after it, and the files in `also` (tasks.md, .progress.md).
        What others staged stays staged; hooks run; the state file and `.ralph/` are never committed.
        """
        with self._lock:
            self._check_unfinished()
            paths = self.uncommitted(exclude, since=since, also=also)
            if not paths:
                return None
            self._commit_paths(message, [self._place.prefix + path for path in paths])
            return self.head()

    def uncommitted(
        self,
        exclude: Collection[Path] = (),
        *,
        since: str | None = None,
        also: Collection[Path] = (),
    ) -> tuple[str, ...]:
        """The paths `commit` would commit, named from the root."""
        with self._lock:
            base = self.head() or self._git("hash-object", "-t", "tree", "--stdin").strip()
            tree = self._tree(env=self._aside)
            differing = [
                self._named(entry) for entry in self._difference(base, tree, env=self._aside)
            ]
            if since is not None:
                wanted = Kept.paths(
                    self.root, [*(self.root / name for name in self.changed_files(since)), *also]
                )
                differing = [path for path in differing if wanted(path)]
            unwanted = Kept.paths(self.root, [*exclude, self.root / ".ralph"])
            return tuple(
                path
                for path in differing
                if not unwanted(path) and not _is_private(Path(path).name)
            )

    def _commit_paths(self, message: str, paths: list[str]) -> None:
        git = GitCommand(self._place.top, {**self._git.environ, "GIT_LITERAL_PATHSPECS": "1"})
        from_stdin = ("--pathspec-from-file=-", "--pathspec-file-nul")
        known = set(git("ls-files", "-z", "--full-name").split("\0"))
        new = null_separated(path for path in paths if path not in known)
        if new:
            git("add", "--intent-to-add", *from_stdin, stdin=new)
        fault_point("before git commit")
        status, output, errors = git.status(
            "commit",
            "-q",
            "--only",
            f"--message={message}",
            *from_stdin,
            stdin=null_separated(paths),
        )
        if status != 0:
            git.status("update-index", "--force-remove", "-z", "--stdin", stdin=new)
            raise GitError(_why_no_commit(output + errors))

    # Inside

    @cached_property
    def _place(self) -> _Place:
        status, output, errors = self._git.status(
            "rev-parse", "--is-inside-work-tree", "--is-bare-repository", "--absolute-git-dir"
        )
        if status != 0:
            raise GitError(_why_no_repository(self.root, errors))
        inside, bare, git_dir = output.splitlines()[:3]
        if bare == "true" or inside != "true":
            raise GitError(f"{self.root.name}: a bare repository has no files to go back to")
        top = self._git("rev-parse", "--show-toplevel").rstrip("\n")
        prefix = self._git("rev-parse", "--show-prefix").rstrip("\n")
        if prefix and self._git.status("check-ignore", "-q", ".")[0] == 0:
            raise GitError(f"{self.root.name} is ignored by the git repository around it")
        return _Place(Path(top), prefix, Path(git_dir))

    def _require(self) -> _Place:
        return self._place

    @property
    def _top(self) -> GitCommand:
        return GitCommand(self._place.top, self._git.environ)

    @cached_property
    def _aside(self) -> dict[str, str]:
        """Where objects go that only serve to compare: not into the repository."""
        objects = self._git("rev-parse", "--git-path", "objects").rstrip("\n")
        scratch = tempfile.mkdtemp(prefix="ralph-objects-")
        weakref.finalize(self, shutil.rmtree, scratch, ignore_errors=True)
        return {
            "GIT_OBJECT_DIRECTORY": scratch,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str((self.root / objects).resolve()),
        }

    @contextmanager
    def _own_index(self) -> Iterator[dict[str, str]]:
        """A copy of the user's index: unchanged files need not be read again, and the user's own is not written."""
        with tempfile.TemporaryDirectory(prefix="ralph-index-") as directory:
            index = Path(self._git("rev-parse", "--git-path", "index").rstrip("\n"))
            copy = Path(directory, "index")
            if (self.root / index).exists():
                shutil.copy2(self.root / index, copy)
            yield {"GIT_INDEX_FILE": str(copy)}

    def _tree(self, *pathspecs: str, env: Mapping[str, str] | None = None) -> str:
        """The working tree below the root, untracked files included, as a tree object."""
        with self._own_index() as own:
            env = {**own, **(env or {})}
            self._add_all(pathspecs, env)
            return self._git("write-tree", env=env).strip()

    def _add_all(self, pathspecs: tuple[str, ...], env: Mapping[str, str], tries: int = 5) -> None:
        """Others are at work in the tree at the same time, and git gives up on a file that goes while it looks."""
        try:
            self._git("add", "-A", "--", ".", *pathspecs, env=env)
        except GitError as error:
            if not tries or not _VANISHED.search(str(error)):
                raise
            self._add_all(pathspecs, env, tries - 1)

    def _difference(self, old: str, new: str, env: Mapping[str, str] | None = None) -> list[Entry]:
        arguments = (
            "diff-tree",
            "-r",
            "-z",
            "--raw",
            "--no-renames",
            "--no-abbrev",
            old,
            new,
            "--",
            ".",
        )
        return entries(self._git(*arguments, env=env))

    def _named(self, entry: Entry) -> str:
        return entry.path.removeprefix(self._place.prefix)

    def _snapshot(self, ref: str, message: str) -> str:
        self._check_index()
        head = self.head()
        parents = ("-p", head) if head else ()
        with self._own_index() as own:
            index_tree = self._git("write-tree", env=own).strip()
        tree = self._tree()
        commit = self._git(
            "commit-tree", index_tree, *parents, "-m", "the index", env=_IDENTITY
        ).strip()
        parents = (*parents, "-p", commit) if head else ("-p", commit, "-p", commit)
        commit = self._git("commit-tree", tree, *parents, "-m", message, env=_IDENTITY).strip()
        fault_point("before keeping ref")
        # An empty old value: the ref must be new, so nothing kept earlier is ever lost.
        self._git("update-ref", "-m", "pytest-ralph: keep", ref, commit, "")
        return commit

    def _free(self, ref: str) -> str:
        taken = set(self._git("for-each-ref", "--format=%(refname)", f"{ref}*").split())
        return next(name for n in range(1, len(taken) + 2) if (name := f"{ref}-{n}") not in taken)

    def _move(
        self, kept: str, tree: str, index_tree: str, stays: Kept, to: str, ref: str
    ) -> RollbackResult:
        prefix = self._place.prefix
        changes = [entry for entry in self._difference(kept, tree) if not stays(self._named(entry))]
        fault_point("before files move")
        moved = move_files(self._top, tree, changes)
        raw = self._git(
            "diff-index",
            "--cached",
            "-z",
            "--raw",
            "--no-renames",
            "--no-abbrev",
            index_tree,
            "--",
            ".",
        )
        fault_point("before index moves")
        move_index(self._top, [entry for entry in entries(raw) if not stays(self._named(entry))])

        def named(paths: list[str]) -> tuple[str, ...]:
            return tuple(path.removeprefix(prefix) for path in paths)

        return RollbackResult(
            to, ref, kept, named(moved.written), named(moved.removed), named(moved.left)
        )

    # Guards

    def _check_unfinished(self) -> None:
        place = self._place
        for name, what in _UNFINISHED.items():
            if (place.git_dir / name).exists():
                raise GitError(
                    f"{what} is in progress in {place.top.name}: finish or abort it first"
                )

    def _check_index(self) -> None:
        if (self._place.git_dir / "index.lock").exists():
            raise GitError("another git process holds the index (index.lock)")
        if self._git("ls-files", "--unmerged", "-z"):
            raise GitError("the index holds unresolved conflicts")

    def _check_rollback(self, to: str) -> str:
        self._check_unfinished()
        self._check_index()
        head = self.head()
        if head is None:
            raise GitError("nothing to go back to: the branch has no commit yet")
        if self._git.status("symbolic-ref", "-q", "HEAD")[0] != 0:
            raise GitError("HEAD is detached: no branch to go back on")
        status, output, _ = self._git.status(
            "rev-parse", "--verify", "-q", "--end-of-options", f"{to}^{{commit}}"
        )
        if not to or status != 0:
            raise GitError("nothing to go back to: no task has passed at a commit yet")
        commit = output.strip()
        if self._git.status("merge-base", "--is-ancestor", commit, head)[0] != 0:
            raise GitError(f"the last good commit {commit[:12]} is not part of the current branch")
        self._check_submodules(commit)
        return commit

    def _check_submodules(self, commit: str) -> None:
        staged = self._git("ls-files", "--stage", "-z", "--", ".").split("\0")
        stored = self._git("ls-tree", "-r", "-z", commit, "--", ".").split("\0")
        found = [line for line in (*staged, *stored) if line.startswith(_GITLINK)]
        if found:
            raise GitError(f"submodules cannot be rolled back: {found[0].partition(chr(9))[2]}")
        untracked = self._git("ls-files", "-o", "-z", "--exclude-standard", "--", ".").split("\0")
        if nested := next((path for path in untracked if path.endswith("/")), None):
            raise GitError(f"a repository inside the repository cannot be rolled back: {nested}")


def _is_private(name: str) -> bool:
    return name == ".ralph-state.json" or is_temporary(name)


def _good_ref(spec: str) -> str:
    return f"refs/ralph/{_component(spec)}/good"


def _component(name: str) -> str:
    """`name` as one part of a ref name, by git's rules for those."""
    safe = re.sub(r"[^\w.-]+", "-", name)
    safe = re.sub(r"\.{2,}", ".", safe).strip(".")
    safe = re.sub(r"\.lock$", "-lock", safe)
    return safe or "unnamed"


def _task_component(task: str) -> str:
    name = _component(task)
    return "task-good" if name == "good" else name


def _why_no_repository(root: Path, errors: str) -> str:
    if "not a git repository" in errors:
        return f"{root.name} is not in a git repository"
    told = next(
        (line.strip() for line in errors.splitlines() if line.strip()), "git cannot read it"
    )
    return f"{root.name}: {told}"


def _why_no_commit(output: str) -> str:
    if re.search(
        r"tell me who you are|empty ident|unable to auto-detect email|no email was given",
        output,
        re.IGNORECASE,
    ):
        return "git does not know who commits: set user.name and user.email with git config"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return (
        f"git refused the commit: {lines[-1]}"
        if lines
        else "git refused the commit (a hook, without a word)"
    )
