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
from pytest_ralph.fixing.git.index import IndexEntry, git_mode, read_blob, write_blob
from pytest_ralph.fixing.git.merge_text import ConflictError, merge_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from pytest_ralph.fixing.file_state import Change, FileState
    from pytest_ralph.fixing.git.command import GitCommand
    from pytest_ralph.fixing.git.index import Index, Versions


# Path relative to the top of the repository → version to commit; None removes the file.
ToCommit = dict[str, IndexEntry | None]


class OwnVersions:
    """Finds out what to commit of files that were changed for a task.

    `git` runs at the top of the repository and `prefix` leads from there to the project root.
    `head` are the versions of HEAD, and `committed` is what an executor has committed itself.
    """

    def __init__(self, git: GitCommand, prefix: str, head: Index, committed: Versions) -> None:
        self._git = git
        self._prefix = prefix
        self._committed = committed
        self._head = self._before_commits(head)

    def _before_commits(self, head: Index) -> Index:
        """Return the versions of HEAD without what the executor has committed."""
        base = dict(head)
        for path, (before, after) in self._committed.items():
            name = self._prefix + path
            if head.get(name) != after:
                # The user has committed the file since.
                continue
            base.pop(name, None)
            if before is not None:
                base[name] = before
        return base

    def find(
        self, paths: Collection[str], changes: Sequence[Change], task_files: Collection[str]
    ) -> ToCommit:
        """Return the versions of `paths` that cannot be committed as they are in the working tree.

        `changes` were made for the task, oldest first, and `task_files` are files that it names:
        of these, one that HEAD does not have is committed as a whole, whoever wrote it. Raise
        GitError if a change cannot be told from edits of the user.
        """
        asked = set(paths)
        versions = self._merged_changes(
            [change for change in changes if change.path in asked], task_files
        )
        changed_back = self._committed.keys() - {change.path for change in changes}
        for path in changed_back & asked:
            name = self._prefix + path
            versions[name] = self._head.get(name)
        return versions

    def _merged_changes(self, changes: Iterable[Change], task_files: Collection[str]) -> ToCommit:
        versions: ToCommit = {}
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
            if step is steps[-1]:
                after = self._with_content(name, after)
            version = self._merged(before, version, self._stored_after(name, after))
        return version

    def _with_content(self, name: str, state: FileState | None) -> FileState | None:
        """Return the state with a file as its copy if it has none, and the file is still so."""
        if state is None or state.can_be_put_back:
            return state
        if not is_same_now(self._git.directory, name, state):
            return state
        return state._replace(copy=str(self._git.directory / name))

    def _stored_after(self, name: str, state: FileState | None) -> IndexEntry | None:
        """Write what a step made of a file. Raise ConflictError if that is not known."""
        if state is not None and not state.can_be_put_back:
            raise ConflictError
        return self._stored(name, state)

    def _not_in_head(self, name: str, steps: Sequence[Change]) -> Sequence[Change]:
        """Return the steps after the last one that HEAD has: progress may have been committed."""
        head = self._head.get(name)
        for number in range(len(steps), 0, -1):
            after = steps[number - 1].after
            if after is None or not after.can_be_put_back:
                continue
            if self._stored(name, after) == head:
                return steps[number:]
        return steps

    def _stored(self, name: str, state: FileState | None) -> IndexEntry | None:
        """Write a file into the repository as `git add` would."""
        if state is None:
            return None
        if state.is_link:
            link = write_blob(self._git, os.fsencode(state.target))
            return IndexEntry(git_mode(state), link)
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
        mode = ours.mode
        if ours.mode == base.mode:
            mode = theirs.mode
        texts = [read_blob(self._git, version.identity) for version in (base, ours, theirs)]
        merged = merge_text(self._git, *texts)
        return IndexEntry(mode, write_blob(self._git, merged))


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
