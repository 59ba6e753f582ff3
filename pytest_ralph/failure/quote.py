"""The line to quote if the tool's format is not known."""

from __future__ import annotations

import re
from itertools import chain, filterfalse
from typing import TYPE_CHECKING

from pytest_ralph.failure.lines import matching, numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ralph.failure.context import FailureContext

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
LONGEST_COMMAND = 120
ALARMS = (
    "error *error exception *exception fatal fail failed failure cannot could invalid"
).split()
WARNING = re.compile(r"^\W{0,2}warning\b|^!+ warnings \(", re.IGNORECASE)
SHELL_TRACE = re.compile(r"^\+{1,3} \w")
# What a linter says around its findings.
NO_COMPLAINT = re.compile(
    r"\.{3}$|^\W*(?:checking|running|scanning|analy[sz]ing|linting|processing|loading|loaded|using"
    r"|start(?:ed|ing)?|finding|skipping|looking|reading|done|finished|processed|scan|results?"
    r"|rendered|built|wrote|written|generated|created|installed"
    r"|summary|version|config)\b"
    r"|^[\w -]+ v?\d+\.\d+|^(?:npm warn |https?:|\(node:|\(Use |warning: .*deprecat)"
    r"|DeprecationWarning",
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
# Lines that do not disapprove, whatever words they contain.
NOT_DISAPPROVING = (APPROVING, COUNT, TOP_HEADING, SUMMARY, NO_COMPLAINT)


def quotable_line(context: FailureContext) -> str:
    """Return the line of the output that a person would quote; empty if there is no output."""
    lines = list(map(str.strip, context.output.lines))
    alarms = context.output.numbers_of(ALARMS)
    heard_alarms = context.heard(alarms)
    printed = list(filter(None, lines))
    heard = [lines[number] for number in context.heard(range(len(lines)))]
    spoken = list(filter(None, heard))
    statements = list(filterfalse(COUNT.match, spoken))
    candidates = chain(
        [lines[number] for number in _own_alarms(context)],
        filter(WARNING.match, printed),
        filter(disapproves, spoken),
        [lines[number] for number in heard_alarms],
        # The last command of a shell's trace is the one that ended it.
        filter(SHELL_TRACE.match, printed[-1:]),
        filterfalse(WEAK_ENDING.search, statements[-1:]),
        spoken,
        [lines[number] for number in alarms],
        printed,
    )
    return next(candidates, "")


def _own_alarms(context: FailureContext) -> Iterator[int]:
    """Yield the numbers of the alarming lines that are the tool's own words and no summary."""
    for number in context.output.numbers_of(ALARMS):
        is_summary = SUMMARY.search(context.output.lines[number])
        if not is_summary and number not in context.passed_over:
            yield number


def first_complaint(context: FailureContext) -> tuple[int, str] | None:
    """Return the line of a linter or formatter that says what is wrong, and its number.

    The first message in JSON, or line that calls itself an error or disapproves, else the first
    that is more than the name of a file, a ruler, a count or a report of progress.
    """
    lines = context.output.lines
    for number, message in matching(JSON_MESSAGE.match, lines):
        return number, message[1]

    complaints = context.heard(numbers_of(disapproves, lines))
    complaints = sorted({*complaints, *_own_alarms(context)})
    if not complaints:
        complaints = numbers_of(WARNING.match, lines) or numbers_of(_is_complaint, lines)
    for number in context.heard(complaints) or complaints:
        return number, lines[number].strip()
    return None


def disapproves(text: str) -> bool:
    """Return whether a line says that something is not as it should be, and is no summary."""
    text = text.strip()
    if not DISAPPROVING.search(text) or not TWO_WORDS.search(text):
        return False
    return not any(pattern.search(text) for pattern in NOT_DISAPPROVING)


def _is_complaint(line: str) -> bool:
    """Return whether a linter's line has several words and is no summary or report of progress."""
    text = line.strip()
    if NO_COMPLAINT.search(text) or SUMMARY.search(text):
        return False
    words = list(filter(THREE_LETTERS.search, text.split()))
    return len(words) > 1


def names_file(context: FailureContext, text: str) -> bool:
    """Return whether a word of the text is a file of the project."""
    for word in QUOTES.sub(" ", text).split():
        name = PLACE_END.sub("", word)
        if context.project.find(name):
            return True
    return False


def shortened(command: str) -> str:
    """Return a command on one line, cut if it is very long."""
    line = " ".join(command.split())
    if len(line) <= LONGEST_COMMAND:
        return line
    return line[: LONGEST_COMMAND - 3] + "..."
