"""Regressions: tasks that passed earlier in a run and no longer do because of later work.

A task whose files are known is verified again as soon as one of them was changed for another task.
A task whose files are not known may be broken by any change. It would take far too long to verify
it after each of them, so it is verified again at the end of the run (`session/final_check.py`).
"""

from __future__ import annotations

import os
import time
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_ralph.healing.spec_run import SpecRun
    from pytest_ralph.results import TaskResult
    from pytest_ralph.spec.task import Task

    # The path of a spec and the name of a task: an item may run several times.
    Key = tuple[Path, str]

MOST_NAMED = 3
# Seconds by which the time of a file may be behind the clock.
CLOCK_TICK = 0.02


class Work(NamedTuple):
    """What executors and repairs changed for a task."""

    spec_run: SpecRun
    task: Task
    changed: tuple[str, ...]
    diff: str

    @property
    def key(self) -> Key:
        return _key(self.spec_run, self.task)


class PassedTask(NamedTuple):
    """A task that passed earlier in the run.

    files: The files that matter to it; none if they are not known.
    verified_at: When its last Verify began, in seconds since the epoch.
    """

    spec_run: SpecRun
    task: Task
    files: tuple[str, ...]
    verified_at: float

    def may_be_broken_by(self, work: Work) -> bool:
        """Whether work on another task changed files of this one since it was verified.

        What executors change at the same time counts as changed by each of them.
        """
        if not self.files or not is_affected(self.files, work.changed):
            return False
        own = [path for path in work.changed if is_affected(self.files, (path,))]
        return any(self._is_changed_since(path) for path in own)

    def _is_changed_since(self, path: str) -> bool:
        try:
            status = os.lstat(self.spec_run.services.root / path)
        except OSError:
            # It was removed.
            return True
        return status.st_ctime > self.verified_at - CLOCK_TICK


class Regressions:
    """What has passed in this process, over all specs, and the work done on tasks."""

    def __init__(self) -> None:
        self._passed: dict[Key, PassedTask] = {}
        # The tasks that ever passed, by each file and directory, or pattern, that matters to them.
        self._by_place: dict[str, list[Key]] = {}
        self._by_pattern: dict[str, list[Key]] = {}
        self._work: list[Work] = []

    @property
    def position(self) -> int:
        """How much work has been done so far."""
        return len(self._work)

    def add_pass(self, spec_run: SpecRun, task: Task, result: TaskResult) -> None:
        """Have a task verified again after later work on its files."""
        files = tuple(dict.fromkeys((*task.files, *result.changed)))
        verified_at = max((attempt.started for attempt in result.verifications), default=0.0)
        key = _key(spec_run, task)
        self._passed[key] = PassedTask(spec_run, task, files, verified_at)
        for name in files:
            self._by_place.setdefault(name.rstrip("/"), []).append(key)
            if has_wildcard(name):
                self._by_pattern.setdefault(name, []).append(key)

    def forget(self, spec_run: SpecRun, task: Task) -> None:
        """No longer count a task as passed."""
        self._passed.pop(_key(spec_run, task), None)

    def heal_after(
        self, spec_run: SpecRun, task: Task, result: TaskResult, begun: int
    ) -> TaskResult:
        """Verify again what the work on a task may have broken, and recover it.

        `begun` is the position at which the task began: what siblings in a [P] group have done
        since then may have broken the task itself. The result has the tasks that were broken:
        their reports have to be corrected.
        """
        own_key = _key(spec_run, task)
        to_check: list[tuple[Key, Work]] = []
        if result.passed:
            self.add_pass(spec_run, task, result)
            to_check += [(own_key, work) for work in self._work[begun:] if work.key != own_key]
        to_check += self._add_work(spec_run, task, result)

        worked_on: set[Key] = set()
        still_pass: list[str] = []
        while to_check:
            key, work = to_check.pop(0)
            passed = self._passed.get(key)
            if passed is None or not passed.may_be_broken_by(work):
                continue
            line = _culprit_line(passed, work, spec_run)
            self._passed[key] = passed._replace(verified_at=time.time())
            healed = _verify_again(passed, work, line, is_repeated=key in worked_on)
            if healed is None:
                if key != own_key:
                    still_pass.append(_name(passed.spec_run, passed.task, spec_run))
                continue
            worked_on.add(key)
            if healed.bad:
                self._passed.pop(key, None)
            to_check += self._add_work(passed.spec_run, passed.task, healed)
            if key == own_key:
                result = result.followed_by(healed)
            elif healed.outcome == "recovered":
                result = result.with_regression(healed, f"{line}: {healed.reason}")
            else:
                result = result.with_regression(healed)
        return _with_note(result, still_pass)

    def _add_work(
        self, spec_run: SpecRun, task: Task, result: TaskResult
    ) -> list[tuple[Key, Work]]:
        """Add the work on a task; return which tasks are to be verified again because of it."""
        if not result.changed:
            return []
        diff = "".join(attempt.diff for attempt in result.attempts)
        work = Work(spec_run, task, result.changed, diff)
        self._work.append(work)
        affected = self._affected_by(work.changed) - {work.key}
        if not affected:
            return []
        to_check = []
        # In the order in which they passed.
        for key, passed in list(self._passed.items()):
            if key in affected and passed.may_be_broken_by(work):
                to_check.append((key, work))
        return to_check

    def _affected_by(self, changed: tuple[str, ...]) -> set[Key]:
        """Return the tasks, some of them forgotten, to which one of the changed files matters."""
        affected: set[Key] = set()
        for place in _with_directories(changed):
            affected.update(self._by_place.get(place, ()))
        # Siblings in a [P] group may be adding patterns.
        for pattern, keys in list(self._by_pattern.items()):
            if any(fnmatchcase(path, pattern) for path in changed):
                affected.update(keys)
        return affected


def _verify_again(
    passed: PassedTask, work: Work, line: str, *, is_repeated: bool
) -> TaskResult | None:
    """Verify a task again, and recover it if it fails; None if it still passes.

    One that was recovered, and that is broken again by what followed from that, fails.
    """
    if not is_repeated:
        return passed.spec_run.heal(passed.task, line, work.diff)
    culprit = _name(work.spec_run, work.task, passed.spec_run)
    reason = f"{passed.task.id} and {culprit} do not pass together: {line}"
    return passed.spec_run.fail_if_broken(passed.task, reason)


def _culprit_line(passed: PassedTask, work: Work, reader: SpecRun) -> str:
    """One line that names the work which may have broken a task.

    Ids alone would be ambiguous in a line about several specs.
    """
    named_for = reader if work.spec_run is passed.spec_run else None
    name = _name(passed.spec_run, passed.task, named_for)
    culprit = _name(work.spec_run, work.task, named_for)
    return f"{name} no longer passes since {culprit} changed {listed_files(work.changed)}"


def listed_files(paths: Sequence[str]) -> str:
    """The first of the paths, as one text."""
    return ", ".join(paths[:MOST_NAMED])


def _key(spec_run: SpecRun, task: Task) -> Key:
    return spec_run.spec_files.spec.path, task.name


def is_affected(files: Sequence[str], changed: Sequence[str]) -> bool:
    """Whether changed files may matter to a task: its own, or any if its files are not known.

    A task may name directories and patterns, too.
    """
    return not files or any(is_named(files, path) for path in changed)


def is_named(files: Sequence[str], path: str) -> bool:
    """Whether `path` is one of `files`, is below one, or matches one as a pattern."""
    places = _with_directories((path,))
    for name in files:
        if name.rstrip("/") in places or (has_wildcard(name) and fnmatchcase(path, name)):
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
