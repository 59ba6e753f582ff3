"""Failing tests of a TAP stream (node --test, tape, tap, qunit, bats).

not ok 1 - adds
  ---
  message: expected 1 to equal 2
  ...
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

from pytest_ralph.failure.lines import above, below, matching, numbers_of
from pytest_ralph.failure.test_runs.failed_test import FailedTest, Quote, first_quote

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from pytest_ralph.failure.output import CommandOutput

NOT_OK = re.compile(
    r"^(?P<indent>\s*)(?:❌ )?not ok(?: \d+)?(?: -)? (?!.*# (?:TODO|SKIP))"
    r"(?P<name>.+?)\s*(?: #.*)?(?: in \d+ms)?(?<!\{)$"
)
# Some runners announce a test with its name alone.
SUBTEST = re.compile(r"^(?P<indent>\s*)# (?:Subtest: )?(?P<name>.+?)\s*$")
END_OF_BLOCK = re.compile(r"^\s*(?:not )?ok \d|^\s*# Subtest|^\s*\d+\.\.\d+|^\s*$")
# A message of several lines starts on the next line, and a value that opens a bracket goes on.
BLOCK_MESSAGE = re.compile(r"^\s*(?:message|error): \|-?$")
OPENS_BRACKET = ("{", "[", "(")
# Of two values the one that was expected, which says less than the title of an assertion.
VALUE = re.compile(r"^\s*((?:expected|found|wanted)\s*: (?!\|).*)$")
# Explanations, the most telling first.
EXPLANATIONS = (
    re.compile(
        r"^\s*(?:message|error): (?!\||[\"']?(?:test )?failed[\"']?$|null|''$)[\"']?(.*?)[\"']?$"
    ),
    re.compile(r"^\s*#\s+(?:Failure|Error) message: (\S.*)$"),
    re.compile(r"^\s*#\s+(`.*' failed.*)$"),
    re.compile(r"^\s*#\s+(got: .*)$"),
    VALUE,
    re.compile(r"^\s*#\s+([^(\s].*)$"),
    re.compile(r"^\s*(- \S.*)$"),
)
PERL_TITLE = re.compile(r"^\s*#\s+Failed test '(.+)'$")
# The two values, or the row of a table in which they differ.
PERL_EXPLANATIONS = (
    re.compile(r"^\s*#\s+(got: .*)$"),
    re.compile(r"^# (\*.*\|.*\*)$"),
    re.compile(r"^# \|\s*(\S.*\|\s*(?:eq|==|ne)\s*\|.*?)\s*\|$"),
)
# `not ok - reverse (got ba, want ab)`
STATED = re.compile(r"^(?P<name>.+?)(?:: | \()(?:got|expected|want)\b.*$")
# Without a block of data, what was thrown stands below.
PLAIN_TEXT = re.compile(r"^\s+(\S.*)$")
DATA_BLOCK = "---"
END_OF_DATA = "..."
# node passes on what a file threw as a comment above the line of the file.
THROWN = re.compile(r"^# ((?:[\w.]+ \[)?[A-Z]\w*(?:Error|Exception)\b.*)$")
RESULT = re.compile(r"^(?:\s*not )?ok ")
LONGEST_BLOCK = 40
# What bats calls its attempt to find the tests of a file.
LOADING = frozenset({"bats-gather-tests"})


def read(output: CommandOutput) -> Iterator[FailedTest]:
    """Yield the innermost failing tests: a suite that contains them failed only because they did.

    An assertion is not a test: if the test around it is announced, the test has failed, with the
    words of its assertion.
    """
    if not output.has("ok"):
        return
    announcements = numbers_of(SUBTEST.match, output.lines)
    announced = min(announcements, default=len(output.lines))
    perl_titles = _perl_titles(output.lines)
    for number, name in _innermost(output.lines):
        stated = STATED.match(name)
        if stated:
            yield FailedTest(stated["name"], output.lines[number].strip(), number)
            continue
        whole = Quote(number, output.lines[number].strip())
        _, _, own_name = output.lines[number].partition(" - ")
        at = perl_titles.get(own_name, number)
        found = first_quote(output.lines, _block(output.lines, at), PERL_EXPLANATIONS)
        found = found or _explanation(output.lines, number, has_title=number > announced)
        at, error = found or whole
        yield FailedTest(name, error, at, named=name not in LOADING)


def _innermost(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the numbers and names of the lines that say `not ok` of nothing printed above them."""
    tests = {match.groups() for _, match in matching(SUBTEST.match, lines)}
    failed = list(matching(NOT_OK.match, lines))
    indent_above = ""
    for position, (number, match) in enumerate(failed):
        indent, name = match.groups()
        contains_last = len(indent) < len(indent_above)
        indent_above = indent
        if contains_last and not _is_test(lines, number):
            continue
        if (indent, name) not in tests:
            name = _test_around(failed[position + 1 :], indent, tests) or name
        yield number, name


def _is_test(lines: Sequence[str], number: int) -> bool:
    """Return whether node says that a test with parts failed, not a suite of tests."""
    block = [lines[at].strip() for at in _block(lines, number)]
    return "failureType: 'subtestsFailed'" in block and "type: 'suite'" not in block


def _test_around(
    failed_below: Iterable[tuple[int, re.Match[str]]], indent: str, tests: Collection[object]
) -> str:
    """Return the name of the test that contains an assertion; it is printed below it."""
    for _, match in failed_below:
        if len(match["indent"]) < len(indent):
            return match["name"] if match.groups() in tests else ""
    return ""


def _explanation(lines: Sequence[str], number: int, *, has_title: bool) -> Quote | None:
    """Return what the block below a failing test says, or what its file threw above it.

    Below tests that are announced stand assertions, whose titles say more than one value.
    """
    block = _block(lines, number)
    for at in block[:-1]:
        if BLOCK_MESSAGE.match(lines[at]):
            return Quote(at + 1, lines[at + 1].strip())
    patterns = [one for one in EXPLANATIONS if one is not VALUE or not has_title]
    if not any(lines[at].strip() == DATA_BLOCK for at in block):
        patterns.append(PLAIN_TEXT)
    values = [at for at in block if not lines[at].endswith(OPENS_BRACKET)]
    return first_quote(lines, values, patterns) or _thrown_above(lines, number)


def _perl_titles(lines: Sequence[str]) -> dict[str, int]:
    """Return where Perl writes to stderr about its tests, by the name of the test."""
    return {match[1]: number for number, match in matching(PERL_TITLE.match, lines)}


def _block(lines: Sequence[str], number: int) -> list[int]:
    """Return the numbers of the lines that explain a failing test."""
    lines_below = below(lines, number, LONGEST_BLOCK)
    block = list(takewhile(lambda at: not END_OF_BLOCK.match(lines[at]), lines_below))
    opening = "".join(lines[at] for at in block[:1])
    if opening.strip() != DATA_BLOCK:
        return block
    # What stands below the data belongs to the next test.
    closing = opening.replace(DATA_BLOCK, END_OF_DATA)
    return list(takewhile(lambda at: lines[at] != closing, block))


def _thrown_above(lines: Sequence[str], number: int) -> Quote | None:
    """Return what a file threw that could not be loaded: below its name stands nothing."""
    lines_above = above(number, LONGEST_BLOCK)
    since_last = list(takewhile(lambda at: not RESULT.match(lines[at]), lines_above))
    return first_quote(lines, since_last, [THROWN])
