"""Short texts about a failure: headline, title of a fix task, and what the task asks for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.kinds import Kinds

if TYPE_CHECKING:
    from pytest_ralph.failure.failure import Failure

LONGEST_TITLE = 50
# Of a title this much may be the name of the test or file.
LONGEST_SUBJECT = 24
LONGEST_HINT = 120

TIMESTAMP = re.compile(r"^[\[(]?\d{2,4}[-/:]\d\d[-/:]\d\d\S*(?:[ T]\d\d:\d\d\S*)?[\])]?\s+")
PLACE = re.compile(
    r"^(?:file://)?(?P<file>[\w@.~+/\\-]*[\w-]\.[A-Za-z]\w{0,9})"
    r"(?:[:(]\d+(?:[:,.-]\d+)*\)?|, line \d+)?\s*(?::|-|—|\s)\s*"
)
LEVEL = re.compile(
    r"^(?:(?:npm|yarn|pnpm) (?:error|ERR!) (?:[A-Za-z.]*\d*(?:parse|enoent|notarget) )?"
    r"|\d+:\d+\s+(?:error|warning)\s+|(?:FAILED|ERROR|INTERNALERROR>) (?=\S+(?:::|\w*Error)))"
    r"|^\W*(?:fatal |uncaught )?(?:error|err!|fatal|failed|failure|fail|e)\b"
    r"(?:\s*\[?\(?[A-Z]{0,4}\d{2,5}\)?\]?)?(?:\[[\w-]+\])?\s*[:!-]\s*",
    re.IGNORECASE,
)
BRACKETS = re.compile(r"^[\[(<{][^\])>}]{0,40}[\])>}]:?\s*")
SHELL_PLACE = re.compile(r"^(?:/\S*/)?(?:ba|da|k|z)?sh: (?:(?:line )?\d+: )?")
EXCEPTION = re.compile(r"^(?:\w+[.:]+)*(?P<name>[A-Z]\w*(?:Error|Exception|Failure|Failed)):\s*")
ASSERTION = re.compile(r"^(?:Assertion(?:Failed)?Error|ComparisonFailure)$")
MARKS = re.compile(r"^[\s✖✗✘✕×●•*|│>#!E+-]+(?=\s|$)\s*|^[✖✗✘✕×●•]+")
NODE_ID = re.compile(r"^[\w./-]+\.\w+::\S+ - ")
# The directories of an absolute path; a relative path is how the project names its files.
DIRECTORIES = re.compile(r"(?<![\w:@/.])/(?:[\w.@+~-]+/)+(?=[\w.@+-])")
LEADING_DIRECTORIES = re.compile(r"^\.{0,2}/(?:[\w.@+~-]+/)*(?=[\w.@+-])")
NOT_A_START = re.compile(r"^[^\w'\"`.$%-]+")
DATA = re.compile(r"^[{\[\"'].*\":|^\W*$")
PATH = re.compile(r"[\w.@+~-]*(?:/[\w.@+~-]+)+")
LAST_WORD = re.compile(r"\s+\S*$")
# `run poetry lock`, 'try `npx playwright install`': what the tool itself says to do.
HINT = re.compile(
    r"(?:^|[\s(])(?P<hint>(?:please |try |you (?:can|should|need to|must) |did you (?:mean|forget)|"
    r"run |running |use |hint: |help: |fix: |to fix\b"
    r"|consider )[^\n]*[`'\"][^`'\"\n]+[`'\"][^\n]*)",
    re.IGNORECASE,
)
UNSOUND_HINT = re.compile(
    r"disabl|ignor|noqa|suppress|skip|--force|--no-verify|backtrace|verbose|--help|\blog\b|stack"
    r"|update (?:the )?(?:snapshot|test)|-u\b|debug",
    re.IGNORECASE,
)


def headline(kind: str, kinds: Kinds | None = None) -> str:
    """Return the words for a kind: "tests failed", "not formatted", "command not found"."""
    table = kinds or Kinds.load()
    if kind in table and table[kind].headline:
        return table[kind].headline
    return kind.replace("_", " ")


def title(failure: Failure) -> str:
    """Return a title of at most 50 characters: the test or file, and the point of the error.

    It never starts with a path, a timestamp, a bracket or a position, and ends with a whole word.
    """
    point = _point(failure.error)
    subject = _subject(failure)
    if not point or DATA.match(point):
        point = headline(failure.kind)
    elif PATH.fullmatch(point):
        point = f"{point.rsplit('/', 1)[-1]}: {headline(failure.kind)}"
    if subject and subject.lower() not in point.lower():
        return shorten(f"{subject}: {point}", LONGEST_TITLE)
    return shorten(point, LONGEST_TITLE)


def instructions(failure: Failure) -> str:
    """Return what a fix task asks for: the place, the error, and the tool's own hint."""
    place = _place(failure)
    text = f"{place}: {failure.error}" if place else failure.error
    hint = tool_hint(failure.raw_output)
    if hint and hint not in text:
        text = f"{text} ({hint})"
    return text


def tool_hint(output: str) -> str:
    """Return the line in which a tool says what to do, unless it advises to hide the failure."""
    for line in output.splitlines():
        match = HINT.search(line)
        if match and not UNSOUND_HINT.search(line):
            return shorten(match["hint"].strip(), LONGEST_HINT)
    return ""


def shorten(text: str, limit: int) -> str:
    """Return text cut at a word, without the punctuation that is left at its end."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    text = text[: limit + 1]
    shortened = LAST_WORD.sub("", text)
    if shortened == text:
        # One long word: cut between its parts.
        shortened = re.sub(r"(?<=\w)\W\w*$", "", text[:limit])
    return shortened.rstrip(" ,:;([{-–—\"'`") or text[:limit]


def _point(error: str) -> str:
    """Return an error without timestamp, level, position, module path and directories."""
    text = " ".join(error.split())
    before = ""
    while text != before:
        before = text
        for noise in (TIMESTAMP, SHELL_PLACE, LEVEL, NODE_ID, PLACE, BRACKETS, MARKS):
            text = noise.sub("", text, count=1)
        match = EXCEPTION.match(text)
        if match and ASSERTION.match(match["name"]):
            text = text[match.end() :]
        elif match:
            text = text[match.start("name") :]
            break
    text = DIRECTORIES.sub("", LEADING_DIRECTORIES.sub("", text))
    return NOT_A_START.sub("", text)


def _subject(failure: Failure) -> str:
    """Return the short name of the failing test or of the file that the error points into."""
    if failure.failed_tests:
        name = failure.failed_tests[0]
        name = name.rsplit("::", 1)[-1] if "::" in name else name
        name = re.split(r" (?:>|›|») ", name)[-1]
        if re.fullmatch(r"[\w.$]+", name):
            name = name.rsplit(".", 1)[-1]
        name = NOT_A_START.sub("", name)
        return name if " " not in name else shorten(name, LONGEST_SUBJECT)
    text = failure.error.strip()
    for noise in (TIMESTAMP, SHELL_PLACE, MARKS, LEVEL):
        text = noise.sub("", text, count=1)
    match = PLACE.match(text)
    if match is None:
        return ""
    return match["file"].replace("\\", "/").rsplit("/", 1)[-1]


def _place(failure: Failure) -> str:
    """Return where to look: the test, or the file with its line."""
    if failure.failed_tests:
        tests = ", ".join(failure.failed_tests[:3])
        others = len(failure.failed_tests) - 3
        return f"{tests} and {others} more" if others > 0 else tests
    if not failure.files or failure.files[0] in failure.error:
        return ""
    if failure.line is None:
        return failure.files[0]
    return f"{failure.files[0]} line {failure.line}"
