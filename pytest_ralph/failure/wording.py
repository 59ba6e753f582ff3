"""Short texts about a failure: a headline, the title of a fix task, where to look, and a hint."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.lines import number_of
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

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

# The header of a shown difference: only the name of the file in it matters.
DIFF_HEADER = regex(r"^(?:---|\+\+\+) (?P<file>\S+)(?:\s+(?:\d{4}-\d\d-\d\d .*|\(\w+\)))?$")
# A file with a position, or before a colon. In "a.lock was not found" it is part of a sentence.
PLACE = regex(
    r"^(?:file://)?(?P<file>[\w@.~+/\\-]*[\w-]\.[A-Za-z]\w{0,9})"
    r"(?:(?:[:(]\d+(?:(?:[:.-]|, ?)\d+)*\)?|[,:] (?:line|ligne|Zeile|línea|linha) \d+)"
    r"\s*(?::|-|—|\s)|\s*(?::|-|—)(?=\s))\s*"
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
        r"^g?make(?:\[\d+\])?: \*+ |^(?:python[\d.]* -m )?[\w.-]+: error: (?=unrecognized )"
        r"|^nox > |^[a-z][\w.]*: ?(?=[\w./-]+\.\w+:\d+:)"
        r"|^[\w-]+: error: (?=\S)|^(\w+): (?=\1: )|^\[\"(?=[A-Z])"
        r"|^(?:ERROR|CRITICAL):[\w.]+:|^(?:ERROR|CRITICAL) [\w.]+: (?=[a-z])"
        r"|^Exception in thread \S+ |^(?:PHP )?Fatal error: +Uncaught "
        r"|^Retrying \(Retry\([^)]*\)\) after |^An unexpected error occurred: \"https?://\S+: "
        r"|^==\d+== ?|^<internal:[^>]+>:\d+:|^in [`'][^`']+': "
        r"|^Failed to execute goal .*?: (?=[A-Z])|^(?:[\w.-]+/)+: |^template: "
        r"|^SystemCheckError: System check identified some issues: "
        r"|^\d+#\d+: |^\d{4} \([0-9A-Z]{5}\)(?: at line \d+)?: "
        r"|^YN\d+: │ |^%(?:Warning|Error)-\w+: |^Failure/Error: |^not ok \d+ (?:- )?"
        r"|^\S+:\(\.\w+\+0x[0-9a-f]+\): |^\S+: \S+:\d+: [^:]+: (?=Assertion )|^Error \[[A-Z_]+\]: "
    ),
    # A label in brackets; not markup, a value that is compared or a target of make.
    regex(
        r"^(?!<(\w+)\b[^>]*>(?:.*</\1>| [a-z]))[\[(<{](?!rejected|remote)[^\])>}]{0,40}[\])>}]"
        r"(?!\s*[!=<>]=| Error \d+$):?\s*"
    ),
    # What the line is worth.
    regex(
        r"^(?:(?:npm|yarn|pnpm) (?:error|ERR!) (?:[A-Za-z.]*\d*(?:parse|enoent|notarget) )?"
        r"|\d+:\d+\s+(?:error|warning)\s+|(?:FAILED|ERROR|INTERNALERROR>) (?=\S+(?:::|\w*Error)))"
        r"|^\W*(?:fatal |uncaught )?(?:error|err!|fatal|failed|failure|fail|warning|e)\b"
        r"(?:\s*\[?\(?[A-Z]{0,4}\d{2,5}\)?\]?)?(?:\[[\w-]+\])?\s*(?:[:!]|-(?!\w))\s*",
        re.IGNORECASE,
    ),
    regex(r"^\W*(?:ERROR|WARNING|FATAL):? (?=\S)|^\W*(?:error|[Ww]arning) (?=[A-Z])|^x (?=[A-Z])"),
    # The node id of a test.
    regex(r"^[\w./-]+\.\w+::\S+ (?:- )?(?=\S)"),
    # Where a linter found something, in the columns of a table.
    regex(
        r"^L:\s*\d+ \| P:\s*\d+ \|\s*|^\d+ \| (?:ERROR|WARNING) +\| (?:\[.\] )?"
        r"|^line \d+,? col(?:umn)? \d+ -? ?"
        r"|^[CEFIRW]:\s*\d+[:,]\s*\d+: |^[CEFRW]: (?:\[Correctable\] )?|^\d+: (?=[A-Z]+\d)"
        r"|^\d+:\d+(?:-\d+:\d+)? (?:[✖⚠×❌] |(?:error|warning) )?(?=[^\W\d])"
    ),
    # Marks, and the numbers of a list.
    regex(
        r"^`-> (?:x )?"
        r"|^\^[-~]*\^?\s+|^[\s✖✗✘✕×●•*|│└├─>#!E+-]+(?=\s|$)\s*|^[✖✗✘✕×●•]+|^\d+[.)] (?=[^\W\d])"
    ),
)
# What is said in fewer words.
REPLACEMENTS = (
    # Markup around the first words: a title does not start with a bracket.
    (regex(r"^<(\w+)\b[^>]*>(.*?)</\1>"), r"\2"),
    (regex(r"^<(\w+)> (?=[a-z])"), r"\1 "),
    (regex(r"^\*\*(.+?)\*\*"), r"\1"),
    # What git says about a push.
    (regex(r"^\[((?:remote )?rejected)\]"), r"\1:"),
    (regex(r"^\[(?:[^\]:]+:\d+: )?([^\]]+)\] (Error \d+)$"), r"make \1: \2"),
    # What node says before it shows both values.
    (regex(r"^Expected values to be (?:strictly |loosely )?(?:deep-)?equal: (?=[^(\s])"), ""),
    (regex(r"^Failed asserting that (.+?) is (?!not )"), r"\1 is not "),
    (regex(r"^expect\(received\)\.((?:\w+\.)?\w+)\((?:expected)?\)(?: // .*)?"), r"\1 failed"),
    # What ruff says above the place.
    (regex(r"^unformatted: File would be reformatted$"), "not formatted"),
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
ASSERTION = regex(r"^(?:Assertion(?:Failed)?Error|ComparisonFailure)$")
# What is said about a command that printed nothing, or only data.
COMMAND_ENDED = regex(
    r"^`(?P<command>.+)` (?P<how>exited with status \d+$|printed \d+$|found a match)"
)
# What is said about a run that did not end by itself: none of its tests is the subject.
RUN_ENDED = regex(r"\(exit status \d+\)$")
# The directories of an absolute path; a relative path is how the project names its files.
DIRECTORIES = regex(r"(?<![\w:@/.])/(?:[\w.@+~-]+/)+(?=[\w.@+-])")
LEADING_DIRECTORIES = regex(
    r"^\.{0,2}/(?:[\w.@+~-]+/)*(?=[\w.@+-])|^(?:[\w.@+~-]+/)+(?=[\w@+-]+\.[a-z]\w{0,9}(?:\s|$))"
)
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
    point = _point(failure.error)
    command = COMMAND_ENDED.match(point)
    if command:
        return _about_command(command["command"], f" {command['how']}")
    if PATH.fullmatch(point):
        return shorten(f"{point.rsplit('/', 1)[-1]}: {headline(failure.kind)}", LONGEST_TITLE)
    words = NOT_A_START.sub("", point)
    if _says_nothing(failure, words):
        message = JSON_MESSAGE.search(failure.error)
        if not message and not failure.failed_tests:
            return _title_without_words(failure, words)
        point = message[1] if message else headline(failure.kind)

    text = NOT_A_START.sub("", _best_wording(failure, point))
    introduced = f"{headline(failure.kind)}: {text}"
    is_sentence = " " in text and text != _subject(failure)
    if is_sentence or len(introduced) > LONGEST_TITLE:
        return text
    return introduced


def _says_nothing(failure: Failure, point: str) -> bool:
    """Return whether an error is only data, a value, or the code of its kind."""
    repeats_kind = f"{point.lower()} ".startswith(f"{failure.kind} ")
    if failure.kind == "unknown":
        # "unknown option --x" says more than the kind.
        repeats_kind = point.lower() == failure.kind
    if repeats_kind or DATA.match(point):
        return True
    is_value = VALUE.fullmatch(point) is not None or not WORD.search(point)
    return is_value and not failure.failed_tests


def _title_without_words(failure: Failure, point: str) -> str:
    """Return a title for an error that says nothing without its command."""
    if not COMMAND_START.match(failure.command):
        return headline(failure.kind)
    if VALUE.fullmatch(point) and not DATA.match(point):
        return _about_command(failure.command, f" printed {point}")
    return _about_command(failure.command, f": {headline(failure.kind)}")


def _about_command(command: str, end: str) -> str:
    """Return a command, shortened if it must be, and how it ended."""
    line = " ".join(command.split())
    if len(line) + len(end) + 2 <= LONGEST_TITLE:
        return f"`{line}`{end}"
    beginning = LAST_WORD.sub("", line[: LONGEST_TITLE - len(end) - 2])
    return f"`{beginning}…`{end}"


def _best_wording(failure: Failure, point: str) -> str:
    """Return the first wording that fits into a title, else the beginning of one.

    A failing test is always named; a file is left out if only that saves the end of the error.
    """
    exception = EXCEPTION.match(point)
    message = _without_prefixes(point[exception.end() :]) if exception else ""
    wordings = [point, message] if message else [point]
    wordings.append(REMARK.sub("", wordings[-1]))

    subject = _subject(failure)
    named = wordings
    if subject and subject.lower() not in point.lower():
        named = [f"{subject}: {wording}" for wording in wordings]
        whole = f"{_test_name(failure) or subject}: {point}"
        if len(whole) <= LONGEST_TITLE:
            return whole
    candidates = named if failure.failed_tests else [*named, *wordings]
    for wording in candidates:
        if len(wording) <= LONGEST_TITLE:
            return wording
    text = shorten(named[0], LONGEST_TITLE)
    if exception:
        text = _shortened_exception(exception["name"], message, named)
    return _with_missing(failure, point, text)


def _shortened_exception(name: str, message: str, named: Sequence[str]) -> str:
    """Return the beginning of the message, or the class if next to nothing of the message fits."""
    text = shorten(named[1], LONGEST_TITLE) if message else named[0]
    beginning = named[1].removesuffix(message)
    if len(text.removeprefix(beginning).split()) < FEWEST_WORDS:
        return shorten(f"{beginning}{name}", LONGEST_TITLE)
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
    text = DIRECTORIES.sub("", LEADING_DIRECTORIES.sub("", text))
    return text.strip()


def _without_prefixes(text: str) -> str:
    """Return an error without what stands before its own words, apart from a place."""
    before = ""
    while text != before:
        before = text
        for prefix in PREFIXES:
            # What stands in brackets may be all there is.
            text = prefix.sub("", text, count=1) or text
    return text


def _test_name(failure: Failure) -> str:
    """Return the first failing test without its file, suite and module; empty if there is none."""
    if not failure.failed_tests:
        return ""
    name = failure.failed_tests[0]
    name = name.rsplit("::", 1)[-1] if "::" in name else name
    name = re.split(r" (?:>|›|») ", name)[-1]
    if DOTTED_NAME.fullmatch(name):
        name = name.rsplit(".", 1)[-1]
    name = METHOD.sub(r"\1", LEADING_DIRECTORIES.sub("", name))
    return NOT_A_START.sub("", SUITE_LABEL.sub("", name))


def _subject(failure: Failure) -> str:
    """Return the short name of the failing test or of the file that the error points into."""
    if RUN_ENDED.search(failure.error):
        return ""
    if failure.failed_tests:
        name = _test_name(failure)
        return name if " " not in name else shorten(name, LONGEST_SUBJECT)
    match = PLACE.match(_without_prefixes(" ".join(failure.error.split())))
    file = match["file"] if match else ""
    if not file and failure.kind == "format_error" and failure.files:
        # "unformatted: File would be reformatted" has its place on the next line.
        file = failure.files[0]
    return file.replace("\\", "/").rsplit("/", 1)[-1]
