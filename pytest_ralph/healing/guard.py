"""Guard: compares the project before and after each executor run.

It finds what the run changed, reports changes of tests, checks, tasks.md, branches, commits and
stashes, takes back edits of tasks.md, and with `--ralph-guard=refuse` the whole fix.
"""

from __future__ import annotations

import contextlib
import glob
import os
import threading
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.files import (
    GITIGNORE_NAME,
    RALPH_DIRECTORY,
    SPEC_FILES,
    STATE_NAME,
    TASKS_NAME,
    file_signature,
    replace_if_unchanged,
)
from pytest_ralph.fixing.change_log import append_changes, read_changes
from pytest_ralph.fixing.check_files import (
    checks_run_by,
    configures_the_same,
    files_replaced_by,
    is_check_configuration,
    is_test,
)
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.fixing.git.position import movements
from pytest_ralph.fixing.snapshot import Change, FileState, Snapshots, put_back
from pytest_ralph.healing.document import (
    changed_checks,
    differs_in_ticks_only,
    with_checks_of,
)
from pytest_ralph.healing.regressions import is_affected, is_named
from pytest_ralph.history.directory import remove_links
from pytest_ralph.spec.document import Spec, SpecError
from pytest_ralph.text.listing import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pytest_ralph.fixing.git.checkpoint import Git
    from pytest_ralph.fixing.git.index import Index, IndexFile
    from pytest_ralph.fixing.git.position import GitPosition
    from pytest_ralph.fixing.snapshot import Snapshot
    from pytest_ralph.healing.services import Services
    from pytest_ralph.healing.spec_files import SpecFiles
    from pytest_ralph.spec.task import Task

# What follows for the user if an executor removes our directory.
LOST = "logs are gone; what this run changed before that cannot be undone"
# The plan of a spec while executors are at work.
PLAN_SUFFIX = "-plan.saved"
# Changes are recorded under this name if executors of several tasks were at work, and the task does
# not name the file: any of them may have made these.
SEVERAL = "several executors"
# How often a plan that another worker writes at the same moment is read again.
TRIES = 10
# Paths named in one line.
MOST_PATHS = 8


class ProjectTree:
    """The files of the project, watched for all executor runs of this process.

    active: How many executor runs are at work.
    runs: How many have begun. If it grows during a run, another one was at work at the same time,
        and what changed may be the work of either.
    plans: The plan of each spec before the first of the runs that are at work.
    good_index, passed: The index when a task passed last, and how to verify again what has passed.
    protected: The tests and the configuration of checks that were changed for each task.
    movements: What runs at the same time have reported about branches, commits and the stash.
    checks_run: The checks that the tasks of each spec are verified with.
    """

    def __init__(self, root: Path, backups: Path, git: Git | None) -> None:
        self.root = root
        self.backups = backups
        list_files = None if git is None else git.files
        self.snapshots = Snapshots(root, backups / f"tree-{os.getpid()}", list_files)
        self.lock = threading.Lock()
        self.active = 0
        self.runs = 0
        self.plans: dict[Path, PlanBefore] = {}
        self.good_index: Index | None = None
        self.passed: dict[str, Callable[[], bool]] = {}
        self.protected: dict[str, set[str]] = {}
        self.movements: set[str] = set()
        self.checks_run: dict[Path, frozenset[str]] = {}

    def begin_run(self) -> RunStart:
        """Count an executor run that is about to begin."""
        with self.lock:
            is_alone = not self.active
            self.active += 1
            self.runs += 1
            return RunStart(self.runs, is_alone)

    def end_run(self, start: RunStart) -> bool:
        """Count a run as ended; return whether no other was at work at the same time.

        Not before its edits of plans are undone: for the next run they would count as given.
        """
        with self.lock:
            self.active -= 1
            if not self.active:
                self.plans.clear()
            return start.is_alone and self.runs == start.number

    def record(self, owner: str, changes: Iterable[Change]) -> None:
        """Keep what is needed to undo `changes`, which were made for the task `owner`."""
        changes = tuple(changes)
        self.snapshots.keep(changes)
        append_changes(self.backups, changes, owner)

    def changes_since(self, before: Snapshot) -> tuple[Change, ...]:
        """Return how the files of the project differ from the snapshot `before`."""
        return self.snapshots.changes(before, self.snapshots.take())

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


