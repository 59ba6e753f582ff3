"""Work on one spec: each task from the question whether it runs at all to its result."""

from __future__ import annotations

import re
import time
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.fixing.templating import TemplatesError
from pytest_ralph.healing.attempt_log import Journal, TaskResult
from pytest_ralph.healing.commits import Commits
from pytest_ralph.healing.errors import RecoveryError
from pytest_ralph.healing.loop import Loop
from pytest_ralph.spec.order import is_e2e_cleanup, is_red
from pytest_ralph.text.inert import one_line
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.healing.execute import Execution
    from pytest_ralph.healing.failed_attempt import Setback
    from pytest_ralph.healing.services import Desk
    from pytest_ralph.healing.spec_files import Workspace
    from pytest_ralph.healing.takeover_log import Ledger
    from pytest_ralph.spec.task import Task


STOPS = (RecoveryError, TemplatesError)

# The field often begins with the word that the reason begins with.
MANUAL = regex(r"^manual(?:ly)?\s*[:—–-]\s*", re.IGNORECASE)


class Begun(NamedTuple):
    """A task after its first attempt: either it has its result, or a failure waits for what comes next."""

    loop: Loop
    result: TaskResult | None = None
    setback: Setback | None = None
    # When the first attempt ended, where siblings may be waited for.
    at: float = 0.0

    @property
    def failure(self) -> Failure | None:
        return self.setback.failure if self.setback else None

    @property
    def good(self) -> bool:
        return self.failure is None and not (self.result and self.result.story.bad)


