"""Regressions: tasks that passed earlier in a run and no longer do because of later work.

A task whose files are known is verified again as soon as one of them has changed. A task whose
files are not known may be broken by any change. Verifying it after each of them would take far too
long, so the pauses between its verifications double, and the rest is left to the end of the run.

What else may have broken a task, such as the Verify command of another one, is added as a suspect.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_ralph.fixing.snapshot import FileState
    from pytest_ralph.healing.spec_run import SpecRun
    from pytest_ralph.results import TaskResult
    from pytest_ralph.spec.task import Task

# How often a fix of a regression may break another task.
MAX_ROUNDS = 5
MOST_NAMED = 3


class Work(NamedTuple):
    """What executors and repairs changed for a task, or what its Verify changed.

    `task` is None if it is not known what changed the files.
    """

    spec_run: SpecRun
    task: Task | None
    changed: tuple[str, ...]
    diff: str = ""


@dataclass(eq=False, repr=False)
class PassedTask:
    """A task that passed earlier in the run.

    files: The files that matter to it; none if they are not known.
    work: The files that were changed for it, as they were when it was verified last.
    worked_at: How much of the work of the run had been done then.
    seen: How much of the work of the run has been looked at.
    suspects: The work since it was verified last that may have broken it, as far as `seen`.
    checks: How often it was verified again.
    """

    spec_run: SpecRun
    task: Task
    files: tuple[str, ...]
    work: dict[str, FileState | None]
    worked_at: int
    seen: int
    suspects: list[Work] = field(default_factory=list)
    checks: int = 0

    @property
    def key(self) -> tuple[Path, str]:
        return _key(self.spec_run, self.task)

    def is_due(self, suspects: Sequence[Work]) -> bool:
        """Whether to verify the task again now, and not later together with other work."""
        if not suspects:
            return False
        return bool(self.files) or len(suspects) >= 2**self.checks


class HealedTask(NamedTuple):
    """A task that was broken and has been worked on. `line` names the work that broke it."""

    passed: PassedTask
    line: str
    result: TaskResult


class Regressions:
    """What has passed in this process, over all specs, and the work done since."""

    def __init__(self) -> None:
        # By spec and name: an item may run several times.
        self._passed: dict[tuple[Path, str], PassedTask] = {}
        self._work: list[Work] = []
        # Tasks of a [P] group look at the same work at once.
        self._lock = threading.Lock()

    @property
    def position(self) -> int:
        """How much work has been done so far."""
        return len(self._work)

    def add_pass(self, spec_run: SpecRun, task: Task, result: TaskResult, seen: int) -> PassedTask:
        """Have a task verified again after work that is done later than `seen`."""
        files = tuple(dict.fromkeys((*task.files, *result.changed)))
        work = spec_run.work_on(task) if result.changed else {}
        passed = PassedTask(spec_run, task, files, work, self.position, seen)
        self._passed[passed.key] = passed
        return passed

    def forget(self, spec_run: SpecRun, task: Task) -> None:
        """No longer count a task as passed."""
        self._passed.pop(_key(spec_run, task), None)

    def heal_after(
        self, spec_run: SpecRun, task: Task, result: TaskResult, begun: int
    ) -> TaskResult:
        """Verify again what the work on a task may have broken, and recover it.

        The result has the tasks that were broken: their reports have to be corrected.
        `begun` is the position at which the task began.
        """
        if not self._add_work(spec_run, task, result, begun):
            return result
        still_pass: list[str] = []
        for _ in range(MAX_ROUNDS):
            healed = self._heal_first(spec_run, still_pass)
            if healed is None:
                return _with_note(result, still_pass)
            if healed.result.outcome != "recovered":
                # Its own notes say it.
                result = result.with_regression(healed.result)
                continue
            notes = []
            if healed.result.outcome != "flaky":
                notes.append(f"{healed.line}: {healed.result.reason}")
            result = result.with_regression(healed.result, *notes)
            if result.passed and not spec_run.holds(task):
                name = _name(healed.passed.spec_run, healed.passed.task, spec_run)
                line = f"{task.id} and {name} do not pass together: {healed.line}"
                return self._fail(spec_run, task, result, line)
        reason = "fixes of its regressions keep breaking each other"
        return self._fail(spec_run, task, result, reason)

    def heal_itself(self, passed: PassedTask) -> TaskResult | None:
        """Recover a task that work on its siblings broke before it ended; None if it passes."""
        suspects = self._suspects(passed)
        if not suspects:
            return None
        healed = self._heal(passed, suspects, passed.spec_run)
        return healed.result if healed else None

    def add_suspect(self, spec_run: SpecRun, name: str, work: Work) -> None:
        """Have a task verified again at the end of the run, if it has passed."""
        passed = self._passed.get((spec_run.spec_files.spec.path, name))
        if passed is not None:
            passed.suspects.append(work)

    def heal_rest(self) -> Iterator[HealedTask]:
        """At the end of the run: recover what has not been verified since the last change."""
        for _ in range(MAX_ROUNDS):
            position = self.position
            for passed in list(self._passed.values()):
                suspects = self._suspects(passed)
                healed = self._heal(passed, suspects, None) if suspects else None
                if healed is not None:
                    yield healed
            if self.position == position:
                return

    def _fail(
        self, spec_run: SpecRun, culprit: Task, result: TaskResult, reason: str
    ) -> TaskResult:
        """Fail the culprit, and all tasks that do not pass any more because of it."""
        for passed in list(self._passed.values()):
            if not passed.is_due(self._suspects(passed)):
                continue
            self._verified_now(passed)
            name = _name(spec_run, culprit, passed.spec_run)
            broken = passed.spec_run.fail_if_broken(
                passed.task, f"{passed.task.id} no longer passes since {name}"
            )
            if broken is not None:
                self._passed.pop(passed.key, None)
                result = result.with_regression(broken)
        failure = result.last_failure
        if failure is not None:
            # What the reports are to quote.
            result = result._replace(attempts=(*result.attempts, failure._replace(error=reason)))
        return spec_run.regressed(culprit, result, reason)

    def _add_work(self, spec_run: SpecRun, task: Task, result: TaskResult, begun: int) -> bool:
        """Add the work on a task; return whether it changed anything."""
        changed = (*result.changed, *self._overwritten(spec_run, task, begun))
        if not changed:
            return False
        diff = "".join(attempt.diff for attempt in result.attempts)
        self._work.append(Work(spec_run, task, tuple(dict.fromkeys(changed)), diff))
        return True

    def _overwritten(self, spec_run: SpecRun, task: Task, begun: int) -> Iterator[str]:
        """Yield the work on other tasks, done since the task began, that is gone.

        An executor that reverts what was done beside it, as `git stash` does, leaves the files as
        they were when it started: that is no change of its own. Reverting older work is one.
        """
        # Imported here: most runs change no files.
        from pytest_ralph.fixing.snapshot import is_same_now

        # Siblings see each other's work, so several of them know a file: the last one counts.
        left: dict[str, FileState | None] = {}
        for passed in sorted(self._passed.values(), key=lambda one: one.worked_at):
            if passed.worked_at > begun and passed.key != _key(spec_run, task):
                left.update(passed.work)
        root = spec_run.services.root
        for path, state in left.items():
            if not is_same_now(f"{root}/{path}", state):
                yield path

    def _suspects(self, passed: PassedTask) -> list[Work]:
        """The work on other tasks, since the task was verified last, that may have broken it."""
        with self._lock:
            new_work = self._work[passed.seen :]
            passed.seen += len(new_work)
            for work in new_work:
                assert work.task is not None
                is_own = work.spec_run is passed.spec_run and work.task.name == passed.task.name
                if not is_own and self._may_break(work, passed):
                    passed.suspects.append(work)
            return list(passed.suspects)

    def _may_break(self, work: Work, passed: PassedTask) -> bool:
        """Whether work changed files that matter to a task since that was verified.

        What is done at the same time counts as changed by each of the siblings.
        """
        if not is_affected(passed.files, work.changed):
            return False

        from pytest_ralph.fixing.snapshot import is_same_now

        root = passed.spec_run.services.root
        unchanged = set()
        for path, state in passed.work.items():
            if path in work.changed and is_same_now(f"{root}/{path}", state):
                unchanged.add(path)
        changed = [path for path in work.changed if path not in unchanged]
        return bool(changed) and is_affected(passed.files, changed)

    def _verified_now(self, passed: PassedTask) -> None:
        """Have a task verified again only after work that is done from now on."""
        with self._lock:
            passed.seen = len(self._work)
            passed.suspects.clear()

    def _heal_first(self, reader: SpecRun, still_pass: list[str]) -> HealedTask | None:
        """Recover the first task of any spec that does not pass any more.

        Those verified before it are added to `still_pass`.
        """
        for passed in list(self._passed.values()):
            suspects = self._suspects(passed)
            if not passed.is_due(suspects):
                continue
            healed = self._heal(passed, suspects, reader)
            if healed is not None:
                return healed
            still_pass.append(_name(passed.spec_run, passed.task, reader))
        return None

    def _heal(
        self, passed: PassedTask, suspects: Sequence[Work], reader: SpecRun | None
    ) -> HealedTask | None:
        """Verify a task again, and recover it if it fails; None if it still passes."""
        from pytest_ralph.fixing.snapshot import state_of

        begun = self.position
        root = passed.spec_run.services.root
        # Before Verify: what is changed while it runs may break the task.
        passed.work = {path: state_of(root / path) for path in passed.work}
        self._verified_now(passed)
        passed.checks += 1
        line = _culprit_line(passed, suspects, reader)
        diff = "".join(work.diff for work in suspects)
        result = passed.spec_run.heal(passed.task, line, diff)
        if result is not None and result.changed:
            self._add_work(passed.spec_run, passed.task, result, begun)
            self._verified_now(passed)
            passed.work |= passed.spec_run.work_on(passed.task)
        passed.worked_at = self.position
        if result is None:
            return None
        if result.bad:
            self._passed.pop(passed.key, None)
        return HealedTask(passed, line, result)


def _culprit_line(passed: PassedTask, suspects: Sequence[Work], reader: SpecRun | None) -> str:
    """One line that names the work which may have broken a task.

    Ids alone would be ambiguous in a line about several specs.
    """
    if any(work.spec_run is not passed.spec_run for work in suspects):
        reader = None
    name = _name(passed.spec_run, passed.task, reader)
    culprits = [_name(work.spec_run, work.task, reader) for work in suspects if work.task]
    files = _listed([path for work in suspects for path in work.changed])
    if not culprits:
        return f"{name} no longer passes since {files} changed"
    return f"{name} no longer passes since {_listed(culprits)} changed {files}"


def _key(spec_run: SpecRun, task: Task) -> tuple[Path, str]:
    return spec_run.spec_files.spec.path, task.name


def is_affected(files: Sequence[str], changed: Sequence[str]) -> bool:
    """Whether changed files may matter to a task: its own, or any if its files are not known.

    A task may name directories and patterns, too.
    """
    if not files:
        return True
    places = _with_directories(tuple(changed))
    for name in files:
        if name.rstrip("/") in places:
            return True
        if has_wildcard(name) and any(fnmatchcase(path, name) for path in changed):
            return True
    return False


@lru_cache
def _with_directories(paths: tuple[str, ...]) -> frozenset[str]:
    """Return the paths and all directories in which they are."""
    places = set(paths)
    for path in paths:
        directory = path.rpartition("/")[0]
        while directory and directory not in places:
            places.add(directory)
            directory = directory.rpartition("/")[0]
    return frozenset(places)


def has_wildcard(name: str) -> bool:
    return "*" in name or "?" in name or "[" in name


def _name(spec_run: SpecRun, task: Task, reader: SpecRun | None) -> str:
    """The id of a task, with the name of its spec if that is not the reader's."""
    if spec_run is reader:
        return task.id
    return f"{spec_run.spec_files.spec.name} {task.id}"


def _with_note(result: TaskResult, still_pass: Sequence[str]) -> TaskResult:
    """Add which tasks were verified again because of the work on this one."""
    if not still_pass:
        return result
    names = ", ".join(dict.fromkeys(still_pass))
    note = f"{result.id}: verified again because of its changes, and still passing: {names}"
    return result._replace(notes=(*result.notes, note))


def _listed(names: Sequence[str]) -> str:
    different = list(dict.fromkeys(names))
    return ", ".join(different[:MOST_NAMED])
