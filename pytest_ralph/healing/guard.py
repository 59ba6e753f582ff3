"""Guard: compares the project before and after each executor run.

It finds what the run changed, reports changes of tests, checks, tasks.md, branches, commits and
stashes, and with `--ralph-guard=refuse` takes back the whole fix. Edits of plans are undone by
`plan_guard.py`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.files import (
    GITIGNORE_NAME,
    RALPH_DIRECTORY,
    SPEC_FILES,
    file_signature,
)
from pytest_ralph.fixing.check_files import (
    checks_run_by,
    configures_the_same,
    files_replaced_by,
    is_check_configuration,
    is_test,
)
from pytest_ralph.fixing.directory_modes import mode_changes, passable, put_back_modes
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.fixing.file_state import Change, put_back
from pytest_ralph.fixing.git.position import movements
from pytest_ralph.healing.plan_guard import PlanGuard, content_of
from pytest_ralph.healing.regressions import is_named
from pytest_ralph.history.directory import remove_links
from pytest_ralph.text.listing import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ralph.files import Seen
    from pytest_ralph.fixing.directory_modes import Modes
    from pytest_ralph.fixing.git.index import IndexFile
    from pytest_ralph.fixing.git.position import GitPosition
    from pytest_ralph.fixing.snapshot import Snapshot
    from pytest_ralph.healing.plan_guard import PlanBefore, PlanEdit
    from pytest_ralph.healing.project_tree import ProjectTree, RunStart
    from pytest_ralph.healing.services import Services
    from pytest_ralph.healing.spec_files import SpecFiles
    from pytest_ralph.spec.task import Task

# What follows for the user if an executor removes our directory, also without a repository.
LOGS_LOST = "its logs are gone"
COPIES_LOST = "what this run changed before that cannot be undone"
# Changes are recorded under this name if executors of several tasks were at work, and the task does
# not name the file: any of them may have made these.
SEVERAL = "several executors"
# Paths named in one line.
MOST_PATHS = 8


class Before(NamedTuple):
    """The project before an executor run.

    staged: The index, which is read only if a fix may be refused.
    ignored: The files that git ignores.
    directory_modes: The permissions of directories.
    our_directory: Identifies our directory, which an executor may remove.
    losses: How often the copies of changed files had been removed.
    moment: When the snapshot was taken, in nanoseconds.
    """

    start: RunStart
    snapshot: Snapshot
    position: GitPosition | None
    staged: IndexFile | None
    plan: PlanBefore
    ignored: Snapshot
    directory_modes: Modes
    our_directory: Seen
    losses: int
    moment: int


@dataclass(frozen=True)
class GuardReport:
    """What an executor run changed.

    changed: The files that are changed now, without those of the spec.
    findings: One line for each thing that an executor should not have done.
    refusal: Why the fix does not count; its changes are undone. Empty if it is accepted.
    changes: Everything that the run did, also what is undone.
    protected: Those of the changed files that are tests or configure checks.
    """

    changed: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    refusal: str = ""
    changes: tuple[Change, ...] = ()
    protected: tuple[str, ...] = ()


class Guard:
    """Watches the executor runs for one original task."""

    def __init__(self, services: Services, spec_files: SpecFiles, task: Task) -> None:
        self.services = services
        self.spec_files = spec_files
        self.task = task
        self._plans = PlanGuard(services, spec_files)
        # The files that earlier runs for the task have created.
        self._created: set[str] = set()

    @property
    def owner(self) -> str:
        """The name under which changes for the task are recorded."""
        return self.spec_files.record_name(self.task)

    @property
    def _is_off(self) -> bool:
        return self.services.settings.guard == "off"

    @property
    def _tree(self) -> ProjectTree:
        return self.services.tree

    def begin(self) -> Before:
        """Look at the project before an executor run."""
        start = self._tree.begin_run()
        try:
            return self._look(start)
        except BaseException:
            self._tree.end_run(start)
            raise

    def _look(self, start: RunStart) -> Before:
        position = self._position()
        staged = None
        if position is not None and self.services.settings.guard == "refuse":
            assert self.services.git is not None
            staged = self.services.git.index_file()
        if self.services.settings.rollback:
            self._tree.remember_index()
        plan = self._plans.begin()
        if not self._is_off:
            self._plans.keep_copy(plan)
        moment = time.time_ns()
        snapshot = self._tree.snapshots.take(self._own_file)
        ignored = self._tree.ignored_files()
        return Before(
            start,
            snapshot,
            position,
            staged,
            plan,
            ignored=ignored,
            directory_modes=self._tree.directory_modes([*snapshot, *ignored]),
            our_directory=self._our_directory(),
            losses=self._tree.snapshots.losses,
            moment=moment,
        )

    def _our_directory(self) -> Seen:
        """Return what identifies our directory; the file is written when that is created."""
        return file_signature(self.services.directory / GITIGNORE_NAME)

    def end(self, before: Before, task: Task) -> GuardReport:
        """Compare the project with `before`, after an executor ran on `task`."""
        try:
            return self._compare(before, task)
        finally:
            # Also after an error: later runs must not take it for one that is still at work.
            self._tree.end_run(before.start)

    def _compare(self, before: Before, task: Task) -> GuardReport:
        tree = self._tree
        findings: list[str] = []
        for directory in self.services.our_directories:
            findings += map(self.services.link_removed, remove_links(directory))
        changes, lost = self._changes(before)
        if tree.snapshots.losses != before.losses:
            findings.append(f"removed {RALPH_DIRECTORY}: {LOGS_LOST}; {COPIES_LOST}")
        elif self._our_directory() != before.our_directory:
            findings.append(f"removed {RALPH_DIRECTORY}: {LOGS_LOST}")
        if tree.snapshots.listing_error:
            findings.append(
                f"may have added files that are not known: {tree.snapshots.listing_error}"
            )
        tree.record_directory_modes(before.directory_modes)
        removed = tree.record_ignored(before.ignored)
        if removed:
            findings.append(
                f"removed files that git ignores: {listed(removed, MOST_PATHS)} "
                "(--ralph-undo puts them back)"
            )
        if self._is_off:
            is_alone = tree.end_run(before.start)
            self._record_commits(before, is_alone=is_alone)
            self._record(changes, is_alone=is_alone)
            lines = [f"{task.id} {finding}" for finding in findings]
            return GuardReport(_paths(changes), tuple(lines), changes=changes)

        edits = self._plans.undo_edits(before.plan, task)
        edits += self._plans.undo_edits_of_others(lost)
        is_alone = tree.end_run(before.start)
        self._plans.remove_copy()
        findings += self._moved(before, is_alone=is_alone)
        report = self._report(changes, task, edits, findings, "undone")
        if report.refusal:
            return self._undo(report, before, task)
        self._record_commits(before, is_alone=is_alone)
        self.accept(report, changes, is_alone=is_alone)
        return report

    def interrupted(self, before: Before) -> None:
        """Record what an executor changed until it was stopped, so that it can be undone.

        The user may have stopped it, or an exception in a plugin that acts as one.
        """
        try:
            changes, _ = self._changes(before)
            self._tree.record_directory_modes(before.directory_modes)
            self._tree.record_ignored(before.ignored)
            edits = [] if self._is_off else self._plans.undo_edits(before.plan, self.task)
            is_alone = self._tree.end_run(before.start)
            self._plans.remove_copy()
            self._record(changes, is_alone=is_alone)
        finally:
            self._tree.end_run(before.start)
        for edit in edits:
            self.services.note(f"{self.spec_files.name}: {self.task.id} {edit}")

    def accept(
        self, report: GuardReport, changes: tuple[Change, ...], *, is_alone: bool = True
    ) -> None:
        """Record the changes that a run made in the project."""
        self._record(changes, is_alone=is_alone)
        self._created.update(change.path for change in changes if change.added)
        self._tree.protected.setdefault(self.owner, set()).update(report.protected)

    def _record(self, changes: tuple[Change, ...], *, is_alone: bool) -> None:
        """Record changes as those of the task, as far as they are known to be."""
        if is_alone and not self.services.do_workers_mix:
            self._tree.record(self.owner, changes)
            return
        own = [one for one in changes if is_named(self.task.files, one.path)]
        self._tree.record(self.owner, own)
        self._tree.record(SEVERAL, [one for one in changes if one not in own])

    def _record_commits(self, before: Before, *, is_alone: bool) -> None:
        """Record what the executor committed itself on the current branch."""
        is_ours = is_alone and not self.services.do_workers_mix
        if self.services.settings.commit != "auto" or not is_ours:
            return
        git, old, now = self.services.git, before.position, self._position()
        if git is None or old is None or now is None or old.branch != now.branch:
            return
        if not old.commit or old.commit == now.commit:
            return
        try:
            found = git.listing.committed_between(old.commit, now.commit)
        except GitError:
            # The executor may have removed the commit that was there.
            return
        committed = self._tree.committed.setdefault(self.owner, {})
        for path, (replaced, new) in found.items():
            first, _ = committed.get(path, (replaced, new))
            committed[path] = (first, new)

    def inspect(
        self, changes: tuple[Change, ...], task: Task, tasks_before: bytes, tasks_after: bytes
    ) -> GuardReport:
        """Look at what an executor run on `task` changed in a worktree, before it is merged.

        Edits of tasks.md are not part of the changes: they are never merged.
        """
        if self._is_off:
            return GuardReport(changed=_paths(changes), changes=changes)
        edits = self._plans.edits_in_worktree(tasks_before, tasks_after)
        return self._report(changes, task, edits, (), "not merged")

    def _report(
        self,
        changes: tuple[Change, ...],
        task: Task,
        edits: Sequence[PlanEdit],
        other_findings: Sequence[str],
        refused: str,
    ) -> GuardReport:
        """Report what a run on `task` should not have done.

        `refused` says what becomes of the changes of a run that is refused.
        """
        unexpected = self._unexpected(changes, task)
        # A new test takes nothing away.
        old_files = [change for change in unexpected if not change.added]
        tests = _paths(change for change in old_files if is_test(change.path))
        checks = _paths(change for change in unexpected if self._is_changed_check(change))
        changed = []
        if tests:
            changed.append(f"{task.id} changed tests: {listed(tests, MOST_PATHS)}")
        if checks:
            changed.append(f"{task.id} changed check configuration: {listed(checks, MOST_PATHS)}")
        others = [f"{task.id} {finding}" for finding in (*edits, *other_findings)]
        protected = tests + checks
        is_bad = protected or any(edit.changes_checks for edit in edits)
        if not is_bad or self.services.settings.guard != "refuse":
            return GuardReport(_paths(changes), (*changed, *others), "", changes, protected)

        refusal = f"refused and {refused}: {'; '.join([*changed, *others])}"
        changed = [f"{line} ({refused})" for line in changed]
        return GuardReport((), (*changed, *others), refusal, changes, protected)

    def _changes(self, before: Before) -> tuple[tuple[Change, ...], list[Change]]:
        """Return the changes of the project's files, and what is lost in files of specs.

        The files of specs are looked at on their own.
        """
        changes = self._tree.changes_since(before.snapshot, self._own_file)
        of_project = []
        of_specs = []
        for change in _without_exposed(changes, before):
            if change.path != self._plans.path and Path(change.path).name not in SPEC_FILES:
                of_project.append(change)
            else:
                of_specs.append(change)
        return tuple(of_project), self._plans.losses(of_specs)

    @property
    def _own_file(self) -> str:
        """The plan: the guard knows its text and puts it back itself, unless it is off."""
        return "" if self._is_off else self._plans.path

    # Tests and checks

    def _unexpected(self, changes: Iterable[Change], task: Task) -> list[Change]:
        """Leave out what the task itself asks for, and files that an earlier run of it made."""
        expected = [*self._created]
        if task is self.task:
            expected += task.files
        return [change for change in changes if not is_named(expected, change.path)]

    def _is_changed_check(self, change: Change) -> bool:
        if not is_check_configuration(change.path) and not self._is_run_by_verify(change):
            return False
        if change.before is None or change.after is None:
            return True
        before = content_of(change.before)
        after = content_of(change.after)
        return not configures_the_same(change.path, before, after)

    def _is_run_by_verify(self, change: Change) -> bool:
        """Whether a task is verified with the file, and the guarded task is not there to write it.

        A new file counts if it takes the place of another.
        """
        if change.path not in self._checks_run:
            return False
        root = self.services.root
        replaced = [name for name in files_replaced_by(change.path) if (root / name).exists()]
        if change.added and not replaced:
            return False
        return not is_named(self.task.files, change.path)

    @cached_property
    def _checks_run(self) -> frozenset[str]:
        """The checks that the tasks of the spec are verified with.

        The tasks are looked through once: a fix is verified with the checks of its original.
        """
        spec = self.spec_files.spec
        known = self._tree.checks_run
        if spec.path not in known:
            found = [checks_run_by(task.verify) for task in spec.tasks]
            known[spec.path] = frozenset().union(*found)
        return known[spec.path] | checks_run_by(self.task.verify)

    # git

    def _position(self) -> GitPosition | None:
        """Return the position of git; None if there is no repository that can be used."""
        git = self.services.git
        if git is None:
            return None
        try:
            return git.shared_position(time.monotonic())
        except GitError:
            return None

    def _moved(self, before: Before, *, is_alone: bool) -> list[str]:
        """Return what an executor did to branches, commits and the stash.

        Commits of ours are made while none is at work.
        """
        if before.position is None:
            return []
        now = self._position()
        if now is None:
            return ["made git unusable"]
        lines = movements(before.position, now)
        if is_alone:
            return lines
        with self._tree.lock:
            # What a sibling has reported may be its own work.
            new = [line for line in lines if line not in self._tree.movements]
            self._tree.movements.update(new)
        return new

    # Refusing

    def _undo(self, report: GuardReport, before: Before, task: Task) -> GuardReport:
        """Undo all changes. No other executor has made any of them: they take turns."""
        root = self._tree.root
        directories = mode_changes(root, before.directory_modes)
        with passable(root, directories):
            left = put_back(root, report.changes)
        put_back_modes(root, directories, self._tree.backups)
        findings = self._move_back(before, task)
        if not left:
            return replace(report, findings=(*report.findings, *findings))
        # Their copies stay for `--ralph-undo`.
        self._tree.record(self.owner, tuple(one for one in report.changes if one.path in left))
        finding = f"could not be undone: {listed(left, MOST_PATHS)}"
        return replace(
            report,
            changed=left,
            findings=(*report.findings, *findings, f"{task.id} {finding}"),
            refusal=f"{report.refusal}; {finding}",
        )

    def _move_back(self, before: Before, task: Task) -> list[str]:
        """Undo what the executor committed, switched to or staged; return a line about commits."""
        git = self.services.git
        if git is None or before.position is None:
            return []
        with self.services.git_lock:
            try:
                kept_as = git.refs.next(self.spec_files.name, task.id, "refused-")
                is_moved = git.move_back(before.position, before.staged, kept_as)
            except (GitError, OSError) as error:
                return [f"{task.id} commits and index are left as they are: {error}"]
        if not is_moved:
            return []
        where = before.position.name
        return [f"{task.id} {where} is back where it was; the commits are kept under {kept_as}"]


def _without_exposed(changes: tuple[Change, ...], before: Before) -> list[Change]:
    """Return the changes without files that git ignored before the run.

    They were there before it and are the user's: they may be secrets, which must neither be
    committed nor removed.
    """
    names = {Path(change.path).name for change in changes}
    inodes = {state.inode for state in before.snapshot.values()}
    found = []
    for change in changes:
        # Git tracks it now, or a .gitignore was changed.
        is_exposed = change.added and change.path in before.ignored
        if change.added and change.after is not None and GITIGNORE_NAME in names:
            is_older = change.after.status_changed < before.moment
            # A file in a directory that was renamed is as old as before.
            is_exposed = is_exposed or (is_older and change.after.inode not in inodes)
        if not is_exposed:
            found.append(change)
    return found


def _paths(changes: Iterable[Change]) -> tuple[str, ...]:
    return tuple(change.path for change in changes)