class SpecWork:
    """One spec in one run. `begin` and `finish` are apart so that siblings can complete before a retry."""

    def __init__(
        self, desk: Desk, workspace: Workspace, *, recovery: bool, ledger: Ledger | None = None
    ) -> None:
        self.desk, self.workspace, self.recovery = desk, workspace, recovery
        self.commits = Commits(desk, workspace)
        self.ledger = ledger
        self._refused: RecoveryError | None = None
        if ledger:
            bad = [name for name, result in ledger.results.items() if result.story.bad]
            bad += [
                name for name in ledger.unfinished if not self._outlived(workspace.spec.get(name))
            ]
            workspace.failed.update(dict.fromkeys(bad, "failed before this worker took over"))

    def start(self, base_path: str) -> list[str]:
        """A run in recovery mode begins; what was changed in the state. If it cannot be written, no task is begun."""
        try:
            return self.workspace.start(base_path)
        except RecoveryError as error:
            self._refused = error
            return []

    def perform(self, task: Task) -> TaskResult:
        return self.finish(self.begin(task))

    def begin(self, task: Task) -> Begun:
        """Skip it, or do it if the executor is to, and verify it once; nothing of it if another worker has begun it."""
        loop = Loop(self.desk, self.workspace, task, self._journal(task), recovery=self.recovery)
        if self.ledger is None:
            return self._begin(task, loop)
        if task.name in self.ledger.results:
            return Begun(loop, self.ledger.results[task.name])
        if task.name in self.ledger.unfinished:
            return Begun(loop, self._cut_off(task, loop.journal, self.ledger.unfinished[task.name]))
        self.ledger.begun(task.name)
        begun = self._begin(task, loop)
        if begun.result is not None:
            self.ledger.ended(task.name, begun.result)
        return begun

    def _cut_off(self, task: Task, journal: Journal, worker: str) -> TaskResult:
        return (
            journal.outlived(worker, self.workspace.fixes_of(task))
            if self._outlived(task)
            else journal.died(worker)
        )

    def _outlived(self, task: Task | None) -> bool:
        """Whether a task that a worker died at is checked off by now: then it had passed."""
        try:
            return task is not None and not task.checked and self.workspace.is_checked(task)
        except RecoveryError:
            return False

    def _execution(self, loop: Loop) -> Execution:
        from pytest_ralph.healing.execute import Execution

        return Execution(loop)

    def _begin(self, task: Task, loop: Loop) -> Begun:
        try:
            skip = self.skip(task)
            return (
                Begun(loop, loop.journal.ended(*skip)) if skip else self._first_attempt(task, loop)
            )
        except STOPS as error:
            return Begun(loop, self._stopped(loop, error))

    def _first_attempt(self, task: Task, loop: Loop) -> Begun:
        if self._refused is not None:
            raise self._refused
        self._take_up(task, loop.journal)
        self.commits.begin(task)
        execution = (
            self._execution(loop)
            if self.desk.options.execute and not self._is_checked(task)
            else None
        )
        setback = execution.run() if execution else loop.attempts.verify()
        if setback is None:
            if execution and not self.recovery:
                self.workspace.tick(task)
            return Begun(loop, self._passed(loop))
        if execution and not self.recovery:
            loop.journal.say(*execution.lines)
        return Begun(loop, setback=setback, at=time.monotonic())

    def finish(self, begun: Begun) -> TaskResult:
        result = begun.result or self._after(begun)
        if is_e2e_cleanup(begun.loop.task):
            self.desk.runner.release(f"{self.workspace.spec.name}-e2e")
        if self.ledger and begun.result is None:
            self.ledger.ended(begun.loop.task.name, result)
        return result

    def _after(self, begun: Begun) -> TaskResult:
        assert begun.setback is not None
        loop, failure = begun.loop, begun.setback.failure
        loop.journal.waited += time.monotonic() - begun.at
        try:
            result = loop.recover(begun.setback) if self.recovery else self._failed(loop, failure)
            return self._commit(loop, result)
        except STOPS as error:
            return self._stopped(loop, error)

    def _stopped(self, loop: Loop, error: Exception) -> TaskResult:
        """Nothing more can be done for the task, through no fault of its own. The next run goes on from here."""
        self.workspace.failed[loop.task.name] = str(error)
        return loop.journal.ended("failed", str(error))

    def _is_checked(self, task: Task) -> bool:
        """By now: the fixes of a task are checked off with it."""
        return task.checked or (self.recovery and self.workspace.is_checked(task))

    def skip(self, task: Task) -> tuple[str, str] | None:
        """Outcome and reason where a task is not run."""
        if task.fix_for and (original := self._failed_original(task)):
            return "skipped", f"fix of {original}"
        if self.desk.options.pending and self._is_checked(task):
            return "skipped", "already complete"
        if task.checked and is_red(task):
            return (
                "skipped",
                "already complete: a [RED] task is meant to fail, so it is not verified again",
            )
        blocker = self.workspace.plan.blocker(
            task,
            self.workspace.failed,
            keep_going=self.desk.options.keep_going,
            recovery=self.recovery,
        )
        if blocker:
            return "blocked", f"blocked by {blocker}"
        if task.verify.manual:
            return "manual", f"manual: {MANUAL.sub('', one_line(task.verify.manual))}"
        return None if task.verify.checks else ("skipped", "no Verify field")

    def _failed_original(self, task: Task) -> str | None:
        seen: set[str] = set()
        while (owner := self.workspace.owner_of(task)) and owner.name not in seen:
            if owner.name in self.workspace.failed:
                return owner.name
            seen.add(owner.name)
            task = owner
        return None

    def _journal(self, task: Task) -> Journal:
        desk, name = self.desk, self.workspace.spec.name
        return Journal(
            task,
            spec=name,
            spec_path=self._path,
            run=desk.run_id,
            record=desk.record,
            mask=desk.mask,
        )

    @cached_property
    def _path(self) -> str:
        path, root = self.workspace.spec.path, self.desk.root
        return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()

    def _take_up(self, task: Task, journal: Journal) -> None:
        if self.recovery and self.workspace.was_cut_off(task):
            tried = self.desk.wisdom.left_off(self.workspace.spec.name, task.id)
            journal.take_up(tried, self.workspace.fixes_of(task))

    def _passed(self, loop: Loop) -> TaskResult:
        retried = bool(loop.journal.failures)
        if self.recovery:
            self.workspace.passed(loop.task, self.desk.options.max_fixes + 1)
        result = loop.journal.ended("recovered" if retried else "passed")
        return self._commit(loop, result)

    def _commit(self, loop: Loop, result: TaskResult) -> TaskResult:
        return self.commits.end(loop.task, loop.journal, result) if result.passed else result

    def _failed(self, loop: Loop, failure: Failure) -> TaskResult:
        """Without recovery a run is plain pytest: the failure is reported, nothing is written."""
        self.workspace.failed[loop.task.name] = failure.error
        reason = (
            f"regression: it was complete, and fails now: {failure.error}"
            if loop.task.checked
            else failure.error
        )
        return loop.journal.ended("regression" if loop.task.checked else "failed", reason)
