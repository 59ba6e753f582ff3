"""Lines by which compilers, linters and checkers point into a file."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from pytest_ralph.failure.output import CommandOutput

PATH = r"(?:[A-Za-z]:)?[^\s:()\[\]'\"<>|,;=]*[\w)\]]"
# `a.c:3:5: error: ...`, `a.cs(3,5): error CS1: ...`, `a.py, line 3: ...`, `a.sh: line 3: ...`
AT_PLACE = re.compile(
    r"^\s*(?:(?:error|warning|E|W)\s*:?\s+(?:in\s+)?|\[\w+\]\s+|vet: |-+> |\*\* |CMake Error at )?"
    rf"(?:file://)?(?P<file>{PATH})"
    r"(?::\d+(?:[:.,-]\d+)*|\(\d+(?:[,:]\d+)*\)|[,:]? line \d+)"
    r"(?:, col(?:umn)? \d+)?(?P<sep>:| -|,|\s|$)\s*(?P<message>.*)$",
    re.IGNORECASE,
)
# `  3:5  error  ...` below the name of the file.
ROW = re.compile(
    r"^\s+(?:(?P<line>\d+):(?P<column>\d+)\s+(?P<level>error|warning|✖|⚠|×|info)"
    r"|[✖⚠×]\s+\d+:\d+)\s+(?P<message>\S.*)$"
)
# `  ^--^ SC2086 (info): ...` below the line of source.
POINTED_ROW = re.compile(r"^\s*\^[-~]*\^?\s+[A-Z]+\d+ \((?P<level>error|warning|info|style)\): .+$")
# `L:  3 | P:  5 | ...`, `  3 | ERROR | ...` and `C:  3:  5: ...`
TABLE_ROW = re.compile(
    r"^L:\s*\d+ \| P:\s*\d+ \|\s*\w+ \| .+$|^\s*\d+ \| (?:ERROR|WARNING) +\| .+$"
    r"|^[CEFIRW]:\s*\d+[:,]\s*\d+: .+$"
)
# `error[E0425]: ...` above the place.
CODED_ERROR = re.compile(r"^(?:error|fatal error)\[[\w-]+\]: .+$", re.IGNORECASE)
# `F401 ...` above the place.
CODED_FINDING = re.compile(r"^(?P<code>[A-Z]{1,6}\d{2,5})(?: \[\*\])? (?P<message>\S.*)$")
# A finding that starts with the name of its rule: `name[play]: ...`.
RULE_FINDING = re.compile(r"^[a-z][a-z-]*(?:\[[a-z-]+\])?: [A-Z]")
# `Type error: ...` below the place.
NAMED_ERROR = re.compile(r"^(?:(?P<kind>[A-Z][a-z]+) e|E|e)rror: \S")
# The place below a message: `  --> src/a.sol:3:5`.
ARROW = re.compile(r"^\s*-+>\s+(?P<file>\S+?):\d+(?::\d+)?\b")
# `  on main.tf line 3, in resource "a" "b":`
BLOCK_PLACE = re.compile(r"^\s+on (?P<file>\S+) line \d+, in ")
# What ruff prints above the place of a change that it would make.
UNFORMATTED = "unformatted: "
BARE_PLACE = re.compile(r"^\s*(?P<file>[^\s:]+\.\w+):\d+(?:[.:]\d+)?$")
# A line that only names a file; what is wrong with it stands in the rows below.
FILE_HEADING = re.compile(r"^\W*(?:(?:File:|Line)\s+)?(?P<file>[\w@./\\-]+)$")
HEADED_ROW = re.compile(
    r"^\s*(?:[✖✗✘×⚠#]\s*)*(?:\d+[:.)]?|Line \d+|\[?[✖✗✘×⚠]\]?|\w+:)"
    r"[^\s|┆│]*\s+[^\s|┆│].*[A-Za-z]{3}"
)
ROW_NUMBER = re.compile(r"^\s*\d+\s{2,}")
COUNT_ROW = re.compile(r"^\W*\w+:\s*\d+$|^\W*\d+ \w+ (?:checked|found|scanned|processed)\b")
ROWS_BELOW = 6
# A line that gives only the place; the message is below.
PLACE_ONLY = re.compile(r"[━─]{5,}$|:$|^\[\d+\] \S+ at #")
MARKS = " ×✖!i⚠"
LEVEL = re.compile(
    r"^(?:fatal )?(error|warning|note|info|hint|style|convention|refactor|suggestion|remark"
    r"|help)\b",
    re.IGNORECASE,
)
TYPE_CODE = re.compile(r"\berror TS\d{4}\b|\[(?:[a-z]+-)*[a-z]+\]$|\(report\w+\)$")
LINT_CODE = re.compile(
    r"\bvalidity error\b"
    r"|^(?:\[\*\] )?\[?(?:[A-Z]{1,6}\d{2,5}\b|\([EWCRF]\d+\)|[CWERF]: )|\([a-z]+(?:-[a-z0-9]+)*\)$"
    r"|\[[A-Z][A-Za-z]+\]$|\s[@\w-]+/[\w/-]+$|\[-W(?!error)[\w=-]+\]$|\bMD\d{3}|\bSC\d{4}|\bDL\d{4}"
)
COMPILER_CODE = re.compile(
    r"^(?:fatal )?error\[E\d+\]|^error (?:CS|FS|C|LNK|MSB|BC|NETSDK|AL)\d+|^error\b|^fatal error\b",
    re.IGNORECASE,
)
DIGIT = re.compile(r"\d")
FILE_SUFFIX = re.compile(r"\.[A-Za-z]\w{0,9}$")
FILES_WITHOUT_SUFFIX = {"Makefile", "Dockerfile", "Rakefile", "Gemfile", "Jenkinsfile"}


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
        found = (
            _read_line(number, line)
            or _read_above_arrow(output.lines, number)
            or _read_below_place(output.lines, number)
        )
        if found is None:
            continue
        if output.english is not output.lines:
            found = replace(found, text=output.lines[number].strip())
        if PLACE_ONLY.search(line):
            found = _with_message_below(found, output.lines)
        yield found


def _read_line(number: int, line: str) -> Diagnostic | None:
    text = line.strip()
    if CODED_ERROR.match(line):
        return Diagnostic(number, text, shape="build", level="error")
    if not DIGIT.search(line):
        return None
    match = ROW.match(line) or POINTED_ROW.match(line)
    if match:
        return Diagnostic(number, text, shape="lint", level=match["level"] or "error")
    if TABLE_ROW.match(line) or CODED_FINDING.match(line):
        return Diagnostic(number, text, shape="lint", level="error")
    return _read_at_place(number, line)


def _read_at_place(number: int, line: str) -> Diagnostic | None:
    match = AT_PLACE.match(line)
    if not match or not match["message"] or not _is_file(match["file"]):
        return None
    text = line.strip()
    if line.startswith(("CMake Error", "e: ")):
        return Diagnostic(number, text, match["file"], "build", "error")
    found = LEVEL.match(match["message"])
    level = found[1].lower() if found else ""
    shape = _shape(match["message"])
    # `a.ts:3:5 - error ...`: TypeScript and pyright.
    if match["sep"] == " -" and level == "error":
        shape = "types"
    return Diagnostic(number, text, match["file"], shape, level)


def _is_file(name: str) -> bool:
    base = name.rsplit("/", 1)[-1]
    return base in FILES_WITHOUT_SUFFIX or FILE_SUFFIX.search(base) is not None


def _shape(message: str) -> str:
    if TYPE_CODE.search(message) and re.match(r"error\b", message):
        return "types"
    if LINT_CODE.search(message):
        return "lint"
    if COMPILER_CODE.match(message):
        return "build"
    return ""


def _read_above_arrow(lines: Sequence[str], number: int) -> Diagnostic | None:
    """Read a message whose place stands on the next line, as many compilers print it."""
    below = next(filter(None, lines[number + 1 : number + 3]), "")
    text = lines[number].strip()
    found = LEVEL.match(text)
    level = found[1].lower() if found else ""
    arrow = ARROW.match(below)
    if arrow is None and (level or RULE_FINDING.match(text)):
        arrow = BARE_PLACE.match(below) or BLOCK_PLACE.match(below)
    if arrow is None or not text or text.startswith(UNFORMATTED):
        return None
    shape = "build" if level in {"", "error"} else "lint"
    return Diagnostic(number, text, arrow["file"], shape, level)


def _read_below_place(lines: Sequence[str], number: int) -> Diagnostic | None:
    """Read an error whose place stands alone on the line above, as Next.js prints it."""
    error = NAMED_ERROR.match(lines[number])
    if error is None or number == 0:
        return None
    place = BARE_PLACE.match(lines[number - 1])
    if place is None:
        return None
    shape = "types" if error["kind"] == "Type" else "build"
    return Diagnostic(number, lines[number].strip(), place["file"], shape, "error")


def read_headed_rows(
    output: CommandOutput, is_file: Callable[[str], bool], ignored: Collection[int]
) -> Iterator[Diagnostic]:
    """Yield the first row below each line that only names a file of the project.

    Linters that group their findings print the file once and numbered or marked rows below it.
    """
    for number, line in enumerate(output.lines):
        heading = FILE_HEADING.match(line)
        if heading is None or not is_file(heading["file"]):
            continue
        for at in range(number + 1, min(len(output.lines), number + 1 + ROWS_BELOW)):
            row = output.lines[at]
            if at not in ignored and HEADED_ROW.match(row) and not COUNT_ROW.match(row):
                text = ROW_NUMBER.sub("", row).strip(MARKS)
                yield Diagnostic(at, text, heading["file"], "lint", "error")
                break


def _with_message_below(diagnostic: Diagnostic, lines: Sequence[str]) -> Diagnostic:
    below = [line.strip(MARKS) for line in lines[diagnostic.line + 1 : diagnostic.line + 5]]
    messages = [message for message in below if message] or [diagnostic.text]
    # A line that ends with a colon only announces what follows.
    shown = 2 if messages[0].endswith(":") else 1
    return replace(diagnostic, text=" ".join(messages[:shown]))
