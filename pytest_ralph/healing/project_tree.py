"""The files of the project, watched for all executor runs of a process."""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.files import SPEC_FILES
from pytest_ralph.fixing.change_log import IGNORED_FILES, append_changes, read_changes
from pytest_ralph.fixing.directory_modes import modes_around, record_modes
from pytest_ralph.fixing.errors import GitError, RecoveryError
from pytest_ralph.fixing.file_state import is_behind_link
from pytest_ralph.fixing.snapshot import Snapshots
from pytest_ralph.running.project_files import files_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pytest_ralph.fixing.directory_modes import Modes
    from pytest_ralph.fixing.file_state import Change
    from pytest_ralph.fixing.git.checkpoint import Git
    from pytest_ralph.fixing.git.index import Index, Versions
    from pytest_ralph.fixing.snapshot import Snapshot
    from pytest_ralph.healing.plan_guard import PlanBefore

# Files that git ignores are listed again after this many seconds: few are made during a run.
IGNORED_LISTING_AGE = 60.0
# Copies are kept of so many of them; in some projects all objects of a build are among them.
MOST_IGNORED = 500
# Seconds by which the time of a file may be behind time.time(): kernels set it once per tick.
FILE_TIME_LAG = 0.05


class ProjectTree:
    """The files of the project, watched for all executor runs of this process.

    active: The numbers of the executor runs that are at work.
    runs: How many have begun. If it grows during a run, another one was at work at the same time,
        and what changed may be the work of either.
    plans: The plan of each spec before the first of the runs that are at work.
    good_index: The index when a task passed last, or else before the first executor run.
    protected: The tests and the configuration of checks that were changed for each task.
    committed: What executors committed themselves for each task.
    movements: What runs at the same time have reported about branches, commits and the stash.
    checks_run: The checks that the tasks of each spec are verified with.
    """

    def __init__(self, root: Path, backups: Path, git: Git | None) -> None:
        self.root = root
        self.backups = backups
        self._git = git
        list_files = None if git is None else git.listing.files
        self.snapshots = Snapshots(root, backups / f"tree-{os.getpid()}", list_files)
        self._ignored = Snapshots(root, backups / f"ignored-{os.getpid()}", self._list_ignored)
        self._ignored_paths: list[str] = []
        self._ignored_listed = -math.inf
        self.lock = threading.Lock()
        self.active: set[int] = set()
        self.runs = 0
        self.plans: dict[Path, PlanBefore] = {}
        self.good_index: Index | None = None
        self.protected: dict[str, set[str]] = {}
        self.committed: dict[str, Versions] = {}
        self.movements: set[str] = set()
        self.checks_run: dict[Path, frozenset[str]] = {}

    def begin_run(self) -> RunStart:
        """Count an executor run that is about to begin."""
        with self.lock:
            is_alone = not self.active
            self.runs += 1
            self.active.add(self.runs)
            return RunStart(self.runs, is_alone)

    def remember_index(self) -> None:
        """Remember the index, unless that was done when a task passed or before another run."""
        if self._git is None or self.good_index is not None:
            return
        # An executor may have removed the repository.
        with contextlib.suppress(GitError):
            self.good_index = self._git.index()

    def end_run(self, start: RunStart) -> bool:
        """Count a run as ended; return whether no other was at work at the same time.

        Not before its edits of plans are undone: for the next run they would count as given.
        Calling this twice is harmless.
        """
        with self.lock:
            self.active.discard(start.number)
            if not self.active:
                self.plans.clear()
            return start.is_alone and self.runs == start.number

    def record(self, owner: str, changes: Iterable[Change]) -> None:
        """Keep what is needed to undo `changes`, which were made for the task `owner`."""
        changes = tuple(changes)
        with _kept():
            self.snapshots.keep(changes)
            append_changes(self.backups, changes, owner)

    def ignored_files(self) -> Snapshot:
        """Return the state of files that git ignores, such as `.env`, outside ignored directories.

        They are no part of what a task changes, but an executor may remove them.
        """
        return self._ignored.take()

    def record_ignored(self, before: Snapshot) -> list[str]:
        """Keep what is needed to undo changes of ignored files; return the files that are gone."""
        changes = _changes_since(self._ignored, before, self._ignored.take())
        changes = tuple(change for change in changes if not change.added)
        with _kept():
            self._ignored.keep(changes)
            append_changes(self.backups, changes, IGNORED_FILES)
        return [change.path for change in changes if change.deleted and change.can_be_undone]

    def directory_modes(self, paths: Iterable[str]) -> Modes:
        """Return the permissions of the directories that files are in."""
        return modes_around(self.root, paths)

    def record_directory_modes(self, before: Modes) -> None:
        """Keep what is needed to undo changes of the permissions of directories."""
        # On a disk that is full, the files could not be kept either, which is reported.
        with contextlib.suppress(OSError):
            record_modes(self.root, self.backups, before)

    def _list_ignored(self) -> Iterable[str]:
        """Return the ignored files that are nearest to the root."""
        if self._git is None:
            # Then all files are in the other snapshots.
            return ()
        now = time.monotonic()
        if now - self._ignored_listed > IGNORED_LISTING_AGE:
            self._ignored_listed = now
            paths = sorted(
                self._git.listing.ignored_files(), key=lambda path: (path.count("/"), path)
            )
            self._ignored_paths = paths[:MOST_IGNORED]
        return self._ignored_paths

    def changes_since(self, before: Snapshot, own: str = "") -> tuple[Change, ...]:
        """Return how the files of the project differ from the snapshot `before`.

        `own` is the file whose content is not copied.
        """
        return _changes_since(self.snapshots, before, self.snapshots.take(own))

    def file_changed_between(self, start: float, end: float) -> str:
        """Return the file of the project that was changed last in that time; "" if none was.

        Files that ralph writes do not count. A file that was written right after `end` may bear a
        time before it, so the last moments do not count either.
        """
        times = {}
        for path in self._files():
            if path.rpartition("/")[2] in SPEC_FILES:
                continue
            with contextlib.suppress(OSError):
                times[path] = (self.root / path).lstat().st_ctime
        changed = [path for path, time in times.items() if start < time < end - FILE_TIME_LAG]
        return max(changed, key=times.__getitem__, default="")

    def _files(self) -> Iterable[str]:
        if self._git is None:
            return files_below(self.root)
        try:
            return self._git.listing.files()
        except GitError:
            # An executor may have removed the repository.
            return files_below(self.root)

    def changes_for(self, owner: str, *, earlier: bool) -> list[Change]:
        """Return what executors and repairs changed for a task in this run, oldest first.

        With `earlier`, changes of earlier runs are included.
        """
        directories = [self.backups]
        if earlier:
            directories = sorted(self.backups.parent.glob("*"))
        return [change for one in directories for change in read_changes(one, owner)]

    def close(self) -> None:
        self.snapshots.close()
        self._ignored.close()


class RunStart(NamedTuple):
    """The number of an executor run, and whether no other was at work when it began."""

    number: int
    is_alone: bool


def _changes_since(snapshots: Snapshots, before: Snapshot, after: Snapshot) -> tuple[Change, ...]:
    """Return what differs. A file that git ignores or tracks since then is not gone."""
    unlisted = [
        path for path in before.keys() - after.keys() if not is_behind_link(snapshots.root, path)
    ]
    return snapshots.changes(before, {**after, **snapshots.of(unlisted)})


@contextlib.contextmanager
def _kept() -> Iterator[None]:
    """Raise RecoveryError if what is changed cannot be kept, as on a full disk."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        message = f"what was changed cannot be kept for --ralph-undo: {reason}"
        raise RecoveryError(message) from error
