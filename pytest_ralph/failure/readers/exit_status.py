"""What the way a command ended says, before its output is read or where it says nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.failure.commands import (
    COMPLAINING_ROLES,
    INLINE_CODE,
    SEARCH_TOOLS,
    is_search,
    prints_answer,
)
from pytest_ralph.failure.finding import Finding
from pytest_ralph.failure.purpose import PYTEST, VERDICT_OF_ROLE, purpose
from pytest_ralph.failure.quote import disapproves, quotable_line, shortened
from pytest_ralph.shell.command import Command
from pytest_ralph.shell.statuses import NOT_EXECUTABLE, NOT_FOUND

if TYPE_CHECKING:
    from pytest_ralph.failure.context import FailureContext
    from pytest_ralph.shell.command import Stage

NOTHING_COLLECTED = 5
TIMED_OUT = 124
INTERRUPTED = 130
ABORTED = 134
KILLED = 137
TERMINATED = 143
# What the signal means of which a command died, and its words, by the exit status.
SIGNALS = {
    INTERRUPTED: ("interrupted", "Interrupted"),
    132: ("crash", "Illegal instruction"),
    133: ("crash", "Trace trap"),
    ABORTED: ("crash", "Aborted"),
    135: ("crash", "Bus error"),
    136: ("crash", "Floating point exception"),
    KILLED: ("killed", "Killed"),
    139: ("crash", "Segmentation fault"),
    TERMINATED: ("killed", "Terminated"),
    # By these a limit of the shell is enforced.
    152: ("resource", "CPU time limit exceeded"),
    153: ("resource", "File size limit exceeded"),
}
# What the exit statuses of some tools mean by themselves.
STATUSES: dict[str, dict[int | None, str]] = {
    "curl": {
        22: "assertion",
        28: "timeout",
        **dict.fromkeys((5, 6, 7, 35, 52, 56, 60), "service"),
    },
    "wget": {4: "service", 5: "service", 6: "value", 8: "assertion"},
    "ssh": {255: "service"},
    "scp": {255: "service"},
    "pg_isready": {1: "service", 2: "service"},
    "ping": {1: "service"},
    "nc": {1: "service"},
    **{tool: {2: "usage"} for tool in SEARCH_TOOLS},
}
# What defects mean that the run of the Verify field has found.
VERDICT_OF_DEFECT = {"syntax": "malformed", "no test": "no tests"}
# How a stage of a pipeline ended, where the exit status is that of the last one.
VERDICT_OF_HIDDEN_STATUS = {"killed": "crash", "not executable": "permission"}
# The roles of commands that are conditions: `test -f a.txt`, `jq -e .ready`.
CONDITIONS = frozenset({"check", "data"})
# C's assert() aborts the process: the failed expectation is why it ended.
ABORTING_ASSERTION = re.compile(r"\bassertion\b.*\bfailed\b", re.IGNORECASE)
# What pytest draws around its last line.
RULER = " ="
XARGS = re.compile(r"\bxargs\s")


def read_time_limit(context: FailureContext) -> Finding | None:
    """Our own time limit, or that of a `timeout` in the command line."""
    evidence = context.evidence
    if evidence.timed_out:
        error = "Timed out"
        limit = evidence.timeout or evidence.duration
        if limit:
            error = f"Timed out after {limit:g}s"
    elif _has_exceeded_own_limit(context):
        error = f"Timed out: {evidence.command}".strip()
    else:
        return None
    return Finding("timeout", error, tests=context.names_of_failed_tests)


def _has_exceeded_own_limit(context: FailureContext) -> bool:
    """Return whether the status is one with which `timeout` ends."""
    command = context.evidence.command
    if Command.parse(command).has_time_limit and context.status in {KILLED, TERMINATED, TIMED_OUT}:
        return True
    # xargs ends with the same status if one of its commands ends with 255.
    return context.evidence.exit_code == TIMED_OUT and not XARGS.search(command)


def read_defect(context: FailureContext) -> Finding | None:
    """A command that did not do its work although its output or exit status does not show it."""
    defect = context.evidence.defect
    if defect is None:
        return None
    if defect.missing is not None:
        return Finding("command", defect.message, missing=defect.missing)
    verdicts = VERDICT_OF_DEFECT
    if context.evidence.exit_code == 0:
        verdicts = {**VERDICT_OF_HIDDEN_STATUS, **VERDICT_OF_DEFECT}
    if defect.reason not in verdicts:
        return None
    return Finding(verdicts[defect.reason], defect.message)


def read_nothing_collected(context: FailureContext) -> Finding | None:
    """pytest's exit status for a run without tests, whatever else it prints."""
    if context.evidence.exit_code != NOTHING_COLLECTED:
        return None
    last_line = context.output.text.rstrip().rpartition("\n")[2]
    if not last_line or context.main_stage.program not in PYTEST:
        return None
    return Finding("no tests", f"no test ran: {last_line.strip(RULER)}")


