"""The point of an error: its own words, without time, place, level and directories."""

from __future__ import annotations

import re

from pytest_ralph.text.regex import regex

# The header of a shown difference: only the name of the file in it matters.
DIFF_HEADER = regex(r"^(?:---|\+\+\+) (?P<file>\S+)(?:\s+(?:\d{4}-\d\d-\d\d .*|\(\w+\)))?$")
# A file with a position, or before a colon. In "a.lock was not found" it is part of a sentence.
PLACE = regex(
    r"^(?:file://)?(?P<file>[\w@.~+/\\-]*[\w-]\.[A-Za-z]\w{0,9})"
    r"(?:(?:[:(]\d+(?:(?:[:.-]|, ?)\d+)*\)?|[,:] (?:line|ligne|Zeile|línea|linha) \d+)"
    r"\s*(?::|-|—|\s)|\s*(?::|-|—)(?=\s))\s*"
)
POSITION = regex(r"^[\w@.~+/\\-]*[\w-]\.[A-Za-z]\w{0,9}:\d+(?::\d+)?:\s*")
SHELL_PLACE = regex(
    r"^(?:/\S*/)?(?:ba|da|k|z)?sh: (?:(?:(?:line|ligne|Zeile|línea|linha) )?\d+: )?"
    r"(?:\d+ (?=[A-Z]))?"
)
# What runners of other programs put before an error.
RUNNER_WORDS = regex(
    "^(?:"
    r"g?make(?:\[\d+\])?: \*+ "
    r"|(?:python[\d.]* -m )?[\w.-]+: error: (?=unrecognized )|[\w-]+: error: (?=\S)"
    # `nox > `, `mypy: a.py:3:`, `total: total: `
    r"|nox > |[a-z][\w.]*: ?(?=[\w./-]+\.\w+:\d+:)|(\w+): (?=\1: )|\[\"(?=[A-Z])"
    # Loggers of Python, and what Java and PHP say of an exception that was not caught.
    r"|(?:ERROR|CRITICAL):[\w.]+:|(?:ERROR|CRITICAL) [\w.]+: (?=[a-z])"
    r"|Exception in thread \S+ |(?:PHP )?Fatal error: +Uncaught "
    r"|Retrying \(Retry\([^)]*\)\) after |An unexpected error occurred: \"https?://\S+: "
    # Valgrind, and the methods of Ruby itself.
    r"|==\d+== ?|<internal:[^>]+>:\d+:|in [`'][^`']+': "
    r"|Failed to execute goal .*?: (?=[A-Z])|(?:[\w.-]+/)+: |template: "
    r"|SystemCheckError: System check identified some issues: "
    # nginx, and MySQL's numbers.
    r"|\d+#\d+: |\d{4} \([0-9A-Z]{5}\)(?: at line \d+)?: "
    # yarn, Verilator, RSpec, TAP.
    r"|YN\d+: │ |%(?:Warning|Error)-\w+: |Failure/Error: |not ok \d+ (?:- )?"
    # A linker's section, the program of a failed assert, a code of Node.
    r"|\S+:\(\.\w+\+0x[0-9a-f]+\): |\S+: \S+:\d+: [^:]+: (?=Assertion )|Error \[[A-Z_]+\]: "
    ")"
)
# What stands before the words of an error. Each is removed as often as it occurs.
PREFIXES = (
    # The time.
    regex(r"^[\[(]?\d{2,4}[-/:]\d\d[-/:]\d\d\S*(?:[ T]\d\d:\d\d\S*)?[\])]?\s+"),
    SHELL_PLACE,
    RUNNER_WORDS,
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
LEADING_DIRECTORIES = regex(
    r"^\.{0,2}/(?:[\w.@+~-]+/)*(?=[\w.@+-])|^(?:[\w.@+~-]+/)+(?=[\w@+-]+\.[a-z]\w{0,9}(?:\s|$))"
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
    (LEADING_DIRECTORIES, ""),
    # The directories of an absolute path; a relative path is how the project names its files.
    (regex(r"(?<![\w:@/.])/(?:[\w.@+~-]+/)+(?=[\w.@+-])"), ""),
)
EXCEPTION = regex(
    r"^(?:\w+[.:]+)*(?P<name>[A-Z]\w*(?:Error|Exception|Failure|Failed)|(?<=[.:])[A-Z]\w+)"
    r"(?: \[\w+\])?:\s*"
)
ASSERTION = regex(r"^(?:Assertion(?:Failed)?Error|ComparisonFailure)$")


def point_of(error: str) -> str:
    """Return an error without timestamp, level, position, module path and directories."""
    text = " ".join(error.split())
    header = DIFF_HEADER.match(text)
    if header:
        return header["file"]
    text = without_prefixes(text)
    # Only the first file is a place: one without a position is what the error is about.
    for place in (PLACE, POSITION):
        text = without_prefixes(place.sub("", text, count=1) or text)
    exception = EXCEPTION.match(text)
    if exception and ASSERTION.match(exception["name"]):
        text = without_prefixes(text[exception.end() :])
    elif exception:
        text = text[exception.start("name") :]
    for pattern, replacement in REPLACEMENTS:
        text = pattern.sub(replacement, text)
    return text.strip()


def without_prefixes(text: str) -> str:
    """Return an error without what stands before its own words, apart from a place."""
    before = ""
    while text != before:
        before = text
        for prefix in PREFIXES:
            # What stands in brackets may be all there is.
            text = prefix.sub("", text, count=1) or text
    return text


def file_in(error: str) -> str:
    """Return the file at which an error points; empty if it names no place."""
    place = PLACE.match(without_prefixes(" ".join(error.split())))
    return place["file"] if place else ""


def message_of(point: str) -> str:
    """Return what an exception says, without the name of its class; other errors as they are."""
    exception = EXCEPTION.match(point)
    if exception is None:
        return point
    return without_prefixes(point[exception.end() :])
