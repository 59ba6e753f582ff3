"""Failing tests in the shapes that many runners share, whatever the runner.

A shape means a failing test only where tests are known to have run. Of several shapes the one
counts that names as many tests as the summary says have failed, else the first in this order: a
list below a heading, a sentence that names the test, a line marked as failed at its start, a name
between two rulers, a line marked at its end, indented lines below a heading, and a weak mark above
an AssertionError.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from functools import cached_property
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.failure.files import SOURCE_SUFFIX
from pytest_ralph.failure.lines import indent_of, matching, numbers_of
from pytest_ralph.failure.test_runs.blocks import LONGEST_BLOCK, THROWN, Blocks
from pytest_ralph.failure.test_runs.failed_test import FailedTest, unique
from pytest_ralph.failure.test_runs.names import name_in
from pytest_ralph.failure.test_runs.quotes import below, first_quote, until

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_ralph.failure.output import CommandOutput

MOST_TESTS = 200

# What a build tool or a logger puts before every line: `[error]   x total`, `12:00:01 ERROR x`.
LEVEL = re.compile(
    r"^(?:\[?[\d/.T-]* ?\d\d:\d\d:\d\d\S* (?:INFO:?|ERROR:?|WARNING:?|(?= ))|"
    r"\[(?:info|error|warn|INFO|ERROR|WARNING)\]) |^ +\[(?:junit|testng|java|exec)\] "
)
# A line that shows that tests ran: "2 tests, 1 failure", "Tests: 1 failed", "[ FAIL 1 | ...".
TEST_SUMMARY = re.compile(
    r"^\W*failure in test\b|^\[  FAILED  \] \S"
    r"|^\W*(?:failed|failing) (?:tests?|specs?|scenarios?|examples?)\b(?:\W*$|: [a-z_])"
    r"|\b\d+ (?:tests?|specs?|examples?|scenarios?|test cases?|assertions?|checks?)\b.*\bfail"
    r"|\b(?:tests?|specs?|examples?|scenarios?|test cases|assertions|checks)\b.{0,30}"
    r"\b[1-9]\d* (?:tests? )?fail"
    r"|\bfail(?:ed|ures?|s|ing)?(?: (?:tests?|assertions?|checks?))?\s*[:=|]?\s*[1-9]\d*\b"
    r"|\bfailed \w+: +[1-9]\d*\b"
    r"|\b[1-9]\d*\s+(?:tests? )?fail(?:ed|ures?|ing)?\b",
    re.IGNORECASE,
)
HEADING = re.compile(
    r"^\W{0,6}(?:\d+ )?(?:failing"
    r"|(?:failed|failing|errored|undefined|broken|unsuccessful) (?:tests?|specs?|scenarios?"
    r"|examples?|cases?|features?|checks?|assertions?)"
    r"|(?:test )?(?:failures|errors)|errors and failures|failed"
    r"|there (?:was|were) \d+ (?:failures?|errors?)"
    r"|(?:the )?following (?:tests?|specs?|scenarios?) (?:have )?failed"
    r"|summary of (?:all )?fail\w+(?: tests)?)(?: \(?\d+\)?)?\s*:?"
    r"(?:\s+there (?:was|were) \d+ failures?)?\W*$",
    re.IGNORECASE,
)
NAMES_TESTS = re.compile(r"tests?|specs?|scenarios?|examples?|cases?|failures", re.IGNORECASE)
ITEM = re.compile(
    r"^\s*(?=\S)(?!\d+\. \S+:\d|.*(?: -){6})"
    r"(?:(?P<number>\d+[.)]|\d+ -|\[\d+\])|(?P<mark>[-*•✖✗✘✕×x]))\s+(?P<name>\S.*)$"
)
# The head of a block, which needs no heading above it.
NUMBERED = re.compile(r"^\s*\d+\) (?P<name>\S.*)$")
# A title that says only how the test ended: its name is on the next line.
ENDING = re.compile(r"^(?:Failure|Error|Failed)\W*$", re.IGNORECASE)
# What a block says about its test: no part of a title.
LABELLED = re.compile(r".*(?:Message|Stack|Failure|Error|Exception|Expected|Actual|code)\b.*:$")
# A ruler with a name in it: `---- tests::total stdout ----`, `── Failure (test-a.R:1): total ───`
IN_RULER = re.compile(
    r"^(?:[-=~_]{2,}|[─━═]{2,}) "
    r"(?:(?:Failure|Error|FAIL(?:ED)?|\d+\.|#\d+)\s*(?:\([^)]*\))?:? )?"
    r"(?P<name>\S.*?)(?: (?:stdout|stderr|FAILED))? (?:[-=~_]{4,}|[─━═]{2,})$"
)
# "3 failed", "failures=3", "Failed: 3".
COUNTED_WORD = re.compile("fail|broken", re.IGNORECASE)
COUNTS = re.compile(
    r"\b([1-9]\d*) (?:test cases? )?(?:(?:out )?of \d+ )?"
    r"(?:(?:tests?|specs?|scenarios?|examples?|checks?|cases?|assertions?) )?"
    r"(?:fail\w*|errors?\b|broken|erroneous)|\b(?:fail\w*|errors?)(?: (?:tests|assertions|checks))?"
    r"\W{0,3}([1-9]\d*)\b",
    re.IGNORECASE,
)
DIGITS = re.compile(r"\d+")
SENTENCES = (
    # Failure in test_cart.TestCart.test_total, FAIL in (cart-test), Failure in TEST(Cart, Net)
    re.compile(
        r"^(?:\S+:\d+(?::\d+)?: )?(?:error: )?\W*"
        r"(?:FAIL(?:URE|ED)?|ERROR|Failure|Error|Failed) in:? (?:test )?"
        r"[('\"`]?(?P<name>[\w.]+(?=: \S)|\w+ ?\([^()]+\)|[^()'\"`]*[^\s()'\"`:])[)'\"`]?"
        r"(?: \(.*)?(?::|: (?P<error>\S.*))?$"
    ),
    # test quantity: wrong answer, Test 'quantity' failed, Test case quantity FAILED: 2 != 6,
    # Suite cart, Test quantity had failures:
    re.compile(
        r"^\W*(?:suite \S+, )?(?:test(?: ?case)?|spec|scenario|case|unit|run(?= \")):?\s+"
        r"[`'\"]?(?P<name>\S.*?)[`'\"]?"
        r"\s*(?:[:.…-]+\s*|\s)(?:has |had |did |\[ *)?"
        r"(?:FAILED|FAILURES?|FAIL|wrong answer|not pass)\b"
        r"(?:: (?P<error>\S.*)|.*)$",
        re.IGNORECASE,
    ),
    # (1/2) test_cart.py:Cart.test_total:  FAIL: 5 != 6
    re.compile(
        r"^(?=.*:\s+(?:FAIL|FAILED|ERROR): )"
        r"\W*(?P<name>\S.*?):\s+(?:FAIL|FAILED|ERROR): (?P<error>\S.*?)(?: \([\d.]+ ?m?s\))?$"
    ),
    # quantity ... FAILED: wrong answer, quantity ....... FAILED (exit 2)
    re.compile(
        r"^\s*(?P<error>(?P<name>\w.*?) ?\.{3,} ?(?:FAIL(?:ED|URE)?|NOT OK|not ok|KO)"
        r"(?:: | - | \((?=exit|code|status|expected|got)).*)$"
    ),
    # total ................. 2/3
    re.compile(r"^\s*(?P<error>(?P<name>\w.*?) ?\.{3,} (?P<passed>\d+)/(?!(?P=passed)$)\d+)$"),
    # [12:00:00 ERR] cart.total failed in 00:00:00.0100000.
    re.compile(r"^(?:\[[^]]*\] )?(?P<name>\S.*?) failed in [\d:.]*\d ?\w*\.?\s*$"),
    # doctest: TEST CASE:  ring wraps
    re.compile(r"^\s*(?:TEST CASE|SCENARIO):\s+(?P<name>\S.*)$"),
    # Failure ('test-cart.R:4'): total uses the quantity
    re.compile(
        r"^\W*(?:Failure|FAILURE|FAILED|FAIL|Failed)\s*(?:\([^)]*\)"
        r"|\[[^\]]*\])\s*:?\s+(?P<name>\S.*)$"
    ),
)
RULER = re.compile(r"^\s*([-=~*_.─━═])\1{9,}\s*$")
# Why the test failed that is named below a ruler.
FAILED_BECAUSE = re.compile(r"^(?:FAILED|FAILURE|ERROR): (?P<error>\S.*)$")
# The heads of a table also stand between rulers.
COLUMNS = re.compile(r"\S\s{4,}\S")
ASSERTION = re.compile(r"^\s*(?:[\w.]+[.:])?Assertion(?:Failed)?(?:Error|Exception)\b")
FAILED_WORD = re.compile(
    r"\bfail(?:ed|ure)?\b|\bassert\w*\b|\bexpected\b|(?:error|exception)\b", re.IGNORECASE
)
MARKED = re.compile(
    r"^(?!\S+:\d+: failed: )\s*"
    r"(?:\d+\s+(?=[✘✗✖])|[*•-] (?=FAIL)|\S+:\d+: |> |==> (?=X ))?(?:[✕✖✗✘×❌⨯☒✖🔴]\ufe0f?"
    r"|X (?=\w+\.)|\[-\] |\[ *(?:FAIL(?:ED|URE)?(?:: (?P<error>[^]]*))?|F|KO) *\]"
    r"|\[(?:FAILED\b[^]]*| {2}ERROR {3}(?!\] ---))\]|\(fail\)"
    r"|(?:FAIL(?:ED|URE)?|KO)!?(?: -|\s*:| »| \||\s{2,})|(?i:fail(?:ed|ure)?): "
    r"|ERROR: (?=\w+ \(\w+\.[\w.]+\))|!!(?!!)|--- FAIL:?"
    r"|F\s{2,}|FAIL(?:ED)?\s+(?!\d+:)(?:[\w./-]+:\d+ )?"
    r"|NOT OK(?: -)?)\s*"
    r"(?!\d+ (?:problems?|tests?|errors?|of)\b|\|)(?P<name>\S.*)$"
)
END_MARK = re.compile(
    r"(?<!\w)(?:\[\s*)?(?:FAIL(?:ED|URE)?!?|[Ff]ailed|KO|NOT OK|WRONG|DIFF|✘|✗|✖|✕|❌"
    r"|\*{2,3} ?FAIL(?:ED|S) ?\*{2,3}|\[E\]|ERROR(?= \([\d.]+s\)$))(?:\s*\])?"
    r"(?: [FE](?= |$))?(?:(?: in)?\s+\(?[\d.]+ ?[mµn]?s\)?|\s+\[ *\d+%\]"
    r"|\s+\(?(?P<error>(?:expected|assert|got|want|found|exit)\b.*?)\)?)?$"
)
# Marks that mean a failure only where the summary counts as many: "- total", "! total".
WEAKLY_MARKED = re.compile(r"^\s*[-x!●] (?P<name>\S.*)$")
# A title with its block below, and a word in a table, likewise.
TITLED = re.compile(r"^(?:In )?(?P<name>\S.* > .*|\w+::\w+):$")
# What contains tests.
CLASS = re.compile(r"(?:\w+\.)*[A-Z]\w*(?:Spec|Suite|Tests?)")
# How to run a test again, where it stands and its name: `rspec ./spec/cart_spec.rb:5 # Cart adds`.
RERUN = re.compile(r"^(?P<error>\w+ \S+\.\w+(?::\d+|\[[\d:]+\]) # (?P<name>\S.*))$")
# A line of nothing but a place and a name, or a name behind a bullet.
ONLY_BULLETS = re.compile(r"^ *● (?P<name>\S.*)$")
ONLY_PLACED = re.compile(r"^(?P<error>\S+\.\w+:\d+:(?P<name>[^\W\d].*))$")
# The group and the test, above the block of its error.
IN_GROUP = re.compile(r"^\s*❯ (?P<name>\S.* / \S.*)$")
# The name in the first or the last column, and how the test ended.
STATUS = (
    r"(?P<status>(?P<passed>pass(?:ed)?\b|ok\b|[✅✓✔](?=\s*[|│]|$))"
    r"|(?P<failed>fail(?:ed|ure)?\b|not ok\b|[❌✗✘](?=\s*[|│]|$)))"
)
NAME_FIRST = re.compile(
    rf"^(?:.*[|│] +)?(?P<name>\w\S*(?: \S+)*?)(?: {{2,}}| *[|│] ){STATUS}.*$", re.IGNORECASE
)
STATUS_FIRST = re.compile(
    rf"^(?:[|│]? *|\s*){STATUS}(?::| \([^)]*\)| *[|│])?\s+(?P<name>[^\W\d][^|│]*?)(?: *[|│].*)?$",
    re.IGNORECASE,
)
# "Failed tests: parse_date, parse_time"
IN_LINE = re.compile(
    r"^\W*(?:failed|failing) (?:tests|checks|cases): "
    r"(?P<names>[a-z_][\w.:/-]*(?:, [a-z_][\w.:/-]*)*)$",
    re.IGNORECASE,
)
IN_COLUMN = re.compile(r"(?:  |\.\.|: (?!failed: ))(?:failed|fail|FAIL)\b")
# What may stand before the name of a test in a tree or list.
TREE = " \t├└─│|+*•%!-"
PASSED = re.compile(
    r"^\s*(?:(?:PASS|SKIP)(?:P?ED)?\b|X(?:FAIL|PASS)\b|passed\b|(?:ok|OK) +\d"
    r"|\[(?:PASS|OK)\]|[✓✔√✅🟢]\ufe0f? )"
)
PASSED_AT_END = re.compile(
    r"(?:  |: |\.\. ?|[|│] ?)(?:PASS(?:ED)?|passed|ok|OK|✅)(?: \([^()]*\)|\s+\[[\d.]+s\])?"
    r"(?: *[|│])?$| PASSED +\[ *\d+%\]$"
)
PASSED_ENDINGS = ("ok", "OK", "PASS", "PASSED", "passed", "✅", ")", "]", "|")
# A name and, behind a colon, what was expected; a name of code and the values that differ.
STATED = (
    re.compile(
        r"^(?P<name>\S.*?)(?:(?::| ->?| →) | \(|\s{2,})"
        r"(?P<error>(?:expected|got|want(?:ed)?|assert\w*|should|was)\b.*?)\)?$",
        re.IGNORECASE,
    ),
    re.compile(r"^(?P<name>\w+): (?P<error>.* [!=<>]=? .*)$"),
    # no such file: 3 <> -3
    re.compile(r"^(?P<name>\S.*?): (?P<error>\S+ (?:[!=/]==?|<>|≠|[<>]=?) \S+)$"),
    # export has 12 columns -- found 11
    re.compile(
        r"^(?P<name>\S.*?)(?: --| —|:) "
        r"(?P<error>(?:expected|got|found|missing|actual(?:ly)?|but|no such)\b.*)$"
    ),
    re.compile(r"^(?P<name>(?:\w+::)+\w+\([^()]*\)) (?P<error>\S.*)$"),
    # pop returns the least: test/run.lua:5: expected 1, got 3
    re.compile(r"^(?P<name>\S.*?): (?P<error>[\w./\\-]+\.\w+:\d+: \S.*)$"),
    # add -- test/run.lua:5: expected 6, got -2
    re.compile(r"^(?P<name>\S.*?) -- (?P<error>\S+:\d+: \S.*)$"),
)


def names_tests(output: CommandOutput) -> bool:
    """Return whether a summary shows that tests ran and failed."""
    return any(TEST_SUMMARY.search(line) for line in output.lines)


def marked_lines(output: CommandOutput) -> frozenset[int]:
    """Return the numbers of the lines that start with a mark for a failure."""
    return frozenset(numbers_of(MARKED.match, output.lines))


def read_shapes(output: CommandOutput) -> Sequence[FailedTest]:
    """Return the failing tests by the shape that names as many as are counted, else the first."""
    reader = _ShapeReader(output.lines)
    strong = reader.strong_shapes()
    shapes = [*strong, *reader.weak_shapes()]
    for counts in (failed_counts(output), _totals(output)):
        counted = [tests for tests in shapes if len(tests) in counts]
        if counted:
            return _with_errors(max(counted, key=_merit), shapes)
    for tests in strong:
        if tests:
            return _with_errors(tests, shapes)
    return ()


def are_counted(output: CommandOutput, tests: Sequence[FailedTest]) -> bool:
    """Return whether the output says that this many tests failed, in one run or in several."""
    return len(tests) in failed_counts(output) | _totals(output)


def failed_counts(output: CommandOutput) -> set[int]:
    """Return how many tests failed, as far as any line says so."""
    counts: set[int] = set()
    for found in counts_by_line(output).values():
        counts.update(found)
        # "2 failures, 1 error" are three tests.
        counts.add(sum(found))
    return counts - {0}


def _totals(output: CommandOutput) -> set[int]:
    """Return how many tests failed in several runs, of which each ends with the same words."""
    totals: defaultdict[str, int] = defaultdict(int)
    for number, found in counts_by_line(output).items():
        words = DIGITS.sub("", output.lines[number])
        totals[words] += sum(found)
    return set(totals.values()) - {0}


def counts_by_line(output: CommandOutput) -> dict[int, Sequence[int]]:
    """Return what each line counts as failed, by its number."""
    return {
        number: [int(one or other) for one, other in COUNTS.findall(line)]
        for number, line in enumerate(output.lines)
        if COUNTED_WORD.search(line)
    }


def _merit(tests: Sequence[FailedTest]) -> tuple[bool, int, bool]:
    """Order shapes that name as many tests as are counted: the one that says most comes last.

    Some runners mark both a file or class and the only test in it.
    """
    are_groups = all(_is_file(test.name) or CLASS.fullmatch(test.name) for test in tests)
    have_group = all(" / " in test.name for test in tests)
    return not are_groups, len(tests), have_group


def _with_errors(
    tests: Sequence[FailedTest], shapes: Iterable[Sequence[FailedTest]]
) -> Sequence[FailedTest]:
    """Return the tests with the errors that another shape gives for the same names."""
    known: dict[str, FailedTest] = {}
    for shape in (*shapes, tests):
        for test in shape:
            if test.error:
                known[test.name] = test
    return [known.get(test.name, test) for test in tests]


def _is_file(name: str) -> bool:
    if " › " in name or "::" in name:
        return False
    return SOURCE_SUFFIX.search(name.partition(":")[0]) is not None


def _distinct(tests: Iterable[FailedTest]) -> Sequence[FailedTest]:
    """Return one test per name.

    Files that contain the others are left out, and of a test that is named with and without its
    suite the longer name stays.
    """
    found = unique(tests)
    left_out = set()
    for test in found:
        suite, _, own_name = test.name.rpartition(" > ")
        if suite:
            left_out.add(own_name)
        if _is_file(test.name):
            left_out.add(test.name)
    return [test for test in found if test.name not in left_out] or found


def _first_match(patterns: Iterable[re.Pattern[str]], text: str) -> re.Match[str] | None:
    for pattern in patterns:
        match = pattern.search(text)
        if match:
            return match
    return None


class Title(NamedTuple):
    """What may be the name of a failing test, and the error if the same line states it."""

    line: int
    text: str
    error: str = ""


class _ShapeReader:
    """Reads the shapes in the lines of one output."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = [LEVEL.sub("", line) for line in lines]

    def strong_shapes(self) -> Sequence[Sequence[FailedTest]]:
        """Return the tests in each shape that means failing tests by itself."""
        shapes = (
            self._listed(),
            self._matching(*SENTENCES),
            self._matching(MARKED),
            self._between_rulers(),
            self._matching(END_MARK),
            self._indented(),
            self._above_thrown(),
            self._in_columns(NAME_FIRST),
            self._in_columns(STATUS_FIRST),
            self._in_line(),
            self._matching(RERUN),
            self._only(ONLY_PLACED),
            self._only(ONLY_BULLETS),
            self._numbered_above_thrown(),
        )
        return [self._tests(titles) for titles in shapes]

    def weak_shapes(self) -> Sequence[Sequence[FailedTest]]:
        """Return the tests in each shape that counts only if it names as many as are counted."""
        shapes = (
            self._numbered(),
            self._numbered_above_list(),
            self._matching(IN_RULER),
            self._matching(WEAKLY_MARKED),
            self._matching(TITLED),
            self._matching(IN_GROUP),
            self._below_rulers(),
        )
        return [*map(self._tests, shapes), self._in_table()]

    def _listed(self) -> Iterator[Title]:
        """Yield the numbered or marked items below a heading such as "Failures:"."""
        last_line = -LONGEST_BLOCK - 1
        first_item: re.Match[str] | None = None
        for number, line in enumerate(self.lines):
            if HEADING.match(line):
                last_line = number
                first_item = None
                continue
            item = ITEM.match(line)
            if item is None or number - last_line > LONGEST_BLOCK:
                continue
            first_item = first_item or item
            if item["mark"] != first_item["mark"]:
                # What is marked in another way below an item belongs to that.
                continue
            last_line = number
            title = self._whole_title(item["name"], number)
            yield Title(number, self._with_suite(title, line))

    def _numbered(self) -> Iterator[Title]:
        """Yield the numbered heads of blocks."""
        for number, match in matching(NUMBERED.match, self.lines):
            yield Title(number, self._whole_title(match["name"], number))

    def _numbered_above_list(self) -> Iterator[Title]:
        """Yield the numbered lines above a list, which may show only suites if it was searched."""
        heading = next(iter(numbers_of(HEADING.match, self.lines)), 0)
        for number, match in matching(NUMBERED.match, self.lines[:heading]):
            yield Title(number, match["name"])

    def _indented(self) -> Iterator[Title]:
        """Yield the indented lines below a heading such as "Failed scenarios:"."""
        for heading in numbers_of(HEADING.match, self.lines):
            if not NAMES_TESTS.search(self.lines[heading]):
                continue
            for number, line in below(self._blocks.lines, heading, LONGEST_BLOCK):
                if ITEM.match(line):
                    # It is a list of items, with blocks below them.
                    break
                if indent_of(line):
                    yield Title(number, line.strip())
                elif line:
                    break

    def _matching(self, *patterns: re.Pattern[str]) -> Iterator[Title]:
        """Yield what a pattern catches as the name, or what stands before its match."""
        for number, line in enumerate(self.lines):
            match = _first_match(patterns, line)
            if match:
                caught = match.groupdict("")
                name = caught.get("name") or _before(match)
                yield Title(number, name, caught.get("error", ""))

    def _in_columns(self, pattern: re.Pattern[str]) -> Iterator[Title]:
        """Yield the rows that say `FAIL` where others say `PASS`."""
        rows = dict(matching(pattern.match, self.lines))
        passed = {_column(row) for row in rows.values() if row["passed"]}
        for number, row in rows.items():
            if row["failed"] and _column(row) in passed:
                yield Title(number, row["name"], row[0].strip())

    def _in_line(self) -> Iterator[Title]:
        """Yield the names that one line lists."""
        for number, match in matching(IN_LINE.match, self.lines):
            for name in match["names"].split(", "):
                yield Title(number, name)

    def _only(self, pattern: re.Pattern[str]) -> Iterator[Title]:
        """Yield the names of an output in which every line has one form."""
        lines = list(filter(None, self.lines))
        if all(map(pattern.match, lines)):
            yield from self._matching(pattern)

    def _numbered_above_thrown(self) -> Iterator[Title]:
        """Yield the numbered heads that end with a colon, if the block below says what was thrown.

        The heading above them may have been cut off.
        """
        for title in self._numbered():
            thrown = self._blocks.expectation(title.line)
            if title.text.endswith(":") and THROWN.match(thrown.text):
                yield title

    def _in_table(self) -> Sequence[FailedTest]:
        """Return the tests of a table, with the row as error if no block below gives one."""
        tests = []
        for test in self._tests(self._matching(IN_COLUMN)):
            row = self.lines[test.line].strip()
            says_more = not row.lower().endswith(("fail", "failed"))
            if says_more and not test.error:
                tests.append(replace(test, error=row))
            else:
                tests.append(test)
        return tests

    def _above_thrown(self) -> Iterator[Title]:
        """Yield what is weakly marked, if an AssertionError follows at once."""
        for title in self._matching(WEAKLY_MARKED):
            lines_below = self.lines[title.line + 1 : title.line + 3]
            thrown = next(filter(None, lines_below), "")
            if ASSERTION.match(thrown):
                yield title

    def _below_rulers(self) -> Iterator[Title]:
        """Yield names below a ruler, if the block below says why they failed."""
        for ruler in self._rulers:
            lines_below = below(self._blocks.lines, ruler + 1, LONGEST_BLOCK)
            block = until(RULER.match, lines_below)
            because = first_quote(block, [FAILED_BECAUSE])
            if because:
                yield Title(because.line, self.lines[ruler + 1], because.text)

    def _between_rulers(self) -> Iterator[Title]:
        """Yield names between two rulers, if the block below says that they failed."""
        for first, second in pairwise(self._rulers):
            name = self.lines[first + 1]
            # Below the name may stand a description.
            if second - first not in (2, 3) or COLUMNS.search(name):
                continue
            block = self._blocks.below(second)
            if any(FAILED_WORD.search(line.text) for line in block):
                yield Title(second, name)

    @cached_property
    def _rulers(self) -> Sequence[int]:
        return numbers_of(RULER.match, self.lines)

    def _tests(self, titles: Iterable[Title]) -> Sequence[FailedTest]:
        """Return the tests with these titles, apart from those that are no name."""
        tests = filter(None, map(self._test, titles))
        return _distinct(islice(tests, MOST_TESTS))

    def _test(self, title: Title) -> FailedTest | None:
        """Return the test with this title, unless that is no name."""
        number, text, error = title
        stated = _first_match(STATED, text)
        if stated:
            text = stated["name"]
            error = stated["error"]
        name = name_in(text)
        if not name:
            return None
        if error:
            return FailedTest(name, error, number)
        expectation = self._blocks.expectation(number)
        return FailedTest(name, expectation.text, expectation.line)

    def _with_suite(self, title: str, item: str) -> str:
        """Return the title with its suite, if it has the same number elsewhere."""
        number = item.strip().partition(") ")[0]
        own_name = title.removesuffix(":")
        for whole in self._names_by_number.get(number, ()):
            if whole.endswith(f" {own_name}"):
                return whole
        return title

    @cached_property
    def _names_by_number(self) -> Mapping[str, Sequence[str]]:
        """What is printed behind each number."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for _, match in matching(NUMBERED.match, self.lines):
            number = match[0].strip().partition(")")[0]
            found[number].append(match["name"])
        return found

    def _whole_title(self, text: str, number: int) -> str:
        """Return the innermost line of a title that spans several: each is indented deeper."""
        lines_below = self.lines[number + 1 : number + 6]
        if ENDING.match(text):
            return "".join(lines_below[:1])
        indent = indent_of(self.lines[number])
        for line in lines_below:
            if indent_of(line) <= indent or LABELLED.match(line):
                break
            if line.endswith(":"):
                return line.strip()
            indent = indent_of(line)
        return text

    @cached_property
    def _blocks(self) -> Blocks:
        return Blocks(self.lines, frozenset(numbers_of(_ends_block, self.lines)))


def _ends_block(line: str) -> bool:
    """Return whether a line is the title of another test, or a summary."""
    if ITEM.match(line) or MARKED.match(line) or PASSED.match(line):
        return True
    if line.endswith(PASSED_ENDINGS) and PASSED_AT_END.search(line):
        return True
    # Most lines lack the word: test for it before searching with a pattern.
    if "fail" in line.lower() and TEST_SUMMARY.search(line):
        return True
    if "ssertion" in line and line.endswith(" failed"):
        # "Assertion with == failed" is what the block says.
        return False
    return END_MARK.search(line) is not None


def _column(row: re.Match[str]) -> tuple[int, int]:
    """Return the cell in which a row says how the test ended, without cells its position."""
    before = row.string[: row.start("status")]
    cells = before.count("|") + before.count("│")
    if cells:
        return cells, 0
    return 0, len(before)


def _before(mark: re.Match[str]) -> str:
    """Return the name before a mark."""
    before = mark.string[: mark.start()]
    name = before.rstrip(" \t.…:=>→-|│").lstrip(TREE)
    return name.removeprefix("test ").removeprefix("Running ")
