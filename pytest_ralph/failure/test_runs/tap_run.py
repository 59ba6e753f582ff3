"""Failing tests of a TAP stream (node --test, tape, tap, qunit, bats).

not ok 1 - adds
  ---
  message: expected 1 to equal 2
  ...
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_ralph.failure.lines import above, below, matching
from pytest_ralph.failure.test_runs.failed_test import (
    FailedTest,
    Quote,
    first_quote,
    numbers_until,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

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
    if output.has("ok"):
        yield from _TapReader(output.lines).read()


class _TapReader:
    """Reads the failing tests of one stream.

    `announced` has the line number of each announced test, by its indentation and name.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.announced: dict[tuple[str | None, ...], int] = {}
        for number, match in matching(SUBTEST.match, lines):
            self.announced.setdefault(match.groups(), number)

    def read(self) -> Iterator[FailedTest]:
        for number, name in self._innermost():
            line = self.lines[number].strip()
            stated = STATED.match(name)
            if stated:
                yield FailedTest(stated["name"], line, number)
                continue
            explanation = self._perl_explanation(number) or self._explanation(number)
            at, error = explanation or Quote(number, line)
            yield FailedTest(name, error, at, named=name not in LOADING)

    def _innermost(self) -> Iterator[tuple[int, str]]:
        """Yield the numbers and names of the lines that say `not ok` of nothing printed above."""
        failed = list(matching(NOT_OK.match, self.lines))
        indent_above = ""
        for position, (number, match) in enumerate(failed):
            indent, name = match.groups()
            contains_last = len(indent) < len(indent_above)
            indent_above = indent
            if contains_last and not self._is_test(number):
                continue
            if match.groups() not in self.announced:
                failed_below = [row for _, row in failed[position + 1 :]]
                name = self._test_around(failed_below, indent) or name
            yield number, name

    def _is_test(self, number: int) -> bool:
        """Return whether node says that a test with parts failed, not a suite of tests."""
        fields = [self.lines[at].strip() for at in self._block(number)]
        return "failureType: 'subtestsFailed'" in fields and "type: 'suite'" not in fields

    def _test_around(self, failed_below: Iterable[re.Match[str]], indent: str) -> str:
        """Return the name of the test that contains an assertion; it is printed below it."""
        for match in failed_below:
            if len(match["indent"]) >= len(indent):
                continue
            if match.groups() in self.announced:
                return match["name"]
            break
        return ""

    def _perl_explanation(self, number: int) -> Quote | None:
        """Return the two values that Perl writes to stderr, apart from the line of the test."""
        _, _, title = self.lines[number].partition(" - ")
        at = self._perl_titles.get(title, number)
        return first_quote(self.lines, self._block(at), PERL_EXPLANATIONS)

    @cached_property
    def _perl_titles(self) -> Mapping[str, int]:
        """Where Perl writes to stderr about its tests, by the name of the test."""
        return {match[1]: number for number, match in matching(PERL_TITLE.match, self.lines)}

    def _explanation(self, number: int) -> Quote | None:
        """Return what the block below a failing test says, or what its file threw above it."""
        block = self._block(number)
        for at in block[:-1]:
            if BLOCK_MESSAGE.match(self.lines[at]):
                return Quote(at + 1, self.lines[at + 1].strip())

        patterns = list(EXPLANATIONS)
        if any(announcement < number for announcement in self.announced.values()):
            # It may be an assertion of an announced test: its title says more than one value.
            patterns.remove(VALUE)
        if not any(self.lines[at].strip() == DATA_BLOCK for at in block):
            patterns.append(PLAIN_TEXT)
        values = [at for at in block if not self.lines[at].endswith(OPENS_BRACKET)]
        return first_quote(self.lines, values, patterns) or self._thrown_above(number)

    def _block(self, number: int) -> list[int]:
        """Return the numbers of the lines that explain a failing test."""
        lines_below = below(self.lines, number, LONGEST_BLOCK)
        block = numbers_until(END_OF_BLOCK.match, self.lines, lines_below)
        if not block:
            return []
        opening = self.lines[block[0]]
        if opening.strip() != DATA_BLOCK:
            return block
        # What stands below the data belongs to the next test.
        closing = opening.replace(DATA_BLOCK, END_OF_DATA)
        return numbers_until(lambda line: line == closing, self.lines, block)

    def _thrown_above(self, number: int) -> Quote | None:
        """Return what a file threw that could not be loaded: below its name stands nothing."""
        lines_above = above(number, LONGEST_BLOCK)
        since_last = numbers_until(RESULT.match, self.lines, lines_above)
        return first_quote(self.lines, since_last, [THROWN])
