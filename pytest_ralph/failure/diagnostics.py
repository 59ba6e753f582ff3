"""Lines by which compilers, linters and checkers point into a file.

Three shapes are read: the place and the message on one line, a message with its place on the line
below it, and rows that have only a position because the file stands in a heading.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_ralph.failure.lines import below, lines_below, matching

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from pytest_ralph.failure.output import CommandOutput

PATH = r"(?:[A-Za-z]:)?[^\s:()\[\]'\"<>|,;=]*[\w)\]]"
# `a.c:3:5: error: ...`, `a.cs(3,5): error CS1: ...`, `a.py, line 3: ...`, `a.sh: line 3: ...`
AT_PLACE = re.compile(
    r"^\s*(?:(?P<level>error|warning|E|W)\s*:?\s+(?:in\s+)?"
    r"|\[\w+\]\s+|vet: |-+> |\*\* |CMake Error at "
    r"|(?P<interpreter>(?:[gmn]?awk|sed): (?:file )?))?"
    rf"(?:file://)?(?P<quote>\"(?=[^\"]+\":\d))?(?P<file>{PATH})(?(quote)\")"
    r"(?::\d+(?:[:.,-]\d+)*(?::@\d+\w+)?|\(\d+(?:[,:] ?\d+)*\)|[,:]? line \d+)"
    r"(?:, col(?:umn)? \d+)?(?P<sep>:| -|,|\s|$)\s*(?P<message>.*)$",
    re.IGNORECASE,
)
# A line that is only a place: `--> a.sol:3:5`, `a.yml:3`, `  on main.tf line 3, in resource ...`
PLACE_LINE = re.compile(
    r"^\s*-+>\s+(?P<arrow>\S+?):\d+(?::\d+)?\b"
    r"|^\s*(?P<bare>[^\s:]+\.\w+):\d+(?:[.:]\d+)?(?: Task/Handler: .*)?$"
    r"|^\s+on (?P<block>\S+) line \d+, in "
)
# What awk reads when a program stops.
RUNTIME_ERROR = re.compile(r"\(FILENAME=.*\) fatal: ")
# What starts a message where no arrow shows that it is one: `error: ...`, `name[play]: All ...`
LEVEL = re.compile(
    r"^(?:fatal |\((?:assertion|report) )?(error|warning|note|info|hint|style|convention"
    r"|refactor|suggestion|remark|help)\b",
    re.IGNORECASE,
)
RULE_NAME = re.compile(r"^[a-z][a-z-]*(?:\[[a-z-]+\])?: [A-Z]")
# What ruff prints above the place of a change that it would make.
UNFORMATTED = "unformatted: "
# Rows of a linter: a position or the code of a rule, the level if it is given, and the message.
ROW = re.compile(
    r"^\s+\d+:\d+\s+(?P<level>error|warning|✖|⚠|×|info)\s+\S"  # 3:5  error  ...
    r"|^\s+[✖⚠×]\s+\d+:\d+\s+\S"  # ✖  3:5  ...
    r"|^\s*\^[-~]*\^?\s+[A-Z]+\d+ \((?P<remark>error|warning|info|style)\): ."  # ^-- SC1 (info):
    r"|^L:\s*\d+ \| P:\s*\d+ \|\s*\w+ \| ."  # L:  3 | P:  5 | ...
    r"|^\s*\d+ \| (?:ERROR|WARNING) +\| ."  # 3 | ERROR | ...
    r"|^[CEFIRW]:\s*\d+[:,]\s*\d+: ."  # C:  3:  5: ...
    r"|^[A-Z]{1,6}\d{2,5}(?: \[\*\])? \S"  # F401 [*] ...
)
# Codes by which a message shows what kind of tool wrote it; the first that matches counts.
SHAPES = {
    "types": re.compile(
        r"^error\b.*(?:\bTS\d{4}\b|\[(?:[a-z]+-)*[a-z]+\]$|\(report\w+\)$)"
        r"|\bis not assignable to\b|^incompatible (?:return|parameter|variable) type\b",
        re.IGNORECASE,
    ),
    "lint": re.compile(
        r"\bvalidity error\b|^error\[[a-z]+(?:-[a-z]+)+\]"
        r"|^(?:\[\*\] )?\[?(?:[A-Z]{1,6}\d{2,5}\b|\([EWCRF]\d+\)|[CWERF]: )"
        r"|\([a-z]+(?:-[a-z0-9]+)*\)$|\[[A-Z][A-Za-z]+\]$|\s[@\w-]+/[\w/-]+$|\[-W(?!error)[\w=-]+\]$"
        r"|\bMD\d{3}|\bSC\d{4}|\bDL\d{4}"
    ),
    "build": re.compile(r"^(?:fatal )?error\b", re.IGNORECASE),
}
# A line that gives only the place; the message is below.
MESSAGE_BELOW = re.compile(r"[━─]{5,}$|:$|^\[\d+\] \S+ at #")
MARKS = " ×✖!iℹ⚠❯❱"
# Of these marks in front of a message the tool says itself that it is no error.
REMARKS = ("i ", "ℹ ", "⚠ ", "! ")
# A line that only names a file; what is wrong with it stands in the rows below.
FILE_HEADING = re.compile(r"^\W*(?:(?:File:|Line)\s+)?(?P<file>[\w@./\\-]+)$")
HEADED_ROW = re.compile(
    r"^\s*(?:[✖✗✘×⚠❯#]\s*)*(?:[*•]|\d+[:.)]?|Line \d+|\[?[✖✗✘×⚠❱]\]?|\w+:)"
    r"[^\s|┆│]*\s+[^\s|┆│].*[A-Za-z]{3}"
)
ROW_NUMBER = re.compile(r"^\s*\d+\s{2,}")
COUNT_ROW = re.compile(r"^\W*\w[\w ]*:\s*\d+$|^\W*\d+ \w+ (?:checked|found|scanned|processed)\b")
ROWS_BELOW = 6
DIGIT = re.compile(r"\d")
FILE_NAME = re.compile(
    r"\.[A-Za-z]\w{0,9}$|(?:^|/)(?:Make|Docker|Rake|Gem|Jenkins)file$",
)


@dataclass(frozen=True)
class Diagnostic:
    """One finding of a compiler, linter or checker.

    `shape` is what the line looks like, whoever printed it: `types`, `lint`, `build` or empty.
    """

    line: int
    text: str
    file: str = ""
    shape: str = ""
    level: str = ""


def read_diagnostics(output: CommandOutput, ignored: Collection[int]) -> Iterator[Diagnostic]:
    """Yield the diagnostics of an output, apart from the `ignored` line numbers."""
    for number, line in enumerate(output.english):
        if number in ignored:
            continue
        found = _read_line(number, line) or _read_above_place(output.lines, number)
        if found is None:
            continue
        if output.english is not output.lines:
            found = replace(found, text=output.lines[number].strip())
        if MESSAGE_BELOW.search(line):
            found = _with_message_below(found, output.lines)
        yield found


def _read_line(number: int, line: str) -> Diagnostic | None:
    """Read a position and a message on one line."""
    if not DIGIT.search(line):
        return None
    row = ROW.match(line)
    if row:
        text = line.lstrip(" \t^~-").rstrip()
        level = row["level"] or row["remark"] or "error"
        return Diagnostic(number, text, shape="lint", level=level)
    place = AT_PLACE.match(line)
    if place and place["message"] and FILE_NAME.search(place["file"]):
        return _read_at_place(number, line, place)
    return None


def _read_at_place(number: int, line: str, place: re.Match[str]) -> Diagnostic | None:
    """Read a message with its place before it."""
    text = line.strip()
    file = place["file"]
    if place["interpreter"] and RUNTIME_ERROR.search(text):
        return None
    # What an interpreter was given to run cannot be read.
    if place["interpreter"] or line.startswith(("CMake Error", "e: ")):
        return Diagnostic(number, text, file, "build", "error")
    message = place["message"]
    level = _level(place["level"] or message)
    return Diagnostic(number, text, file, _shape(message), level)


def _level(message: str) -> str:
    found = LEVEL.match(message)
    return found[1].lower() if found else ""


def _shape(message: str) -> str:
    for shape, codes in SHAPES.items():
        if codes.search(message):
            return shape
    return ""


def _read_above_place(lines: Sequence[str], number: int) -> Diagnostic | None:
    """Read a message whose place stands on a line of its own below it."""
    text = lines[number].strip()
    if not text or text.startswith(UNFORMATTED):
        return None
    line_below = next(filter(None, lines_below(lines, number, 2)), "")
    place = PLACE_LINE.match(line_below)
    if place is None:
        return None
    level = _level(text)
    is_message = level or RULE_NAME.match(text) or text.endswith("):")
    if not is_message and not place["arrow"]:
        return None
    file = place["arrow"] or place["bare"] or place["block"]
    shape = "build" if level in {"", "error"} else "lint"
    return Diagnostic(number, text, file, shape, level)


def _with_message_below(diagnostic: Diagnostic, lines: Sequence[str]) -> Diagnostic:
    """Return a diagnostic of which one line gives the place, and those below it the message."""
    messages: list[str] = []
    for line in lines_below(lines, diagnostic.line, 4):
        text = line.strip()
        if PLACE_LINE.match(line):
            continue
        if not messages and text.startswith(REMARKS):
            diagnostic = replace(diagnostic, level="info")
        if text.strip(MARKS):
            messages.append(text.strip(MARKS))
    if not messages:
        return diagnostic
    # A line that ends with a colon only announces what follows.
    shown = 2 if messages[0].endswith(":") else 1
    return replace(diagnostic, text=" ".join(messages[:shown]))


def read_headed_rows(
    lines: Sequence[str], find_file: Callable[[str], str | None]
) -> Iterator[Diagnostic]:
    """Yield the first row below each line that only names a file of the project.

    Linters that group their findings print the file once and numbered or marked rows below it.
    """
    for number, heading in matching(FILE_HEADING.match, lines):
        if find_file(heading["file"]) is None:
            continue
        for at in below(lines, number, ROWS_BELOW):
            row = lines[at]
            if HEADED_ROW.match(row) and not COUNT_ROW.match(row):
                text = ROW_NUMBER.sub("", row).strip(MARKS)
                yield Diagnostic(at, text, heading["file"], "lint", "error")
                break
