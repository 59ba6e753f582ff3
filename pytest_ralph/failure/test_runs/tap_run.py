"""Failing tests of a TAP stream (node --test, tape, tap, qunit, bats).

not ok 1 - adds
  ---
  message: expected 1 to equal 2
  ...
"""

from __future__ import annotations

import re
from bisect import bisect
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from pytest_ralph.failure.lines import matching, numbers_of
from pytest_ralph.failure.test_runs.failed_test import FailedTest
from pytest_ralph.failure.test_runs.quotes import (
    Quote,
    above,
    below,
    first_quote,
    numbered,
    until,
)
from pytest_ralph.failure.test_runs.shapes import failed_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.output import CommandOutput

NOT_OK = re.compile(
    r"^(?P<indent>\s*)(?:❌ )?not ok(?:\s+\d+\b)?(?:\s+-)?\s+(?!.*# (?:TODO|SKIP))"
    # testem puts the browser and the time before the name.
    r"(?:\S.* - \[\w+ ms\] - )?"
    r"(?P<name>.+?)\s*(?: # (?:\w+(?: = |[= ]))?\(?[\d.]+.*| #\w+=\S+)?"
    r"(?: in \d+ms|\s{3,}\d+ ms| - ERROR:.*)?(?<!\{)$"
)
# A hash would begin a directive.
ESCAPED_HASH = ("\\#", "#")
# A suite whose tests stand below it in braces: above other suites their results stand first.
OF_STREAM = re.compile(r"^\s*(?:TAP version|\d+\.\.\d|ok\b|# \w+:? \d|# Subtest)")
OPENING = re.compile(r"^\s*not ok\b.* \{$")
CLOSING = re.compile(r"^\s*\}$")
# Some runners announce a test with its name alone.
SUBTEST = re.compile(r"^(?P<indent>\s*)# (?:Subtest: )?(?P<name>.+?)\s*$")
TITLE = re.compile(r"^# (?!Subtest: )\S")
END_OF_BLOCK = re.compile(
    r"^\s*(?:not )?ok \d|^\s*# Subtest|^\s*\d+\.\.\d+|^\s*$|^# failed \d+ among "
)
# A message of several lines starts on the next line.
BLOCK_MESSAGE = re.compile(r"^\s*(?:message|error): \|-?$")
# bats gives the command below its place.
BATS_MESSAGE = re.compile(r"^\s+(`.*' failed)$")
# Of two values the one that was expected, which says less than the title of an assertion.
VALUE = re.compile(r"^\s*((?:expected|found|wanted)\s*: (?![|>]).*)$")
# Explanations, the most telling first.
EXPLANATIONS = (
    re.compile(
        r"^\s+(?:message|error): (?!\||[\"']?(?:test )?failed[\"']?$|null|''$)[\"']?(.*?)[\"']?$"
    ),
    re.compile(r"^\s*#\s+(?:Failure|Error) message: (\S.*)$"),
    re.compile(r"^\s*#\s+(`.*' failed.*)$"),
    re.compile(r"^\s*#\s+(got: .*)$"),
    VALUE,
    # Behind a tab git's test framework shows the code of the test.
    re.compile(r"^\s*#(?!\t)\s+([^(\s].*)$"),
    re.compile(r"^\s*(- \S.*)$"),
    # ava gives what it found as the key of a value.
    re.compile(r"^\s+'(.+:)': "),
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
# node passes on what a file threw as a comment above the line of the file.
THROWN = re.compile(r"^# ((?:[\w.]+ \[)?[A-Z]\w*(?:Error|Exception)\b.*)$")
RESULT = re.compile(r"^(?:\s*not )?ok ")
# tape names a test above its assertions, which say how they compare and may have no own name.
COMPARES = re.compile(r"^\s*operator: \w")
DEFAULT_NAME = re.compile(r"^(?:should\b|\(unnamed assert\)|test exited without ending)")
LONGEST_BLOCK = 40
# What bats calls its attempt to find the tests of a file.
LOADING = "bats-gather-tests"


def read(output: CommandOutput) -> Iterator[FailedTest]:
    """Yield the innermost failing tests: a suite that contains them failed only because they did.

    An assertion is not a test: if the test around it is announced, the test has failed, with the
    words of its assertion.
    """
    if not output.has("ok"):
        return
    tests = list(_TapReader(output.lines).read())
    counts = failed_counts(output)
    if counts and len(tests) not in counts and not any(map(OF_STREAM.match, output.lines)):
        # Without a plan or a test that passed, the words of another runner's test look the same.
        return
    yield from tests


class _TapReader:
    """Reads the failing tests of one stream.

    `announced` has the line number of each announced test, by its indentation and name,
    `perl_titles` where Perl writes to stderr about a test, by its name.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = numbered(lines)
        self.not_ok = list(matching(NOT_OK.match, lines))
        self.announced: dict[tuple[str | None, ...], int] = {}
        for number, match in matching(SUBTEST.match, lines):
            self.announced.setdefault(match.groups(), number)
        self.closings: Sequence[int] = ()
        if any(map(OPENING.match, lines)):
            self.closings = numbers_of(CLOSING.match, lines)
        self.title_lines = numbers_of(TITLE.match, lines)
        self.perl_titles: dict[str, int] = {}
        for number, match in matching(PERL_TITLE.match, lines):
            self.perl_titles[match[1]] = number

    def read(self) -> Iterator[FailedTest]:
        for number, name in self._innermost():
            line = self.lines[number].text.strip()
            stated = STATED.match(name)
            if stated:
                yield FailedTest(stated["name"], line, number)
                continue
            error = self._perl_explanation(number) or self._explanation(number)
            if error is None:
                error = Quote(number, line)
            yield FailedTest(name, error.text, error.line, named=name != LOADING)

    def _innermost(self) -> Iterator[tuple[int, str]]:
        """Yield the numbers and names of the lines that say `not ok` of nothing printed above."""
        indent_above = ""
        closed_above = 0
        for position, (number, match) in enumerate(self.not_ok):
            indent = match["indent"]
            name = match["name"].replace(*ESCAPED_HASH)
            closed = bisect(self.closings, number)
            contains_last = len(indent) < len(indent_above) and closed == closed_above
            indent_above = indent
            closed_above = closed
            if contains_last and not (name in self.perl_titles or self._is_test(number)):
                continue
            if match.groups() not in self.announced and name not in self.perl_titles:
                name = self._test_around(position, indent) or name
            test = self._tape_test(number)
            if test:
                yield number, test
            if not (test and DEFAULT_NAME.match(name)):
                yield number, name

    def _is_test(self, number: int) -> bool:
        """Return whether node says that a test with parts failed, not a suite of tests."""
        fields = [line.text.strip() for line in self._block(number)]
        return "failureType: 'subtestsFailed'" in fields and "type: 'suite'" not in fields

    def _tape_test(self, number: int) -> str:
        """Return the name of the test above an assertion of tape, else an empty string."""
        titles_above = bisect(self.title_lines, number)
        if not titles_above or not first_quote(self._block(number), [COMPARES]):
            return ""
        title = self.title_lines[titles_above - 1]
        return self.lines[title].text.removeprefix("# ")

    def _test_around(self, position: int, indent: str) -> str:
        """Return the name of the test that contains an assertion; it is printed below it."""
        if not self.announced:
            return ""
        for _, match in islice(self.not_ok, position + 1, None):
            if len(match["indent"]) >= len(indent):
                continue
            if match.groups() in self.announced:
                return match["name"]
            break
        return ""

    def _perl_explanation(self, number: int) -> Quote | None:
        """Return the two values that Perl writes to stderr, apart from the line of the test."""
        _, _, title = self.lines[number].text.replace(*ESCAPED_HASH).partition(" - ")
        block = self._block(self.perl_titles.get(title, number))
        if first_quote(block, [BATS_MESSAGE]):
            return None
        return first_quote(block, PERL_EXPLANATIONS)

    def _explanation(self, number: int) -> Quote | None:
        """Return what the block below a failing test says, or what its file threw above it."""
        block = self._block(number)
        message = first_quote(block, [BATS_MESSAGE])
        if message:
            return message
        for line, line_below in pairwise(block):
            if BLOCK_MESSAGE.match(line.text):
                return Quote(line_below.line, line_below.text.strip())

        # A value that opens a bracket goes on below.
        values = [line for line in block if not line.text.endswith(("{", "[", "("))]
        patterns = list(EXPLANATIONS)
        if min(self.announced.values(), default=number) < number:
            # It may be an assertion of an announced test: its title says more than one value.
            patterns.remove(VALUE)
        if all(line.text.strip() != "---" for line in block):
            patterns.append(PLAIN_TEXT)
        return first_quote(values, patterns) or self._thrown_above(number)

    def _block(self, number: int) -> list[Quote]:
        """Return the lines that explain a failing test."""
        block = until(END_OF_BLOCK.match, below(self.lines, number, LONGEST_BLOCK))
        if not block:
            return []
        opening = block[0].text
        if opening.strip() != "---":
            return block
        # What stands below the data belongs to the next test.
        closing = opening.replace("---", "...")
        return until(lambda text: text == closing, block)

    def _thrown_above(self, number: int) -> Quote | None:
        """Return what a file threw that could not be loaded: below its name stands nothing."""
        since_last = until(RESULT.match, above(self.lines, number, LONGEST_BLOCK))
        return first_quote(since_last, [THROWN])
