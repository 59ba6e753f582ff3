"""The branches of the project, which git shares between all worktrees of a repository."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.files import read_or_empty
from pytest_ralph.fixing.git.position import BRANCHES, STASH, move_back, movements, read_position

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_ralph.fixing.git.command import GitCommand, Repository
    from pytest_ralph.fixing.git.position import GitPosition

SWITCHED = re.compile(r"\tcheckout: moving from \S+ to (\S+)$", re.MULTILINE)


def switched_to(log: list[str]) -> set[str]:
    """Return the branches and commits that were checked out, by lines of a log of HEAD."""
    return set(SWITCHED.findall("\n".join(log)))


def read_log(git_dir: Path) -> list[str]:
    """Return the lines in the log of the HEAD of a worktree; none if git keeps no log."""
    return read_or_empty(git_dir / "logs" / "HEAD").splitlines()


class Branches:
    """The branches as they were when the object was created."""

    def __init__(self, git: GitCommand, location: Repository) -> None:
        self._git = git
        self._location = location
        self._log_before = set(read_log(location.git_dir))
        self._before = read_position(git)
        # Those of other executors, which commit to them and with whose worktrees they are removed.
        self._switched_before = self._switched_in_worktrees()

    def restore(self, next_ref: Callable[[], str]) -> list[str]:
        """Put the current branch of the project back if it was moved from a worktree.

        Its commits are kept under the ref that `next_ref` returns. Return a line about that, and
        about each other branch that was not changed in the project itself.
        """
        now = read_position(self._git)
        if now == self._before:
            return []
        foreign = self._without_own_changes(now)
        lines = movements(self._before, foreign)
        current = BRANCHES + now.branch
        is_moved = foreign.refs.get(current) != self._before.refs.get(current)
        if not is_moved or now.branch != self._before.branch:
            return lines
        kept_as = next_ref()
        done = f"{now.branch} is back where it was"
        if move_back(self._git, self._before, kept_as):
            done += f"; the commits are kept under {kept_as}"
        return [*lines, done]

    def _without_own_changes(self, now: GitPosition) -> GitPosition:
        """Return the position before, with the branches of `now` that were changed from elsewhere.

        What is done in the project, by the user or a commit of this run, is in the log of its HEAD.
        Branches that executors switched to are left out, too: they are removed with the worktrees.
        """
        log = read_log(self._location.git_dir)
        added = [line for line in log if line not in self._log_before]
        own_commits = {_commit_in(line) for line in added}
        switched = switched_to(added) | self._switched_in_worktrees()

        refs = dict(self._before.refs)
        for ref in (refs.keys() | now.refs.keys()) - {STASH}:
            new = now.refs.get(ref, "")
            name = ref.removeprefix(BRANCHES)
            if name == now.branch:
                is_own = not log or new == _commit_in(log[-1])
            elif ref not in refs:
                is_own = name in switched
            else:
                is_own = new in own_commits or name in self._switched_before
            if not is_own:
                refs[ref] = new
        existing = {ref: commit for ref, commit in refs.items() if commit}
        return self._before._replace(refs=existing)

    def _switched_in_worktrees(self) -> set[str]:
        """Return the branches and commits that were checked out in linked worktrees."""
        git_dirs = self._location.common_dir.glob("worktrees/*")
        return {name for git_dir in git_dirs for name in switched_to(read_log(git_dir))}


def _commit_in(line: str) -> str:
    """Return the commit that HEAD got, by a line of its log."""
    return line.split(" ", 2)[1]
