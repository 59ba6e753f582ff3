"""The line to quote if the tool's format is not known, or if its line is only a heading."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.failure.lines import numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.context import FailureContext
    from pytest_ralph.failure.finding import Finding

# A count or a summary of what was said before.
SUMMARY = re.compile(
    r"ld returned|could not compile|due to \d+ previous|aborting due|compilation terminated"
    r"|build failed|\*\*\* |not remade because |found [1-9]\d* "
    r"|\d+ (?:errors?|warnings?|problems?)\b|errors?: \d+"
    r"|linker command failed|failed to compile|see errors? above"
    r"|\b(?:failed|exited) with (?:a nonzero )?exit code|^\W*(?:x )?\d+ (?:\w+ ){0,2}\w+\W*$"
    r"|\b\d+ (?:\w+ )?(?:issues?|violations?)\b|\bissues (?:detected|found)\b",
    re.IGNORECASE,
)
# A line by which a runner only says which of its steps failed.
POINTER = re.compile(
    r"^\W*(?:error:? )?(?:(?:step|stage|job|task|script)s?\b.{0,60}|\S+) failed\W*$"
    r"|\b(?:step|stage|check|gate)s? failed\W*$"
    r"|\bexited with (?:exit )?(?:code|status)\b",
    re.IGNORECASE,
)
# A line that only announces what the next line says.
HEADING = re.compile(
    r"^\W*(?:\w+ ){0,2}validation failed\W*$|^An error (?:has )?occurred\b.*:$"
    r"|\bproblems were encountered\b.*:$|^FAILURE: Build failed\b"
    r"|^\W*(?:\S+ ){0,2}(?:\S*(?:errors?|exception) ?|(?:error during build|build failed)\b.*"
    r"|.* panicked at \S+):$|━{5,}$|^Error [-┈]{5,} \S+$|^Error compiling:? \S+$",
    re.IGNORECASE,
)
# Gradle says below it where and what went wrong, and marks the cause.
GRADLE_FAILED = re.compile(r"^FAILURE: Build failed with an exception")
# A line that only closes what the line above it says.
FOOTER = re.compile(
    r"^(?:CallStack \(from HasCallStack\)|while executing$|Execution halted$|Calls: \S"
    r"|context\.\.\.:$|g?make(?:\[\d+\])?: \*\*\* \[.*\] Error \d)"
)
# A line that only announces the value on the next line.
ANNOUNCEMENT = re.compile(r"(?<!Traceback)(?:[^\s:]:|[:=>]\s*[{\[(])$")
NOT_A_VALUE = re.compile(
    r"^(?:at |File \"|-->|\^|~|[-─━═=*+~]{3,}|\S+:\d+(?::\d+)?$|\.\.\.$"
    r"|[(\[{)\]}>]+[,;]?$|---)"
)
# What node and mocha print above a difference of two values.
DIFFERENCE = re.compile(r"^\s*\+ (?:actual - expected|expected - actual)$")
CHANGED = re.compile(r"^\s*[-+]\s*\w")
# One of two values that are compared, the other on the line below or above.
EXPECTED = re.compile(r"^(?:expected|want(?:ed)?)\s*:\s*\S", re.IGNORECASE)
ACTUAL = re.compile(r"^(?:got|actual|received|have)\s*:\s*\S", re.IGNORECASE)
LONGEST_VALUE = 80
LONGEST_VALUES = 40
LONGEST_COMMAND = 120
ALARMS = (
    "error", "*error", "exception", "*exception", "fatal", "fail", "failed", "failure", "cannot",
    "could", "invalid",
)  # fmt: skip
WARNING = re.compile(r"^\W{0,2}warning\b", re.IGNORECASE)
SHELL_TRACE = re.compile(r"^\+{1,3} \w")
# pytest puts this before the lines of an error.
PYTEST_MARK = re.compile(r"^E {2,}")
# What a linter says around its findings.
NO_COMPLAINT = re.compile(
    r"\.{3}$|^\W*(?:checking|running|scanning|analy[sz]ing|linting|processing|loading|loaded|using"
    r"|start(?:ed|ing)?|finding|skipping|looking|reading|done|finished|processed|scan|results?"
    r"|rendered|built|wrote|written|generated|created|installed"
    r"|summary|version|config)\b"
    r"|^[\w -]+ v?\d+\.\d+|^(?:https?:|\(node:|\(Use |warning: .*deprecat)|DeprecationWarning",
    re.IGNORECASE,
)
# One finding among those that a linter writes as JSON or YAML.
JSON_MESSAGE = re.compile(r"""^\s*"?message"?: ["'](.+)["'],?$""")
THREE_LETTERS = re.compile(r"[A-Za-z]{3}")
TWO_WORDS = re.compile(r"\w\w.*\s.*\w\w")
QUOTES = re.compile(r"['\"`]")
PLACE_END = re.compile(r"[:(]\d.*$|[,:;.]+$")
# A last line that says nothing: a bracket, or an address to read more.
WEAK_ENDING = re.compile(r"^\W+$|^exit status \d+$|https?://\S+$|for more information\W*$")
MARKS = " ×✖"
RUNNER_ERROR = re.compile(r"^error: \S", re.IGNORECASE)
LINES_BELOW = 5
# What says that something is not as it should be, where no line calls itself an error.
DISAPPROVING = re.compile(
    r"(?<![\w./-])(?:not|no|never|missing|without|wrong|bad|broken|too|want(?:ed)?|expected"
    r"|exceed(?:s|ed)?|over budget|needs|limit"
    r"|duplicate|un(?:used|known|declared|defined|resolved|listed|expected"
    r"|sorted)|invalid|differs?|disagree|mismatch|more than|less than|absent|forbidden|gave up)"
    r"(?![\w./-])|!=|\[x\]|^\W*[✗✘✖×]",
    re.IGNORECASE,
)
APPROVING = re.compile(
    r"\b(?:ok|pass(?:ed)?|fine|done|(?<!not )allowed|success\w*)\W*$|^\W*(?:ok|pass(?:ed)?|done)\b"
    r"|^\s*[✓✔√]",
    re.IGNORECASE,
)
TOP_HEADING = re.compile(r"^#+ [A-Z ]+$|^[A-Z ]+ {2,}[A-Z ]+$")
COUNT = re.compile(r"^(?:[\w-]+: )?\d+(?:/\d+| of \d+)? [a-z]")


def with_quotable_error(context: FailureContext, finding: Finding) -> Finding:
    """Return the finding with an error that says something.

    A heading is replaced by what follows it. A line that only announces a value, because it ends
    with a colon or opens a bracket, is completed by the next line.
    """
    error = PYTEST_MARK.sub("", finding.error)
    if finding.verdict == "no tests":
        # The runner may say itself why it could not start.
        error = next(filter(RUNNER_ERROR.match, context.output.lines), error).strip()
        return replace(finding, error=error)
    number = finding.line
    if number < 0:
        quoting = numbers_of(lambda line: line.strip() == finding.error, context.output.lines)
        number = min(quoting, default=number)
    if number >= 0:
        error = _with_line_below(context, error, number)
    return replace(finding, error=error)


def _with_line_below(context: FailureContext, error: str, number: int) -> str:
    if FOOTER.match(error):
        return next(
            (line for line in _lines_above(context, number) if not FOOTER.match(line)), error
        )
    below = _line_below(context, number)
    if HEADING.search(error):
        return below or error
    if ANNOUNCEMENT.search(error):
        return f"{error} {below}".rstrip()
    if POINTER.search(error):
        return next(filter(disapproves, _lines_above(context, number)), error)
    other = _other_value(context.output.lines, error, number)
    return f"{error.rstrip(',')}{other}" if other else error


def _other_value(lines: Sequence[str], error: str, number: int) -> str:
    """Return what stands below or above one of two compared values: `, expected: 6`."""
    if len(error) > LONGEST_VALUE:
        return ""
    other = EXPECTED if ACTUAL.match(error) else ACTUAL if EXPECTED.match(error) else None
    if other is None:
        return ""
    for at in (number + 1, number - 1):
        line = lines[at].lstrip("# \t") if 0 <= at < len(lines) else ""
        if other.match(line) and len(line) <= LONGEST_VALUE:
            return f", {' '.join(line.split())}"
    return ""


def _lines_above(context: FailureContext, number: int) -> Iterator[str]:
    """Yield the lines above that count, the nearest first."""
    above = (at for at in range(number - 1, -1, -1) if at not in context.ignored)
    return filter(None, (context.output.lines[at].strip() for at in above))


def _line_below(context: FailureContext, number: int) -> str:
    """Return the first line below that says something: no blank line, heading or place.

    Of two values that span several lines the first line that differs is returned.
    """
    lines = context.output.lines
    if GRADLE_FAILED.match(lines[number]):
        causes = (line for line in lines[number:] if line.startswith("> "))
        return next(causes, "").removeprefix("> ")
    shown = iter(lines[number + 1 : number + 1 + LONGEST_VALUES])
    if "deep-equal" in lines[number] and any(map(DIFFERENCE.match, shown)):
        return next((line.strip() for line in shown if CHANGED.match(line)), "")
    for line in lines[number + 1 : number + 1 + LINES_BELOW]:
        text = " ".join(PYTEST_MARK.sub("", line).strip(MARKS).split())
        if text and not HEADING.search(text) and not NOT_A_VALUE.match(text):
            return text
    return ""


def first_complaint(context: FailureContext) -> tuple[int, str] | None:
    """Return the line of a linter or formatter that says what is wrong, and its number.

    The first message in JSON, or line that calls itself an error or disapproves, else the first
    that is more than the name of a file, a ruler, a count or a report of progress.
    """
    lines = context.output.lines
    for number, line in enumerate(lines):
        message = JSON_MESSAGE.match(line)
        if message:
            return number, message[1]
    alarms = dict(_own_alarms(context))
    for number, line in enumerate(lines):
        if number in alarms or (number not in context.ignored and disapproves(line.strip())):
            return number, line.strip()
    warned = [number for number, line in enumerate(lines) if WARNING.match(line)]
    complaints = warned or [
        number for number, line in enumerate(lines) if _is_complaint(line.strip())
    ]
    if not complaints:
        return None
    first = min(complaints, key=lambda number: number in context.ignored)
    return first, lines[first].strip()


def disapproves(text: str) -> bool:
    """Return whether a line says that something is not as it should be, and is no summary."""
    if not DISAPPROVING.search(text) or not TWO_WORDS.search(text):
        return False
    return not any(
        one.search(text) for one in (APPROVING, COUNT, TOP_HEADING, SUMMARY, NO_COMPLAINT)
    )


def _is_complaint(text: str) -> bool:
    if NO_COMPLAINT.search(text) or SUMMARY.search(text):
        return False
    return _has_several_words(text)


def names_file(context: FailureContext, text: str) -> bool:
    """Return whether a word of the text is a file of the project."""
    words = QUOTES.sub(" ", text).split()
    return any(context.project.find(PLACE_END.sub("", word)) for word in words)


def _has_several_words(text: str) -> bool:
    words = [word for word in text.split() if THREE_LETTERS.search(word)]
    return len(words) > 1


def quotable_line(context: FailureContext) -> str:
    """Return the line of the output that a person would quote; empty if there is no output."""
    return next(_candidates(context), "")


def _own_alarms(context: FailureContext) -> Sequence[tuple[int, str]]:
    """Return the alarming lines that are the tool's own words and no summary, numbered."""
    lines = context.output.lines
    return [
        (number, lines[number].strip())
        for number in context.output.numbers_of(ALARMS)
        if number not in context.passed_over and not SUMMARY.search(lines[number])
    ]


def _candidates(context: FailureContext) -> Iterator[str]:
    """Yield the lines to choose from, the most telling ones first."""
    lines = context.output.lines
    printed = {number: line.strip() for number, line in enumerate(lines) if line.strip()}
    spoken = [text for number, text in printed.items() if number not in context.ignored]
    yield from (text for _, text in _own_alarms(context))
    yield from filter(WARNING.match, printed.values())
    yield from filter(disapproves, spoken)
    alarms = context.output.numbers_of(ALARMS)
    for number in sorted(alarms, key=lambda number: number in context.ignored):
        yield printed[number]
    # The last command of a shell's trace is the one that ended it.
    yield from filter(SHELL_TRACE.match, list(printed.values())[-1:])
    ending = [text for text in spoken if not COUNT.match(text)][-1:]
    yield from (text for text in ending if not WEAK_ENDING.search(text))
    yield from spoken
    yield from printed.values()


def shortened(command: str) -> str:
    """Return a command on one line, cut if it is very long."""
    line = " ".join(command.split())
    if len(line) <= LONGEST_COMMAND:
        return line
    return line[: LONGEST_COMMAND - 3] + "..."
