"""What failing tests amount to: a failed expectation, or a cause outside the tests."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.failure.causes import causes_in
from pytest_ralph.failure.failure import NO_ERROR, VERIFICATION_FAILED
from pytest_ralph.failure.finding import DEATHS, Finding
from pytest_ralph.failure.ownership import with_owner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.failure.context import FailureContext
    from pytest_ralph.failure.test_runs import FailedTest

# An error that only says that two values differ: its words are the values', not a cause.
ASSERTION = re.compile(
    r"^(?:[\w.$\\]+[.\\])?(?:Assertion\w*|ComparisonFailure|ExpectationFailed\w*|TestFailure)\b"
    r"|^assert\b|^expect\(|^Failed: (?!Timeout)|^(?:expected|actual|got|want)\b"
    r"|\bassertion\b.*failed",
    re.IGNORECASE,
)
# Causes outside the code keep their own name even inside a test.
OUTSIDE = frozenset(
    {"disk full", "resource", "service", "permission", "package", "command", "value"}
)
WORKER_DEATH = re.compile(
    r"worker '.*' crashed|\bcrashed with signal\b"
    r"|segmentation fault|SIGSEGV|core dumped|SIGABRT|\(SEGFAULT\)"
    r"|(?:Child|Subprocess) aborted",
    re.IGNORECASE,
)
EXPECTATIONS = frozenset({"assertion", "comparison", "crash", "exception", "timeout"})
# Of many failing tests this many are asked for their cause.
MOST_TESTS = 30
# What many failing tests amount to: a missing package stops all of them; a failure of the code
# outweighs causes outside it, which only some of them met.
WEIGHT = {"package": 0, "test": 1, "crash": 1}
OTHER_WEIGHT = 2


def read_failed_tests(context: FailureContext) -> Finding | None:
    """Return what the named failing tests amount to, or None if no runner names any."""
    tests = context.failed_tests
    if not tests:
        return None
    examined = tests[:MOST_TESTS]
    readings = [_read_test(context, test) for test in examined]
    unloaded = [finding for finding, test in zip(readings, examined, strict=True) if not test.named]
    best = min(unloaded or readings, key=_weight)
    # The test whose error is quoted comes first: a title names it.
    quoted = examined[readings.index(best)]
    tests = sorted(tests, key=lambda test: test is not quoted)
    best = _java_cause(context, best)
    return _with_tests(context, best, tests)


def _with_tests(context: FailureContext, finding: Finding, tests: Sequence[FailedTest]) -> Finding:
    """Return the finding with the names of the tests, and with an error if it has none yet."""
    if not finding.error:
        finding = _with_stated_error(context, finding)
    names = tuple(test.name for test in tests if test.named)
    return replace(finding, tests=names)


def _with_stated_error(context: FailureContext, finding: Finding) -> Finding:
    """Return what the output says elsewhere, if the runner only lists names."""
    stated = [one for one in context.findings if one.verdict in EXPECTATIONS]
    if stated:
        best = min(stated, key=lambda one: (one.rank, one.line))
        return replace(finding, error=best.error, line=best.line)
    if context.cause:
        return context.cause
    if finding.line >= 0:
        return replace(finding, error=context.output.lines[finding.line].strip())
    return replace(finding, error=NO_ERROR)


def read_marked_tests(context: FailureContext) -> Finding | None:
    """Return what lines amount to that are only marked as failed."""
    tests = context.marked_tests
    if not tests:
        return None
    # The test whose error is quoted comes first: a title names it.
    tests = sorted(tests, key=lambda test: not test.error)
    return _with_tests(context, Finding("test", tests[0].error, tests[0].line), tests)


def _weight(finding: Finding) -> tuple[int, bool]:
    return WEIGHT.get(finding.verdict, OTHER_WEIGHT), not finding.error


def _java_cause(context: FailureContext, best: Finding) -> Finding:
    """Java prints the exception that led to another one below it."""
    if ASSERTION.match(best.error):
        return best
    for finding in context.findings:
        if finding.verdict in OUTSIDE and finding.error.startswith("Caused by: "):
            return finding
    return best


def _read_test(context: FailureContext, test: FailedTest) -> Finding:
    verdict = "test" if test.named else "build"
    if ASSERTION.match(test.error):
        return Finding(verdict, test.error, test.line)

    causes = [with_owner(context, finding) for finding in causes_in(test.error, test.line)]
    causes.sort(key=lambda finding: finding.rank)

    is_file = context.project.find(test.name) is not None
    if not test.named or is_file:
        found = _first_cause(causes) or _unloaded_file(test) or context.cause
        return found or Finding(verdict, test.error, test.line)
    return _read_named_test(test, causes)


def _first_cause(causes: Sequence[Finding]) -> Finding | None:
    """Return why a test file could not be run; a time limit of the runner is a failed check."""
    if not causes or not causes[0].is_cause:
        return None
    if causes[0].verdict == "timeout":
        return replace(causes[0], type=VERIFICATION_FAILED)
    return causes[0]


def _read_named_test(test: FailedTest, causes: Sequence[Finding]) -> Finding:
    """Return what a test that ran amounts to: a cause outside the code, or a failed expectation."""
    for finding in causes:
        if finding.verdict in OUTSIDE:
            return finding
        if finding.verdict == "timeout":
            return replace(finding, type=VERIFICATION_FAILED)
    if WORKER_DEATH.search(test.error):
        return Finding("crash", test.error, test.line, type=VERIFICATION_FAILED)
    return Finding("test", test.error, test.line)


def _unloaded_file(test: FailedTest) -> Finding | None:
    """Return the exception that a file named as a test died of while it was loaded."""
    if not test.named:
        return None
    for finding in causes_in(test.error, test.line):
        if finding.verdict in DEATHS:
            return replace(finding, verdict="build")
    return None
