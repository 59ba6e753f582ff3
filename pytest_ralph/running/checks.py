"""One attempt at a Verify field: its commands in order, each held against what is expected of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal, NamedTuple

from pytest_ralph.running.expectations import unmet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pytest_ralph.running.expectations import Unmet
    from pytest_ralph.running.runner import CommandResult, Runner
    from pytest_ralph.verify.model import Check, Verify


class CheckResult(NamedTuple):
    """One command that ran, and which expectations it did not meet."""

    check: Check
    ended: CommandResult
    unmet: tuple[Unmet, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.unmet


class VerifyResult(NamedTuple):
    """How one attempt at a Verify field went."""

    checked: tuple[CheckResult, ...] = ()
    passed: bool = True
    started: float = 0.0
    duration: float = 0.0
    timeout: float = 0.0
    error: str = ""
    mode: Literal["all", "any"] = "all"
    commands: int = 1

    @property
    def failing(self) -> CheckResult | None:
        return next((one for one in reversed(self.checked) if not one.passed), None)

    @property
    def beside(self) -> tuple[str, ...]:
        """What a person wants to know besides the failing command: its place among the others, or how those ended."""
        if self.commands < 2 or self.passed:
            return ()
        if self.mode == "all":
            return (f"command {len(self.checked)} of {self.commands}",)
        return tuple(
            f"nor did `{one.check.command}` do: expected {'; '.join(map(str, one.unmet))}"
            for one in self.checked[:-1]
        )


class RunContext(NamedTuple):
    """Where and for how long the commands of one attempt run."""

    root: Path
    timeout: float
    env: Mapping[str, str] | None = None
    keep: bool = False
    label: str = ""
    on_output: Callable[[str], None] | None = None


def run_checks(verify: Verify, runner: Runner, around: RunContext) -> VerifyResult:
    """Run the commands in order; stop at the first failure, or with mode `any` at the first success."""
    started, clock = time.time(), time.monotonic()
    checked: list[CheckResult] = []
    wanted = verify.mode == "any"
    for check in verify.checks:
        checked.append(run_check(check, runner, around))
        if checked[-1].passed == wanted or checked[-1].ended.interrupted:
            break
    passed = bool(checked) and checked[-1].passed
    return VerifyResult(
        tuple(checked),
        passed,
        started,
        time.monotonic() - clock,
        around.timeout,
        "",
        verify.mode,
        len(verify.checks),
    )


def run_check(check: Check, runner: Runner, around: RunContext) -> CheckResult:
    ended = runner.run(
        check.command,
        timeout=around.timeout,
        env=around.env,
        split=check.reads_output,
        cwd=around.root / check.directory if check.directory else around.root,
        keep=around.keep,
        label=around.label,
        on_output=around.on_output,
    )
    return CheckResult(check, ended, unmet(check.expect, ended))
