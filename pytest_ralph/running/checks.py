"""Run the commands of a Verify field in order, and compare each with its expectations."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Literal, NamedTuple

from pytest_ralph.running.expectations import Unmet, find_unmet
from pytest_ralph.running.stages import StageRecorder
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pytest_ralph.running.raw_output import RawOutput
    from pytest_ralph.running.runner import CommandResult, Runner
    from pytest_ralph.running.soundness import Defect
    from pytest_ralph.running.stages import StageResults
    from pytest_ralph.verify.model import Check, Verify

# Every report of a run without tests has one of these, so that most outputs need no closer look.
WITHOUT_TESTS = regex(
    r"no[ -](?:test|source)|notests|no (?:specs?|examples|scenarios)\b|1\.\.0"
    r"|\b0 (?:tests?|pass|passing|passed|examples|items|runs|scenarios|specs)\b"
    r"|tests(?: run)?:? +0",
    re.IGNORECASE,
)

# `! grep …` and `test -z "$(grep …)"` pass if grep cannot read its file, too.
HIDES_FAILURE = regex(r"(?:^|\s)!\s|\$\(|`")


class CheckResult(NamedTuple):
    """One command that ran, and the expectations that it did not meet.

    `defect` says why the result of the command means nothing, if that is so, and `unwritten` which
    files it did not leave behind although everything else was as expected.
    """

    check: Check
    ended: CommandResult
    unmet: tuple[Unmet, ...] = ()
    defect: Defect | None = None
    unwritten: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether all expectations were met."""
        return not self.unmet


class VerifyResult(NamedTuple):
    """The result of one run of a Verify field below `root`.

    `error` says why it could not run at all.
    """

    checked: tuple[CheckResult, ...] = ()
    passed: bool = True
    started: float = 0.0
    duration: float = 0.0
    timeout: float = 0.0
    error: str = ""
    mode: Literal["all", "any"] = "all"
    commands: int = 1
    root: Path | None = None

    @property
    def failing(self) -> CheckResult | None:
        """The last command that did not pass."""
        for result in reversed(self.checked):
            if not result.passed:
                return result
        return None

    @property
    def interrupted(self) -> bool:
        return any(result.ended.interrupted for result in self.checked)

    @property
    def notes_on_others(self) -> tuple[str, ...]:
        """Notes about the other commands: the place of the failing one, or how they failed too."""
        if self.commands < 2 or self.passed:
            return ()
        if self.mode == "all":
            return (f"command {len(self.checked)} of {self.commands}",)
        notes = []
        for result in self.checked[:-1]:
            expected = "; ".join(map(str, result.unmet))
            notes.append(f"`{result.check.command}` did not pass either: expected {expected}")
        return tuple(notes)


class RunContext(NamedTuple):
    """Where and for how long the commands of a Verify field run."""

    root: Path
    timeout: float
    env: Mapping[str, str] | None = None
    keep: bool = False
    label: str = ""
    on_output: Callable[[str], None] | None = None


def run_checks(verify: Verify, runner: Runner, context: RunContext) -> VerifyResult:
    """Run the commands in order up to the first failure, or with mode `any` the first success."""
    started = time.time()
    clock = time.monotonic()
    checked: list[CheckResult] = []
    ends_with_success = verify.mode == "any"
    for check in verify.checks:
        result = _require_tests(run_check(check, runner, context), verify)
        checked.append(result)
        if result.passed == ends_with_success or result.ended.interrupted:
            break

    return VerifyResult(
        checked=tuple(checked),
        passed=bool(checked) and checked[-1].passed,
        started=started,
        duration=time.monotonic() - clock,
        timeout=context.timeout,
        mode=verify.mode,
        commands=len(verify.checks),
        root=context.root,
    )


def _require_tests(result: CheckResult, verify: Verify) -> CheckResult:
    """Fail a command that passed and printed that it ran no test, unless the field says so."""
    ended = result.ended
    if not result.passed or not ended.progress:
        return result
    if not WITHOUT_TESTS.search(ended.output()):
        return result
    # Imported here: few outputs get this far.
    from pytest_ralph.running.no_tests import expects_no_test, no_test_ran
    from pytest_ralph.running.soundness import Defect

    line = no_test_ran(result.check.command, ended.output(), ended.exit_code)
    if line is None or expects_no_test(verify):
        return result
    defect = Defect("no test", f"no test ran: {line}")
    return result._replace(unmet=(Unmet("a test to run", defect.message),), defect=defect)


def run_check(check: Check, runner: Runner, context: RunContext) -> CheckResult:
    """Run one command and compare the result with its expectations."""
    directory = context.root / check.directory if check.directory else context.root
    printed = _raw_outputs(check)
    record = StageRecorder(check.command, runner)
    try:
        ended = runner.run(
            check.command,
            timeout=context.timeout,
            env={**(context.env or {}), **record.env},
            split=check.reads_output,
            cwd=directory,
            keep=context.keep,
            label=context.label,
            on_output=context.on_output,
            printed=printed,
        )
    finally:
        stages = record.take()

    for output in printed.values():
        output.close()
    missed = find_unmet(check.expect, ended, printed)
    unwritten: tuple[str, ...] = ()
    if not missed:
        unwritten = tuple(path for path in check.files if not (directory / path).exists())
        missed = tuple(Unmet(f"file {path}", "no such file") for path in unwritten)
    result = CheckResult(check, ended, missed, unwritten=unwritten)

    passed_by_status = not missed and not check.expect
    if passed_by_status and not stages.has_defect and not HIDES_FAILURE.search(check.command):
        return result
    return _require_work(result, stages, runner)


def _require_work(result: CheckResult, stages: StageResults, runner: Runner) -> CheckResult:
    """Fail a command that did not do its work, whatever it printed."""
    # Imported here: most commands pass by their exit status alone.
    from pytest_ralph.running.soundness import find_defect

    defect = find_defect(result.check, result.ended, stages, runner)
    if defect is None:
        return result
    missed = result.unmet or (Unmet("the command to do its work", defect.message),)
    return result._replace(unmet=missed, defect=defect)


def _raw_outputs(check: Check) -> dict[str, RawOutput]:
    """Return what takes the unmasked output of each stream that something is expected of."""
    if not check.reads_output:
        return {}
    # Imported here: most commands pass by their exit status alone.
    from pytest_ralph.running.raw_output import RawOutput
    from pytest_ralph.shell.command import Command
    from pytest_ralph.verify.stdout_kind import prints_number_last

    number_is_last = prints_number_last(Command.parse(check.command))
    outputs = {}
    for stream in ("stdout", "stderr"):
        expects = [expect for expect in check.expect if expect.stream == stream]
        if expects:
            outputs[stream] = RawOutput(expects, number_is_last=number_is_last)
    return outputs