class RunStart(NamedTuple):
    """The number of an executor run, and whether no other was at work when it began."""

    number: int
    is_alone: bool


class PlanBefore(NamedTuple):
    """A tasks.md before executor runs.

    `edits` counts what this process inserted or removed itself; `foreign_edits` grows when another
    process writes the file, and is None if it cannot be read.
    """

    tasks: bytes
    edits: int
    foreign_edits: int | None


class Before(NamedTuple):
    """The project before an executor run.

    commits: How many commits this process had made. If it grows during a run, a sibling's work was
        committed.
    staged: The index, which is read only if a fix may be refused.
    losses: How often our directory had been removed.
    moment: When the snapshot was taken, in nanoseconds.
    """

    start: RunStart
    snapshot: Snapshot
    position: GitPosition | None
    commits: int
    staged: IndexFile | None
    plan: PlanBefore
    losses: int
    moment: int


class PlanEdit(NamedTuple):
    """What an executor did to a file of a spec, and what became of that.

    changes_checks: Whether fields of checks were changed or removed.
    """

    what: str
    changes_checks: bool
    outcome: str = "undone"

    def __str__(self) -> str:
        return f"{self.what}: {self.outcome}"


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


@dataclass
class Guard:
    """Watches the executor runs for one original task."""

    services: Services
    spec_files: SpecFiles
    task: Task
    # The files that earlier runs for the task have created.
    _created: set[str] = field(default_factory=set)

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

    @property
    def _plan_copy(self) -> Path:
        """The plan before the executor runs, for the case that this process is killed meanwhile."""
        return self._tree.backups / f"{self.spec_files.name}{PLAN_SUFFIX}"

    def begin(self) -> Before:
        """Look at the project before an executor run."""
        start = self._tree.begin_run()
        position, commits = self._position()
        staged = None
        if position is not None and self.services.settings.guard == "refuse":
            assert self.services.git is not None
            staged = self.services.git.index_file()
        plan = self._plan_before()
        if not self._is_off and not self._plan_copy.exists():
            # A disk that cannot be written is reported elsewhere.
            with contextlib.suppress(OSError):
                self._plan_copy.parent.mkdir(parents=True, exist_ok=True)
                self._plan_copy.write_bytes(plan.tasks)
        moment = time.time_ns()
        snapshot = self._take_snapshot()
        losses = self._tree.snapshots.losses
        return Before(start, snapshot, position, commits, staged, plan, losses, moment)

    def _plan_before(self) -> PlanBefore:
        """Return the plan before this run, or before the first of those that are still at work.

        What a sibling's executor has done to the plan meanwhile must not count as given.
        """
        path = self.spec_files.spec.path
        with self.spec_files.lock:
            known = self._tree.plans.get(path)
            if known is not None:
                return known
            foreign_edits = self.spec_files.foreign_edits()
            tasks = b""
            if foreign_edits is not None:
                tasks = self.spec_files.spec.source.encode("utf-8", "surrogateescape")
            plan = PlanBefore(tasks, self.spec_files.own_edits, foreign_edits)
            self._tree.plans[path] = plan
            return plan

    def end(self, before: Before, task: Task) -> GuardReport:
        """Compare the project with `before`, after an executor ran on `task`."""
        tree = self._tree
        findings = []
        for path in remove_links(self.services.directory):
            shown = os.path.relpath(path, self.services.root)
            findings.append(f"replaced {shown} by a link: removed; the original is lost")
        changes, damaged = self._changes(before)
        if tree.snapshots.losses != before.losses:
            findings.append(f"removed {RALPH_DIRECTORY}: {LOST}")
        if self._is_off:
            self._record(changes, is_alone=tree.end_run(before.start))
            return GuardReport(_paths(changes), tuple(findings), changes=changes)

        edits = self._undo_edits_of_tasks(before, task)
        edits += self._undo_edits_of_other_specs(damaged)
        is_alone = tree.end_run(before.start)
        with tree.lock, contextlib.suppress(OSError):
            if not tree.active:
                self._plan_copy.unlink()
        findings += self._moved(before, is_alone=is_alone)
        report = self._report(changes, task, edits, findings, "undone")
        if report.refusal:
            return self._undo(report, before, task)
        self._accept(report, changes, is_alone=is_alone)
        return report

    def interrupted(self, before: Before) -> None:
        """Record what an executor changed until the user stopped it, so that it can be undone."""
        changes, _ = self._changes(before)
        edits = [] if self._is_off else self._undo_edits_of_tasks(before, self.task)
        self._record(changes, is_alone=self._tree.end_run(before.start))
        for edit in edits:
            self.services.note(f"{self.spec_files.name}: {self.task.id} {edit}")

    def accept(self, report: GuardReport, changes: tuple[Change, ...]) -> None:
        """Record the changes that a run in a worktree made in the project."""
        self._accept(report, changes, is_alone=True)

    def _accept(self, report: GuardReport, changes: tuple[Change, ...], *, is_alone: bool) -> None:
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

    def inspect(
        self, changes: tuple[Change, ...], task: Task, tasks_before: bytes, tasks_after: bytes
    ) -> GuardReport:
        """Look at what an executor run on `task` changed in a worktree, before it is merged.

        Edits of tasks.md are not part of the changes: they are never merged.
        """
        if self._is_off:
            return GuardReport(changed=_paths(changes), changes=changes)
        edits = []
        if not differs_in_ticks_only(_decoded(tasks_before), _decoded(tasks_after)):
            edit = _edit(tasks_before, tasks_after, self.spec_files.spec.path.name)
            edits.append(edit._replace(outcome="not merged"))
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
        """Return the changes of the project's files, and what was lost in files of specs.

        That are the plans that lost lines, and other files that are gone.
        """
        snapshots = self._tree.snapshots
        changes = snapshots.changes(before.snapshot, self._take_snapshot())
        project_files = []
        damaged = []
        for change in _without_exposed(changes, before.moment):
            name = Path(change.path).name
            if change.path != self._own_path and name not in SPEC_FILES:
                project_files.append(change)
            elif name != STATE_NAME and _loses_lines(change):
                damaged.append(change)
        # Such as a plan or notes that `git checkout` by the executor took away.
        snapshots.keep(damaged)
        lost = [
            change for change in damaged if change.deleted or Path(change.path).name == TASKS_NAME
        ]
        return tuple(project_files), lost

    def _take_snapshot(self) -> Snapshot:
        # The guard knows the text of the plan and puts it back itself, unless it is off.
        own = "" if self._is_off else self._own_path
        return self._tree.snapshots.take(own)

    @cached_property
    def _own_path(self) -> str:
        return os.path.relpath(self.spec_files.spec.path, self.services.root)

    def _undo_edits_of_other_specs(self, damaged: Iterable[Change]) -> Iterator[PlanEdit]:
        """Put back the files of other specs."""
        for change in damaged:
            if change.path == self._own_path:
                continue
            if change.deleted:
                if os.path.lexists(self.services.root / change.path):
                    # Whoever works on that spec has put it back.
                    continue
                is_plan = Path(change.path).name == TASKS_NAME
                edit = PlanEdit(f"removed {change.path}", changes_checks=is_plan)
                is_undone = not put_back(self._tree.root, [change])
            else:
                before = _content(change.before)
                edit = _edit(before, _content(change.after), change.path)
                if not self.services.has_other_workers:
                    is_undone = not put_back(self._tree.root, [change])
                elif edit.changes_checks:
                    is_undone = self._put_back_checks(change.path, before)
                else:
                    # What differs may be the work of another worker.
                    continue
            yield edit if is_undone else edit._replace(outcome="not undone")

    def _put_back_checks(self, path: str, tasks_before: bytes) -> bool:
        """Put back the tasks of another spec whose checks were edited; return whether that is done.

        Other workers may be ticking tasks and inserting fix tasks in the same file.
        """
        place = Path(os.path.realpath(self.services.root / path))
        with contextlib.suppress(OSError, SpecError):
            before = Spec.parse(_decoded(tasks_before), place)
            for _ in range(TRIES):
                seen = file_signature(place)
                now = Spec.parse(_decoded(place.read_bytes()), place)
                if replace_if_unchanged(place, with_checks_of(before, now), seen):
                    return True
        return False

    # Tests and checks

    def _unexpected(self, changes: Iterable[Change], task: Task) -> list[Change]:
        """Leave out what the task itself asks for, and files that an earlier run of it made."""
        expected = set(self._created)
        if task is self.task:
            expected.update(task.files)
        return [change for change in changes if change.path not in expected]

    def _is_changed_check(self, change: Change) -> bool:
        if not is_check_configuration(change.path) and not self._is_run_by_verify(change):
            return False
        if change.before is None or change.after is None:
            return True
        return not configures_the_same(change.path, _content(change.before), _content(change.after))

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
        # A task may name `./check.sh`.
        files = [os.path.normpath(name) for name in self.task.files]
        return not files or not is_affected(files, [change.path])

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

    # The spec

    def _undo_edits_of_tasks(self, before: Before, task: Task) -> list[PlanEdit]:
        """Undo all edits of tasks.md; return those other than ticks."""
        path = self.spec_files.spec.path
        edits = []
        if not os.path.lexists(path):
            edits.append(PlanEdit(f"removed {path.name}", changes_checks=True))
        with self.spec_files.files():
            foreign_edits = self.spec_files.foreign_edits()
            if foreign_edits is not None and foreign_edits == before.plan.foreign_edits:
                return edits
            seen = file_signature(path)
            edited = b""
            with contextlib.suppress(OSError):
                edited = path.read_bytes()
            # Fix tasks of siblings may have been inserted meanwhile, and boxes ticked.
            text = self.spec_files.with_own_edits(_decoded(before.plan.tasks), before.plan.edits)
            expected = text.encode("utf-8", "surrogateescape")
            if expected == edited:
                return edits
            only_ticks = differs_in_ticks_only(text, _decoded(edited))
            kept = "" if only_ticks else self._keep_edited(edited, task)
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_if_unchanged(Path(os.path.realpath(path)), expected, seen)
        if not only_ticks:
            edit = _edit(expected, edited, path.name)
            edits.append(edit._replace(outcome=f"undone, the edited file is kept as {kept}"))
        return edits

    def _keep_edited(self, edited: bytes, task: Task) -> str:
        """Keep a tasks.md whose edits are going to be undone; return its path."""
        kept = self._tree.backups / f"{self.spec_files.name}-{task.name}-tasks.saved"
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(edited)
        return os.path.relpath(kept, self.services.root)

    # git

    def _position(self) -> tuple[GitPosition | None, int]:
        """Return the position of git, and how many commits this process had made by then."""
        git = self.services.git
        if git is None:
            return None, 0
        asked = time.monotonic()
        # Commits are made under the same lock, so that the number belongs to the position.
        with self.services.git_lock:
            try:
                return git.shared_position(asked)
            except GitError:
                return None, git.commits

    def _moved(self, before: Before, *, is_alone: bool) -> list[str]:
        """Return what an executor did to branches, commits and the stash."""
        now, commits = self._position()
        if before.position is None:
            return []
        if now is None:
            return ["made git unusable"]
        head_is_ours = commits != before.commits
        if self.services.settings.commit == "auto":
            # Otherwise only executors commit.
            head_is_ours = head_is_ours or not is_alone or self.services.has_other_workers
        lines = movements(before.position, now, head_is_ours=head_is_ours)
        if is_alone:
            return lines
        with self._tree.lock:
            # What a sibling has reported may be its own work.
            new = [line for line in lines if line not in self._tree.movements]
            self._tree.movements.update(new)
        return new

    def _may_others_commit(self) -> bool:
        """Whether a worker or its executor may commit while an executor of ours is at work."""
        settings = self.services.settings
        if settings.guard == "refuse" and settings.commit != "auto":
            # Executors take turns, and nobody else commits.
            return False
        return self.services.has_other_workers

    # Refusing

    def _undo(self, report: GuardReport, before: Before, task: Task) -> GuardReport:
        """Undo all changes. No other executor has made any of them: they take turns."""
        left = put_back(self._tree.root, report.changes)
        findings = self._move_back(before, task)
        if not left:
            return replace(report, findings=(*report.findings, *findings))
        # Their copies stay for `--ralph-undo`.
        self._tree.record(self.owner, tuple(one for one in report.changes if one.path in left))
        finding = f"could not be undone: {listed(left, MOST_PATHS)}"
        return replace(
            report,
            changed=left,
            findings=(*report.findings, *findings, finding),
            refusal=f"{report.refusal}; {finding}",
        )

    def _move_back(self, before: Before, task: Task) -> list[str]:
        """Undo what the executor committed, switched to or staged; return a line about commits."""
        git = self.services.git
        if git is None or before.position is None or self._may_others_commit():
            return []
        with self.services.git_lock:
            if git.commits != before.commits:
                return []
            try:
                kept_as = git.next_ref(self.spec_files.name, task.id, "refused-")
                is_moved = git.move_back(before.position, before.staged, kept_as)
            except (GitError, OSError) as error:
                return [f"{task.id} commits and index are left as they are: {error}"]
        if not is_moved:
            return []
        where = before.position.name
        return [f"{task.id} {where} is back where it was; the commits are kept under {kept_as}"]


