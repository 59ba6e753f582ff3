"""The version of a file that a commit holds: HEAD's, with what was changed for one task.

The working tree may hold edits of the user in the same files, made before, during or after the work
on the task. So each change is merged into the version of HEAD, in the form in which git stores
files: clean filters and conversion of line ends are applied first.
"""

from __future__ import annotations

import os
from collections import defaultdict
from typing import TYPE_CHECKING

from pytest_ralph.fixing.errors import GitError
from pytest_ralph.fixing.file_state import is_same, is_same_now
from pytest_ralph.fixing.git.index import IndexEntry, git_mode
from pytest_ralph.fixing.git.merge_text import ConflictError, merge_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from pytest_ralph.fixing.file_state import Change, FileState
    from pytest_ralph.fixing.git.command import GitCommand


# Path relative to the top of the repository → version to commit; None removes the file.
Versions = dict[str, IndexEntry | None]


class OwnVersions:
    """Finds out what to commit of files that were changed for a task.

    `git` runs at the top of the repository and `prefix` leads from there to the project root.
    `head` are the versions of HEAD.
    """

    def __init__(self, git: GitCommand, prefix: str, head: Mapping[str, IndexEntry]) -> None:
        self._git = git
        self._prefix = prefix
        self._head = head

    def find(self, changes: Iterable[Change], task_files: Collection[str]) -> Versions:
        """Return the versions of files that cannot be committed as they are in the working tree.

        `changes` were made for the task, oldest first, and `task_files` are files that it names:
        of these, one that HEAD does not have is committed as a whole, whoever wrote it. Raise
        GitError if a change cannot be told from edits of the user.
        """
        versions: Versions = {}
        mixed = []
        for path, steps in _steps_by_path(changes).items():
            name = self._prefix + path
            is_new = name not in self._head
            is_complete = path in task_files or self._is_made_at_once(name, steps)
            if is_new and is_complete:
                continue
            try:
                versions[name] = self._version(name, steps)
            except ConflictError:
                mixed.append(path)
        if mixed:
            paths = ", ".join(sorted(mixed))
            raise GitError(f"there were uncommitted edits of the same lines: {paths}")
        return versions

    def _is_made_at_once(self, name: str, steps: Sequence[Change]) -> bool:
        """Return whether one change made a file, and nobody has changed it since."""
        if len(steps) != 1 or not steps[0].added:
            return False
        return is_same_now(self._git.directory, name, steps[0].after)

    def _version(self, name: str, steps: Sequence[Change]) -> IndexEntry | None:
        """Return HEAD's version of a file with all `steps` merged into it."""
        version = self._head.get(name)
        for step in _without_undone(self._not_in_head(name, steps)):
            before = self._stored(name, step.before)
            after = step.after
            if after is not None and not after.can_be_put_back:
                if step is not steps[-1] or not is_same_now(self._git.directory, name, after):
                    raise ConflictError
                after = after._replace(copy=str(self._git.directory / name))
            version = self._merged(before, version, self._stored(name, after))
        return version

    def _not_in_head(self, name: str, steps: Sequence[Change]) -> Sequence[Change]:
        """Return the steps after the last one that HEAD has: progress may have been committed."""
        head = self._head.get(name)
        for number in range(len(steps), 0, -1):
            after = steps[number - 1].after
            if after is not None and after.can_be_put_back and self._stored(name, after) == head:
                return steps[number:]
        return steps

    def _stored(self, name: str, state: FileState | None) -> IndexEntry | None:
        """Write a file into the repository as `git add` would."""
        if state is None:
            return None
        if state.is_link:
            link = self._git("hash-object", "-w", "--stdin", stdin=state.target.encode())
            return IndexEntry(git_mode(state), link.strip())
        if not state.copy:
            # It is too large, or an executor removed the copies.
            raise GitError(
                f"no copy of the original {name} exists, so your edits cannot be told apart"
            )
        blob = self._git("hash-object", "-w", f"--path={name}", "--", state.copy)
        return IndexEntry(git_mode(state), blob.strip())

    def _merged(
        self, base: IndexEntry | None, ours: IndexEntry | None, theirs: IndexEntry | None
    ) -> IndexEntry | None:
        if ours in (base, theirs):
            return theirs
        if base == theirs:
            return ours
        if base is None or ours is None or theirs is None:
            raise ConflictError
        mode = theirs.mode if ours.mode == base.mode else ours.mode
        texts = [self._content(version) for version in (base, ours, theirs)]
        merged = merge_text(self._git, *texts)
        blob = self._git("hash-object", "-w", "--stdin", stdin=merged)
        return IndexEntry(mode, blob.strip())

    def _content(self, version: IndexEntry) -> bytes:
        return os.fsencode(self._git("cat-file", "blob", version.identity))


def _steps_by_path(changes: Iterable[Change]) -> dict[str, list[Change]]:
    """Return the changes of each file, without those that were taken back."""
    by_path: defaultdict[str, list[Change]] = defaultdict(list)
    for change in changes:
        steps = by_path[change.path]
        # A file that is again what it was: a merge was taken back, or the user undid it.
        while steps and is_same(steps[-1].before, change.before):
            steps.pop()
        steps.append(change)
    return by_path


def _without_undone(steps: Iterable[Change]) -> list[Change]:
    """Return the steps without those that a later one, such as a rollback, took back."""
    kept: list[Change] = []
    for step in steps:
        kept.append(step)
        for number, earlier in enumerate(kept):
            if is_same(earlier.before, step.after):
                del kept[number:]
                break
    return kept
