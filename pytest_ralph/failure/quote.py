"""The line to quote where the tool's way of speaking is not known, or where it is only a heading."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.context import FailureContext
    from pytest_ralph.failure.finding import Finding

# A count or a summary of what was said before.
SUMMARY = re.compile(
    r"ld returned|could not compile|due to \d+ previous|aborting due|compilation terminated"
    r"|build failed|\*\*\* |found \d+ |\d+ (?:errors?|warnings?|problems?)\b"
    r"|linker command failed|failed to compile",
    re.IGNORECASE,
)
# A line that only announces what the next line says.
HEADING = re.compile(
    r"^\W*(?:\S+ ){0,2}(?:\S*(?:error|exception) ?|(?:error during build|build failed)\b.*"
    r"|.* panicked at \S+):$|━{5,}$|^Error -{5,} \S+$",
    re.IGNORECASE,
)
ALARM = re.compile(r"\b(?:error|fatal|fail(?:ed|ure)?|cannot|could not|invalid)\b", re.IGNORECASE)
WARNING = re.compile(r"^\W{0,2}warning\b", re.IGNORECASE)
SHELL_TRACE = re.compile(r"^\+{1,3} \w")
# pytest puts this before the lines of an error.
PYTEST_MARK = re.compile(r"^E {2,}")
MARKS = " ×✖"
LINES_BELOW = 5


def with_quotable_error(context: FailureContext, finding: Finding) -> Finding:
    """Return the finding with an error that says something: a heading is replaced by what follows."""
    if finding.line >= 0 and HEADING.search(finding.error):
        for line in context.output.lines[finding.line + 1 : finding.line + 1 + LINES_BELOW]:
            text = line.strip(MARKS)
            if text and not HEADING.search(text):
                return replace(finding, error=text)
        return finding
    return replace(finding, error=PYTEST_MARK.sub("", finding.error))


def quotable_line(context: FailureContext) -> str:
    """Return the line of the output that a person would quote; empty if there is no output."""
    for candidates in _candidates(context):
        if candidates:
            return candidates[0]
    return ""


def _candidates(context: FailureContext) -> Iterator[Sequence[str]]:
    """Yield lists of lines to choose from, the most telling ones first."""
    printed = [line.strip() for line in context.output.lines if line.strip()]
    spoken = [
        line.strip()
        for number, line in enumerate(context.output.lines)
        if line.strip() and number not in context.ignored
    ]
    alarming = [line for line in spoken if ALARM.search(line)]
    own_words = [
        line.strip()
        for number, line in enumerate(context.output.lines)
        if number not in context.ignored | context.data and ALARM.search(line)
    ]
    yield [line for line in own_words if not SUMMARY.search(line)]
    yield [line for line in alarming if not SUMMARY.search(line)]
    yield [line for line in printed if WARNING.match(line)]
    yield alarming
    # The last command of a shell's trace is the one that ended it.
    yield [line for line in printed[-1:] if SHELL_TRACE.match(line)]
    yield spoken[-1:]
    yield printed
