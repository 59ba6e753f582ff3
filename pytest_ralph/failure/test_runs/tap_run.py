"""Failing tests of a TAP stream (node --test, tape, tap, qunit, bats).

not ok 1 - adds
  ---
  message: expected 1 to equal 2
  ...
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.failure.test_runs.failed_test import FailedTest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_ralph.failure.output import CommandOutput

NOT_OK = re.compile(
    r"^(?P<indent>\s*)not ok(?: \d+)?(?: -)? (?!.*# (?:TODO|SKIP))"
    r"(?P<name>.+?)(?: #.*)?(?: in \d+ms)?(?<!\{)$"
)
SUBTEST = re.compile(r"^(?P<indent>\s*)# Subtest: (?P<name>.+?)\s*$")
END_OF_BLOCK = re.compile(r"^\s*(?:not )?ok \d|^\s*# Subtest|^\s*\d+\.\.\d+|^\s*$")
MESSAGE = re.compile(
    r"^\s*(?:message|error): (?!\||[\"']?(?:test )?failed[\"']?$|null)[\"']?(?P<error>.*?)[\"']?$"
)
PERL_TITLE = re.compile(r"^#\s+Failed test '(?P<name>.+)'$")
COMPARED = re.compile(r"^\s*#\s+(?P<error>got: .*)$")
# Explanations, the most telling first.
EXPLANATIONS = (
    MESSAGE,
    re.compile(r"^\s*#\s+(?:Failure|Error) message: (?P<error>\S.*)$"),
    re.compile(r"^\s*#\s+(?P<error>`.*' failed.*)$"),
    COMPARED,
    re.compile(r"^\s*(?P<error>(?:expected|found|wanted)\s*: (?!\|).*)$"),
    re.compile(r"^\s*#\s+(?P<error>[^(\s].*)$"),
)
# `not ok - reverse (got ba, want ab)`
STATED = re.compile(r"^(?P<name>.+?)(?:: | \()(?:got|expected|want)\b.*$")
# Without a block of data, what was thrown stands below.
PLAIN_TEXT = re.compile(r"^\s+(?P<error>\S.*)$")
DATA_BLOCK = "---"
# A message of several lines starts on the next line.
BLOCK_MESSAGE = re.compile(r"^\s*(?:message|error): \|-?$")
# node passes on what a file threw as a comment above the line of the file.
THROWN = re.compile(r"^# (?P<error>(?:[\w.]+ \[)?[A-Z]\w*(?:Error|Exception)\b.*)$")
LONGEST_BLOCK = 40


class _Point(NamedTuple):
    """A line that says `not ok`; `is_subtest` if `# Subtest: name` announced it.

    An assertion stands inside a test that is announced, but is not announced itself.
    """

    number: int
    indent: int
    name: str
    is_subtest: bool
    is_assertion: bool


def read(output: CommandOutput) -> Iterator[FailedTest]:
    """Yield the innermost failing tests: what contains them failed only because they did.

    An assertion is not a test: if the test around it is announced, the test has failed, with the
    words of its assertion.
    """
    if not output.has("ok"):
        return
    compared = _perl_comparisons(output.lines)
    points = list(_points(output.lines))
    last_indent = -1
    for position, point in enumerate(points):
        contains_last = point.indent < last_indent
        last_indent = point.indent
        if contains_last:
            continue
        test = _read_test(output.lines, point, compared)
        # A test is printed below what it contains.
        for below in points[position + 1 : position + 2]:
            if point.is_assertion and below.is_subtest and below.indent < point.indent:
                test = replace(test, name=below.name)
        yield test


def _points(lines: Sequence[str]) -> Iterator[_Point]:
    announced = set()
    for number, line in enumerate(lines):
        subtest = SUBTEST.match(line)
        if subtest:
            announced.add((len(subtest["indent"]), subtest["name"]))
        match = NOT_OK.match(line)
        if match:
            indent = len(match["indent"])
            name = match["name"].strip()
            is_subtest = (indent, name) in announced
            is_assertion = bool(indent and announced and not is_subtest)
            yield _Point(number, indent, name, is_subtest, is_assertion)


def _read_test(
    lines: Sequence[str], point: _Point, compared: Mapping[str, tuple[int, str]]
) -> FailedTest:
    stated = STATED.match(point.name)
    if stated:
        return FailedTest(stated["name"], lines[point.number].strip(), point.number)
    explained = _explanation(lines, point.number) or compared.get(point.name)
    at, error = explained or (point.number, lines[point.number].strip())
    return FailedTest(point.name, error, at)


def _explanation(lines: Sequence[str], number: int) -> tuple[int, str] | None:
    block = _block(lines, number)
    patterns = list(EXPLANATIONS)
    if not any(lines[at].strip() == DATA_BLOCK for at in block):
        patterns.append(PLAIN_TEXT)
    for pattern in patterns:
        for at in block:
            match = pattern.match(lines[at])
            if match and not lines[at].endswith(("{", "[", "(")):
                return at, match["error"].strip()
            if pattern is MESSAGE and BLOCK_MESSAGE.match(lines[at]) and at + 1 in block:
                return at + 1, lines[at + 1].strip()
    return _thrown_above(lines, number)


def _perl_comparisons(lines: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Return what Perl writes to stderr about its tests, by the name of the test."""
    found: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(lines):
        title = PERL_TITLE.match(line) if line.startswith("#") else None
        if title is None:
            continue
        for at in _block(lines, number):
            match = COMPARED.match(lines[at])
            if match:
                found[title["name"]] = (at, match["error"].strip())
                break
    return found


def _block(lines: Sequence[str], number: int) -> range:
    """Return the numbers of the lines that explain a failing test."""
    end = number + 1
    while end < min(len(lines), number + LONGEST_BLOCK) and not END_OF_BLOCK.match(lines[end]):
        end += 1
    return range(number + 1, end)


def _thrown_above(lines: Sequence[str], number: int) -> tuple[int, str] | None:
    """Return what a file threw that could not be loaded: below its name stands nothing."""
    for at in range(number - 1, max(-1, number - LONGEST_BLOCK), -1):
        if NOT_OK.match(lines[at]) or lines[at].startswith("ok "):
            return None
        match = THROWN.match(lines[at])
        if match:
            return at, match["error"]
    return None
