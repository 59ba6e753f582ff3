"""What failing tests amount to: a failed expectation, or a cause outside the tests."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.failure.cause import is_stated
from pytest_ralph.failure.causes import causes_in
from pytest_ralph.failure.failure import NO_ERROR, VERIFICATION_FAILED
from pytest_ralph.failure.finding import Finding, first_of_lowest_rank
from pytest_ralph.failure.lines import number_of
from pytest_ralph.failure.ownership import with_owner
from pytest_ralph.failure.readers.messages import read_difference

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
# What Robot Framework says before it runs tests that use a library.
LOADING_FAILED = re.compile(r"^\[ ERROR \] .*\bImporting library .* failed: ModuleNotFoundError:")
WORKER_DEATH = re.compile(
    r"worker '.*' crashed|\bcrashed with signal\b"
    r"|segmentation fault|SIGSEGV|core dumped|SIGABRT|\(SEGFAULT\)"
    r"|(?:Child|Subprocess) aborted",
    re.IGNORECASE,
)
EXPECTATIONS = frozenset({"assertion", "comparison", "crash", "exception", "timeout"})
# A difference that is named after its test.
DIFFERENCE = "+++ "
# Of many failing tests this many are asked for their cause.
MOST_TESTS = 30


def read_failed_tests(context: FailureContext) -> Finding | None:
    """Return what the named failing tests amount to, or None if no runner names any."""
    tests = context.failed_tests
    if not tests:
        return None
    for finding in context.findings:
        if LOADING_FAILED.match(finding.error):
            return _with_tests(context, finding, tests[0], tests)

    readings = {test: _read_test(context, test) for test in tests[:MOST_TESTS]}
    unloaded = [test for test in readings if not test.named]
    quoted = min(unloaded or readings, key=lambda test: _weight(readings[test]))
    finding = readings[quoted]
    if not ASSERTION.match(finding.error):
        finding = _java_cause(context) or finding
    return _with_tests(context, finding, quoted, tests)


def read_marked_tests(context: FailureContext) -> Finding | None:
    """Return what lines amount to that are only marked as failed."""
    tests = context.marked_tests
    if not tests:
        return None
    quoted = min(tests, key=lambda test: not test.error)
    type_errors = [one.text for one in context.diagnostics if one.shape == "types"]
    if quoted.error in type_errors:
        # What is marked is a step that checks types.
        return None
    return _with_tests(context, Finding("test", quoted.error, quoted.line), quoted, tests)


def _with_tests(
    context: FailureContext, finding: Finding, quoted: FailedTest, tests: Sequence[FailedTest]
) -> Finding:
    """Return the finding with an error and with the names of the tests.

    The test whose error is quoted comes first: a title names it.
    """
    if not finding.error:
        finding = _with_stated_error(context, finding, quoted)
    names = [test.name for test in (quoted, *tests) if test.named]
    unique_names = dict.fromkeys(names)
    return replace(finding, tests=tuple(unique_names))


def _with_stated_error(context: FailureContext, finding: Finding, quoted: FailedTest) -> Finding:
    """Return what the output says elsewhere, if the runner only lists names."""
    stated = [one for one in context.findings if one.verdict in EXPECTATIONS]
    # Only if no test says what it expected, quote how long one took.
    best = first_of_lowest_rank(one for one in stated if one.verdict != "timeout")
    best = best or first_of_lowest_rank(stated)
    if best and best.verdict == "timeout" and finding.line >= 0:
        # It may be the row of another test.
        return replace(finding, error=context.output.lines[finding.line].strip())
    if best:
        return replace(finding, error=best.error, line=best.line)
    lines = context.output.lines
    if lines[quoted.line].startswith(DIFFERENCE):
        shown = read_difference(context) or finding
        return replace(finding, error=shown.error)
    if context.cause:
        return context.cause
    if finding.line >= 0:
        return replace(finding, error=lines[finding.line].strip())
    number = number_of(quoted.name, lines)
    if number is None:
        return replace(finding, error=NO_ERROR)
    return replace(finding, error=lines[number].strip())


def _weight(finding: Finding) -> tuple[bool, bool, bool]:
    """Order what tests amount to: what explains most of them comes first.

    A missing package stops all of them; a failure of the code outweighs causes outside it, which
    only some of them met.
    """
    is_package = finding.verdict == "package"
    is_of_code = finding.verdict in {"test", "crash"}
    return not is_package, not is_of_code, not finding.error


def _java_cause(context: FailureContext) -> Finding | None:
    """Java prints the exception that led to another one below it."""
    for finding in context.findings:
        if finding.verdict in OUTSIDE and finding.error.startswith("Caused by: "):
            return finding
    return None


def _read_test(context: FailureContext, test: FailedTest) -> Finding:
    """Return what the error of one test means."""
    verdict = "test" if test.named else "build"
    plain = Finding(verdict, test.error, test.line)
    if ASSERTION.match(test.error):
        return plain
    cause = context.cause
    if cause and f"{test.name}.".startswith(f"{cause.missing}."):
        # It stands for a module that the command names and that is absent.
        return cause

    causes = [with_owner(context, finding) for finding in causes_in(test.error, test.line)]
    causes.sort(key=lambda finding: finding.rank)
    is_file = not test.named or context.project.find(test.name)
    if is_file:
        return _read_loading(causes) or cause or plain
    return _read_inside_test(causes) or _read_death_of_worker(plain)


def _read_inside_test(causes: Sequence[Finding]) -> Finding | None:
    """Return the cause outside the code that a test met."""
    for finding in causes:
        if finding.verdict in OUTSIDE and is_stated(finding):
            return finding
        if finding.verdict == "timeout":
            return replace(finding, type=VERIFICATION_FAILED)
    return None


def _read_death_of_worker(failed: Finding) -> Finding:
    """Return a failed test, as a crash if the process died that ran it."""
    if WORKER_DEATH.search(failed.error):
        return replace(failed, verdict="crash", type=VERIFICATION_FAILED)
    return failed


def _read_loading(causes: Sequence[Finding]) -> Finding | None:
    """Return why a file of tests could not be loaded."""
    for finding in causes:
        if finding.verdict == "timeout":
            # A time limit of the runner is a failed check.
            return replace(finding, type=VERIFICATION_FAILED)
        if finding.is_cause:
            return finding
        if finding.is_death:
            return replace(finding, verdict="build")
    return None
