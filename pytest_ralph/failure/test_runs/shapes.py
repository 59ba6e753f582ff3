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
from itertools import islice, takewhile
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.failure.files import SOURCE_SUFFIX
from pytest_ralph.failure.lines import below, indent_of, matching, numbers_of
from pytest_ralph.failure.test_runs.blocks import LONGEST_BLOCK, Blocks
from pytest_ralph.failure.test_runs.failed_test import FailedTest, unique
from pytest_ralph.failure.test_runs.names import name_in
from pytest_ralph.failure.test_runs.quotes import Quote

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
    r"^\W*failure in test\b|^\W*(?:failed|failing) (?:tests?|specs?|scenarios?|examples?)\b\W*$"
    r"|\b\d+ (?:tests?|specs?|examples?|scenarios?|test cases?|assertions?|checks?)\b.*\bfail"
    r"|\b(?:tests?|specs?|examples?|scenarios?|test cases|assertions|checks)\b.{0,30}"
    r"\b[1-9]\d* (?:tests? )?fail"
    r"|\bfail(?:ed|ures?|s|ing)?\s*[:=|]?\s*[1-9]\d*\b|\b[1-9]\d*\s+(?:tests? )?fail(?:ed|ures?"
    r"|ing)?\b",
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
    r"^\s*(?!\d+\. \S+:\d|.*(?: -){6})"
    r"(?:(?P<number>\d+[.)]|\d+ -|\[\d+\])|[-*•✖✗✘✕×x])\s+(?P<name>\S.*)$"
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
    r"\b([1-9]\d*) (?:(?:out )?of \d+ )?"
    r"(?:(?:tests?|specs?|scenarios?|examples?|checks?|cases?|assertions?) )?"
    r"(?:fail\w*|errors?\b|broken|erroneous)|\b(?:fail\w*|errors?)\W{0,3}([1-9]\d*)\b",
    re.IGNORECASE,
)
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
        r"^\W*(?P<name>\S.*?):\s+(?:FAIL|FAILED|ERROR): (?P<error>\S.*?)(?: \([\d.]+ ?m?s\))?$"
    ),
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
    r"^\s*(?:\d+\s+(?=[✘✗✖])|[*•-] (?=FAIL)|\S+:\d+: |> |==> (?=X ))?(?:[✕✖✗✘×❌⨯☒✖]\ufe0f?"
    r"|X (?=\w+\.)|\[-\] |\[ *(?:FAIL(?:ED|URE)?(?:: (?P<error>[^]]*))?|F|KO) *\]|\(fail\)"
    r"|(?:FAIL(?:ED|URE)?|KO)!?(?: -|\s*:| »| \||\s{2,})|(?i:fail(?:ed|ure)?): |!!(?!!)|--- FAIL:?"
    r"|F\s{2,}|FAIL(?:ED)?\s+(?!\d+:)(?:[\w./-]+:\d+ )?"
    r"|NOT OK(?: -)?)\s*"
    r"(?!\d+ (?:problems?|tests?|of)\b|\|)(?P<name>\S.*)$"
)
END_MARK = re.compile(
    r"(?<!\w)(?:\[\s*)?(?:FAIL(?:ED|URE)?!?|[Ff]ailed|KO|NOT OK|WRONG|DIFF|✘|✗|✖|✕|❌"
    r"|\*{3} ?FAILED ?\*{3}|\[E\])(?:\s*\])?"
    r"(?: [FE](?= |$))?(?:\s+\(?[\d.]+ ?[mµn]?s\)?|\s+\[ *\d+%\]"
    r"|\s+\(?(?P<error>(?:expected|assert|got|want)\b.*?)\)?)?$"
)
# Marks that mean a failure only where the summary counts as many: "- total", "! total".
WEAKLY_MARKED = re.compile(r"^\s*[-x!●] (?P<name>\S.*)$")
# A title with its block below, and a word in a table, likewise.
TITLED = re.compile(r"^(?:In )?(?P<name>\S.* > .*|\w+::\w+):$")
# The group and the test, above the block of its error.
IN_GROUP = re.compile(r"^\s*❯ (?P<name>\S.* / \S.*)$")
IN_COLUMN = re.compile(r"(?:  |\.\.|: )(?:failed|fail|FAIL)\b")
# What may stand before the name of a test in a tree or list.
TREE = " \t├└─│|+*•%!-"
PASSED = re.compile(
    r"^\s*(?:(?:PASS|SKIP)(?:P?ED)?\b|X(?:FAIL|PASS)\b|passed\b|ok \d|\[(?:PASS|OK)\]|[✓✔√] )"
)
PASSED_AT_END = re.compile(r"(?:  |: |\.\. ?)(?:PASS(?:ED)?|passed|ok|OK)(?: \([^()]*\))?$")
PASSED_ENDINGS = ("ok", "OK", "PASS", "PASSED", "passed", ")")
# A name and, behind a colon, what was expected; a name of code and the values that differ.
STATED = (
    re.compile(
        r"^(?P<name>\S.*?)(?:(?::| ->?) | \(|\s{2,})"
        r"(?P<error>(?:expected|got|want(?:ed)?|assert\w*|should|was)\b.*?)\)?$",
        re.IGNORECASE,
    ),
    re.compile(r"^(?P<name>\w+): (?P<error>.* [!=<>]=? .*)$"),
    re.compile(r"^(?P<name>(?:\w+::)+\w+\(\)) (?P<error>\S.*)$"),
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
    strong, weak = _ShapeReader(output.lines).shapes()
    counts = failed_counts(output)
    counted = [tests for tests in (*strong, *weak) if len(tests) in counts]
    # Some runners mark both a file and the only test in it.
    best = max(counted, key=_merit) if counted else next(filter(None, strong), ())
    return _with_errors(best, (*strong, *weak))


def failed_counts(output: CommandOutput) -> set[int]:
    """Return how many tests failed, as far as any line says so."""
    counts: set[int] = set()
    for line in output.lines:
        if not COUNTED_WORD.search(line):
            continue
        found = [int(one or other) for one, other in COUNTS.findall(line)]
        # "2 failures, 1 error" are three tests.
        counts.update(found, [sum(found)])
    return counts - {0}


def _merit(tests: Sequence[FailedTest]) -> tuple[bool, int, bool]:
    """Order shapes that name as many tests as are counted: the one that says most comes last."""
    have_group = all(" / " in test.name for test in tests)
    return not _are_files(tests), len(tests), have_group


def _with_errors(
    tests: Sequence[FailedTest], shapes: Iterable[Sequence[FailedTest]]
) -> Sequence[FailedTest]:
    """Return the tests with the errors that another shape gives for the same names."""
    if all(test.error for test in tests):
        return tests
    known = {test.name: test for shape in shapes for test in shape if test.error}
    return [test if test.error else known.get(test.name, test) for test in tests]


def _are_files(tests: Iterable[FailedTest]) -> bool:
    return all(_is_file(test.name) for test in tests)


def _is_file(name: str) -> bool:
    return SOURCE_SUFFIX.search(name.partition(":")[0]) is not None


def _distinct(tests: Iterable[FailedTest]) -> Sequence[FailedTest]:
    """Return one test per name.

    Files that contain the others are left out, and of a test that is named with and without its
    suite the longer name stays.
    """
    found = unique(tests)
    ends = {test.name.rpartition(" > ")[2] for test in found if " > " in test.name}
    return [test for test in found if not _is_file(test.name) and test.name not in ends] or found


class Title(NamedTuple):
    """What may be the name of a failing test, and the error if the same line states it."""

    line: int
    text: str
    error: str = ""


class _ShapeReader:
    """Reads the shapes in the lines of one output."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = [LEVEL.sub("", line) for line in lines]

    def shapes(self) -> tuple[Sequence[Sequence[FailedTest]], Sequence[Sequence[FailedTest]]]:
        """Return the tests in each shape, and in those that count only if they are counted."""
        strong = (
            self._listed(),
            self._matching(*SENTENCES),
            self._matching(MARKED),
            self._between_rulers(),
            self._matching(END_MARK),
            self._indented(),
            self._above_thrown(),
        )
        weak = (
            *map(self._matching, (NUMBERED, IN_RULER, WEAKLY_MARKED, TITLED, IN_GROUP)),
            self._below_rulers(),
        )
        in_table = self._tests(self._matching(IN_COLUMN))
        return (
            [self._tests(titles) for titles in strong],
            [*map(self._tests, weak), [self._with_row(test) for test in in_table]],
        )

    def _listed(self) -> Iterator[Title]:
        """Yield the numbered or marked items below a heading such as "Failures:"."""
        last_line = -LONGEST_BLOCK - 1
        are_numbered: bool | None = None
        for number, line in enumerate(self.lines):
            if HEADING.match(line):
                last_line = number
                are_numbered = None
                continue
            match = ITEM.match(line)
            if match is None or number - last_line > LONGEST_BLOCK:
                continue
            is_numbered = match["number"] is not None
            if are_numbered is None:
                are_numbered = is_numbered
            if is_numbered is not are_numbered:
                # What is marked in another way below an item belongs to that.
                continue
            last_line = number
            title = self._whole_title(match["name"], number)
            yield Title(number, self._with_suite(title, line))

    def _indented(self) -> Iterator[Title]:
        """Yield the indented lines below a heading such as "Failed scenarios:"."""
        for number, heading in matching(HEADING.match, self.lines):
            if not NAMES_TESTS.search(heading.string):
                continue
            printed = (at for at in below(self.lines, number, LONGEST_BLOCK) if self.lines[at])
            for at in takewhile(lambda at: self.lines[at].startswith((" ", "\t")), printed):
                yield Title(at, self.lines[at].strip())

    def _matching(self, *patterns: re.Pattern[str]) -> Iterator[Title]:
        """Yield what a pattern catches as the name, or what stands before its match."""
        for number, line in enumerate(self.lines):
            match = next(filter(None, (pattern.search(line) for pattern in patterns)), None)
            if match is None:
                continue
            caught = match.groupdict("")
            text = caught.get("name") or _before(line, match)
            if match.re is NUMBERED:
                text = self._whole_title(text, number)
            yield Title(number, text, caught.get("error", ""))

    def _with_row(self, test: FailedTest) -> FailedTest:
        """Return a test of a table with its row as error, if that says more than that it failed."""
        row = self.lines[test.line].strip()
        if test.error or row.lower().endswith(("fail", "failed")):
            return test
        return replace(test, error=row)

    def _above_thrown(self) -> Iterator[Title]:
        """Yield what is weakly marked, if an AssertionError follows at once."""
        for title in self._matching(WEAKLY_MARKED):
            lines_below = self.lines[title.line + 1 : title.line + 3]
            thrown = next(filter(None, lines_below), "")
            if ASSERTION.match(thrown):
                yield title

    @cached_property
    def _rulers(self) -> Sequence[int]:
        return numbers_of(RULER.match, self.lines)

    def _below_rulers(self) -> Iterator[Title]:
        """Yield names below a ruler, if the block below says why they failed."""
        ends = [*self._rulers[1:], len(self.lines)]
        for ruler, end in zip(self._rulers, ends, strict=False):
            for at in range(ruler + 2, min(end, ruler + LONGEST_BLOCK)):
                because = FAILED_BECAUSE.match(self.lines[at])
                if because:
                    yield Title(at, self.lines[ruler + 1], because["error"])
                    break

    def _between_rulers(self) -> Iterator[Title]:
        """Yield names between two rulers, if the block below says that they failed."""
        rulers = set(self._rulers)
        for number, name in enumerate(self.lines):
            if number - 1 not in rulers or number in rulers or COLUMNS.search(name):
                continue
            # Below the name may stand a description.
            second = next((at for at in (number + 1, number + 2) if at in rulers), None)
            if second and any(FAILED_WORD.search(line.text) for line in self._blocks.below(second)):
                yield Title(second, name)

    def _tests(self, titles: Iterable[Title]) -> Sequence[FailedTest]:
        """Return the tests with these titles, apart from those that are no name."""
        tests = (self._test(title) for title in titles)
        return _distinct(islice(filter(None, tests), MOST_TESTS))

    def _test(self, title: Title) -> FailedTest | None:
        number, text, error = title
        stated = next(filter(None, (pattern.match(text) for pattern in STATED)), None)
        if stated:
            text = stated["name"]
            error = stated["error"]
        name = name_in(text)
        if not name:
            return None
        found = Quote(number, error) if error else self._blocks.expectation(number)
        return FailedTest(name, found.text, found.line)

    def _with_suite(self, title: str, item: str) -> str:
        """Return the title with its suite, if it has the same number elsewhere."""
        number, bracket, _ = item.strip().partition(") ")
        if not bracket:
            return title
        own_name = title.removesuffix(":")
        elsewhere = self._numbered.get(number, ())
        return next((whole for whole in elsewhere if whole.endswith(f" {own_name}")), title)

    @cached_property
    def _numbered(self) -> Mapping[str, Sequence[str]]:
        """What is printed behind each number."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for _, match in matching(NUMBERED.match, self.lines):
            number, _, _ = match[0].strip().partition(")")
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
        return Blocks(self.lines, self._boundaries())

    def _boundaries(self) -> frozenset[int]:
        """Numbers of the lines at which a block ends."""
        found = set()
        for number, line in enumerate(self.lines):
            is_title = ITEM.match(line) or MARKED.match(line) or PASSED.match(line)
            is_passed = line.endswith(PASSED_ENDINGS) and PASSED_AT_END.search(line)
            # "Assertion with == failed" is what the block says.
            is_said = "ssertion" in line and line.endswith(" failed")
            if not is_said:
                is_title = is_title or END_MARK.search(line)
            # Most lines lack the word: test for it before searching with a pattern.
            is_summary = "fail" in line.lower() and TEST_SUMMARY.search(line)
            if is_title or is_passed or is_summary:
                found.add(number)
        return frozenset(found)


def _before(line: str, mark: re.Match[str]) -> str:
    """Return the name before a mark."""
    before = line[: mark.start()]
    return before.rstrip(" \t.…:=>→-").lstrip(TREE).removeprefix("test ").removeprefix("Running ")
