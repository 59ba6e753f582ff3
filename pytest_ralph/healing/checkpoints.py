"""Checkpoints: everything the healing of a spec does with git.

Commits of tasks that newly pass (none, as lines of a script, or made), the progress of an executor
that ran out of context, the return to the last good commit, and fingerprints of the working tree.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_ralph.files import SPEC_FILES, sweep
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.fixing.file_state import is_too_large

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from pytest_ralph.fixing.file_state import Change, FileState
    from pytest_ralph.fixing.git.checkpoint import Git
    from pytest_ralph.fixing.git.index import Versions
    from pytest_ralph.fixing.git.rollback import RollbackResult
    from pytest_ralph.fixing.snapshot import Snapshot
    from pytest_ralph.healing.services import Services
    from pytest_ralph.healing.spec_files import SpecFiles
    from pytest_ralph.spec.task import Task


# Rollbacks are recorded under this name, so that `--ralph-undo` takes them back too.
ROLLBACK = "rollback"
BEFORE_EXECUTORS = "the files as they were before an executor changed them"


class Checkpoints:
    """The git side of one spec."""

    def __init__(self, services: Services, spec_files: SpecFiles) -> None:
        self._services = services
        self._settings = services.settings
        self._spec_files = spec_files
        self._to_commit: set[str] = set()
        # How many of the changes made for a task its last commit holds.
        self._committed: dict[str, int] = {}
        # How many changes had been made for a task when it passed last.
        self._changes_at_pass: dict[str, int] = {}
        # Tasks whose work an earlier run began and did not commit.
        self._unfinished: set[str] = set()
        self._script = services.directory / f"commits-{spec_files.spec.name}.sh"
        sweep(self._script)
        spec_files.commits = self._settings.commit == "auto" and services.git is not None

    def tree(self) -> str:
        """A fingerprint of the working tree; empty outside git."""
        git = self._services.git
        if git is None:
            return ""
        asked = time.monotonic()
        with self._services.git_lock:
            try:
                return git.tree_fingerprint(asked)
            except GitError:
                return ""

    def begin(self, task: Task) -> None:
        """Find out before the first attempt whether a pass is to be committed."""
        if self._settings.commit == "none":
            return
        # A run that was cut off may have left a task checked off but not committed.
        waits = task.name in self._spec_files.state.uncommitted()
        if waits or self._spec_files.was_cut_off(task):
            self._unfinished.add(task.name)
        if waits or not task.checked:
            self._to_commit.add(task.name)

    def begin_again(self, task: Task) -> None:
        """Have the work on a task committed that passed before and was broken since."""
        if self._settings.commit != "none":
            self._to_commit.add(task.name)

    def passed(self, task: Task) -> str:
        """Commit what is new and remember the commit as good; return its id. May raise GitError."""
        if self._settings.commit == "none" and not self._settings.rollback:
            return ""
        git = self._services.git
        if git is None:
            return ""
        with self._exclusive():
            commit = self._commit(task)
            if self._settings.rollback:
                self._remember_good(git, task)
        self._spec_files.committed(task, commit)
        return commit

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Wait until no executor is at work, and let none begin: each sees its own commits only."""
        with self._services.turn, self._services.git_lock, self._spec_files.lock:
            yield

    def _remember_good(self, git: Git, task: Task) -> None:
        """Remember where a rollback of later work goes back to: the task has just passed."""
        tree = self._services.tree
        git.refs.mark_good(self._spec_files.spec.name)
        self._changes_at_pass[task.name] = len(self._all_changes_for(task))
        tree.good_index = git.index()

    def _commit(self, task: Task) -> str:
        from pytest_ralph.fixing.git.messages import (
            append_commit,
            commit_message,
            declines_commit,
            written_message,
        )

        git = self._services.git
        assert git is not None
        if task.name not in self._to_commit or declines_commit(task):
            return ""
        self._to_commit.remove(task.name)
        message = commit_message(task, self._spec_files.spec.name)
        changes = self._changes_for(task)
        work = self._paths_of(changes)
        if not work and not self._committed.get(task.name):
            # No executor was at work: a person wrote what the task names.
            work = {path for path in self._named_files(task) if path.exists()}
        if not changes and not written_message(task) and not git.uncommitted(work):
            # A tick alone needs no message of ours: it is part of the next commit.
            return ""
        paths = [*work, *self._spec_files.own_files]
        if self._settings.commit == "message-only":
            append_commit(self._script, self._services.root, message, git.uncommitted(paths))
            return ""
        self._require_more_than_checks(task, changes)
        spec_path = self._spec_files.spec.path
        in_head = git.read_head(spec_path)
        texts = {} if in_head is None else {spec_path: self._spec_files.own_version(in_head)}
        commit = git.commit(
            message,
            paths,
            changes=changes,
            task_files=task.files,
            texts=texts,
            committed=self._committed_by_executors(task),
        )
        self._count_committed(task, changes)
        self._announce_what_is_left(git, task, work, is_committed=commit is not None)
        return commit[:12] if commit else ""

    def _announce_what_is_left(
        self, git: Git, task: Task, work: set[Path], *, is_committed: bool
    ) -> None:
        """Name the files that are not part of the commit, or that the next one would take back."""
        large = sorted(os.path.relpath(path, git.root) for path in work if is_too_large(path))
        if large:
            self._services.announce(f"{task.id}: too large to be committed: {', '.join(large)}")
        staged = git.listing.staged(work) if is_committed else ()
        if staged:
            files = ", ".join(staged)
            line = f"{task.id}: you had staged {files} before it was changed: `git add` it again"
            self._services.announce(f"{line}, or your next commit takes the change back")

    def _count_committed(self, task: Task, changes: Collection[Change]) -> None:
        """Note that changes made for the task are committed: its next commit begins after them."""
        self._committed[task.name] = self._committed.get(task.name, 0) + len(changes)
        self._services.tree.committed.pop(self._spec_files.record_name(task), None)

    def _committed_by_executors(self, task: Task) -> Versions:
        """What executors committed themselves for the task, without files of specs."""
        committed = self._services.tree.committed.get(self._spec_files.record_name(task), {})
        return {
            path: versions
            for path, versions in committed.items()
            if path.rpartition("/")[2] not in SPEC_FILES
        }

    def _changes_for(self, task: Task) -> list[Change]:
        """What executors and repairs changed for the task since its last commit."""
        earlier = task.name in self._unfinished
        changes = self._all_changes_for(task, earlier=earlier)
        return changes[self._committed.get(task.name, 0) :]

    def _all_changes_for(self, task: Task, *, earlier: bool = False) -> list[Change]:
        owner = self._spec_files.record_name(task)
        return self._services.tree.changes_for(owner, earlier=earlier)

    def _paths_of(self, changes: Iterable[Change]) -> set[Path]:
        root = self._services.root.resolve()
        return {root / change.path for change in changes}

    def _require_more_than_checks(self, task: Task, changes: Iterable[Change]) -> None:
        """Refuse to commit a fix that only changed tests or the configuration of checks."""
        changed = list(dict.fromkeys(change.path for change in changes))
        protected = self._services.tree.protected.get(self._spec_files.record_name(task), set())
        if changed and protected.issuperset(changed):
            self._spec_files.committed(task, "")
            raise GitError(f"the fix only changed tests or checks: {', '.join(changed)}")

    def _named_files(self, task: Task) -> set[Path]:
        """The files inside the project that the task names."""
        root = self._services.root.resolve()
        named = [(root / name).resolve() for name in task.files]
        return {path for path in named if path.is_relative_to(root)}

    def keep_progress(self, task: Task) -> str:
        """Commit what an executor that ran out of context has done; return a note about it."""
        git = self._services.git
        if git is None or self._settings.commit != "auto":
            return ""
        message = f"wip({self._spec_files.spec.name}): progress on task {task.id}"
        with self._exclusive():
            try:
                changes = self._changes_for(task)
                paths = self._paths_of(changes)
                commit = git.commit(
                    message,
                    paths,
                    changes=changes,
                    task_files=task.files,
                    committed=self._committed_by_executors(task),
                )
            except (GitError, OSError) as error:
                return f"progress on {task.id} is not committed: {error}"
            self._count_committed(task, changes)
        return f"progress on {task.id} is kept in commit {commit[:12]}" if commit else ""

    def roll_back(self, task: Task) -> str:
        """Return to the last good state; return a note about what was done or why not.

        The tasks that passed before are verified again. If one of them needs what was undone, the
        rollback is taken back.
        """
        git = self._services.git
        if git is None:
            return f"no rollback: {self._services.why_no_git()}"
        if self._services.has_other_workers:
            return "no rollback: other workers use the same files"
        # No other executor may be at work meanwhile.
        with self._services.turn:
            return self._roll_back(git, task)

    def _roll_back(self, git: Git, task: Task) -> str:
        tree = self._services.tree
        with self._services.git_lock, self._spec_files.lock:
            before = tree.snapshots.take()
            try:
                index = git.index()
                result = self._go_back(git, task, before)
            except (GitError, OSError) as error:
                return f"no rollback: {error}"
            changes = tree.changes_since(before)

        broken = self._services.regressions.failing_now()
        if broken:
            left = git.undo_rollback(changes, index)
            note = f"no rollback: {', '.join(broken)} would no longer pass; it was undone"
            return f"{note}, except {', '.join(left)}" if left else note
        # What was done for the task and is undone must not be committed as its work.
        owner = self._spec_files.record_name(self._original_of(task))
        own_paths = {change.path for change in tree.changes_for(owner, earlier=True)}
        tree.record(owner, [change for change in changes if change.path in own_paths])
        tree.record(ROLLBACK, [change for change in changes if change.path not in own_paths])
        return str(result)

    def _go_back(self, git: Git, task: Task, now: Snapshot) -> RollbackResult:
        """Undo what executors have done for the task since it passed, or else go to a commit.

        Without an executor's work, the build was broken before this run.
        """
        # Imported here: only a rollback needs it.
        from pytest_ralph.fixing.file_state import Change, is_same
        from pytest_ralph.fixing.git.rollback import Target
        from pytest_ralph.running.open_files import files_being_written

        tree = self._services.tree
        name = self._spec_files.spec.name
        logs = [self._services.root / path for path in files_being_written(self._services.root)]
        keep = [*self._spec_files.own_files, *self._work_of_others(task), *logs]
        kept_as = git.refs.next(name, task.id)
        announce = self._services.announce
        original = self._original_of(task)
        passed_with = self._changes_at_pass.get(original.name, 0)
        before = _states_before(self._all_changes_for(original)[passed_with:])
        if not before:
            return git.rollback(git.refs.last_good(name) or "", keep, kept_as, announce)
        changes = []
        for path, state in before.items():
            if not is_same(state, now.get(path)):
                changes.append(Change(path, state, now.get(path)))
        index = git.index() if tree.good_index is None else tree.good_index
        target = Target(BEFORE_EXECUTORS, git.head() or "", tuple(changes), index)
        return git.rollback(target, keep, kept_as, announce)

    def _work_of_others(self, task: Task) -> list[Path]:
        """The files that executors and repairs changed for other tasks in this run.

        They may have passed with these changes, or wait for their own recovery.
        """
        # Imported here: only a rollback needs it.
        from pytest_ralph.fixing.change_log import changes_of_others

        owner = self._spec_files.record_name(self._original_of(task))
        paths = changes_of_others(self._services.tree.backups, owner)
        return [self._services.root / path for path in sorted(paths)]

    def _original_of(self, task: Task) -> Task:
        """The task itself, or the original that a fix was written for."""
        return [task, *self._spec_files.owners_of(task)][-1]


def _states_before(changes: Iterable[Change]) -> dict[str, FileState | None]:
    """Return the files of `changes` as they were before the first of them."""
    before: dict[str, FileState | None] = {}
    for change in changes:
        before.setdefault(change.path, change.before)
    return before
