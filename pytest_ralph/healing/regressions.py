"""Regressions: tasks that passed earlier in a run and no longer do because of later work.

A task whose files are known is verified again as soon as one of them was changed for another task.
A task whose files are not known may be broken by any change. It would take far too long to verify
it after each of them, so it is verified again at the end of the run (`session/final_check.py`).
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytest_ralph.healing.spec_run import SpecRun
    from pytest_ralph.results import TaskResult
    from pytest_ralph.spec.task import Task

    # The path of a spec and the name of a task: an item may run several times.
    Key = tuple[str, str]

MOST_NAMED = 3
_WILDCARD = regex(r"[*?\[]")
# Seconds by which the time of a file may be behind the clock.
CLOCK_TICK = 0.02


class Work(NamedTuple):
    """What executors and repairs changed for the task with a `result`, the last at `ended`."""

    result: TaskResult
    changed: tuple[str, ...]
    diff: str
    ended: float

    @classmethod
    def of(cls, result: TaskResult) -> Work | None:
        """Return the work on a task; None if nothing was changed for it."""
        attempts = [attempt for attempt in result.attempts if attempt.changed]
        if not attempts:
            return None
        diff = "".join(attempt.diff for attempt in attempts)
        ended = max(attempt.started + attempt.duration for attempt in attempts)
        return cls(result, result.changed, diff, ended)


@dataclass
class PassedTask:
    """A task that passed earlier in the run, and when its last Verify began and ended.

    find_spec_run: Returns the work on its spec, which begins with the first call.
    files: The files that are known to matter to it. Without a Files field, any other may, too.
    """

    result: TaskResult
    task: Task
    find_spec_run: Callable[[], SpecRun]
    verified_from: float = 0.0
    verified_until: float = 0.0
    files: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.files = tuple(dict.fromkeys((*self.task.files, *self.result.changed)))
        verifications = self.result.verifications
        if verifications:
            self.verified_from = verifications[-1].started
            self.verified_until = self.verified_from + verifications[-1].duration

    def may_be_broken_by(self, work: Work, root: Path) -> bool:
        """Whether work on another task changed files of this one since it was verified.

        What executors change at the same time counts as changed by each of them.
        """
        if work.ended <= self.verified_from or key_of(work.result) == key_of(self.result):
            return False
        if not self.task.files:
            return True
        return self.is_touched_by(work, root)

    def is_touched_by(self, work: Work, root: Path) -> bool:
        """Whether files that are known to matter were changed since the task was verified."""
        if work.ended <= self.verified_from or key_of(work.result) == key_of(self.result):
            return False
        own = [path for path in work.changed if is_named(self.files, path)]
        return any(self._is_changed_since(root / path) for path in own)

    def _is_changed_since(self, path: Path) -> bool:
        try:
            status = os.lstat(path)
        except OSError:
            # It was removed.
            return True
        return status.st_ctime > self.verified_from - CLOCK_TICK

    def add_files(self, paths: Sequence[str]) -> None:
        """Note what was changed to recover the task again."""
        self.files = tuple(dict.fromkeys((*self.files, *paths)))

    def verify_again(self, reason: str, diff: str, *, recover: bool) -> TaskResult | None:
        """Verify the task, and recover it if it fails; None if it still passes.

        Without `recover` it only fails, for this reason.
        """
        spec_run = self.find_spec_run()
        self.verified_from = time.time()
        if recover:
            result = spec_run.heal(self.task, reason, diff)
        else:
            result = spec_run.fail_if_broken(self.task, reason)
        self.verified_until = time.time()
        return result


class Regressions:
    """What has passed in this process, over all specs, and the work done on tasks."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.passed: dict[Key, PassedTask] = {}
        self._work: list[Work] = []

    @property
    def position(self) -> int:
        """How much work has been done so far."""
        return len(self._work)

    def add_pass(self, spec_run: SpecRun, task: Task, result: TaskResult) -> None:
        """Have a task verified again after later work on its files."""
        if task.has_marker("RED"):
            # Its failing test is meant to pass after that.
            return
        self.passed[key_of(result)] = PassedTask(result, task, lambda: spec_run)

    def forget(self, spec_path: str, task: Task) -> None:
        """No longer count a task as passed."""
        self.passed.pop((spec_path, task.name), None)

    def failing_now(self) -> list[str]:
        """Verify all that has passed; return the names of the tasks that no longer do."""
        return [
            f"{passed.result.spec}::{passed.task.name}"
            for passed in list(self.passed.values())
            if not passed.find_spec_run().holds(passed.task)
        ]

    def heal_after(
        self, spec_run: SpecRun, task: Task, result: TaskResult, begun: int
    ) -> TaskResult:
        """Verify again what the work on a task may have broken, and recover it.

        `begun` is the position at which the task began: what siblings in a [P] group have done
        since then may have broken the task itself. The result has the tasks that were broken:
        their reports have to be corrected.
        """
        to_check: list[tuple[Key, Work]] = []
        if result.passed:
            self.add_pass(spec_run, task, result)
            to_check += [(key_of(result), work) for work in self._work[begun:]]
        to_check += self._add_work(result)

        were_broken: set[Key] = set()
        still_pass: list[str] = []
        while to_check:
            key, work = to_check.pop(0)
            passed = self.passed.get(key)
            if passed is None or not self._may_be_broken(passed, work):
                continue
            line = _culprit_line(passed.result, work, result.spec_path)
            reason = line
            if key in were_broken:
                # By what followed from its recovery.
                culprit = name_of(work.result, passed.result.spec_path)
                reason = f"{passed.task.id} and {culprit} do not pass together: {line}"
            healed = passed.verify_again(reason, work.diff, recover=key not in were_broken)
            if healed is None:
                if key != key_of(result):
                    still_pass.append(name_of(passed.result, result.spec_path))
                continue
            were_broken.add(key)
            passed.add_files(healed.changed)
            if healed.bad:
                self.passed.pop(key, None)
            to_check += self._add_work(healed)
            result = _with_healed(result, healed, line)
        return _with_note(result, still_pass)

    def _add_work(self, result: TaskResult) -> list[tuple[Key, Work]]:
        """Add the work on a task; return which tasks are to be verified again because of it."""
        work = Work.of(result)
        if work is None:
            return []
        self._work.append(work)
        # In the order in which they passed. Siblings in a [P] group may be adding others.
        passed = list(self.passed.items())
        return [(key, work) for key, task in passed if self._may_be_broken(task, work)]

    def _may_be_broken(self, passed: PassedTask, work: Work) -> bool:
        """Whether a task is to be verified again now, and not only at the end of the run."""
        return passed.is_touched_by(work, self._root)


