"""The version of a file that a commit holds: HEAD's, with what was changed for one task.

The working tree may hold edits of the user in the same files, made before, during or after the work
on the task. So each change is merged into the version of HEAD, in the form in which git stores
files: clean filters and conversion of line ends are applied first.
"""

from __future__ import annotations

import os
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_ralph.fixing.git.command import GitError
from pytest_ralph.fixing.git.index import IndexEntry, git_mode
from pytest_ralph.fixing.snapshot import is_same, is_same_now

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from pytest_ralph.fixing.git.command import GitCommand
    from pytest_ralph.fixing.snapshot import Change, FileState


# Path relative to the top of the repository → version to commit; None removes the file.
Versions = dict[str, IndexEntry | None]


class OwnVersions:
    """Finds out what to commit of files that were changed for a task.

    `git` runs at the top of the repository and `prefix` leads from there to the project root.
    `in_head` are the versions of HEAD. Temporary files are written to `scratch`.
    """

    def __init__(
        self, git: GitCommand, prefix: str, in_head: Mapping[str, IndexEntry], scratch: Path
    ) -> None:
        self._git = git
        self._prefix = prefix
        self._in_head = in_head
        self._scratch = scratch

    def find(self, changes: Iterable[Change], task_files: Collection[str]) -> Versions:
        """Return the versions of files that cannot be committed as they are in the working tree.

        `changes` were made for the task, oldest first, and `task_files` are files that it names:
        of these, one that HEAD does not have is committed as a whole, whoever wrote it. Raise
        GitError if a change cannot be told from edits of the user.
        """
        by_path: defaultdict[str, list[Change]] = defaultdict(list)
        for change in changes:
            steps = by_path[change.path]
            # A file that is again what it was: a merge was taken back, or the user undid it.
            while steps and is_same(steps[-1].before, change.before):
                steps.pop()
            steps.append(change)
        clean = self._clean_before(by_path)

        versions: Versions = {}
        mixed = []
        for path, steps in by_path.items():
            root = self._git.directory / self._prefix
            if path in clean and is_same_now(root / path, steps[-1].after):
                continue
            if self._prefix + path not in self._in_head and path in task_files:
                continue
            try:
                versions[self._prefix + path] = self._version(root / path, steps)
            except _MixedError:
                mixed.append(path)
        if mixed:
            raise GitError(f"you edited the same places: {', '.join(sorted(mixed))}")
        return versions

    def _clean_before(self, by_path: Mapping[str, Sequence[Change]]) -> set[str]:
        """Return the paths that were what HEAD has before the first change.

        Content that git converts is not found here; `_version` finds that it is the same.
        """
        clean = set()
        copies = {}
        for path, steps in by_path.items():
            before = steps[0].before
            if not _follow_each_other(steps):
                continue
            if before is None and self._prefix + path not in self._in_head:
                clean.add(path)
            elif before is not None and before.copy:
                copies[path] = before
        if copies:
            listed = os.fsencode("\n".join(state.copy for state in copies.values()))
            hashed = self._git("hash-object", "--no-filters", "--stdin-paths", stdin=listed)
            for path, identity in zip(copies, hashed.split(), strict=True):
                version = IndexEntry(git_mode(copies[path]), identity)
                if self._in_head.get(self._prefix + path) == version:
                    clean.add(path)
        return clean

    def _version(self, file: Path, steps: Sequence[Change]) -> IndexEntry | None:
        """Return HEAD's version of a file with all `steps` merged into it."""
        path = self._prefix + steps[0].path
        version = self._in_head.get(path)
        for step in self._not_in_head(path, steps):
            before = self._stored(path, step.before)
            after = step.after
            if after is not None and not after.can_be_put_back:
                if step is not steps[-1] or not is_same_now(file, after):
                    raise _MixedError
                after = after._replace(copy=str(file))
            version = self._merged(before, version, self._stored(path, after))
        return version

    def _not_in_head(self, path: str, steps: Sequence[Change]) -> Sequence[Change]:
        """Return the steps after the last one that HEAD has: progress may have been committed."""
        in_head = self._in_head.get(path)
        for number in range(len(steps), 0, -1):
            after = steps[number - 1].after
            if after is not None and after.can_be_put_back and self._stored(path, after) == in_head:
                return steps[number:]
        return steps

    def _stored(self, path: str, state: FileState | None) -> IndexEntry | None:
        """Write a file into the repository as `git add` would."""
        if state is None:
            return None
        if state.is_link:
            link = self._git("hash-object", "-w", "--stdin", stdin=state.target.encode())
            return IndexEntry(git_mode(state), link.strip())
        if not state.copy:
            # It is too large, or an executor removed the copies.
            raise GitError(f"there is no copy of {path} as it was: cannot tell your edits apart")
        blob = self._git("hash-object", "-w", f"--path={path}", "--", state.copy)
        return IndexEntry(git_mode(state), blob.strip())

    def _merged(
        self, base: IndexEntry | None, ours: IndexEntry | None, theirs: IndexEntry | None
    ) -> IndexEntry | None:
        if ours in (base, theirs):
            return theirs
        if base == theirs:
            return ours
        if base is None or ours is None or theirs is None:
            raise _MixedError
        mode = theirs.mode if ours.mode == base.mode else ours.mode
        files = []
        for name, version in (("ours", ours), ("base", base), ("theirs", theirs)):
            file = self._scratch / name
            file.write_bytes(os.fsencode(self._git("cat-file", "blob", version.identity)))
            files.append(str(file))
        merged = self._git.run("merge-file", "-q", *files)
        if merged.status != 0:
            raise _MixedError
        blob = self._git("hash-object", "-w", "--no-filters", "--", files[0])
        return IndexEntry(mode, blob.strip())


class _MixedError(Exception):
    """A change cannot be told from edits of the user."""


def _follow_each_other(steps: Sequence[Change]) -> bool:
    """Return whether nobody changed the file between the changes."""
    return all(earlier.after == later.before for earlier, later in pairwise(steps))
