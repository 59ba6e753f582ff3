"""Short texts about a failure: a headline, the title of a fix task, where to look, and a hint."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.lines import number_of
from pytest_ralph.failure.point import (
    EXCEPTION,
    LEADING_DIRECTORIES,
    SHELL_PLACE,
    file_in,
    message_of,
    point_of,
)
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
    "verification_mismatch": "claimed, but not verified",
    "timeout": "timed out",
    "parse_error": "cannot be parsed",
    "dependency_missing": "missing package",
    "command_not_found": "command not found",
    "permission_denied": "permission denied",
    "service_unavailable": "service unavailable",
    "resource_exhausted": "out of resources",
    "crash": "crashed",
    "circular_dependency": "circular dependency",
    "file_conflict": "file conflict",
    "plan_invalid": "invalid plan",
    "context_exhausted": "context exhausted",
    "missing_context": "missing information",
    "invalid_task": "invalid task",
    "circular_fix": "repeated fix",
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

INTERPRETER = regex(r"^/\S*/python[\d.]*: ")
# What is said about a command that printed nothing, or only data.
COMMAND_ENDED = regex(
    r"^`(?P<command>.+)` (?P<how>exited with status \d+$|printed \d+$|found a match)"
)
# What is said about a run that did not end by itself: none of its tests is the subject.
RUN_ENDED = regex(r"\(exit status \d+\)$")
NOT_A_START = regex(r"^(?:(?!@\w)[^\w'\"`‘“«.$%-])+")
DATA = regex(r"^[{\[\"'].*\":|^\W*$")
PATH = regex(r"[\w.@+~-]*(?:/[\w.@+~-]+)+|[\w@+~-]+\.[a-z]\w{0,4}")
WORD = regex(r"[^\W\d_]{3}")
# `shop.tests.CartTest.test_total`, but not `cart.t`, which is a file.
DOTTED_NAME = regex(r"[\w.$]+\w{4}")
# `[lighthouses] parse`
SUITE_LABEL = regex(r"^\[[^\]]*\]\s+(?=\w)")
# The method in `JUnit Jupiter:CartTest:total()`.
METHOD = regex(r"^.*:(\w+\(\))$")
LAST_WORD = regex(r"\s+\S*$")
# What a cut leaves at the end: a remark or quote that stays open, a phrase of which only a word
# is left, and words that announce what was cut.
UNCLOSED = regex(
    r"\s*(?:\s\((?=[a-z])[^)]*|\{[^}]*|(?<=[\s=])(?:'[^']*|\"[^\"]*|`[^`']*|‘[^’]*|“[^”]*))$"
)
CUT_PHRASE = regex(
    r"(?:(?<=[\w'\"`’]),|(?<=[.;!?])| (?:after|and|at|because|before|but|by|during|for|from|if"
    r"|in(?! use)|into|on|or|to|using|when|which|while|with|without))(?: [\w-]+)$",
    re.IGNORECASE,
)
IN_PHRASE = regex(r"\w [\w'\"`‘“]")
DANGLING = regex(
    r"(?: (?:a|an|and|are|as|assert|at|be|but|by|can|cannot|could|did|do|does|for|from|has|have|in"
    r"|into|is|it|its|must|no|not|of|on|or|should|than|that|the|this|to|was|were|which|will|with"
    r"|would|//|==|!=|=))+$",
    re.IGNORECASE,
)
GOT = regex(r",? got$")
END_PUNCTUATION = " ,:;([{-–—*«"
REMARK = regex(r"\s*[(\[][^()\[\]]*[)\]]$")
FEWEST_WORDS = 3
# A command line, as opposed to "(agent message)".
COMMAND_START = regex(r"[^(\s]")
# What a finding in JSON says.
JSON_MESSAGE = regex(r"\"@?(?:message|msg)\": ?\"([^\"]{8,})\"")
# A number or the like, which says nothing without the command that printed it.
VALUE = regex(r"(?:true|false|null|none|[\W\d]\S{0,11})", re.IGNORECASE)
# A word that only says that something failed.
FAILED = regex(r"(?:error|fail(?:ed|ure)?|fatal)\W*", re.IGNORECASE)
# `run poetry lock`, 'try `npx playwright install`': what the tool itself says to do.
HINT = regex(
    r"(?:(?:^\W*|[.:;,!?\])`]\s+|\()(?=please |try |run |use (?!of )|hint: |help: |fix: |to fix\b"
    r"|consider )"
    r"|(?:^|[\s(])(?=you (?:can|should|(?:may |might )?need to|must) |did you (?:mean|forget)))"
    r"(?P<hint>[^\n]*[`'\"][^`'\"\n]+[`'\"][^\n]*)",
    re.IGNORECASE,
)
UNSOUND_HINT = regex(
    r"disabl|ignor|noqa|suppress|skip|--force|--no-verify|backtrace|verbose|--help|\blog\b|stack"
    r"|overrid|allow\(|-vv|\braise\b|\bthrow\b"
    r"|update (?:the )?(?:snapshot|test)|-u\b|debug|passWith|increase limit"
    r"|--explain|for help|to see\b",
    re.IGNORECASE,
)


def headline(kind: str) -> str:
    """Return the words for a kind: "tests failed", "not formatted", "command not found"."""
    return HEADLINES.get(kind) or kind.replace("_", " ")


def title(failure: Failure) -> str:
    """Return a title of at most 50 characters: the test or file, and the point of the error.

    It never starts with a path, a timestamp, a bracket or a position, and ends with a whole word.
    """
    point = point_of(failure.error)
    command = COMMAND_ENDED.match(point)
    if command:
        return _about_command(command["command"], f" {command['how']}")
    if PATH.fullmatch(point):
        name = point.rsplit("/", 1)[-1]
        return shorten(f"{name}: {headline(failure.kind)}", LONGEST_TITLE)
    words = NOT_A_START.sub("", point)
    if _says_nothing(failure, words):
        message = JSON_MESSAGE.search(failure.error)
        if message:
            point = message[1]
        elif failure.failed_tests:
            point = headline(failure.kind)
        else:
            return _title_without_words(failure, words)

    text = NOT_A_START.sub("", _best_wording(failure, point))
    if not text:
        return _title_without_words(failure, words)
    is_sentence = " " in text and text != _subject(failure)
    introduced = f"{headline(failure.kind)}: {text}"
    if is_sentence or len(introduced) > LONGEST_TITLE:
        return text
    return introduced


def _says_nothing(failure: Failure, point: str) -> bool:
    """Return whether an error is only data, a value, or the code of its kind."""
    words = point.lower()
    if words == failure.kind or DATA.match(point):
        return True
    # "unknown option --x" says more than the kind.
    if failure.kind != "unknown" and words.startswith(f"{failure.kind} "):
        return True
    if _subject(failure):
        return False
    if FAILED.fullmatch(point):
        return True
    return VALUE.fullmatch(point) is not None or WORD.search(point) is None


def _title_without_words(failure: Failure, point: str) -> str:
    """Return a title for an error that says nothing without its command."""
    command = failure.command
    if not COMMAND_START.match(command):
        return headline(failure.kind)
    if VALUE.fullmatch(point) and not DATA.match(point):
        return _about_command(command, f" printed {point}")
    return _about_command(command, f": {headline(failure.kind)}")


def _about_command(command: str, end: str) -> str:
    """Return a command, shortened if it must be, and how it ended."""
    line = " ".join(command.split())
    # Besides two backticks.
    room = LONGEST_TITLE - len(end) - 2
    if len(line) > room:
        line = LAST_WORD.sub("", line[:room]) + "…"
    return f"`{line}`{end}"


def _best_wording(failure: Failure, point: str) -> str:
    """Return the first wording that fits into a title, else the beginning of one.

    A failing test is always named; a file is left out if only that saves the end of the error.
    """
    message = message_of(point) or point
    wordings = [point, message, REMARK.sub("", message)]

    subject = _subject(failure)
    introduction = "" if subject.lower() in point.lower() else f"{subject}: "
    candidates = [introduction + wording for wording in wordings]
    if not failure.failed_tests:
        candidates += wordings
    elif introduction:
        # The whole name of the test, if it fits.
        candidates.insert(0, f"{_test_name(failure)}: {point}")
    for wording in candidates:
        if len(wording) <= LONGEST_TITLE:
            return wording
    return _with_missing(failure, point, _beginning(introduction, point))


def _beginning(introduction: str, point: str) -> str:
    """Return the beginning of the message, or the class if next to nothing of the message fits."""
    text = shorten(introduction + message_of(point), LONGEST_TITLE)
    exception = EXCEPTION.match(point)
    words = text.removeprefix(introduction).split()
    if exception and len(words) < FEWEST_WORDS:
        return shorten(introduction + exception["name"], LONGEST_TITLE)
    return text


def _with_missing(failure: Failure, point: str, text: str) -> str:
    """Return the text, or the name of what is missing if that was cut."""
    missing = LEADING_DIRECTORIES.sub("", failure.missing or "")
    if missing in point and missing not in text:
        return shorten(f"{missing} is missing", LONGEST_TITLE)
    return text


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
    for file in failure.files:
        name = file.rsplit("/", 1)[-1]
        if name not in failure.error:
            continue
        if failure.line is None:
            return file
        return f"{file} line {failure.line}"
    return "".join(failure.files[:1])


def tool_hint(failure: Failure) -> str:
    """Return what the tool says to do about its error, unless that only hides the failure."""
    lines = failure.raw_output.splitlines()
    at = number_of(failure.error, lines)
    if at is None:
        # The last lines.
        at = len(lines)
    for line in lines[max(0, at - LINES_ABOVE) : at + LINES_BELOW]:
        match = HINT.search(line)
        if match and not UNSOUND_HINT.search(line):
            return shorten(match["hint"].strip(), LONGEST_HINT)
    return ""


def shorten(text: str, limit: int) -> str:
    """Return text cut at a word, if possible at the end of a phrase, without open quotes."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    shortened = LAST_WORD.sub("", text[: limit + 1])
    if len(shortened) > limit:
        # One long word: cut between its parts.
        return re.sub(r"(?<=\w)\W\w*$", "", text[:limit])
    endings = [UNCLOSED, DANGLING]
    if IN_PHRASE.match(text, len(shortened) - 1):
        endings += [CUT_PHRASE, DANGLING]
    endings.append(GOT)
    for ending in endings:
        without_ending = ending.sub("", shortened.rstrip(END_PUNCTUATION))
        if len(without_ending) >= limit // 4:
            shortened = without_ending
    return shortened.rstrip(END_PUNCTUATION)


def _test_name(failure: Failure) -> str:
    """Return the first failing test without its file, suite and module; empty if there is none."""
    if not failure.failed_tests:
        return ""
    name = failure.failed_tests[0].rsplit("::", 1)[-1]
    name = re.split(r" (?:>|›|») ", name)[-1]
    if DOTTED_NAME.fullmatch(name):
        name = name.rsplit(".", 1)[-1]
    name = LEADING_DIRECTORIES.sub("", name)
    name = METHOD.sub(r"\1", name)
    name = SUITE_LABEL.sub("", name)
    return NOT_A_START.sub("", name)


def _subject(failure: Failure) -> str:
    """Return the short name of the failing test or of the file that the error points into."""
    if RUN_ENDED.search(failure.error):
        return ""
    if failure.failed_tests:
        name = _test_name(failure)
        return name if " " not in name else shorten(name, LONGEST_SUBJECT)
    file = file_in(failure.error)
    if not file and failure.kind == "format_error" and failure.files:
        # "unformatted: File would be reformatted" has its place on the next line.
        file = failure.files[0]
    return file.replace("\\", "/").rsplit("/", 1)[-1]
