"""Attempts at a task's Verify: run it, read from it what went wrong, and note both."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.files import fault_point
from pytest_ralph.running.checks import RunContext, VerifyResult, run_checks
from pytest_ralph.running.runner import RunError
from pytest_ralph.spec.order import is_e2e_startup
from pytest_ralph.text.inert import one_line
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from pytest_ralph.failure.evidence import Evidence
    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.healing.attempt_log import AttemptLog
    from pytest_ralph.healing.failed_attempt import FailedAttempt
    from pytest_ralph.healing.services import Services
    from pytest_ralph.healing.spec_files import SpecFiles
    from pytest_ralph.running.checks import CheckResult
    from pytest_ralph.spec.task import Task

SECONDS = regex(r"(\d+(?:\.\d+)?)\s*(ms|s|sec\w*|m|min\w*|h|hours?)?", re.IGNORECASE)
UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def task_timeout(task: Task, default: float) -> float:
    """The task's own `**Timeout**:` field (`90`, `90s`, `2 min`), else the default."""
    match = SECONDS.match(task.fields.get("Timeout", "").strip(" `"))
    if not match:
        return default
    unit = (match[2] or "").lower()
    return float(match[1]) * UNITS["ms" if unit == "ms" else unit[:1]] or default


def as_reported(failure: Failure, output: str) -> Failure:
    """With what a FAILED block says, which is written for us whoever prints it."""
    from pytest_ralph.failure.block import parse_block

    block = parse_block(output) if "FAILED" in output else None
    if block is None or not block.marked:
        return failure
    return replace(
        failure, error=block.error, attempted_fix=block.attempted_fix, status=block.status
    )


class Attempts:
    """Every attempt at one task's Verify in one run. `timeout` grows when more time may help."""

    def __init__(
        self,
        services: Services,
        spec_files: SpecFiles,
        task: Task,
        attempt_log: AttemptLog,
        *,
        recovery: bool,
    ) -> None:
        self.recovery = recovery
        self.services, self.spec_files, self.task, self.attempt_log = (
            services,
            spec_files,
            task,
            attempt_log,
        )
        self.timeout = task_timeout(task, services.options.timeout)
        self._doublings = 0

    def give(self, timeout: float | None) -> None:
        """More time for the next attempt."""
        if timeout is not None:
            self.timeout = timeout
            self._doublings += 1

    def verify(self) -> FailedAttempt | None:
        """One attempt; None if it passes."""
        verified = self._run()
        if any(checked.ended.interrupted for checked in verified.checked):
            # TaskReport of by nobody: the task did not fail, the run was ended.
            raise KeyboardInterrupt
        failure = None if verified.passed else self._failure(verified)
        tree = self.services.tree() if failure and self.recovery else ""
        self.attempt_log.verified(verified, failure, timeout=self.timeout, tree=tree)
        if failure is not None:
            self._tell(failure)
        fault_point("after an attempt")
        return None if failure is None else self._setback(failure, verified)

    def _tell(self, failure: Failure) -> None:
        if self.recovery:
            if self.attempt_log.claimed_by:
                self.spec_files.did_not_help(self.attempt_log.claimed_by, failure)
            self.spec_files.attempt_failed(self.task, failure, self.services.options.max_fixes + 1)
        self.services.hooks.failed(self.task, failure, self.attempt_log.attempts)

    def _setback(self, failure: Failure, verified: VerifyResult) -> FailedAttempt:
        from pytest_ralph.healing.failed_attempt import FailedAttempt

        progress = failure.timed_out and self._made_progress(verified)
        return FailedAttempt(
            failure=failure, timeout=self.timeout, doublings=self._doublings, progress=progress
        )

    def _made_progress(self, verified: VerifyResult) -> bool:
        printed = verified.failing is not None and verified.failing.ended.progress
        return printed or self.services.written_since(verified.started)

    def _run(self) -> VerifyResult:
        number = self.attempt_log.attempts + 1
        most = max(number, self.services.options.max_fixes + 1)
        attempt = f", attempt {number} of {most}" if number > 1 else ""
        startup, spec = is_e2e_startup(self.task), self.spec_files.spec.name
        try:
            with self.services.live(
                f"{self.task.id} verify{attempt}", self.timeout, self.task.title
            ) as on_output:
                around = RunContext(
                    root=self.services.root,
                    timeout=self.timeout,
                    env=self.services.task_env(self.spec_files, self.task, number),
                    keep=startup,
                    # Names the logs; what a startup leaves running is known by its spec, so that the cleanup finds it.
                    label=f"{spec}-e2e" if startup else f"{spec}-{self.task.name}",
                    on_output=on_output,
                )
                return run_checks(self.task.verify, self.services.runner, around)
        except RunError as error:
            return VerifyResult(passed=False, error=str(error))

    def _failure(self, verified: VerifyResult) -> Failure:
        from pytest_ralph.failure.failure import NO_ERROR, Failure

        if verified.failing is None:
            return Failure(
                task_id=self.task.id,
                error=verified.error,
                command="",
                status="could not be started",
            )
        evidence = self.evidence(verified.failing)
        failure = self.services.hooks.classify(evidence, self.task)
        failure = replace(
            failure,
            command=failure.command or evidence.command,
            exit_code=evidence.exit_code,
            timed_out=evidence.timed_out,
            duration=evidence.duration,
            raw_output=failure.raw_output or evidence.output,
        )
        if failure.error == NO_ERROR:
            # A silent check: what was expected of it says more than nothing.
            wanted = "; ".join(map(str, verified.failing.unmet))
            failure = replace(
                failure, error=f"{one_line(evidence.command, 120)}: expected {wanted}"
            )
        return self._with_experience(
            self.services.about(self.task, as_reported(failure, evidence.output))
        )

    def _with_experience(self, failure: Failure) -> Failure:
        """How long it usually takes is worth knowing when it took too long."""
        if not failure.timed_out:
            return failure
        known = self.services.advisor.lasting(self.spec_files.spec.name, self.task.id, self.timeout)
        return replace(failure, suggested_actions=(*known, *failure.suggested_actions))

    def evidence(self, checked: CheckResult) -> Evidence:
        from pytest_ralph.failure.evidence import Evidence

        ended = checked.ended
        return Evidence(
            output=ended.output(),
            exit_code=ended.exit_code,
            command=ended.command,
            junit=self.services.junit_files(ended),
            root=self.services.root,
            planned=self.task.files,
            timed_out=ended.timed_out,
            signal=ended.signal,
            timeout=self.timeout,
            duration=ended.duration,
            # That an exit status of 0 was expected goes without saying.
            unmet=tuple(map(str, checked.unmet)) if checked.check.expect else (),
        )
