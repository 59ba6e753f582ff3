"""Lines of an output that say nothing about the failure, whatever words they contain.

Noise never counts: source shown below a diagnostic, stack frames, hints, what passed or was
ignored. Data (values in JSON, differences, log lines, attempts that were repeated) may contain the
words of any cause, so it counts only if nothing else does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.lines import indent_of, line_above, lines_below, numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.output import CommandOutput

NOISE = re.compile(
    r"""
    \s*(?:>\s*)?(?:L?\d+\s*)?[|│┃](?!\s(?:ERROR|WARNING)\b)      # source shown below a diagnostic
    | \s*[\^~]+$
    | \s*(?:-+>|╭|╰|┌|└|→|❯)\s
    | ⎯{3}
    | \s+at\s+(?:async\s+)?[\w$.<>\[\]@#/ ]*                    # frames of a stack trace
      \(?(?:node:|file:|/|\w+\.(?:java|kt|scala|js|ts)\b|<anonymous>|native)
    | \s+\S+:\(?\d+:\d+\)?-\(?\d[\d:]*\)?\t
    | \s*\.{3}\s\d+\s(?:more|common)
    | \+{1,3}\s\w                                               # a shell's trace
    | \s*(?:help|note|hint|tip|see|info|debug|trace|warn(?:ing)?)\s*[:=\]]\s(?!retrying|not\sa\sgit)
    | \s+-{1,2}[\w-]+[^\s]*(?:\s<\S+)?\s{2,}\S                 # an option in a usage text
    | \s*=\s(?:help|note)
    | \s*[^\s:]+:\d+(?::\d+)?:\s(?:\s+required\sfrom|(?:note|info|remark|(?-i:[A-Z]\w*Warning)):)
    | (?:\w[\w.-]*:\s)?\[?(?:info|debug|trace)\]?[:\s]
    | [\[\d/.\- tT]{0,20}\d\d:\d\d:\d\d\S{0,12}\s+\[?(?:info|debug|trace|warn(?:ing)?)
    | \s*(?:✓|✔|√|✅|🟢|ok(?:\s+|:\s)\w|ok\s-\s|(?-i:PASS)\b)      # what passed
    | \s*\[\s*(?:OK|PASS(?:ED)?|[✓✔√])\s*\]
    | \s*(?:SKIP(?:PED)?:|(?-i:XFAIL|XPASS|SKIPPED))\s
    | (?:psql:\S+:\s)?NOTICE:\s\s
    | ⧗\s
    | nox\s>\suv\sbinary\snot\sfound\.$
    | \s*⚠\ufe0f?\s\s
    | \(node:\d+\)\s(?:\[\w+\]\s)?(?:Deprecation|Experimental)Warning
    | \s+(?-i:Given|When|Then|And|But)\s\S.*\s\#\s(?:None|\S+:\d+)$   # steps of a scenario
    | \(Use\s`node\s--trace
    | error:\sfailed\sto\spush\ssome\srefs
    | \[notice\]
    | (?:\#\d+|\s>)\s\[[^]]+\]\s                                # steps of an image build
    | \s*\#\s(?:include|define|import)\b
    | \#\s[\w-]+\.[\w.-]+/\S+(?:\s\[\S+\])?$                    # go: the package
    | (?:npm|yarn|pnpm)\s(?:warn|notice
      |(?:error|ERR!)\s(?:code|A\scomplete\slog|errno|syscall|path|workspace|location
        |command|Lifecycle|Test\sfailed\.\s+See\sabove)\b)
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Nothing is wrong (`Bad licenses: 0`, `upload ... ok (2 retries)`, `{"status":"pass"}`), it was to
# be so, or the line is a row in a table of tests.
NOTHING_WRONG = re.compile(
    r"\b(?:0|no) (?:errors?|failures?|failed|problems?|issues?|vulnerabilit)"
    r"|^\W*[a-z][a-z ]*: 0$|^\s*\"?\w+\"?: (?:false|null|undefined),?$"
    r"|(?:\s{2}|[|│] ?)\[?(?:PASS(?:ED)?|FAIL(?:ED)?|OK|SKIP(?:PED)?)\]?$"
    r"|[|│] ?(?:PASS(?:ED)?|OK|SKIP(?:PED)?|[✅✓✔])(?: *[|│].*)?$"
    r"|(?<!\bnot)(?<!\bis)(?:\s|\.)ok(?: \([^()]*\))?$|\bexpected failures?$"
    r"| \((?:as )?expected(?: (?:by|during|for|here|in|while) [^()]*)?\)$"
    r'|^\{.*"(?:(?:status|result|outcome)": ?"(?:pass(?:ed)?|ok|skip(?:ped)?)"|expected": ?true)',
    re.IGNORECASE,
)
# The title of a suite that passed, of a test that need not pass yet, or of what a program logged
# while it was tested: what is indented below it says nothing about the failure.
QUIET_TITLE = re.compile(
    r"^std(?:out|err) \| \S|^(?P<indent>\s*)(?:PASS \S+\.\w+\b|● Console$|\S.* # (?:TODO|SKIP)\b)"
)
NEVER = re.compile(r"(?!)")
BLANK = re.compile(r"$")
CARET = re.compile(r"^\s*~*\^[\^~]*\s*$")
PYTHON_FRAME = re.compile(r'^\s+File "[^"]+", line \d+')
# A warning in a log.
WARNED = re.compile(r"^[\[(]?\d{2,4}[-/:.]\d\d\S*\s.*\b(?:WARN\w*|INFO|DEBUG)\b")
PART_OF_TRACEBACK = re.compile(
    r"^(?: |$|[\w.]+: |Traceback|The above exception was|During handling of)"
)
IGNORED_BY_MAKE = "(ignored)"

# A value in JSON or of an object that node prints below an error, what a program logged while it
# was running, or an attempt that will be repeated; after the last attempt of pip
# (`total=0`) the failure counts.
DATA = re.compile(
    r'^\s*(?:"[^"]+":\s|"[^"]*",?$|[{}\[\]]+,?$|\{".*|\[\{".*'
    r"|\w+: (?:.*,|true|false|undefined|null)$)"
    r"|^(?-i:ERROR|CRITICAL|WARNING):[\w.]*:"
    r"|^[\[\d/.\- tT]{0,20}\d\d:\d\d:\d\d\S{0,12}\s+\[?(?:error|critical)\b"
    r"|\b(?:attempt|try|retry) \d+ ?(?:of|/) ?\d+\b|^\W*waiting for\b"
    r"|, (?:using|falling back|continuing)\b"
    r"|\b(?:retrying(?! \(Retry\(total=0\b)|will retry|trying again|retry in)\b",
    re.IGNORECASE,
)
# What stands above it has been tried again.
TRIED_AGAIN = re.compile(
    r"^\W*(?:retry(?:ing)?\b(?: \d+)?\s*[:(.]|waiting for\b.*[\d.)]$)", re.IGNORECASE
)
# No further attempt mends the code.
UNMENDABLE = re.compile(r"(?:ModuleNotFound|Import|Syntax|Indentation|Name|Attribute|Type)Error: ")
# git shows the line below its complaint about white space.
WHITE_SPACE = re.compile(r"^\S+:\d+: (?:trailing whitespace|space before tab|indent with)")
DIFF_START = re.compile(r"^\s*(?:@@ |[-+] (?:expected|received|actual)\b(?!:))", re.IGNORECASE)
DIFF_LINE = re.compile(r"^\s*(?:[-+@\\]|$)|^ ")
LONGEST_DIFF = 60
# How many lines of the old and the new file a part of a difference shows.
HUNK = re.compile(r"^@@ -\d+(?:,(?P<old>\d+))? \+\d+(?:,(?P<new>\d+))? @@")


def noise_lines(output: CommandOutput) -> frozenset[int]:
    """Return the numbers of the lines that never count."""
    found = frozenset[int]().union(
        _noise(output.english),
        _below_quiet_titles(output.lines),
        _up_to_ignored_error(output.lines),
        logged_tracebacks(output.lines),
    )
    if found.issuperset(numbers_of(str, output.lines)):
        # The only warning of a tool is what it failed for.
        return frozenset()
    return found


def _noise(lines: Sequence[str]) -> Iterator[int]:
    """Yield the lines that are noise in themselves, and the source that a traceback shows."""
    frame_indent: int | None = None
    for number, line in enumerate(lines):
        indent = indent_of(line)
        if PYTHON_FRAME.match(line):
            frame_indent = indent
            yield number
        elif frame_indent is not None and indent > frame_indent:
            yield number
        else:
            frame_indent = None
            if _is_noise(line) or _is_pointed_at(lines, number):
                yield number


def _is_noise(line: str) -> bool:
    return NOISE.match(line) is not None or NOTHING_WRONG.search(line) is not None


def _is_pointed_at(lines: Sequence[str], number: int) -> bool:
    """Return whether the lines around it show that a line is source."""
    if lines[number].startswith("+") and WHITE_SPACE.match(line_above(lines, number)):
        return True
    return any(map(CARET.match, lines_below(lines, number, 1)))


def _below_quiet_titles(lines: Sequence[str]) -> Iterator[int]:
    """The title of what passed or need not pass, and the lines that are indented deeper below.

    vitest does not indent what was logged, but prints a blank line below it.
    """
    end = NEVER
    for number, line in enumerate(lines):
        title = QUIET_TITLE.match(line)
        if title:
            end = _end_below(title["indent"])
        elif end.match(line):
            end = NEVER
        if end is not NEVER:
            yield number


def _end_below(indent: str | None) -> re.Pattern[str]:
    """Return what the line looks like that ends what stands below a title."""
    if indent is None:
        return BLANK
    return re.compile(rf"\s{{0,{len(indent)}}}\S")


def _up_to_ignored_error(lines: Sequence[str]) -> range:
    """The lines up to the last one in which make ignores an error."""
    ignored = numbers_of(lambda line: line.endswith(IGNORED_BY_MAKE), lines)
    return range(max(ignored, default=-1) + 1)


def logged_tracebacks(lines: Sequence[str]) -> Iterator[int]:
    """A traceback below a logged warning did not end the program if more was printed below it."""
    logged: list[int] = []
    for number, line in enumerate(lines):
        is_title = line.startswith("Traceback (most recent")
        is_start = is_title and WARNED.match(line_above(lines, number))
        if is_start or (logged and PART_OF_TRACEBACK.match(line)):
            logged.append(number)
        else:
            yield from logged
            logged = []


def data_lines(output: CommandOutput) -> frozenset[int]:
    """Return the numbers of the lines that count only if nothing else says what went wrong."""
    return frozenset[int]().union(
        numbers_of(DATA.search, output.lines),
        _first_tries(output.lines),
        _diff_lines(output.lines),
    )


def _first_tries(lines: Sequence[str]) -> Iterator[int]:
    """The lines that say that something is tried again, and those above, which say why."""
    for number in numbers_of(TRIED_AGAIN.match, lines):
        yield number
        if number > 0 and not UNMENDABLE.match(lines[number - 1]):
            yield number - 1


def _diff_lines(lines: Sequence[str]) -> Iterator[int]:
    inside_until = -1
    has_context = False
    for number, line in enumerate(lines):
        if DIFF_START.match(line):
            inside_until = number + LONGEST_DIFF
            has_context = line.startswith("@@ ")
        elif number <= inside_until:
            if not DIFF_LINE.match(line):
                inside_until = -1
            elif has_context or line.lstrip().startswith(("-", "+")):
                yield number


def hunk_lines(lines: Sequence[str]) -> Iterator[int]:
    """Yield the numbers of the lines of files that a difference shows, as `git diff` does."""
    old = new = 0
    for number, line in enumerate(lines):
        if old > 0 or new > 0:
            yield number
            if not line.startswith("+"):
                old -= 1
            if not line.startswith("-"):
                new -= 1
            continue
        header = HUNK.match(line)
        if header:
            old = int(header["old"] or 1)
            new = int(header["new"] or 1)
