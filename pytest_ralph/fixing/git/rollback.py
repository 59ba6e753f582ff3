"""Return the files of a project to an earlier state: all of them or none.

What a rollback would change is kept under a ref first. Then each file is replaced as a whole, and
if one cannot be, those replaced before it are put back.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import GITIGNORE_NAME, fault_point
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.fixing.file_state import Change, is_same_now, put_back, state_below, state_of
from pytest_ralph.fixing.git.command import GitCommand, null_separated
from pytest_ralph.fixing.git.index import LITERAL, Index, read_diff, read_index, set_index
from pytest_ralph.fixing.git.kept_state import SCRIPT_NAME, KeptState
from pytest_ralph.fixing.snapshot import MAX_FILE_SIZE, MAX_TOTAL_SIZE, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable

    from pytest_ralph.fixing.git.path_set import PathSet


@dataclass(frozen=True)
class RollbackResult:
    """What a rollback did; all files are named relative to the project root.

    `ref` holds everything as it was. Files in `left` were not touched, because an ignored file or a
    link is in the way or because they are too large to be kept.
    """

    to: str
    ref: str
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    def __str__(self) -> str:
        done = f"{len(self.written)} restored, {len(self.removed)} removed"
        if not self.written and not self.removed:
            done = "nothing had changed"
        if self.left:
            done += f"; left as they are: {', '.join(self.left)}"
        return f"went back to {self.to} ({done}); the state before is kept as {self.ref}"


@dataclass(frozen=True)
class Target:
    """What the project is to become. The paths of changes are relative to the project root.

    changes: `before` is how a file is to become, `after` how it is now.
    index: The entries that the changed paths are to have, relative to the top of the repository.
    """

    name: str
    commit: str
    changes: tuple[Change, ...]
    index: Index


def target_of_commit(git: GitCommand, commit: str, prefix: str, scratch: Path) -> Target:
    """Return the target for a commit. `git` runs at the top of the repository.

    The files of the commit are written to the directory `scratch`, through the smudge filters of
    the project: a filter that fails raises GitError while no file of the project has changed.
    """
    scope = prefix.rstrip("/") or "."
    # From the working tree to the commit; None for a file that the commit does not have.
    differences = read_diff(git, "diff-index", "-R", commit, "--", scope)
    wanted = {path: in_commit for path, (_, in_commit) in differences.items()}
    in_commit = [path for path, entry in wanted.items() if entry is not None]
    files = _check_out(git, commit, in_commit, scratch)

    options = ("-o", "-z", "--exclude-standard", "--", scope)
    untracked = set(git.listed("ls-files", *options, env=LITERAL))
    index = read_index(git, scope)
    changes = []
    for path in sorted(untracked.union(wanted)):
        after = None
        # Any other file in this place is ignored, and none of our business.
        if path in index or path in untracked:
            after = state_below(git.directory, path)
        changes.append(Change(path.removeprefix(prefix), files.get(path), after))

    for path, entry in wanted.items():
        old = index.pop(path, None)
        if entry is not None:
            index[path] = entry.with_flags_of(old)
    return Target(commit[:12], commit, tuple(changes), index)


def _check_out(git: GitCommand, commit: str, paths: list[str], scratch: Path) -> Snapshot:
    """Write files of a commit below `scratch`; return their states by path."""
    index = {"GIT_INDEX_FILE": str(scratch / "target-index")}
    git("read-tree", commit, env=index)
    directory = scratch / "target"
    options = ("checkout-index", f"--prefix={directory}/", "-z", "--stdin")
    git(*options, stdin=null_separated(paths), env=index)
    states = {}
    for path in paths:
        state = state_of(directory / path)
        if state is None:
            raise GitError(f"git cannot write {path}")
        states[path] = state._replace(copy="" if state.is_link else str(directory / path))
    return states


class Rollback:
    """One rollback of the project at `root`, whose repository is at the directory of `git`."""

    def __init__(
        self, git: GitCommand, root: Path, prefix: str, scratch: Path, protected: PathSet
    ) -> None:
        self._git = git
        self._root = root
        self._prefix = prefix
        self._scratch = scratch
        self._protected = protected
        # Paths that are not rolled back.
        self._left: list[str] = []

    def perform(
        self, target: Target, head: str, ref: str, announce: Callable[[str], None] | None
    ) -> RollbackResult:
        """Keep what is going to change under `ref`, and make the project equal to `target`."""
        possible = self._possible(target.changes)
        in_repository = [replace(one, path=self._prefix + one.path) for one in possible]
        kept_state = KeptState(self._git, in_repository, self._scratch)
        kept_state.write(ref, f"pytest-ralph: before going back to {target.commit}", head)
        if announce is not None:
            restore = f"git show {ref}^3:{SCRIPT_NAME} | sh"
            announce(f"kept everything as it was under {ref}; to get it back: {restore}")

        fault_point("before files move")
        try:
            changes = self._put_ignore_files(possible, kept_state)
            self._put_back(changes)
            fault_point("before index moves")
            set_index(self._git, [self._prefix + one.path for one in changes], target.index)
        except BaseException:
            self._take_back(possible, kept_state)
            raise
        return RollbackResult(
            target.name,
            ref,
            written=tuple(change.path for change in changes if change.before is not None),
            removed=tuple(change.path for change in changes if change.before is None),
            left=tuple(sorted(self._left)),
        )

    def _possible(self, changes: Iterable[Change]) -> list[Change]:
        """Return the changes that may be made; note the paths that have to be left."""
        possible = []
        room = MAX_TOTAL_SIZE
        wanted = [change for change in changes if change.path not in self._protected]
        removed = {change.path for change in wanted if change.before is None}
        for change in wanted:
            if is_same_now(self._root, change.path, change.before):
                continue
            size = 0 if change.after is None else change.after.size
            if size > min(MAX_FILE_SIZE, room):
                self._left.append(f"{change.path} ({size // 1_000_000} MB, too large to keep)")
            elif not change.can_be_undone:
                self._left.append(f"{change.path} (no copy was kept)")
            elif self._is_blocked(change, removed):
                self._left.append(change.path)
            else:
                room -= size
                possible.append(change)
        return possible

    def _is_blocked(self, change: Change, removed: Container[str]) -> bool:
        """Return whether writing the path would destroy an ignored file or follow a link.

        A link that is among the paths to be `removed` is not in the way.
        """
        path = self._root / change.path
        for parent in reversed(Path(change.path).parents):
            if (self._root / parent).is_symlink():
                return str(parent) not in removed
        if change.after is not None or not os.path.lexists(path):
            return False
        # A directory goes if all its files do; anything else is a file that git ignores.
        return path.is_symlink() or not path.is_dir()

    def _put_back(self, changes: Iterable[Change]) -> None:
        """Make the files what they were before `changes`. Raise GitError if one cannot be."""
        # First remove files: a directory of the same name may be needed, or the other way round.
        for change in sorted(changes, key=lambda one: one.before is not None):
            if is_same_now(self._root, change.path, change.before):
                continue
            left = put_back(self._root, [change])
            if left:
                raise GitError(f"{change.path} cannot be written or removed")

    def _take_back(self, changes: list[Change], kept: KeptState) -> None:
        """Make the files that `_put_back` has changed again what they were before it."""
        # Here, too, files are removed first.
        for change in sorted(changes, key=lambda one: one.after is not None):
            # A file that has not been put back yet, or that the user has just saved, stays.
            if not is_same_now(self._root, change.path, change.before):
                continue
            # On a disk that is full, one file may be put back and another one not. The ref has all.
            with contextlib.suppress(GitError, OSError):
                state = kept.state_of(self._prefix + change.path)
                put_back(self._root, [Change(change.path, state, change.before)])

    def _put_ignore_files(self, changes: list[Change], kept: KeptState) -> list[Change]:
        """Put back .gitignore files, and return the changes without files they protect.

        A .gitignore stays if files that it ignores now would no longer be ignored: they may be
        secrets, and the next `git add` would take them.
        """
        ignore_files = [one for one in changes if Path(one.path).name == GITIGNORE_NAME]
        if not ignore_files:
            return changes
        ignored_before = self._ignored_files()
        self._put_back(ignore_files)
        exposed = ignored_before - self._ignored_files()
        others = [one for one in changes if one not in ignore_files]
        if exposed:
            self._take_back(ignore_files, kept)
            self._left += [one.path for one in ignore_files]
            return others

        removed = [one.path for one in others if one.before is None]
        protected = self._ignored(removed)
        self._left += protected
        return [one for one in changes if one.path not in protected]

    def _ignored_files(self) -> set[str]:
        options = ("ls-files", "-o", "-i", "-z", "--exclude-standard", "--directory")
        return set(self._git.listed(*options, "--", self._prefix or ".", env=LITERAL))

    def _ignored(self, paths: Collection[str]) -> set[str]:
        """Return those of `paths` that git ignores."""
        git = GitCommand(self._root, self._git.environ)
        result = git.run("check-ignore", "-z", "--stdin", stdin=null_separated(paths))
        return set(filter(None, result.stdout.split("\0")))
