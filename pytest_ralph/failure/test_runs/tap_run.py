"""Failing tests of a TAP stream (node --test, tape, tap, qunit, bats).

not ok 1 - adds
  ---
  message: expected 1 to equal 2
  ...
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.test_runs.failed_test import FailedTest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
# Explanations, the most telling first.
EXPLANATIONS = (
    MESSAGE,
    re.compile(r"^\s*#\s+(?P<error>`.*' failed.*)$"),
    re.compile(r"^\s*#\s+(?P<error>got: .*)$"),
    re.compile(r"^\s*(?P<error>(?:expected|found|wanted)\s*: (?!\|).*)$"),
    re.compile(r"^\s*#\s+(?P<error>[^(\s].*)$"),
)
# Without a block of data, what was thrown stands below.
PLAIN_TEXT = re.compile(r"^\s+(?P<error>\S.*)$")
DATA_BLOCK = "---"
# A message of several lines starts on the next line.
BLOCK_MESSAGE = re.compile(r"^\s*(?:message|error): \|-?$")
# node passes on what a file threw as a comment above the line of the file.
THROWN = re.compile(r"^# (?P<error>(?:[\w.]+ \[)?[A-Z]\w*(?:Error|Exception)\b.*)$")
LONGEST_BLOCK = 40


def read(output: CommandOutput) -> Iterator[FailedTest]:
    """Yield the innermost failing tests: what contains them failed only because they did.

    An assertion is not a test: if the line above it is not announced by `# Subtest: name`, but that
    of the test around it is, the test has failed, with the words of its assertion.
    """
    if not output.has("ok"):
        return
    announced = set()
    assertion: FailedTest | None = None
    last_indent = -1
    for number, line in enumerate(output.lines):
        subtest = SUBTEST.match(line)
        if subtest:
            announced.add((len(subtest["indent"]), subtest["name"]))
        match = NOT_OK.match(line)
        if match is None:
            continue
        indent = len(match["indent"])
        name = match["name"].strip()
        is_inner = indent >= last_indent
        last_indent = indent
        is_announced = (indent, name) in announced
        if not is_inner and assertion is not None and is_announced:
            yield FailedTest(name, assertion.error, assertion.line)
            assertion = None
            continue
        if not is_inner:
            continue
        if assertion is not None:
            yield assertion
            assertion = None
        at, error = _explanation(output.lines, number)
        test = FailedTest(name, error, at)
        if indent and announced and not is_announced:
            assertion = test
        else:
            yield test
    if assertion is not None:
        yield assertion


def _explanation(lines: Sequence[str], number: int) -> tuple[int, str]:
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
    return _thrown_above(lines, number) or (number, lines[number].strip())


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
