"""Attempts at a task's Verify: run it, read from it what went wrong, and note both."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.files import step
from pytest_ralph.running.checks import Circumstances, Verified, run_checks
from pytest_ralph.running.runner import RunError
from pytest_ralph.spec.order import is_e2e_startup
from pytest_ralph.text.inert import one_line
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from pytest_ralph.failure.evidence import Evidence
    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.healing.attempt_log import Journal
    from pytest_ralph.healing.failed_attempt import Setback
    from pytest_ralph.healing.services import Desk
    from pytest_ralph.healing.spec_files import Workspace
    from pytest_ralph.running.checks import Checked
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
        self, desk: Desk, workspace: Workspace, task: Task, journal: Journal, *, recovery: bool
    ) -> None:
        self.recovery = recovery
        self.desk, self.workspace, self.task, self.journal = desk, workspace, task, journal
        self.timeout = task_timeout(task, desk.options.timeout)
        self._doublings = 0

    def give(self, timeout: float | None) -> None:
        """More time for the next attempt."""
        if timeout is not None:
            self.timeout = timeout
            self._doublings += 1

    def verify(self) -> Setback | None:
        """One attempt; None if it passes."""
        verified = self._run()
        if any(checked.ended.interrupted for checked in verified.checked):
            # Told of by nobody: the task did not fail, the run was ended.
            raise KeyboardInterrupt
        failure = None if verified.passed else self._failure(verified)
        tree = self.desk.tree() if failure and self.recovery else ""
        self.journal.verified(verified, failure, timeout=self.timeout, tree=tree)
        if failure is not None:
            self._tell(failure)
        step("after an attempt")
        return None if failure is None else self._setback(failure, verified)

    def _tell(self, failure: Failure) -> None:
        if self.recovery:
            if self.journal.claimed_by:
                self.workspace.did_not_help(self.journal.claimed_by, failure)
            self.workspace.attempt_failed(self.task, failure, self.desk.options.max_fixes + 1)
        self.desk.hooks.failed(self.task, failure, self.journal.attempts)

    def _setback(self, failure: Failure, verified: Verified) -> Setback:
        from pytest_ralph.healing.failed_attempt import Setback

        progress = failure.timed_out and self._made_progress(verified)
        return Setback(
            failure=failure, timeout=self.timeout, doublings=self._doublings, progress=progress
        )

    def _made_progress(self, verified: Verified) -> bool:
        printed = verified.failing is not None and verified.failing.ended.progress
        return printed or self.desk.written_since(verified.started)

    def _run(self) -> Verified:
        number = self.journal.attempts + 1
        most = max(number, self.desk.options.max_fixes + 1)
        attempt = f", attempt {number} of {most}" if number > 1 else ""
        startup, spec = is_e2e_startup(self.task), self.workspace.spec.name
        try:
            with self.desk.live(
                f"{self.task.id} verify{attempt}", self.timeout, self.task.title
            ) as on_output:
                around = Circumstances(
                    root=self.desk.root,
                    timeout=self.timeout,
                    env=self.desk.task_env(self.workspace, self.task, number),
                    keep=startup,
                    # Names the logs; what a startup leaves running is known by its spec, so that the cleanup finds it.
                    label=f"{spec}-e2e" if startup else f"{spec}-{self.task.name}",
                    on_output=on_output,
                )
                return run_checks(self.task.verify, self.desk.runner, around)
        except RunError as error:
            return Verified(passed=False, error=str(error))

    def _failure(self, verified: Verified) -> Failure:
        from pytest_ralph.failure.failure import NO_ERROR, Failure

        if verified.failing is None:
            return Failure(
                task_id=self.task.id,
                error=verified.error,
                command="",
                status="could not be started",
            )
        evidence = self.evidence(verified.failing)
        failure = self.desk.hooks.classify(evidence, self.task)
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
            self.desk.about(self.task, as_reported(failure, evidence.output))
        )

    def _with_experience(self, failure: Failure) -> Failure:
        """How long it usually takes is worth knowing when it took too long."""
        if not failure.timed_out:
            return failure
        known = self.desk.wisdom.lasting(self.workspace.spec.name, self.task.id, self.timeout)
        return replace(failure, suggested_actions=(*known, *failure.suggested_actions))

    def evidence(self, checked: Checked) -> Evidence:
        from pytest_ralph.failure.evidence import Evidence

        ended = checked.ended
        return Evidence(
            output=ended.output(),
            exit_code=ended.exit_code,
            command=ended.command,
            junit=self.desk.junit_files(ended),
            root=self.desk.root,
            planned=self.task.files,
            timed_out=ended.timed_out,
            signal=ended.signal,
            timeout=self.timeout,
            duration=ended.duration,
            # That an exit status of 0 was expected goes without saying.
            unmet=tuple(map(str, checked.unmet)) if checked.check.expect else (),
        )
