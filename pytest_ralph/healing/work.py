"""Work on one spec: each task from the question whether it runs at all to its result."""

from __future__ import annotations

import re
import time
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.fixing.templating import TemplatesError
from pytest_ralph.healing.attempt_log import AttemptLog
from pytest_ralph.healing.commits import Commits
from pytest_ralph.healing.errors import RecoveryError
from pytest_ralph.healing.loop import Loop
from pytest_ralph.spec.order import is_e2e_cleanup, is_red
from pytest_ralph.text.inert import one_line
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.healing.execute import Execution
    from pytest_ralph.healing.failed_attempt import FailedAttempt
    from pytest_ralph.healing.services import Services
    from pytest_ralph.healing.spec_files import SpecFiles
    from pytest_ralph.healing.takeover_log import TakeoverLog
    from pytest_ralph.results import TaskResult
    from pytest_ralph.spec.task import Task


STOPS = (RecoveryError, TemplatesError)

# The field often begins with the word that the reason begins with.
MANUAL = regex(r"^manual(?:ly)?\s*[:—–-]\s*", re.IGNORECASE)


class Begun(NamedTuple):
    """A task after its first attempt: either it has its result, or a failure waits for what comes next."""

    loop: Loop
    result: TaskResult | None = None
    failed_attempt: FailedAttempt | None = None
    # When the first attempt ended, where siblings may be waited for.
    at: float = 0.0

    @property
    def failure(self) -> Failure | None:
        return self.failed_attempt.failure if self.failed_attempt else None

    @property
    def good(self) -> bool:
        return self.failure is None and not (self.result and self.result.bad)


