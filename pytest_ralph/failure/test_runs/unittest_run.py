"""Failing tests of Python's unittest and those that print like it (Django, nose2, trial)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.test_runs.failing import Failing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.output import CommandOutput

TITLE = re.compile(
    r"^(?:FAIL|ERROR|UNEXPECTED SUCCESS): (?:(\w+) \(([\w.]+)\)|([\w.]+\.\w+)|(\w+) \(<.*)"
)
TEST_NAME = re.compile(r"^[\w.]+\.test\w*$")
RULE = re.compile(r"^(?:={20,}|-{20,})$")
LOADER = re.compile(
    r"(?:unittest\.loader\.)?_FailedTest|unittest\.loader\.ModuleImportFailure|setUpModule|nose2\.loader"
)


def read(transcript: CommandOutput) -> Iterator[Failing]:
    lines = transcript.lines
    for number, line in enumerate(lines):
        match = TITLE.match(line)
        if match and number and RULE.match(lines[number - 1]):
            at, error = _error(lines, number + 1)
            yield Failing(_name(match), error or line.strip(), at, not LOADER.search(line))


def read_trial(transcript: CommandOutput) -> Iterator[Failing]:
    """Twisted's trial names the tests below the traceback they share."""
    lines = transcript.lines
    for number, line in enumerate(lines):
        if line in {"[FAIL]", "[ERROR]"} and number and RULE.match(lines[number - 1]):
            at, error = _error(lines, number + 1)
            for below in range(at + 1, min(len(lines), at + 40)):
                if RULE.match(lines[below]):
                    break
                if TEST_NAME.match(lines[below]):
                    yield Failing(lines[below].strip(), error, at)


def _name(match: re.Match[str]) -> str:
    method, where = match[1] or match[4] or "", match[2] or ""
    if match[3]:
        return match[3]
    return where if where.endswith("." + method) or not where else f"{where}.{method}"


def _error(lines: Sequence[str], start: int) -> tuple[int, str]:
    """The exception that ends the last traceback of the block."""
    best = (start, "")
    inside = False
    for number in range(start, min(len(lines), start + 400)):
        line = lines[number]
        if RULE.match(line) and number > start + 1:
            break
        if line.startswith("Traceback (most recent call last)"):
            inside = True
        elif inside and re.match(r"^[A-Za-z_][\w.]*(?::|$)", line):
            best, inside = (number, line.strip()), False
        elif not best[1] and re.match(r"^[\w.]+(?:Error|Exception): ", line):
            best = (number, line.strip())
    return best