def edits_before_kill(backups: Path, spec: Spec) -> list[str]:
    """Return lines about fields of checks that changed in runs that were killed.

    Whether the executor or the user changed them cannot be told, so they are not undone.
    """
    lines = []
    name = glob.escape(spec.name)
    for copy in sorted(backups.glob(f"*/{name}{PLAN_SUFFIX}")):
        edited = spec.source.encode("utf-8", "surrogateescape")
        fields = _changed_fields(copy.read_bytes(), edited, spec.path)
        if not fields:
            copy.unlink()
            continue
        kept = copy.rename(copy.with_name(f"{spec.name}-before-kill.saved"))
        shown = "/".join(kept.parts[-4:])
        line = (
            f"{', '.join(fields)} changed while an executor was running, in a run that was killed"
        )
        lines.append(f"{line}: compare {spec.path.name} with {shown}")
    return lines


def _edit(before: bytes, edited: bytes, path: str) -> PlanEdit:
    """Return what an executor edited in a plan."""
    fields = _changed_fields(before, edited, Path(path))
    if fields:
        return PlanEdit(f"changed {', '.join(fields)} in {path}", changes_checks=True)
    return PlanEdit(f"edited {path}", changes_checks=False)


def _changed_fields(before: bytes, edited: bytes, path: Path) -> list[str]:
    """Return the fields of checks that differ; none if one of the texts is no spec."""
    try:
        old = Spec.parse(before.decode("utf-8", "replace"), path)
        new = Spec.parse(edited.decode("utf-8", "replace"), path)
    except SpecError:
        return []
    return changed_checks(old, new)


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")


def _content(state: FileState | None) -> bytes:
    """Return what a file contained; nothing if there was none, or no copy of it is left."""
    try:
        return Path(state.copy).read_bytes() if state and state.copy else b""
    except FileNotFoundError:
        return b""


def _without_exposed(changes: tuple[Change, ...], moment: int) -> list[Change]:
    """Return the changes without files that git ignored before a .gitignore was changed.

    They were there before `moment` and are the user's: they may be secrets, which must neither be
    committed nor removed.
    """
    names = {Path(change.path).name for change in changes}
    if GITIGNORE_NAME not in names:
        return list(changes)
    found = []
    for change in changes:
        is_older = change.after is not None and change.after.status_changed < moment
        if not change.added or not is_older:
            found.append(change)
    return found


def _loses_lines(change: Change) -> bool:
    """Return whether a file of a spec lost lines, other than by ticks."""
    if change.before is None:
        return False
    before = _content(change.before).replace(b"[x]", b"[ ]")
    after = _content(change.after).replace(b"[x]", b"[ ]")
    return not set(after.splitlines()).issuperset(before.splitlines())


def _paths(changes: Iterable[Change]) -> tuple[str, ...]:
    return tuple(change.path for change in changes)
