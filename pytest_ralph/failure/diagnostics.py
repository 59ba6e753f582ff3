"""Diagnostics: lines by which compilers, linters and checkers point into a file."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ralph.failure.output import CommandOutput

PATH = r"(?:[A-Za-z]:)?[^\s:()\[\]'\"<>|,;=]*[\w)\]]"
PLACED = re.compile(
    rf"^\s*(?:(?:error|warning|E|W)\s*:?\s+(?:in\s+)?|\[\w+\]\s+|vet: |-+> |\*\* |CMake Error at )?(?:file://)?(?P<file>{PATH})"
    r"(?::(?P<line>\d+)(?:[:.,-]\d+)*|\((?P<line2>\d+)(?:[,:]\d+)*\)"
    r"|, line (?P<line3>\d+)|: line (?P<line4>\d+)| line (?P<line5>\d+))"
    r"(?:, col(?:umn)? \d+)?(?P<sep>:| -|,|\s|$)\s*(?P<message>.*)$",
    re.IGNORECASE,
)
# One finding among those that a linter writes as JSON.
KEYED = re.compile(r"^\s*\"message\": \"(?P<message>.+)\",?$")
DIGIT = re.compile(r"\d")
ROW = re.compile(
    r"^\s+(?:(?P<line>\d+):(?P<column>\d+)\s+(?P<level>error|warning|✖|⚠|×|info)|[✖⚠×]\s+\d+:\d+)\s+(?P<message>\S.*)$"
)
# The message above the place, as miette draws it.
MARKED = re.compile(r"^\s{1,4}(?:[×x!⚠]) (?P<message>\S.*)$")
DRAWN = re.compile(r"^\s*[,╭]-?─*\[\S+:\d+:\d+\]")
HEADED = re.compile(r"^(?:error|fatal error)\[[\w-]+\]: .+$", re.IGNORECASE)
# Tools that give the place on one line say what is wrong on the next.
RULED = re.compile(r"[━─]{5,}$|:$|^\[\d+\] \S+ at #")
TABLED = re.compile(r"^L:\s*\d+ \| P:\s*\d+ \|\s*\w+ \| .+$|^\s*\d+ \| (?:ERROR|WARNING) +\| .+$")
CODED = re.compile(r"^(?P<code>[A-Z]{1,6}\d{2,5})(?: \[\*\])? (?P<message>\S.*)$")
LEVEL = re.compile(
    r"^(?:fatal )?(error|warning|note|info|hint|style|convention|refactor|suggestion|remark|help)\b",
    re.IGNORECASE,
)

TYPE_CODE = re.compile(r"\berror TS\d{4}\b|\[(?:[a-z]+-)*[a-z]+\]$|\(report\w+\)$")
LINT_CODE = re.compile(
    r"^(?:\[\*\] )?(?:[A-Z]{1,5}\d{2,5}\b|\([EWCRF]\d+\)|[CWERF]: )|\([a-z]+(?:-[a-z0-9]+)*\)$"
    r"|\s[@\w-]+/[\w/-]+$|\[-W(?!error)[\w=-]+\]$|\bMD\d{3}|\bSC\d{4}|\bDL\d{4}"
)
COMPILER_CODE = re.compile(
    r"^(?:fatal )?error\[E\d+\]|^error (?:CS|FS|C|LNK|MSB|BC|NETSDK|AL)\d+|^error\b|^fatal error\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Diagnostic:
    """`shape` is what the line looks like whoever printed it: types, lint, build, or unknown."""

    line: int
    text: str
    file: str = ""
    shape: str = ""
    level: str = ""


def read_diagnostics(transcript: CommandOutput, quiet: frozenset[int]) -> Iterator[Diagnostic]:
    for number, line in enumerate(transcript.lines):
        if number not in quiet and (
            found := _read_line(number, line) or _read_marked(transcript, number)
        ):
            yield _with_message_below(found, transcript) if RULED.search(line) else found


def _read_marked(transcript: CommandOutput, number: int) -> Diagnostic | None:
    """A message that stands above a drawing of its place."""
    below = transcript.lines[number + 1] if number + 1 < len(transcript.lines) else ""
    if MARKED.match(transcript.lines[number]) and DRAWN.match(below):
        return Diagnostic(number, transcript.lines[number].strip(), "", "lint", "error")
    return None


def _with_message_below(diagnostic: Diagnostic, transcript: CommandOutput) -> Diagnostic:
    below = (
        line.strip(" ×✖!i⚠") for line in transcript.lines[diagnostic.line + 1 : diagnostic.line + 4]
    )
    return replace(diagnostic, text=next((line for line in below if line), diagnostic.text))


def _read_line(number: int, line: str) -> Diagnostic | None:
    if match := KEYED.match(line):
        return Diagnostic(number, match["message"], "", "message", "error")
    if not DIGIT.search(line):
        return None
    if match := ROW.match(line):
        return Diagnostic(number, line.strip(), "", "lint", (match["level"] or "error").lower())
    if TABLED.match(line):
        return Diagnostic(number, line.strip(), "", "lint", "error")
    if HEADED.match(line):
        return Diagnostic(number, line.strip(), "", "build", "error")
    if match := CODED.match(line):
        return Diagnostic(number, line.strip(), "", "lint", "error")
    match = PLACED.match(line)
    if not match or not match["message"] or not _is_file(match["file"]):
        return None
    if line.startswith(("CMake Error", "e: ")):
        return Diagnostic(number, line.strip(), match["file"], "build", "error")
    level = LEVEL.match(match["message"])
    shape = (
        "types"
        if match["sep"] == " -" and level and level[1] == "error"
        else _shape(match["message"])
    )
    return Diagnostic(number, line.strip(), match["file"], shape, level[1].lower() if level else "")


def _is_file(name: str) -> bool:
    base = name.rsplit("/", 1)[-1]
    return bool(re.search(r"\.[A-Za-z]\w{0,9}$", base)) or base in {
        "Makefile",
        "Dockerfile",
        "Rakefile",
        "Gemfile",
        "Jenkinsfile",
    }


def _shape(message: str) -> str:
    if TYPE_CODE.search(message) and re.match(r"error\b", message):
        return "types"
    if LINT_CODE.search(message):
        return "lint"
    return "build" if COMPILER_CODE.match(message) else ""
