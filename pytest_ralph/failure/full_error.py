"""Complete the error of a finding with the lines around it, if it says little by itself."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import filterfalse
from typing import TYPE_CHECKING

from pytest_ralph.failure.lines import above, line_above, lines_below
from pytest_ralph.failure.quote import disapproves

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.context import FailureContext
    from pytest_ralph.failure.finding import Finding

# A line by which a runner only says which of its steps failed: a line above says why.
REPLACED_BY_ABOVE = re.compile(
    r"^\W*(?:error:? )?(?:(?:step|stage|job|task|script)s?\b.{0,60}|\S+) failed\W*$"
    r"|\b(?:step|stage|check|gate)s? failed\W*$"
    r"|\bexited with (?:exit )?(?:code|status)\b"
    # yarn, pnpm, npm, just, task, nox, composer
    r"|^error Command failed with exit code \d+\.$|^\W*ELIFECYCLE\b|^npm ERR! Failed at the "
    r"|\bRecipe \S+ failed (?:on line \d+ )?with exit code|\bFailed to run task \S+ exit status"
    r"|^nox > Session \S+ failed|^Script .* event returned with error code",
    re.IGNORECASE,
)
# A heading: what went wrong stands below.
REPLACED_BY_BELOW = re.compile(
    r"^\W*(?:\w+ ){0,2}validation failed\W*$|^An error (?:has )?occurred\b.*:$"
    r"|\bproblems were encountered\b.*:$|^FAILURE: Build failed\b|^\W*Build failed\W*$"
    r"|^\S+ \(Wstat: \d.*\)$"
    r"|^\W*(?:\S+ ){0,2}(?:\S*(?:errors?|exception) ?|(?:error during build|build failed)\b.*"
    r"|.* panicked at \S+):(?: \[[^\]]+\])*$|━{5,}$|^Error [-┈]{5,} \S+$|^Error compiling:? \S+$",
    re.IGNORECASE,
)
# Gradle says below it where and what went wrong, and marks the cause.
GRADLE_FAILED = re.compile(r"^FAILURE: Build failed with an exception")
# A line that only closes what the line above it says.
FOOTER = re.compile(
    r"^(?:CallStack \(from HasCallStack\)|while executing$|Execution halted$|Calls: \S"
    r"|\S+\.exs?:\d+: [\w.?!]+/\d+$|context\.\.\.:$|g?make(?:\[\d+\])?: \*\*\* \[.*\] Error \d)"
)
# A line whose value stands below.
COMPLETED_BY_BELOW = re.compile(r"(?<!Traceback)(?:[^\s:]:|[:=>]\s*[{\[(])$")
NOT_A_VALUE = re.compile(
    r"^(?:at |File \"|-->|\^|~|[-─━═=*+~]{3,}|\S+:\d+(?::\d+)?$|\.\.\.$"
    r"|[(\[{)\]}>]+[,;]?$|---|Non-zero exit status: \d)"
)
# What node and mocha print above a difference of two values.
DIFFERENCE = re.compile(r"^\s*\+ (?:actual - expected|expected - actual)$")
CHANGED = re.compile(r"^\s*[-+]\s*\w")
# One of two values that are compared, the other on the line below or above.
EXPECTED = re.compile(r"^(?:expected|want(?:ed)?)\s*:\s*\S", re.IGNORECASE)
ACTUAL = re.compile(r"^(?:got|actual|received|have)\s*:\s*\S", re.IGNORECASE)
LONGEST_COMPARED_LINE = 80
LINES_OF_DIFFERENCE = 40
# pytest puts this before the lines of an error.
PYTEST_MARK = re.compile(r"^E {2,}")
ERROR_MARKS = " ×✖"
COMMENT_MARKS = "# \t"
RUNNER_ERROR = re.compile(r"^error: \S", re.IGNORECASE)
LINES_BELOW = 5


def with_full_error(context: FailureContext, finding: Finding) -> Finding:
    """Return the finding with an error that says something.

    A heading is replaced by what follows it, and a footer by what stands above it. A line that ends
    with a colon or opens a bracket is completed by the next line, one of two compared values by the
    other.
    """
    error = PYTEST_MARK.sub("", finding.error)
    if finding.verdict == "no tests":
        # The runner may say itself why it could not start.
        stated = filter(RUNNER_ERROR.match, context.output.lines)
        return replace(finding, error=next(stated, error).strip())
    number = finding.line
    if number < 0:
        number = _number_of_line(context.output.lines, finding.error)
    if number >= 0:
        error = _with_lines_around(context, error, number)
    return replace(finding, error=error)


def _number_of_line(lines: Sequence[str], text: str) -> int:
    """Return the number of the first line that is the text and nothing else, or -1."""
    for number, line in enumerate(lines):
        if line.strip() == text:
            return number
    return -1


def _with_lines_around(context: FailureContext, error: str, number: int) -> str:
    """Return the error, replaced or completed by lines above or below it if it needs that."""
    if FOOTER.match(error):
        statements = filterfalse(FOOTER.match, _lines_above(context, number))
        return next(statements, error)
    if REPLACED_BY_BELOW.search(error):
        return _line_below(context, number) or error
    if COMPLETED_BY_BELOW.search(error):
        return f"{error} {_line_below(context, number)}".rstrip()
    if REPLACED_BY_ABOVE.search(error):
        reasons = filter(disapproves, _lines_above(context, number))
        return next(reasons, error)
    other = _other_value(context.output.lines, error, number)
    if other:
        return f"{error.rstrip(',')}, {other}"
    return error


def _lines_above(context: FailureContext, number: int) -> Iterator[str]:
    """Yield the lines above that count, the nearest first."""
    for at in above(number, number):
        line = context.output.lines[at].strip()
        # What a compiler warns of above its footer stopped it.
        if line and (at not in context.ignored or line.startswith("warning: ")):
            yield line


def _line_below(context: FailureContext, number: int) -> str:
    """Return the first line below that says something: no blank line, heading or place."""
    lines = context.output.lines
    heading = lines[number]
    if GRADLE_FAILED.match(heading):
        return _gradle_cause(lines[number:])
    if "deep-equal" in heading:
        changed = _changed_value(lines_below(lines, number, LINES_OF_DIFFERENCE))
        if changed:
            return changed
    for line in lines_below(lines, number, LINES_BELOW):
        text = PYTEST_MARK.sub("", line).strip(ERROR_MARKS)
        if text and not REPLACED_BY_BELOW.search(text) and not NOT_A_VALUE.match(text):
            return text if REPLACED_BY_BELOW.search(heading) else " ".join(text.split())
    return ""


def _gradle_cause(lines: Sequence[str]) -> str:
    for line in lines:
        if line.startswith("> "):
            return line.removeprefix("> ")
    return ""


def _changed_value(lines: Sequence[str]) -> str:
    """Return the first line that differs where node or mocha compare two long values."""
    is_inside = False
    for line in lines:
        if DIFFERENCE.match(line):
            is_inside = True
        elif is_inside and CHANGED.match(line):
            return line.strip()
    return ""


def _other_value(lines: Sequence[str], error: str, number: int) -> str:
    """Return the line below or above one of two compared values, if it is the other one."""
    if len(error) > LONGEST_COMPARED_LINE:
        return ""
    if ACTUAL.match(error):
        other = EXPECTED
    elif EXPECTED.match(error):
        other = ACTUAL
    else:
        return ""
    for neighbour in (*lines_below(lines, number, 1), line_above(lines, number)):
        line = PYTEST_MARK.sub("", neighbour).lstrip(COMMENT_MARKS)
        if other.match(line) and len(line) <= LONGEST_COMPARED_LINE:
            return " ".join(line.split())
    return ""
