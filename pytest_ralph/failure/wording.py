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

# The header of a shown difference: only the name of the file in it matters.
DIFF_HEADER = regex(r"^(?:---|\+\+\+) (?P<file>\S+)(?:\s+(?:\d{4}-\d\d-\d\d .*|\(\w+\)))?$")
# A file with a position, or before a colon. In "a.lock was not found" it is part of a sentence.
PLACE = regex(
    r"^(?:file://)?(?P<file>[\w@.~+/\\-]*[\w-]\.[A-Za-z]\w{0,9})"
    r"(?:(?:[:(]\d+(?:(?:[:.-]|, ?)\d+)*\)?|, line \d+)\s*(?::|-|—|\s)|\s*(?::|-|—)(?=\s))\s*"
)
POSITION = regex(r"^[\w@.~+/\\-]*[\w-]\.[A-Za-z]\w{0,9}:\d+(?::\d+)?:\s*")
# What stands before the words of an error. Each is removed as often as it occurs.
SHELL_PLACE = regex(
    r"^(?:/\S*/)?(?:ba|da|k|z)?sh: (?:(?:(?:line|ligne|Zeile|línea|linha) )?\d+: )?"
    r"(?:\d+ (?=[A-Z]))?"
)
PREFIXES = (
    # The time.
    regex(r"^[\[(]?\d{2,4}[-/:]\d\d[-/:]\d\d\S*(?:[ T]\d\d:\d\d\S*)?[\])]?\s+"),
    SHELL_PLACE,
    # What runners of other programs put before an error.
    regex(
        r"^g?make(?:\[\d+\])?: \*+ |^Exception in thread \S+ |^(?:PHP )?Fatal error: +Uncaught "
        r"|^Retrying \(Retry\([^)]*\)\) after |^An unexpected error occurred: \"https?://\S+: "
        r"|^==\d+== ?|^<internal:[^>]+>:\d+:|^in [`'][^`']+': "
        r"|^Failed to execute goal .*?: (?=[A-Z])|^(?:[\w.-]+/)+: |^template: "
        r"|^SystemCheckError: System check identified some issues: "
        r"|^\d+#\d+: |^YN\d+: │ |^%(?:Warning|Error)-\w+: |^Failure/Error: |^not ok \d+ (?:- )?"
        r"|^\S+:\(\.\w+\+0x[0-9a-f]+\): |^\S+: \S+:\d+: [^:]+: (?=Assertion )|^Error \[[A-Z_]+\]: "
    ),
    # A label in brackets; not a value that is compared.
    regex(r"^[\[(<{](?!rejected|remote)[^\])>}]{0,40}[\])>}](?!\s*[!=<>]=):?\s*"),
    # What the line is worth.
    regex(
        r"^(?:(?:npm|yarn|pnpm) (?:error|ERR!) (?:[A-Za-z.]*\d*(?:parse|enoent|notarget) )?"
        r"|\d+:\d+\s+(?:error|warning)\s+|(?:FAILED|ERROR|INTERNALERROR>) (?=\S+(?:::|\w*Error)))"
        r"|^\W*(?:fatal |uncaught )?(?:error|err!|fatal|failed|failure|fail|e)\b"
        r"(?:\s*\[?\(?[A-Z]{0,4}\d{2,5}\)?\]?)?(?:\[[\w-]+\])?\s*[:!-]\s*",
        re.IGNORECASE,
    ),
    regex(r"^\W*(?:ERROR|WARNING|FATAL):? (?=\S)|^\W*(?:error|[Ww]arning) (?=[A-Z])|^x (?=[A-Z])"),
    # The node id of a test.
    regex(r"^[\w./-]+\.\w+::\S+ - "),
    # Where a linter found something, in the columns of a table.
    regex(
        r"^L:\s*\d+ \| P:\s*\d+ \|\s*|^\d+ \| (?:ERROR|WARNING) +\| (?:\[.\] )?"
        r"|^[CEFIRW]:\s*\d+[:,]\s*\d+: |^[CEFRW]: (?:\[Correctable\] )?|^\d+:\d+ [✖⚠×] "
    ),
    # Marks, and the numbers of a list.
    regex(r"^\^?-*\^\s+|^[\s✖✗✘✕×●•*|│└├─>#!E+-]+(?=\s|$)\s*|^[✖✗✘✕×●•]+|^\d+[.)] (?=[^\W\d])"),
)
# What is said in fewer words.
REPLACEMENTS = (
    # What git says about a push.
    (regex(r"^\[((?:remote )?rejected)\]"), r"\1:"),
    # What node says before it shows both values.
    (regex(r"^Expected values to be (?:strictly |loosely )?(?:deep-)?equal: (?=[^+(\s])"), ""),
    (regex(r"^expect\(received\)\.((?:\w+\.)?\w+)\((?:expected)?\)(?: // .*)?"), r"\1 failed"),
    # The class of an error behind another one, a ruler, and all of an address but the host.
    (regex(r"\((?:\w+\.)+\w+Error\) "), ""),
    (regex(r"\s*([-=+*_~])\1{5,}\s*"), " "),
    (regex(r"\bhttps?://(?:[^@/\s]+@)?([\w.-]+\w(?::\d+)?)[^\s'\"),]*"), r"\1"),
)
INTERPRETER = regex(r"^/\S*/python[\d.]*: ")
EXCEPTION = regex(
    r"^(?:\w+[.:]+)*(?P<name>[A-Z]\w*(?:Error|Exception|Failure|Failed)|(?<=[.:])[A-Z]\w+)"
    r"(?: \[\w+\])?:\s*"
)
# Exceptions whose message says it all.
ABSENCE = regex(r"^(?:ModuleNotFound|FileNotFound|Import)Error: (?:\[Errno \d+\] )?")
ASSERTION = regex(r"^(?:Assertion(?:Failed)?Error|ComparisonFailure)$")
# What is said about a command that printed nothing.
COMMAND_ENDED = regex(r"^`(?P<command>.+)` (?P<how>exited with status \d+)$")
# What is said about a run that did not end by itself: none of its tests is the subject.
RUN_ENDED = regex(r"\(exit status \d+\)$")
# The directories of an absolute path; a relative path is how the project names its files.
DIRECTORIES = regex(r"(?<![\w:@/.])/(?:[\w.@+~-]+/)+(?=[\w.@+-])")
LEADING_DIRECTORIES = regex(
    r"^\.{0,2}/(?:[\w.@+~-]+/)*(?=[\w.@+-])|^(?:[\w.@+~-]+/)+(?=[\w@+-]+\.[a-z]\w{0,9}(?:\s|$))"
)
NOT_A_START = regex(r"^[^\w'\"`‘“«.$%-]+")
DATA = regex(r"^[{\[\"'].*\":|^\W*$")
PATH = regex(r"[\w.@+~-]*(?:/[\w.@+~-]+)+|[\w@+~-]+\.[a-z]\w{0,4}")
WORD = regex(r"[^\W\d_]{3}")
# `shop.tests.CartTest.test_total`, but not `cart.t`, which is a file.
DOTTED_NAME = regex(r"[\w.$]+\w{4}")
# The method in `JUnit Jupiter:CartTest:total()`.
METHOD = regex(r"^.*:(\w+\(\))$")
LAST_WORD = regex(r"\s+\S*$")
# Words that announce what was cut, and a clause of which only a word or two is left.
DANGLING = regex(
    r"(?: (?:a|an|and|are|as|at|be|but|by|for|from|has|have|in|into|is|it|its|no|of|on|or|that|the"
    r"|this|to|was|were|which|with|//|==|!=|=))+$|,(?: [\w-]+){1,2}$",
    re.IGNORECASE,
)
QUOTES = "\"'`"
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
    point = _introduced(failure, _point(failure.error))
    subject = _subject(failure)
    if subject and subject.lower() not in point.lower():
        point = f"{subject}: {point}"
    point = NOT_A_START.sub("", point)
    if len(point) > LONGEST_TITLE:
        point = ABSENCE.sub("", point)
    command = COMMAND_ENDED.match(point)
    if command and len(point) > LONGEST_TITLE:
        # How it ended matters more than its last arguments.
        end = f"…` {command['how']}"
        return "`" + shorten(command["command"], LONGEST_TITLE - len(end) - 1) + end

    shortened = shorten(point, LONGEST_TITLE)
    missing = LEADING_DIRECTORIES.sub("", failure.missing or "")
    if missing in point and missing not in shortened:
        # The name that was cut matters more than the words around it.
        return shorten(f"{missing} is missing", LONGEST_TITLE)
    is_sentence = " " in shortened and WORD.search(shortened) is not None
    introduced = f"{headline(failure.kind)}: {shortened}"
    if (is_sentence and shortened != subject) or len(introduced) > LONGEST_TITLE:
        return shortened
    return introduced


