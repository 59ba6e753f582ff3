"""Of what the lines of an output say about causes: what can be believed, and what counts most."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.causes import causes_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ralph.failure.context import FailureContext
    from pytest_ralph.failure.finding import Finding

# Findings about the machine, a service or the command line.
OUTSIDE_CODE = frozenset(
    {"disk full", "resource", "service", "timeout", "permission", "value", "command", "setting"}
)
# The words behind it are values that were compared.
RAISED_ASSERTION = re.compile(r"(?:^|[ .])(?:AssertionError\b|[Aa]ssertion failed:)")
ASSERTED = re.compile(
    rf"{RAISED_ASSERTION.pattern}| [!=]==? "
    r"|\b(?:expected|want(?:ed)?|got|received|was|to (?:be|equal|contain)) ['\"`]"
)
# What tools with these roles quote is code or text of the project.
QUOTE_THE_PROJECT = frozenset({"", "run", "test", "lint", "format"})
# What somebody else has said or what is a value: `"connection refused" is retried`.
QUOTATION = re.compile(r"(?<!\w)[bfru]{0,2}(?:'[^']* [^']*'|\"[^\"]* [^\"]*\")(?!\w)")
# How exceptions, programs and, at the end of a line, the system say it. In a run of tests other
# words may be the name of a test, or what it expected.
OF_EXCEPTIONS = (
    r"^(?:E\s)?\W*(?:[\w$]+[.:]+)*\w*(?:Error|Exception)\b|\bE(?!RR|XP|MP)[A-Z_]{4,}\b"
    r"|\b[Ee]rrno\b|\bOs \{ code: "
)
OF_PROGRAMS = (
    r"^\W*(?:\S+: )*(?i:error|fatal|could not|can(?:no|')t|unable to|failed to|\(\d+\))(?!\w)"
)
OF_SYSTEM = (
    r"^(?:.*: (?:[A-Za-z]+ ){0,3}|(?:[A-Z][a-z]+ )+(?:[a-z]+ ){0,3})"
    r"(?i:refused|denied|reset by peer|permitted|left on device|timed out|file ?system|exceeded"
    r"|memory|open files|unavailable|not known|in use|exhausted)\W*(?:\(.*\))?\W*$"
)
STATED = re.compile(f"{OF_EXCEPTIONS}|{OF_PROGRAMS}|{OF_SYSTEM}")
EXPECTATIONS = frozenset({"assertion", "comparison"})
SAID_IN_TESTS = frozenset({"disk full", "resource", "service", "permission"})
# Nothing answers a client, or at this address: the server may say itself why.
UNANSWERED = re.compile(
    r"(?P<client>^(?:curl|wget|http|nc): (?!\(6\))|\bwait(?:ed|ing) for\b)"
    r"|\blocalhost\b|\b127\.0\.0\.1\b",
    re.IGNORECASE,
)
UNANSWERED_VERDICTS = frozenset({"service", "timeout"})
# None of these stops a server that runs on this machine.
NEVER_STOP_A_SERVER = OUTSIDE_CODE - {"command"}
PYTHON_EXCEPTION = re.compile(r"^(?:\w+\.)*[A-Z]\w*(?:Error|Exception)\b")
# A program that only reads a file says that it is not there.
READS = re.compile(r"^(?:awk|cat|cmp|diff|grep|head|jq|sed|tail|wc): .*No such file")
# The logger of Go's services (klog), which repeats itself before the tool speaks.
SERVICE_LOG = re.compile(r"^[EWF]\d{4} \d\d:\d\d:\d\d")


def is_credible(context: FailureContext, finding: Finding) -> bool:
    """Return whether a line is not only worded like a cause outside the code.

    What a checker says about a place in a file is about the code, whatever words it uses, and
    what stands behind an AssertionError are values.
    """
    if finding.is_cause and RAISED_ASSERTION.search(finding.error):
        return False
    if finding.verdict not in OUTSIDE_CODE:
        return True
    if finding.verdict != "value" and _is_remark(context, finding):
        return False
    if ASSERTED.search(finding.error):
        return False
    is_of_test = context.counts_failed_tests or finding.line in context.verdicts
    if is_of_test and not is_stated(finding):
        return False
    if context.role_at(finding.line) not in QUOTE_THE_PROJECT:
        # A tool may quote the system.
        return True
    own_words = QUOTATION.sub("", finding.error)
    if own_words == finding.error:
        return True
    return finding.verdict in {one.verdict for one in causes_in(own_words)}


def _is_remark(context: FailureContext, finding: Finding) -> bool:
    """Return whether a line is what a checker says about a place in a file."""
    if context.only_complains:
        return finding.line in context.complaints
    return finding.line in context.remarks


def is_stated(finding: Finding) -> bool:
    """Return whether a line is worded like an error, where it may be the name of a test."""
    if finding.verdict not in SAID_IN_TESTS:
        return True
    if ASSERTED.search(finding.error):
        return False
    return STATED.search(finding.error) is not None


def without_doubtful(context: FailureContext, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings without those that another one makes doubtful.

    Above its failed expectation a test may have printed the words of a cause. A file may not be
    there because a program failed that writes it.
    """
    expectations = [finding.line for finding in findings if finding.verdict in EXPECTATIONS]
    last = max(expectations, default=-1)
    found = [finding for finding in findings if finding.line > last or is_stated(finding)]
    if context.counts_failed_tests or any(finding.is_death for finding in found):
        return [finding for finding in found if not READS.match(finding.error)]
    return found


def best_cause(findings: Sequence[Finding]) -> Finding | None:
    """Return the finding that says best why the command failed, not only that it did."""
    causes = [finding for finding in findings if finding.is_cause]
    if not causes:
        return None
    best = _first(causes)
    if best.verdict in UNANSWERED_VERDICTS:
        best = _reason_for_silence(best, findings)
    raised = [finding for finding in causes if PYTHON_EXCEPTION.match(finding.error)]
    if best in raised:
        # Of exceptions that led to one another, the last one ended the program.
        return max(raised, key=lambda finding: finding.line)
    return best


def _reason_for_silence(unanswered: Finding, findings: Sequence[Finding]) -> Finding:
    """Return why a server did not answer, if any line tells what stopped it or what it died of."""
    match = UNANSWERED.search(unanswered.error)
    if match is None:
        return unanswered
    causes = [finding for finding in findings if finding.is_cause]
    stopped = [finding for finding in causes if finding.verdict not in NEVER_STOP_A_SERVER]
    if stopped:
        return _first(stopped)
    died = [finding for finding in findings if finding.is_death]
    if died and match["client"]:
        return died[0]
    return unanswered


def _first(causes: Iterable[Finding]) -> Finding:
    """Return the cause that counts most."""
    return min(causes, key=_precedence)


def _precedence(finding: Finding) -> tuple[int, bool, bool, int]:
    """Order causes: by rank, then those that name what is missing, then by place."""
    is_logged = SERVICE_LOG.match(finding.error) is not None
    return finding.rank, finding.missing is None, is_logged, finding.line
