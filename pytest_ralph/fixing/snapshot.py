"""Snapshots of the files of a project, and what changed between two of them.

A snapshot holds the state of each file with a copy of its content. A file is copied when it is
first seen and after each change, not for each snapshot, and only up to a size limit: in a project
that is larger, the small files are copied, which are the ones that people write.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_ralph.files import (
    RALPH_DIRECTORY,
    SPEC_FILES,
    STATE_NAME,
    is_temporary,
    read_regular,
)
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.fixing.file_state import (
    Change,
    FileState,
    copy_name,
    is_same,
    is_unchanged,
    state_of,
    write_private,
)
from pytest_ralph.running import project_files
from pytest_ralph.running.open_files import files_being_written
from pytest_ralph.running.project_files import entries_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

# Larger files are noticed when they change, but no copy of them is kept.
MAX_FILE_SIZE = 10 * 1024 * 1024
# Of the files that are there at first; and as much again of what changes later.
MAX_TOTAL_SIZE = 256 * 1024 * 1024

# Seconds by which the times of files may lag behind the clock.
CLOCK_TICK = 0.02
NO_ENTRIES: Mapping[str, os.DirEntry[str]] = MappingProxyType({})

# The path of each file relative to the root → its state.
Snapshot = dict[str, FileState]


class Snapshots:
    """Takes snapshots of the files below `root`, with copies in `directory`.

    `list_files` returns the files that belong to the project, relative to the root: those that git
    does not ignore. Without it, directories that tools create are left out.
    """

    def __init__(
        self,
        root: Path,
        directory: Path,
        list_files: Callable[[], Iterable[str]] | None = None,
    ) -> None:
        self.root = root
        self.directory = directory
        self._list_files = list_files
        self._lock = threading.Lock()
        self._last: Snapshot = {}
        # When the last snapshot of all files was begun.
        self._begun = 0.0
        self._copied = 0
        self._limit = MAX_TOTAL_SIZE
        self._own = ""
        # Without git: the files of the last snapshot, and when they were listed.
        self._listed: frozenset[str] = frozenset()
        self._last_listing = 0.0
        self._has_unlisted = False
        self._in_use: set[str] = set()
        # Files that the run itself writes; they are no part of the project.
        self._logs: set[str] | None = None
        # How often somebody else removed the copies.
        self.losses = 0
        # Why the last snapshot lacks new files; empty if it has all.
        self.listing_error = ""
        # The content of copies that are written again then: the files of specs.
        self._kept_contents: dict[Path, bytes] = {}

    def take(self, own: str = "") -> Snapshot:
        """Return the state of all files now.

        `own` is a file that we write ourselves with every step: its content is not copied.
        """
        asked = time.monotonic()
        with self._lock:
            if own != self._own:
                # The file that was not copied before has to be copied now.
                self._last = {path: state for path, state in self._last.items() if state.copy}
                self._own = own
            elif self._begun > asked:
                # Several threads waited: the first of them has taken a snapshot for all.
                return self._last
            is_first = not self._begun
            begun = time.monotonic()
            self._last = self._states_of_all()
            self._begun = begun
            if is_first:
                self._limit = self._copied + MAX_TOTAL_SIZE
            return self._last

    def of(self, paths: Iterable[str]) -> Snapshot:
        """Return the state of some files now."""
        with self._lock:
            return self._states(paths)

    def changes(self, before: Snapshot, after: Snapshot) -> tuple[Change, ...]:
        """Return what differs between two snapshots, sorted by path.

        A file that was written with the content it had is no change. Nor is a log of the run.
        """
        # A file that did not change has the same object in both.
        paths = [path for path, new in after.items() if before.get(path) is not new]
        paths += before.keys() - after.keys()
        changes = []
        for path in sorted(paths):
            change = Change(path, before.get(path), after.get(path))
            if not is_same(change.before, change.after):
                changes.append(change)
        return tuple(changes)

    def keep(self, changes: Iterable[Change]) -> None:
        """Keep the copies of changed files, before and after the change, when the run ends."""
        for change in changes:
            for state in (change.before, change.after):
                if state is not None:
                    self._in_use.add(state.copy)

    def close(self) -> None:
        """Remove the copies that `keep` did not name."""
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.directory):
                if entry.path not in self._in_use:
                    Path(entry.path).unlink()
            self.directory.rmdir()

    def _states_of_all(self) -> Snapshot:
        if self._logs is None:
            self._logs = files_being_written(self.root)
        if self._list_files is None:
            entries = self._entries()
            # Those that were listed before may only have fallen out of the list.
            snapshot = self._states(self._listed.union(entries), entries)
            self._listed = frozenset(snapshot)
            return snapshot

        try:
            paths = self._list_files()
            self.listing_error = ""
        except GitError as error:
            # An executor may have removed the repository.
            paths = tuple(self._last)
            self.listing_error = str(error)
        return self._states([path for path in paths if path not in self._logs])

    def _entries(self) -> dict[str, os.DirEntry[str]]:
        """Return the files of the project without the help of git, except logs of the run.

        Of a project with too many files, some are not listed. One that is only listed because
        others are gone is not new, and left out.
        """
        assert self._logs is not None
        previous = self._last_listing
        self._last_listing = time.time()
        entries = entries_below(self.root)
        if len(entries) >= project_files.MAX_FILES:
            self._has_unlisted = True
        for path in self._logs:
            entries.pop(path, None)
        if not self._listed or not self._has_unlisted:
            return entries
        return {
            path: entry
            for path, entry in entries.items()
            if path in self._listed or _is_newer(entry, previous - CLOCK_TICK)
        }

    def _states(
        self, paths: Iterable[str], entries: Mapping[str, os.DirEntry[str]] = NO_ENTRIES
    ) -> Snapshot:
        """Return the states of files, of which `entries` may just have been listed."""
        if self._copied and not self.directory.is_dir():
            self.losses += 1
            self._copied = 0
            self._last = {}
            self._write_again()
        snapshot: Snapshot = {}
        links = []
        to_copy = []
        root = f"{self.root}/"
        for path in paths:
            # Most files are as they were. A Path for each of them would be most of the cost.
            known = self._last.get(path)
            file = entries.get(path) or root + path
            if known is None or not is_unchanged(file, known):
                known = self._state(path)
                if known is not None and self._is_copied(path, known):
                    to_copy.append(path)
            if known is None:
                continue
            snapshot[path] = known
            if known.target:
                links.append(path)
        for path in sorted(to_copy, key=lambda path: snapshot[path].size):
            state = snapshot[path]
            snapshot[path] = state._replace(copy=self._copy(self.root / path, state))
        return _without_files_behind(snapshot, links)

    def _state(self, path: str) -> FileState | None:
        """Return the state of a file, without a copy; None if no snapshot can hold it."""
        parts = path.split("/")
        if parts[0] == RALPH_DIRECTORY or is_temporary(parts[-1]):
            return None
        return state_of(self.root / path)

    def _is_copied(self, path: str, state: FileState) -> bool:
        # Only we write the state of a spec, and it is never put back.
        is_state = path.rpartition("/")[2] == STATE_NAME
        return not state.is_link and not is_state and path != self._own

    def _copy(self, file: Path, state: FileState) -> str:
        """Copy a file unless it is too large, and return the path of the copy."""
        if state.size > MAX_FILE_SIZE or self._copied + state.size > self._limit:
            return ""
        copy = self.directory / copy_name()
        try:
            if not self._copied:
                self.directory.mkdir(parents=True, exist_ok=True)
            content = read_regular(file)
            write_private(copy, content)
        except OSError:
            # Unreadable or gone, or the copy cannot be written.
            with contextlib.suppress(OSError):
                copy.unlink(missing_ok=True)
            return ""
        self._copied += state.size
        if file.name in SPEC_FILES:
            self._kept_contents[copy] = content
        return str(copy)

    def _write_again(self) -> None:
        """Write copies again that somebody else removed."""
        # A disk that cannot be written is reported elsewhere.
        with contextlib.suppress(OSError):
            self.directory.mkdir(parents=True, exist_ok=True)
            for copy, content in self._kept_contents.items():
                write_private(copy, content)


def _is_newer(entry: os.DirEntry[str], moment: float) -> bool:
    """Return whether a file was created, moved or changed since then."""
    try:
        return entry.stat(follow_symlinks=False).st_ctime >= moment
    except OSError:
        return False


def _without_files_behind(snapshot: Snapshot, links: Iterable[str]) -> Snapshot:
    """Leave out the files that are reached through a link: git lists those that it tracks."""
    prefixes = tuple(f"{link}/" for link in links)
    if not prefixes:
        return snapshot
    return {path: state for path, state in snapshot.items() if not path.startswith(prefixes)}
