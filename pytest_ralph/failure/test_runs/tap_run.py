"""Failing tests of a TAP stream (node --test, tape, tap, qunit, bats): `not ok 1 - name`, with an explanation below."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.test_runs.failing import Failing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.output import CommandOutput

NOT_OK = re.compile(
    r"^(?P<indent>\s*)not ok \d+(?: -)? (?!.*# (?:TODO|SKIP))(?P<name>.+?)(?: #.*)?(?: in \d+ms)?$"
)
ENDS = re.compile(r"^\s*(?:not )?ok \d|^\s*# Subtest|^\s*\d+\.\.\d+|^\s*$")
# The explanation, by how much it says; words like `failed` say nothing.
TELLING = (
    re.compile(
        r"^\s*(?:message|error): (?!\||[\"']?(?:test )?failed[\"']?$|null)[\"']?(?P<said>.*?)[\"']?$"
    ),
    re.compile(r"^\s*#\s+(?P<said>`.*' failed.*)$"),
    re.compile(r"^\s*#\s+(?P<said>got: .*)$"),
    re.compile(r"^\s*(?P<said>(?:expected|found|wanted)\s*: (?!\|).*)$"),
    re.compile(r"^\s*#\s+(?P<said>[^(\s].*)$"),
)
# A value on lines of its own: what it begins with is on the next line.
SPREAD = re.compile(r"^\s*(?:message|error): \|-?$")
# What node passes on of a file that threw: a comment above the file's own line.
THROWN = re.compile(r"^# (?P<said>(?:[\w.]+ \[)?[A-Z]\w*(?:Error|Exception)\b.*)$")
LONGEST = 40


def read(transcript: CommandOutput) -> Iterator[Failing]:
    """The innermost failing tests: what contains them failed only because they did."""
    if not transcript.has("ok"):
        return
    lines, deepest = transcript.lines, -1
    for number, line in enumerate(lines):
        if match := NOT_OK.match(line):
            indent = len(match["indent"])
            if indent >= deepest:
                at, error = _explained(lines, number)
                yield Failing(match["name"].strip(), error, at)
            deepest = indent


def _explained(lines: Sequence[str], number: int) -> tuple[int, str]:
    block = []
    for at in range(number + 1, min(len(lines), number + LONGEST)):
        if ENDS.match(lines[at]):
            break
        block.append(at)
    for pattern in TELLING:
        for at in block:
            if match := pattern.match(lines[at]):
                return at, match["said"].strip()
            if pattern is TELLING[0] and SPREAD.match(lines[at]) and at + 1 in block:
                return at + 1, lines[at + 1].strip()
    return _thrown_above(lines, number) or (number, lines[number].strip())


def _thrown_above(lines: Sequence[str], number: int) -> tuple[int, str] | None:
    """A file that could not be loaded has nothing below its name but that it failed."""
    for at in range(number - 1, max(-1, number - LONGEST), -1):
        if NOT_OK.match(lines[at]) or lines[at].startswith("ok "):
            return None
        if match := THROWN.match(lines[at]):
            return at, match["said"]
    return None