def read_missing_file(context: FailureContext) -> Finding | None:
    """A command that ended as expected without leaving behind the file that the field expects.

    What it printed is not the reason, whatever it looks like.
    """
    if not context.evidence.unwritten:
        return None
    return Finding("absent", f"file {context.evidence.unwritten[0]} does not exist")


def read_end_of_check(context: FailureContext) -> Finding | None:
    """A run of tests or a linter that a signal ended, or that a command behind it ended.

    What it reported before is not the reason. A script or an orchestrator only passes on how one of
    its commands ended, and some runners end with the number of failed tests.
    """
    role = context.main_stage.role
    end = read_signal(context)
    if end is None and role == "test":
        end = _read_not_started(context)
    if end is None or any(map(_passes_status_on, context.stages)):
        return None

    tests = context.shown_tests
    if not tests and role not in COMPLAINING_ROLES:
        return None
    if len(tests) == context.status or _asserts_by_aborting(context):
        return None

    stated = [one for one in context.findings if one.verdict in {end.verdict, "resource"}]
    last = max(stated, key=lambda finding: finding.line, default=end)
    return replace(last, tests=context.names_of_failed_tests)


def read_unwanted_match(context: FailureContext) -> Finding | None:
    """A negated search (`! grep -n TODO a.py`) that found something: it prints content of files."""
    command = context.evidence.command
    printed = context.output.text.strip()
    stages = context.stages
    if context.status != 1 or not printed or not stages:
        return None
    if not command.startswith("! ") or not is_search(stages[-1]):
        return None
    if not all(map(prints_answer, stages)):
        return None
    first_line = printed.partition("\n")[0]
    return Finding("absent", f"`{shortened(command)}` found a match: {first_line}")


def _passes_status_on(stage: Stage) -> bool:
    return stage.is_orchestrator or stage.program.endswith(".sh")


def _asserts_by_aborting(context: FailureContext) -> bool:
    if context.status != ABORTED:
        return False
    return ABORTING_ASSERTION.search(context.output.text) is not None


def read_signal(context: FailureContext) -> Finding | None:
    """Death by a signal for which no better words were found."""
    code = context.status
    if code not in SIGNALS:
        return None
    verdict, words = SIGNALS[code]
    return Finding(verdict, f"{words} (exit status {code})")


def read_status(context: FailureContext) -> Finding | None:
    """An exit status that has a meaning of its own."""
    code = context.evidence.exit_code
    tool = context.main_stage.program
    verdict = STATUSES.get(tool, {}).get(code)
    if verdict is None:
        return _read_not_started(context)
    for line in context.output.lines:
        if line.startswith(f"{tool}: "):
            return Finding(verdict, line)
    return Finding(verdict, f"{tool} exited with status {code}")


def _read_not_started(context: FailureContext) -> Finding | None:
    """A shell's exit status for a command that it cannot find or must not execute."""
    code = context.evidence.exit_code
    tool = context.main_stage.program
    if code == NOT_FOUND:
        return Finding("command", f"command not found (exit status {code})", missing=tool or None)
    if code == NOT_EXECUTABLE:
        return Finding("permission", f"cannot execute (exit status {code})")
    return None


def read_unmet_success(context: FailureContext) -> Finding | None:
    """A command that ended with 0 printed something else than expected: its words are content."""
    if context.evidence.exit_code != 0:
        return None
    return read_unmet(context)


def read_unmet(context: FailureContext) -> Finding | None:
    """The first expectation of the Verify field that was not met."""
    if not context.evidence.unmet:
        return None
    verdict = VERDICT_OF_ROLE.get(context.purpose_at(-1), "absent")
    return Finding(verdict, f"expected {context.evidence.unmet[0]}")


def read_silence(context: FailureContext) -> Finding | None:
    """Nothing says why the command failed: its purpose decides."""
    programs = {stage.program for stage in context.stages if stage.role != "operations"}
    if programs in (set(), {"true"}, {"false"}):
        return None
    stage = context.stage_at(-1)
    last = context.stages[-1]
    if last.role in CONDITIONS and not context.output.text.strip():
        stage = last

    command = shortened(context.evidence.command)
    error = f"`{command}` exited with status {context.evidence.exit_code}"
    verdict = VERDICT_OF_ROLE.get(purpose(stage))
    if verdict is not None:
        return Finding(verdict, error)
    if not _is_condition(context, stage):
        return None
    line = quotable_line(context)
    if disapproves(line):
        return Finding("comparison", line)
    return Finding("absent", error)


def _is_condition(context: FailureContext, stage: Stage) -> bool:
    """Return whether the command is made of tests, or is a line of code written to be one."""
    if stage.program in INLINE_CODE:
        return True
    if stage.role == "run":
        if "-c" in stage.arguments:
            return True
        # For a shell `-e` means to stop at the first error.
        if "-e" in stage.arguments and not stage.program.endswith("sh"):
            return True
    return any(stage.role in CONDITIONS for stage in context.stages)
