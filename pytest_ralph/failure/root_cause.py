"""root_cause: of everything that can be read in a failure, the one finding that explains it.

The readers are tried in order: how the command ended, failing tests, causes, diagnostics, symptoms,
and last what the exit status and the purpose of the command say.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.failure import exit_status
from pytest_ralph.failure.context import COMPARING_TOOLS, COMPLAINING_ROLES
from pytest_ralph.failure.failed_tests import DEATHS, read_failed_tests, read_marked_tests
from pytest_ralph.failure.failure import NO_ERROR
from pytest_ralph.failure.finding import Finding
from pytest_ralph.failure.project import FOREIGN
from pytest_ralph.failure.purpose import named_role, purpose
from pytest_ralph.failure.quote import (
    SUMMARY,
    disapproves,
    first_complaint,
    names_file,
    quotable_line,
    with_quotable_error,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.context import FailureContext
    from pytest_ralph.failure.diagnostics import Diagnostic
    from pytest_ralph.shell.command import Stage

# Symptoms that every tool words alike: the role of the tool says which of them it is.
BY_ROLE = frozenset({"lint", "types", "format", "test", "build"})
REMARKS = frozenset({"warning", "note", "info", "hint"})
COMPARISON = re.compile(
    r"\b(?:expected|assert\w*|got|want|fail\w*|mismatch|should)\b", re.IGNORECASE
)
# Frames of Python and Node, and the place that Node prints above an uncaught error.
FRAME = re.compile(
    r'^\s*File "([^"]+)", line \d|^\s+at .*?\(?((?:file:/|node:|/)[^():]+)(?::\d+)+\)?$'
    r"|^((?:file:/|node:|/)[^\s():]+):\d+$"
)
FOREIGN_FRAME = re.compile(rf"{FOREIGN.pattern}|/bin/[\w.-]+$|^<frozen |^node:")
FAILED_ASSERTION = re.compile(r"\[unittest\]|(?<!static )assertion fail(?:ed|ure)", re.IGNORECASE)
DIFF_HEADER = re.compile(r"^\+\+\+( |$)")
GIT_HEADER = re.compile(r"^diff --git a/(\S+) ", re.MULTILINE)
FILE = re.compile(r"[\w@.+~/-]*\w")
NOTHING_FOUND = re.compile(
    r"^\W*(?:error:? )?(?:[\w ]+ but )?no (?:\S+ ){1,4}(?:was |were )?found\b", re.IGNORECASE
)
# What only a tool says that could not read a file to its end; the others have remarks about it.
UNREADABLE = re.compile(
    r"\b(?:not defined|undefined|undeclared|unbound|unexpected|expected|unterminated|not found"
    r"|unknown (?:command|identifier|symbol|type|name)|missing \w+ \w+\.$)",
    re.IGNORECASE,
)
# What these print about a file of the project is said by a hook.
RUNNING_HOOKS = {"commit", "push"}
SAID_BY_SHELL = {"echo", "printf"}
CHANGED_LINE = re.compile(r"^(?:[<>] |[-+](?![-+]{2}))")
# What a line means that calls itself an error: a runner that says so could not run the tests.
VERDICT_OF_MESSAGE = {**exit_status.VERDICT_OF_ROLE, "run": "crash", "test": "build"}
VERDICT_OF_WORDS = {**exit_status.VERDICT_OF_ROLE, "install": "package"}
ERROR_MESSAGE = re.compile(
    r"^\s*(?:[✖✗✘!]\s+\S|\[(?:error|fatal|alert)\] +\S"
    r"|(?:(?:\w+ )?\(?error|fatal|alert|\S+: (?:fatal )?error)\b(?::| -|\s)\s*\S|E: \S)",
    re.IGNORECASE,
)


def root_cause(context: FailureContext) -> Finding:
    """Return the finding that explains the failure best."""
    readers = (
        exit_status.read_time_limit,
        exit_status.read_defect,
        exit_status.read_missing_file,
        exit_status.read_end_of_check,
        exit_status.read_unwanted_match,
        _read_comparison,
        read_failed_tests,
        exit_status.read_nothing_collected,
        lambda context: context.cause,
        read_marked_tests,
        _read_diagnostics,
        exit_status.read_unmet_success,
        _read_symptom,
        exit_status.read_signal,
        exit_status.read_status,
        exit_status.read_unmet,
        _read_error_message,
        _read_difference,
        _read_by_role,
        _read_nothing_found,
        _read_unknown_tool,
        exit_status.read_silence,
    )
    for read in readers:
        finding = read(context)
        if finding is not None:
            return with_quotable_error(context, finding)
    return Finding("unknown", quotable_line(context) or NO_ERROR)


# Diagnostics: lines that point into a file.


def _read_diagnostics(context: FailureContext) -> Finding | None:
    program_died = any(finding.verdict in DEATHS for finding in context.findings)
    for diagnostic in sorted(context.diagnostics, key=_severity):
        verdict = _verdict_of(context, diagnostic)
        if not verdict:
            continue
        if program_died and _may_be_frame(context, diagnostic):
            continue
        return Finding(verdict, diagnostic.text, diagnostic.line)
    return None


def _severity(diagnostic: Diagnostic) -> tuple[bool, bool, int]:
    is_foreign = FOREIGN.search(diagnostic.file) is not None
    return is_foreign, diagnostic.level in REMARKS, diagnostic.line


def _may_be_frame(context: FailureContext, diagnostic: Diagnostic) -> bool:
    """Below the words of a dying program, a place in a file is where it died."""
    if diagnostic.shape in {"build", "types"}:
        return False
    return context.stage_at(diagnostic.line).role not in COMPLAINING_ROLES


def _verdict_of(context: FailureContext, diagnostic: Diagnostic) -> str:
    """Return what a diagnostic means; a linter's remark and a compiler's error look the same."""
    shape = diagnostic.shape
    if shape in context.stated_roles:
        return shape
    role = context.role_at(diagnostic.line)
    if role == "lint":
        # What is only guessed to be a linter may be a type checker.
        is_types = shape == "types" and not context.is_known_at(diagnostic.line)
        return "types" if is_types else "lint"
    if FAILED_ASSERTION.search(diagnostic.text):
        # The compiler was asked to run what it built.
        return "test"
    if role in {"types", "format", "build"}:
        return role
    if role == "test":
        # A runner of tests points at a failed expectation, or at a file that does not compile.
        return "test" if COMPARISON.search(diagnostic.text) else "build"
    return shape or _verdict_of_place(context, diagnostic, role)


def _verdict_of_place(context: FailureContext, diagnostic: Diagnostic, role: str) -> str:
    """Return what a place means that has no telling shape, by the role of the tool."""
    if role == "data":
        return "data"
    if role == "run":
        # A program of the project points at a place as a check does.
        return "test" if COMPARISON.search(diagnostic.text) else "lint"
    # A tool points at one of the failures that its summary counts, or at a file it was given.
    symptoms = {finding.verdict for finding in context.findings}
    for verdict in ("test", "build"):
        if not role and verdict in symptoms:
            return verdict
    if role or not context.project.find(diagnostic.file):
        return ""
    return "build" if UNREADABLE.search(diagnostic.text) else "lint"


# Symptoms: lines that say that something failed, but not why.


def _read_symptom(context: FailureContext) -> Finding | None:
    symptoms = [finding for finding in context.findings if not finding.is_cause]
    if not symptoms:
        return None
    schema = [finding for finding in symptoms if finding.verdict == "schema"]
    if schema and _is_death_of_tool(context):
        # Some validators raise what they found.
        symptoms = schema
    best = min(symptoms, key=lambda finding: (finding.rank, finding.line))
    if best.verdict in DEATHS:
        return _read_death(context, [one for one in symptoms if one.verdict in DEATHS])

    return _of_speaker(context, symptoms, best)


def _of_speaker(
    context: FailureContext, symptoms: Sequence[Finding], best: Finding
) -> Finding | None:
    """Return what the tool that printed the best symptom says by its role."""
    role = _speaker_role(context, best)
    if best.verdict == "build" and not role:
        return _first_statement([best, *_error_messages(context)])
    if best.verdict in {"format", "types"} and not context.is_known_at(best.line):
        # These words are clearer than what the name of a tool suggests.
        role = best.verdict
    if role in BY_ROLE and best.verdict in BY_ROLE | {"comparison"}:
        own = [finding for finding in symptoms if finding.verdict == role]
        first = _first_statement([*own, *_error_messages(context)]) or best
        return _with_complaint(context, replace(first, verdict=role))
    return _with_complaint(context, best)


def _with_complaint(context: FailureContext, finding: Finding) -> Finding:
    """Quote what a linter complains about in place of its count."""
    complains = finding.verdict in COMPLAINING_ROLES
    if not complains or not SUMMARY.search(finding.error):
        return finding
    return _complaint(context, finding.verdict) or finding


def _read_death(context: FailureContext, deaths: Sequence[Finding]) -> Finding:
    """Return the exception to quote: Python ends its traceback with it, others start with it.

    An exception of a tool that builds or checks means that the tool could not do its work, not
    that a program of the project died.
    """
    is_python = context.output.has("traceback")
    death = deaths[-1] if is_python else deaths[0]
    only_exceptions = all(finding.verdict == "exception" for finding in deaths)
    is_tool = _speaker_role(context, death) in BY_ROLE | {"install"}
    if only_exceptions and (is_tool or _is_death_of_tool(context)):
        return replace(death, verdict="build")
    return death


def _is_death_of_tool(context: FailureContext) -> bool:
    """Return whether frames are shown, and none of them is in a file of the project."""
    matches = filter(None, map(FRAME.match, context.output.lines))
    frames = [next(filter(None, match.groups())) for match in matches]
    if not frames or not context.project.files:
        return False
    return all(map(FOREIGN_FRAME.search, frames))


def _speaker_role(context: FailureContext, finding: Finding) -> str:
    """Return the role of the tool that printed a finding.

    An orchestrator has a role only where it speaks for itself (`make: *** ...`).
    """
    stage = context.stage_at(finding.line)
    if not stage.is_orchestrator:
        return stage.role
    if not finding.error.startswith(f"{stage.program}: "):
        return ""
    return purpose(stage)


# Messages: lines that call themselves an error, and lines that only the tool's role explains.


def _error_messages(context: FailureContext) -> Iterator[Finding]:
    passed_over = context.ignored | context.data
    for number, line in enumerate(context.output.english):
        if number in passed_over or not ERROR_MESSAGE.match(line):
            continue
        verdict = VERDICT_OF_MESSAGE.get(context.stage_at(number).role)
        if named_role(context.stage_at(number)) == "check":
            verdict = "test"
        if verdict:
            yield Finding(verdict, context.output.lines[number].strip(), number)


def _first_statement(findings: Sequence[Finding]) -> Finding | None:
    """Return the first finding that is more than a summary."""

    def is_summary_then_place(finding: Finding) -> tuple[bool, int]:
        return SUMMARY.search(finding.error) is not None, finding.line

    return min(findings, key=is_summary_then_place, default=None)


def _read_error_message(context: FailureContext) -> Finding | None:
    return _first_statement(list(_error_messages(context)))


def _read_comparison(context: FailureContext) -> Finding | None:
    """Read the output of a command that only compares: whatever it shows is content of files."""
    if context.status != 1 or not _first_match(context, CHANGED_LINE):
        return None
    only_compares = all(stage.name in COMPARING_TOOLS for stage in context.stages)
    if not context.stages or not only_compares:
        return None
    return _read_difference(context)


def _read_difference(context: FailureContext) -> Finding | None:
    """Read a shown difference: what a comparison found, or how a tool would change a file."""
    stage = context.stage_at(-1)
    line = quotable_line(context)
    changed = _first_match(context, CHANGED_LINE)
    for one in (stage, *context.stages):
        if line and one.name in COMPARING_TOOLS:
            error = f"{_what_differs(context, one)}: {changed}" if changed else line
            return Finding("comparison", error)
    header = _first_match(context, DIFF_HEADER)
    if not changed or not header:
        return None
    if stage.role == "format":
        return Finding("format", header)
    verdict = {"lint": "lint", "": "format", "run": "comparison"}.get(stage.role)
    return Finding(verdict, changed) if verdict else None


def _what_differs(context: FailureContext, stage: Stage) -> str:
    """Return which files a comparison found to differ."""
    header = GIT_HEADER.search(context.output.text)
    if header:
        return f"{header[1]} differs"
    sides = stage.plain_arguments[-2:]
    if len(sides) == 2 and all(map(FILE.fullmatch, sides)):
        return f"{sides[0]} and {sides[1]} differ"
    return "both sides differ"


def _read_by_role(context: FailureContext) -> Finding | None:
    """Words that fit no pattern, from a tool whose role is known."""
    line = quotable_line(context)
    verdict = VERDICT_OF_WORDS.get(context.purpose_at(-1))
    if verdict is None or not line:
        return None
    if verdict == "absent" and SAID_BY_SHELL & {stage.program for stage in context.stages}:
        # The command line says in its own words what its condition is about.
        return Finding("comparison" if disapproves(line) else "absent", line)
    if verdict == "absent" and line.isdecimal():
        # A count says nothing without the command that printed it.
        command = exit_status.shortened(context.evidence.command)
        return Finding(verdict, f"`{command}` printed {line}")
    if verdict in COMPLAINING_ROLES:
        return _complaint(context, verdict) or Finding(verdict, line)
    return _with_complaint(context, Finding(verdict, line))


def _complaint(context: FailureContext, verdict: str) -> Finding | None:
    found = first_complaint(context)
    return Finding(verdict, found[1], found[0]) if found else None


def _read_nothing_found(context: FailureContext) -> Finding | None:
    """What the tool looks for is not there."""
    line = _first_match(context, NOTHING_FOUND)
    return Finding("absent", line.strip()) if line else None


def _read_unknown_tool(context: FailureContext) -> Finding | None:
    """An error of a tool that is not known stopped it; what else it says is about its files."""
    stage = context.stage_at(-1)
    line = quotable_line(context)
    if line and stage.program == "git" and RUNNING_HOOKS & set(stage.operands[:1]):
        return Finding("lint", line) if names_file(context, line) else None
    is_own = stage.is_orchestrator or context.project.find(stage.executable)
    if not line or is_own or not stage.program or context.purpose_at(-1):
        return None
    if ERROR_MESSAGE.match(line):
        return Finding("build", line)
    if disapproves(line) and any(map(context.project.find, stage.plain_arguments)):
        return Finding("lint", line)
    return None


def _first_match(context: FailureContext, pattern: re.Pattern[str]) -> str:
    """Return the first line that matches, or an empty string."""
    return next((line for line in context.output.lines if pattern.match(line)), "")