class SpecWork:
    """One spec in one run. `begin` and `finish` are apart so that siblings can complete before a retry."""

    def __init__(
        self,
        services: Services,
        spec_files: SpecFiles,
        *,
        recovery: bool,
        takeover_log: TakeoverLog | None = None,
    ) -> None:
        self.services, self.spec_files, self.recovery = services, spec_files, recovery
        self.commits = Commits(services, spec_files)
        self.takeover_log = takeover_log
        self._refused: RecoveryError | None = None
        if takeover_log:
            bad = [name for name, result in takeover_log.results.items() if result.bad]
            bad += [
                name
                for name in takeover_log.unfinished
                if not self._outlived(spec_files.spec.get(name))
            ]
            spec_files.failed.update(dict.fromkeys(bad, "failed before this worker took over"))

    def start(self, base_path: str) -> list[str]:
        """A run in recovery mode begins; what was changed in the state. If it cannot be written, no task is begun."""
        try:
            return self.spec_files.start(base_path)
        except RecoveryError as error:
            self._refused = error
            return []

    def perform(self, task: Task) -> TaskResult:
        return self.finish(self.begin(task))

    def begin(self, task: Task) -> Begun:
        """Skip it, or do it if the executor is to, and verify it once; nothing of it if another worker has begun it."""
        loop = Loop(
            self.services, self.spec_files, task, self._journal(task), recovery=self.recovery
        )
        if self.takeover_log is None:
            return self._begin(task, loop)
        if task.name in self.takeover_log.results:
            return Begun(loop, self.takeover_log.results[task.name])
        if task.name in self.takeover_log.unfinished:
            return Begun(
                loop, self._cut_off(task, loop.attempt_log, self.takeover_log.unfinished[task.name])
            )
        self.takeover_log.begun(task.name)
        begun = self._begin(task, loop)
        if begun.result is not None:
            self.takeover_log.ended(task.name, begun.result)
        return begun

    def _cut_off(self, task: Task, attempt_log: AttemptLog, worker: str) -> TaskResult:
        return (
            attempt_log.outlived(worker, self.spec_files.fixes_of(task))
            if self._outlived(task)
            else attempt_log.died(worker)
        )

    def _outlived(self, task: Task | None) -> bool:
        """Whether a task that a worker died at is checked off by now: then it had passed."""
        try:
            return task is not None and not task.checked and self.spec_files.is_checked(task)
        except RecoveryError:
            return False

    def _execution(self, loop: Loop) -> Execution:
        from pytest_ralph.healing.execute import Execution

        return Execution(loop)

    def _begin(self, task: Task, loop: Loop) -> Begun:
        try:
            skip = self.skip(task)
            return (
                Begun(loop, loop.attempt_log.ended(*skip))
                if skip
                else self._first_attempt(task, loop)
            )
        except STOPS as error:
            return Begun(loop, self._stopped(loop, error))

    def _first_attempt(self, task: Task, loop: Loop) -> Begun:
        if self._refused is not None:
            raise self._refused
        self._take_up(task, loop.attempt_log)
        self.commits.begin(task)
        execution = (
            self._execution(loop)
            if self.services.options.execute and not self._is_checked(task)
            else None
        )
        failed_attempt = execution.run() if execution else loop.attempts.verify()
        if failed_attempt is None:
            if execution and not self.recovery:
                self.spec_files.tick(task)
            return Begun(loop, self._passed(loop))
        if execution and not self.recovery:
            loop.attempt_log.say(*execution.lines)
        return Begun(loop, failed_attempt=failed_attempt, at=time.monotonic())

    def finish(self, begun: Begun) -> TaskResult:
        result = begun.result or self._after(begun)
        if is_e2e_cleanup(begun.loop.task):
            self.services.runner.release(f"{self.spec_files.spec.name}-e2e")
        if self.takeover_log and begun.result is None:
            self.takeover_log.ended(begun.loop.task.name, result)
        return result

    def _after(self, begun: Begun) -> TaskResult:
        assert begun.failed_attempt is not None
        loop, failure = begun.loop, begun.failed_attempt.failure
        loop.attempt_log.waited += time.monotonic() - begun.at
        try:
            result = (
                loop.recover(begun.failed_attempt) if self.recovery else self._failed(loop, failure)
            )
            return self._commit(loop, result)
        except STOPS as error:
            return self._stopped(loop, error)

    def _stopped(self, loop: Loop, error: Exception) -> TaskResult:
        """Nothing more can be done for the task, through no fault of its own. The next run goes on from here."""
        self.spec_files.failed[loop.task.name] = str(error)
        return loop.attempt_log.ended("failed", str(error))

    def _is_checked(self, task: Task) -> bool:
        """By now: the fixes of a task are checked off with it."""
        return task.checked or (self.recovery and self.spec_files.is_checked(task))

    def skip(self, task: Task) -> tuple[str, str] | None:
        """Outcome and reason where a task is not run."""
        if task.fix_for and (original := self._failed_original(task)):
            return "skipped", f"fix of {original}"
        if self.services.options.pending and self._is_checked(task):
            return "skipped", "already complete"
        if task.checked and is_red(task):
            return (
                "skipped",
                "already complete: a [RED] task is meant to fail, so it is not verified again",
            )
        blocker = self.spec_files.plan.blocker(
            task,
            self.spec_files.failed,
            keep_going=self.services.options.keep_going,
            recovery=self.recovery,
        )
        if blocker:
            return "blocked", f"blocked by {blocker}"
        if task.verify.manual:
            return "manual", f"manual: {MANUAL.sub('', one_line(task.verify.manual))}"
        return None if task.verify.checks else ("skipped", "no Verify field")

    def _failed_original(self, task: Task) -> str | None:
        seen: set[str] = set()
        while (owner := self.spec_files.owner_of(task)) and owner.name not in seen:
            if owner.name in self.spec_files.failed:
                return owner.name
            seen.add(owner.name)
            task = owner
        return None

    def _journal(self, task: Task) -> AttemptLog:
        services, name = self.services, self.spec_files.spec.name
        return AttemptLog(
            task,
            spec=name,
            spec_path=self._path,
            run=services.run_id,
            record=services.record,
            mask=services.mask,
        )

    @cached_property
    def _path(self) -> str:
        path, root = self.spec_files.spec.path, self.services.root
        return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()

    def _take_up(self, task: Task, attempt_log: AttemptLog) -> None:
        if self.recovery and self.spec_files.was_cut_off(task):
            tried = self.services.advisor.left_off(self.spec_files.spec.name, task.id)
            attempt_log.take_up(tried, self.spec_files.fixes_of(task))

    def _passed(self, loop: Loop) -> TaskResult:
        retried = bool(loop.attempt_log.failures)
        if self.recovery:
            self.spec_files.passed(loop.task, self.services.options.max_fixes + 1)
        result = loop.attempt_log.ended("recovered" if retried else "passed")
        return self._commit(loop, result)

    def _commit(self, loop: Loop, result: TaskResult) -> TaskResult:
        return self.commits.end(loop.task, loop.attempt_log, result) if result.passed else result

    def _failed(self, loop: Loop, failure: Failure) -> TaskResult:
        """Without recovery a run is plain pytest: the failure is reported, nothing is written."""
        self.spec_files.failed[loop.task.name] = failure.error
        reason = (
            f"regression: it was complete, and fails now: {failure.error}"
            if loop.task.checked
            else failure.error
        )
        return loop.attempt_log.ended("regression" if loop.task.checked else "failed", reason)
