"""Lines of no known shape: those that call themselves an error, and those only a role explains."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.commands import COMPARING_TOOLS, COMPLAINING_ROLES
from pytest_ralph.failure.finding import Finding
from pytest_ralph.failure.lines import numbers_of
from pytest_ralph.failure.purpose import VERDICT_OF_ROLE, named_role
from pytest_ralph.failure.quote import (
    SUMMARY,
    disapproves,
    first_complaint,
    names_file,
    quotable_line,
    shortened,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.context import FailureContext
    from pytest_ralph.shell.command import Stage

# What a line means that calls itself an error: a runner that says so could not run the tests.
VERDICT_OF_TARGET = {**VERDICT_OF_ROLE, "run": "crash"}
VERDICT_OF_MESSAGE = {**VERDICT_OF_TARGET, "test": "build"}
VERDICT_OF_WORDS = {**VERDICT_OF_ROLE, "install": "package"}
VERDICT_OF_DIFFERENCE = {"lint": "lint", "": "format", "run": "comparison", "test": "test"}
# They show uncaught errors in ways that are known: other words are those of a script that checks.
SCRIPTED = frozenset(
    "awk bash dash gawk mawk node perl php python python3 ruby sed sh ts-node tsx zsh".split()
)
FRAME = re.compile(r"^\s+at \S")
# What a check throws because the system refused something says nothing about what it checks.
OF_SYSTEM = re.compile(r"Error: E[A-Z]{3,}: ")
ERROR_MESSAGE = re.compile(
    r"^\s*(?:[✖✗✘!]\s+\S|\[(?:error|fatal|alert)\] +\S"
    r"|(?:(?:\w+ )?\(?error|fatal|alert|\S+: (?:fatal )?error)\b(?::| -|\s)\s*\S|E: \S)",
    re.IGNORECASE,
)
LEVEL = re.compile(r"\[(?:ERROR|FATAL)\] ")
DIFF_HEADER = re.compile(r"^\+\+\+( |$)")
GIT_HEADER = re.compile(r"^diff --git a/(\S+) ", re.MULTILINE)
CHANGED_LINE = re.compile(r"^(?:[<>] |[-+](?![-+]{2}))")
FILE = re.compile(r"[\w@.+~/-]*\w")
NOTHING_FOUND = re.compile(
    r"^\W*(?:error:? )?(?:[\w ]+ but )?no (?:\S+ ){1,4}(?:was |were )?found\b", re.IGNORECASE
)
# What these calls of git print about a file of the project is said by a hook.
RUNNING_HOOKS = {"commit", "push"}
# Higher ones are given by the shell.
HIGHEST_OWN_STATUS = 125


def error_messages(context: FailureContext) -> Iterator[Finding]:
    """Yield the lines that call themselves an error, as the role of the tool explains them."""
    for number in numbers_of(ERROR_MESSAGE.match, context.output.english):
        if number in context.passed_over:
            continue
        verdict = _verdict_of_message(context, number)
        if verdict:
            yield Finding(verdict, context.output.lines[number].strip(), number)


def _verdict_of_message(context: FailureContext, number: int) -> str | None:
    """Return what a line means that calls itself an error, by the tool that printed it."""
    line, *lines_below = context.output.lines[number : number + 2]
    stage = context.stage_at(number)
    if stage.is_orchestrator and LEVEL.match(line):
        # It speaks for itself, not for a script that it was told to run.
        return VERDICT_OF_MESSAGE.get(stage.role, "build")
    is_thrown = any(map(FRAME.match, lines_below))
    named = named_role(stage)
    if named == "check" and not (is_thrown and OF_SYSTEM.match(line)):
        return "test"
    if stage.program in SCRIPTED and not is_thrown:
        return "comparison"
    if stage.is_orchestrator:
        # What it was asked for may be any script, not only a compiler or a runner of tests.
        return VERDICT_OF_TARGET.get(named or stage.role)
    return VERDICT_OF_MESSAGE.get(stage.role)


def first_statement(findings: Sequence[Finding]) -> Finding | None:
    """Return the first finding that is more than a summary."""

    def is_summary_then_place(finding: Finding) -> tuple[bool, int]:
        return SUMMARY.search(finding.error) is not None, finding.line

    return min(findings, key=is_summary_then_place, default=None)


def read_error_message(context: FailureContext) -> Finding | None:
    """Return the first line that calls itself an error."""
    return first_statement(list(error_messages(context)))


def read_comparison(context: FailureContext) -> Finding | None:
    """Read the output of a command that only compares: whatever it shows is content of files."""
    only_compares = all(stage.name in COMPARING_TOOLS for stage in context.stages)
    if context.status != 1 or not only_compares:
        return None
    return read_difference(context)


def read_difference(context: FailureContext) -> Finding | None:
    """Read a shown difference: what a comparison found, or how a tool would change a file."""
    stage = context.stage_at(-1)
    changed = _first(CHANGED_LINE, context)
    for one in (stage, *context.stages):
        if one.name in COMPARING_TOOLS:
            line = quotable_line(context)
            if line and changed:
                line = f"{_what_differs(context, one)}: {changed}"
            if line:
                return Finding("comparison", line)
            break

    header = _first(DIFF_HEADER, context)
    if not header:
        return None
    if stage.role == "format":
        return Finding("format", header)
    role = stage.role
    if role and not context.is_known_at(-1):
        role = "run"
    if role not in VERDICT_OF_DIFFERENCE:
        return None
    return Finding(VERDICT_OF_DIFFERENCE[role], changed)


def _what_differs(context: FailureContext, stage: Stage) -> str:
    """Return which files a comparison found to differ."""
    header = GIT_HEADER.search(context.output.text)
    if header:
        return f"{header[1]} differs"
    sides = stage.plain_arguments[-2:]
    if all(map(FILE.fullmatch, sides)):
        return f"{' and '.join(sides)} differ"
    return "both sides differ"


def read_by_purpose(context: FailureContext) -> Finding | None:
    """Words that fit no pattern, from a command of a known purpose."""
    line = quotable_line(context)
    verdict = VERDICT_OF_WORDS.get(context.purpose_at(-1))
    if verdict is None or not line:
        return None
    if verdict == "absent" and line.isdecimal():
        # A count says nothing without the command that printed it.
        line = f"`{shortened(context.evidence.command)}` printed {line}"
    if verdict in COMPLAINING_ROLES:
        return read_complaint(context, verdict) or Finding(verdict, line)
    if verdict == "package" and names_file(context, line):
        # It could not use that file.
        return Finding("build", line)
    return Finding(verdict, line)


def read_complaint(context: FailureContext, verdict: str) -> Finding | None:
    """Return the line of a linter or formatter that says what is wrong."""
    found = first_complaint(context)
    if found is None:
        return None
    number, line = found
    return Finding(verdict, line, number)


def read_said_by_shell(context: FailureContext) -> Finding | None:
    """What the command line prints before it ends itself: `... || { echo "too old"; exit 1; }`."""
    number = context.said_by_shell
    if number is None:
        return None
    roles = context.stated_roles & COMPLAINING_ROLES
    verdict = min(roles, default="comparison")
    return Finding(verdict, context.output.lines[number].strip(), number)


def read_own_check(context: FailureContext) -> Finding | None:
    """Code of the project that ends with an error: it is a check that did not pass."""
    if not context.status or context.status > HIGHEST_OWN_STATUS:
        return None
    line = quotable_line(context)
    stages = (*context.stages, context.stage_at(-1))
    own_programs = [stage.program for stage in stages if context.runs_own_code(stage)]
    if not line or not own_programs:
        return None
    for program in own_programs:
        if program in SCRIPTED or "." in program:
            return Finding("comparison", line)
    # A program that is no script may not be a check at all.
    if disapproves(line) and not ERROR_MESSAGE.match(line):
        return Finding("comparison", line)
    return None


def read_nothing_found(context: FailureContext) -> Finding | None:
    """What the tool looks for is not there."""
    line = _first(NOTHING_FOUND, context)
    if not line:
        return None
    return Finding("absent", line.strip())


def read_unknown_tool(context: FailureContext) -> Finding | None:
    """An error of a tool that is not known stopped it; what else it says is about its files."""
    stage = context.stage_at(-1)
    line = quotable_line(context)
    if stage.program == "git" and RUNNING_HOOKS.intersection(stage.operands[:1]):
        if names_file(context, line):
            return Finding("lint", line)
        return None
    if stage.is_orchestrator or context.is_own_program(stage):
        return None
    if not stage.program or context.purpose_at(-1):
        return None
    if ERROR_MESSAGE.match(line):
        return Finding("build", line)
    if disapproves(line) and any(map(context.project.find, stage.plain_arguments)):
        return Finding("lint", line)
    return None


def _first(pattern: re.Pattern[str], context: FailureContext) -> str:
    """Return the first line that starts with a pattern, or an empty string."""
    return next(filter(pattern.match, context.output.lines), "")