def _introduced(failure: Failure, point: str) -> str:
    """Return the point of an error, or a headline if it is only data, a code or a file."""
    words = NOT_A_START.sub("", point)
    is_code = "_" in failure.kind and words.startswith(failure.kind)
    if not words or is_code or DATA.match(words):
        return headline(failure.kind)
    if PATH.fullmatch(point) and WORD.search(point):
        return f"{point.rsplit('/', 1)[-1]}: {headline(failure.kind)}"
    return point


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
    for file in failure.files:
        is_in_error = file.rsplit("/", 1)[-1] in failure.error
        if is_in_error and failure.line is not None:
            return f"{file} line {failure.line}"
        if is_in_error:
            return file
    return failure.files[0]


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
    shortened = DANGLING.sub("", shortened).rstrip(" ,:;([{-–—*«")
    if shortened.count(shortened[-1:]) % 2 and shortened.endswith(tuple(QUOTES)):
        # The quoted name is cut.
        shortened = shortened[:-1].rstrip()
    return shortened or text[:limit]


def _point(error: str) -> str:
    """Return an error without timestamp, level, position, module path and directories."""
    text = " ".join(error.split())
    header = DIFF_HEADER.match(text)
    if header:
        return header["file"]
    text = _without_prefixes(text)
    # Only the first file is a place: one without a position is what the error is about.
    text = _without_prefixes(PLACE.sub("", text, count=1) or text)
    text = _without_prefixes(POSITION.sub("", text, count=1) or text)
    match = EXCEPTION.match(text)
    if match and ASSERTION.match(match["name"]):
        text = _without_prefixes(text[match.end() :])
    elif match:
        text = text[match.start("name") :]
    for pattern, replacement in REPLACEMENTS:
        text = pattern.sub(replacement, text)
    return DIRECTORIES.sub("", LEADING_DIRECTORIES.sub("", text))


def _without_prefixes(text: str) -> str:
    """Return an error without what stands before its own words, apart from a place."""
    before = ""
    while text != before:
        before = text
        for prefix in PREFIXES:
            # What stands in brackets may be all there is.
            text = prefix.sub("", text, count=1) or text
    return text


def _subject(failure: Failure) -> str:
    """Return the short name of the failing test or of the file that the error points into."""
    if RUN_ENDED.search(failure.error):
        return ""
    if failure.failed_tests:
        name = failure.failed_tests[0]
        name = name.rsplit("::", 1)[-1] if "::" in name else name
        name = re.split(r" (?:>|›|») ", name)[-1]
        if DOTTED_NAME.fullmatch(name):
            name = name.rsplit(".", 1)[-1]
        name = METHOD.sub(r"\1", LEADING_DIRECTORIES.sub("", name))
        name = NOT_A_START.sub("", name)
        return name if " " not in name else shorten(name, LONGEST_SUBJECT)
    match = PLACE.match(_without_prefixes(" ".join(failure.error.split())))
    if match is None:
        return ""
    return match["file"].replace("\\", "/").rsplit("/", 1)[-1]