def key_of(result: TaskResult) -> Key:
    return result.spec_path, result.name


def listed_files(paths: Sequence[str]) -> str:
    """The first of the paths, as one text."""
    return ", ".join(paths[:MOST_NAMED])


def is_named(files: Sequence[str], path: str) -> bool:
    """Whether `path` is one of the files that a task names, is below one, or matches a pattern."""
    places = _with_directories(path)
    for written in files:
        # A task may name `./src/`.
        name = _normalised(written)
        if name in places:
            return True
        # `**/` also stands for no directory.
        if _WILDCARD.search(name) and (
            fnmatchcase(path, name) or fnmatchcase(path, name.replace("**/", ""))
        ):
            return True
    return False


@lru_cache(maxsize=4096)
def _normalised(path: str) -> str:
    return os.path.normpath(path)


@lru_cache
def _with_directories(path: str) -> frozenset[str]:
    """Return the path and all directories in which it is."""
    places = {path}
    while "/" in path:
        path = path.rpartition("/")[0]
        places.add(path)
    return frozenset(places)


def _culprit_line(passed: TaskResult, work: Work, reader: str) -> str:
    """One line that names the work which may have broken a task, for the report of a spec.

    Ids alone would be ambiguous in a line about several specs.
    """
    if work.result.spec_path != passed.spec_path:
        reader = ""
    name = name_of(passed, reader)
    culprit = name_of(work.result, reader)
    return f"{name} no longer passes since {culprit} changed {listed_files(work.changed)}"


def name_of(result: TaskResult, reader: str = "") -> str:
    """The id of a task, with the name of its spec unless `reader` is the path of that spec."""
    return result.id if result.spec_path == reader else f"{result.spec} {result.id}"


def _with_healed(result: TaskResult, healed: TaskResult, line: str) -> TaskResult:
    """Add how a task ended that was broken: the one with this result, or another one."""
    if key_of(healed) == key_of(result):
        return result.followed_by(healed)
    if healed.outcome == "recovered":
        return result.with_regression(healed).with_note(f"{line}: {healed.reason}")
    return result.with_regression(healed)


def _with_note(result: TaskResult, still_pass: Sequence[str]) -> TaskResult:
    """Add which tasks were verified again because of the work on this one."""
    if not still_pass:
        return result
    names = ", ".join(dict.fromkeys(still_pass))
    note = f"verified again because of its changes, and still passing: {names}"
    return result.with_note(note, result.id, is_detail=True)
