"""What a diagnostic means: a linter's remark and a compiler's error about a place look the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.commands import COMPLAINING_ROLES
from pytest_ralph.failure.finding import Finding
from pytest_ralph.failure.project import FOREIGN

if TYPE_CHECKING:
    from pytest_ralph.failure.context import FailureContext
    from pytest_ralph.failure.diagnostics import Diagnostic

REMARKS = frozenset({"warning", "note", "info", "hint"})
COMPARISON = re.compile(
    r"\b(?:expected|assert\w*|got|want|fail\w*|mismatch|should)\b", re.IGNORECASE
)
# Levels of which only linters speak.
OF_LINTERS = frozenset({"style", "convention", "refactor", "suggestion"})
FAILED_ASSERTION = re.compile(
    r"\[unittest\]|\(assertion (?:error|failure)\)|(?<!static )assertion fail(?:ed|ure)"
    r"|: Failure in |: [A-Z]+(?:-[A-Z]+)*: expected string not found|: Test \S+ failed$"
    r"|^\S+:\d+: failed: ",
    re.IGNORECASE,
)
# How a program ended that was built with warnings.
ENDS_OF_RUN = frozenset({"assertion", "test", "crash"})
# Said of all files together, long after the remarks about one.
UNLINKED = re.compile(r"\bundefined (?:reference|symbol)|\bmultiple definition", re.IGNORECASE)


def read_diagnostics(context: FailureContext) -> Finding | None:
    """Return the first diagnostic that means something: files of the project and errors first."""
    deaths = [finding.line for finding in context.findings if finding.is_death]
    for diagnostic in sorted(context.diagnostics, key=_severity):
        if deaths and _may_be_frame(context, diagnostic, min(deaths)):
            continue
        if diagnostic.level in REMARKS and _went_on(context, diagnostic):
            continue
        verdict = _verdict_of(context, diagnostic)
        if verdict:
            return Finding(verdict, diagnostic.text, diagnostic.line)
    return None


def _severity(diagnostic: Diagnostic) -> tuple[bool, bool, bool, int]:
    """Order diagnostics: beside errors, lines without a level report progress."""
    is_foreign = FOREIGN.search(diagnostic.file) is not None
    level = diagnostic.level
    return is_foreign, level in REMARKS, "error" not in level, diagnostic.line


def _may_be_frame(context: FailureContext, diagnostic: Diagnostic, death: int) -> bool:
    """Below the words of a dying program, a place in a file is where it died.

    What a compiler says before it dies of it is still an error about a place.
    """
    if diagnostic.shape in {"build", "types"}:
        return False
    role = context.stage_at(diagnostic.line).role
    if role == "build" and diagnostic.line < death:
        return False
    return role not in COMPLAINING_ROLES


def _went_on(context: FailureContext, diagnostic: Diagnostic) -> bool:
    """Return whether something else failed after a compiler had only warned."""
    lines = [
        finding.line
        for finding in context.findings
        if finding.verdict in ENDS_OF_RUN or UNLINKED.search(finding.error)
    ]
    return max(lines, default=-1) > diagnostic.line


def _verdict_of(context: FailureContext, diagnostic: Diagnostic) -> str:
    """Return what a diagnostic means, by the role of the tool, otherwise by its shape."""
    shape = diagnostic.shape
    role = context.role_at(diagnostic.line)
    if role not in COMPLAINING_ROLES and FAILED_ASSERTION.search(diagnostic.text):
        # The command also ran what it built.
        return "test"
    if shape in context.stated_roles:
        return shape
    if shape == "types" and not context.is_known_at(diagnostic.line):
        # The shape is clearer than what the name of a tool suggests.
        return "types"
    if diagnostic.level in OF_LINTERS:
        return "lint"
    if role == "build" and not diagnostic.level and context.counts_failed_tests:
        # It was asked to run the tests too: this is where one of them ended.
        return ""
    if role in {"lint", "format", "types", "build"}:
        return role
    if role == "test":
        return _verdict_in_tests(context, diagnostic)
    return shape or _verdict_of_place(context, diagnostic, role)


def _verdict_in_tests(context: FailureContext, diagnostic: Diagnostic) -> str:
    """A runner of tests points at a failed expectation, or at a file that does not compile.

    Without a level it is where a test ended, if tests ran before.
    """
    if COMPARISON.search(diagnostic.text):
        return "test"
    if diagnostic.shape or not context.tests_ran_above(diagnostic.line):
        return "build"
    return "test"


def _verdict_of_place(context: FailureContext, diagnostic: Diagnostic, role: str) -> str:
    """Return what a place means that has no telling shape; empty for one of a foreign file."""
    if role == "run":
        # An interpreter points at a place of the program where that ended. A program of the project
        # points at a place of another file as a check does.
        if diagnostic.file in context.stage_at(diagnostic.line).plain_arguments[:1]:
            return "crash"
        if COMPARISON.search(diagnostic.text):
            return "test"
        return "lint"

    # A tool points at one of the failures that its summary counts, or at a file it was given.
    symptoms = {finding.verdict for finding in context.findings}
    if not role and "test" in symptoms:
        return "test"
    if not role and "build" in symptoms:
        return "build"
    if role not in {"", "operations"}:
        return ""
    if not context.project.find(diagnostic.file):
        return ""
    return "lint"
