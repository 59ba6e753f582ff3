"""The stash of the project, which git shares between all worktrees of a repository.

What an executor stashes in its worktree would appear in the user's list, and what it drops there
would be missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from pytest_ralph.fixing.git.command import GitCommand

# git writes this into the message of what is stashed, in place of the name of a branch, where no
# branch is checked out.
NO_BRANCH = "(no branch)"


class Entry(NamedTuple):
    """One entry of the stash."""

    commit: str
    message: str


class Stash:
    """The stash as it was when the object was created.

    `log` is the file in which git keeps the list, oldest entry first.
    """

    def __init__(self, git: GitCommand, log: Path) -> None:
        self._git = git
        self._log = log
        self._before = self._entries()

    def restore(self, switched_to: Collection[str]) -> str:
        """Take out what was stashed in worktrees since, and put back what was dropped.

        `switched_to` are the branches that were checked out in the worktree. Return what was done;
        empty if there was nothing to do.
        """
        now = self._entries()
        if now == self._before:
            return ""
        done = []
        stashed = [entry for entry in now if self._is_of_worktree(entry, switched_to)]
        for entry in stashed:
            self._drop(entry)
            done.append(f"stashed changes: taken out of your stash (commit {entry.commit[:12]})")
        dropped = [entry for entry in self._before if entry not in now]
        for entry in dropped:
            self._git("stash", "store", "-m", entry.message, entry.commit)
            done.append(f"dropped one of your stashes: restored (commit {entry.commit[:12]})")
        return "; ".join(done)

    def _is_of_worktree(self, entry: Entry, switched_to: Collection[str]) -> bool:
        """Whether an entry is new, and was not stashed by the user on a branch."""
        if entry in self._before:
            return False
        # As in `WIP on main: 1a2b3c4 subject`, or `On main: text of the user`.
        place = entry.message.partition(":")[0].removeprefix("WIP ").partition(" ")[2]
        current = self._git.run("symbolic-ref", "-q", "--short", "HEAD").stdout.strip()
        if place == NO_BRANCH:
            # With no branch in the project either, it may be an entry of the user.
            return bool(current)
        return place in switched_to and place != current

    def _drop(self, entry: Entry) -> None:
        newest_first = self._entries()[::-1]
        position = newest_first.index(entry)
        self._git("stash", "drop", "-q", f"stash@{{{position}}}")

    def _entries(self) -> list[Entry]:
        try:
            lines = self._log.read_text("utf-8", "surrogateescape").splitlines()
        except FileNotFoundError:
            return []
        entries = []
        for line in lines:
            header, _, message = line.partition("\t")
            entries.append(Entry(header.split(" ")[1], message))
        return entries
