"""Short texts about a failure: a headline, the title of a fix task, where to look, and a hint."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from pytest_ralph.failure.failure import Failure

# Kinds of failure as people name them. The codes themselves stay in JUnit and JSON.
HEADLINES = {
    "test_failure": "tests failed",
    "lint_error": "lint errors",
    "typecheck_error": "type errors",
    "format_error": "not formatted",
    "build_error": "build failed",
    "task_incomplete": "not done yet",
    "verification_mismatch": "claimed but not verified",
    "timeout": "timed out",
    "parse_error": "cannot be parsed",
    "dependency_missing": "package missing",
    "command_not_found": "command not found",
    "permission_denied": "permission denied",
    "service_unavailable": "service unavailable",
    "resource_exhausted": "out of resources",
    "crash": "crashed",
    "circular_dependency": "circular dependency",
    "file_conflict": "file conflict",
    "plan_invalid": "invalid plan",
    "context_exhausted": "context exhausted",
    "missing_context": "information missing",
    "invalid_task": "invalid task",
    "circular_fix": "fixes go in circles",
    "unknown": "failed",
}

LONGEST_TITLE = 50
# Of a title this much may be the name of the test or file.
LONGEST_SUBJECT = 24
LONGEST_HINT = 120
TESTS_NAMED = 3
# A tool puts its hint near its error: this many lines above or below it.
LINES_ABOVE = 3
LINES_BELOW = 15

TIMESTAMP = regex(r"^[\[(]?\d{2,4}[-/:]\d\d[-/:]\d\d\S*(?:[ T]\d\d:\d\d\S*)?[\])]?\s+")
PLACE = regex(
    r"^(?:file://)?(?P<file>[\w@.~+/\\-]*[\w-]\.[A-Za-z]\w{0,9})"
    r"(?:[:(]\d+(?:[:,.-]\d+)*\)?|, line \d+)?\s*(?::|-|—|\s)\s*"
)
LEVEL = regex(
    r"^(?:(?:npm|yarn|pnpm) (?:error|ERR!) (?:[A-Za-z.]*\d*(?:parse|enoent|notarget) )?"
    r"|\d+:\d+\s+(?:error|warning)\s+|(?:FAILED|ERROR|INTERNALERROR>) (?=\S+(?:::|\w*Error)))"
    r"|^\W*(?:fatal |uncaught )?(?:error|err!|fatal|failed|failure|fail|e)\b"
    r"(?:\s*\[?\(?[A-Z]{0,4}\d{2,5}\)?\]?)?(?:\[[\w-]+\])?\s*[:!-]\s*",
    re.IGNORECASE,
)
BRACKETS = regex(r"^[\[(<{][^\])>}]{0,40}[\])>}]:?\s*")
INTERPRETER = regex(r"^/\S*/python[\d.]*: ")
SHELL_PLACE = regex(r"^(?:/\S*/)?(?:ba|da|k|z)?sh: (?:(?:line )?\d+: )?")
EXCEPTION = regex(r"^(?:\w+[.:]+)*(?P<name>[A-Z]\w*(?:Error|Exception|Failure|Failed)):\s*")
ASSERTION = regex(r"^(?:Assertion(?:Failed)?Error|ComparisonFailure)$")
MARKS = regex(r"^\^?-*\^\s+|^[\s✖✗✘✕×●•*|│>#!E+-]+(?=\s|$)\s*|^[✖✗✘✕×●•]+")
NODE_ID = regex(r"^[\w./-]+\.\w+::\S+ - ")
# The directories of an absolute path; a relative path is how the project names its files.
DIRECTORIES = regex(r"(?<![\w:@/.])/(?:[\w.@+~-]+/)+(?=[\w.@+-])")
LEADING_DIRECTORIES = regex(r"^\.{0,2}/(?:[\w.@+~-]+/)*(?=[\w.@+-])")
NOT_A_START = regex(r"^[^\w'\"`.$%-]+")
DATA = regex(r"^[{\[\"'].*\":|^\W*$")
PATH = regex(r"[\w.@+~-]*(?:/[\w.@+~-]+)+")
WORD = regex(r"[^\W\d_]{3}")
# `shop.tests.CartTest.test_total`, but not `cart.t`, which is a file.
DOTTED_NAME = regex(r"[\w.$]+\w{4}")
LAST_WORD = regex(r"\s+\S*$")
# `run poetry lock`, 'try `npx playwright install`': what the tool itself says to do.
HINT = regex(
    r"(?:^|[\s(])(?P<hint>(?:please |try |you (?:can|should|need to|must) |did you (?:mean|forget)|"
    r"run |running |use |hint: |help: |fix: |to fix\b"
    r"|consider )[^\n]*[`'\"][^`'\"\n]+[`'\"][^\n]*)",
    re.IGNORECASE,
)
UNSOUND_HINT = regex(
    r"disabl|ignor|noqa|suppress|skip|--force|--no-verify|backtrace|verbose|--help|\blog\b|stack"
    r"|update (?:the )?(?:snapshot|test)|-u\b|debug",
    re.IGNORECASE,
)


def headline(kind: str) -> str:
    """Return the words for a kind: "tests failed", "not formatted", "command not found"."""
    return HEADLINES.get(kind) or kind.replace("_", " ")


def title(failure: Failure) -> str:
    """Return a title of at most 50 characters: the test or file, and the point of the error.

    It never starts with a path, a timestamp, a bracket or a position, and ends with a whole word.
    """
    point = _point(failure.error)
    subject = _subject(failure)
    if not point or DATA.match(point):
        point = headline(failure.kind)
    elif not subject and not WORD.search(point):
        point = f"{headline(failure.kind)}: {point}"
    elif PATH.fullmatch(point):
        point = f"{point.rsplit('/', 1)[-1]}: {headline(failure.kind)}"
    if subject and subject.lower() not in point.lower():
        return shorten(f"{subject}: {point}", LONGEST_TITLE)
    return shorten(point, LONGEST_TITLE)


def without_shell(error: str) -> str:
    """Return an error of a shell or Python without its path: `foo: command not found`."""
    return SHELL_PLACE.sub("", INTERPRETER.sub("", error, count=1), count=1)


def place_of(failure: Failure) -> str:
    """Return where to look: the failing tests, or the file with its line."""
    tests = failure.failed_tests
    if tests:
        named = ", ".join(tests[:TESTS_NAMED])
        others = len(tests) - TESTS_NAMED
        return f"{named} and {others} more" if others > 0 else named
    if not failure.files:
        return ""
    if failure.line is None:
        return failure.files[0]
    return f"{failure.files[0]} line {failure.line}"


def tool_hint(failure: Failure) -> str:
    """Return what the tool says to do about its error, unless that only hides the failure."""
    lines = failure.raw_output.splitlines()
    at = len(lines)
    for number, line in enumerate(lines):
        if failure.error in line:
            at = number
            break
    for line in lines[max(0, at - LINES_ABOVE) : at + LINES_BELOW]:
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
    bracket = shortened.rfind("(")
    if bracket > limit // 2 and ")" not in shortened[bracket:]:
        # The remark in brackets is cut: do without it.
        shortened = shortened[:bracket]
    return shortened.rstrip(" ,:;([{-–—\"'`") or text[:limit]


def _point(error: str) -> str:
    """Return an error without timestamp, level, position, module path and directories."""
    text = " ".join(error.split())
    before = ""
    while text != before:
        before = text
        for noise in (TIMESTAMP, SHELL_PLACE, LEVEL, NODE_ID, PLACE, BRACKETS, MARKS):
            # What stands in brackets may be all there is.
            text = noise.sub("", text, count=1) or text
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
        if DOTTED_NAME.fullmatch(name):
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
