"""Failing tests in the shapes that many runners share, whatever the runner.

A shape means a failing test only where tests are known to have run. The shapes are tried in this
order: a list below a heading, a sentence that names the test, a line marked as failed at its start,
a name between two rulers, and a line marked at its end.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from pytest_ralph.failure.test_runs.failed_test import FailedTest, Quote, first_quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_ralph.failure.output import CommandOutput

LONGEST_BLOCK = 40
LINES_ABOVE = 8
LONGEST_NAME = 200
MOST_TESTS = 200

# A line that shows that tests ran: "2 tests, 1 failure", "Tests: 1 failed", "[ FAIL 1 | ...".
TEST_SUMMARY = re.compile(
    r"^\W*(?:failed|failing) (?:tests?|specs?|scenarios?|examples?)\b\W*$"
    r"|\b\d+ (?:tests?|specs?|examples?|scenarios?|test cases?|assertions?|checks?)\b.*\bfail"
    r"|\b(?:tests?|specs?|examples?|scenarios?|test cases|assertions|checks)\b.{0,30}"
    r"\b[1-9]\d* (?:tests? )?fail"
    r"|\bfail(?:ed|ures?|s|ing)?\s*[:=|]?\s*[1-9]\d*\b|\b[1-9]\d*\s+(?:tests? )?fail(?:ed|ures?"
    r"|ing)?\b",
    re.IGNORECASE,
)
HEADING = re.compile(
    r"^\W{0,6}(?:\d+ )?(?:(?:failed|failing|undefined|broken|unsuccessful) (?:tests?|specs?"
    r"|scenarios?"
    r"|examples?|cases?|features?|checks?|assertions?)|(?:test )?(?:failures|errors)|failed"
    r"|there (?:was|were) \d+ (?:failures?|errors?)"
    r"|(?:the )?following (?:tests?|specs?|scenarios?) (?:have )?failed"
    r"|summary of (?:all )?fail\w+(?: tests)?)(?: \(?\d+\)?)?\s*:?"
    r"(?:\s+there (?:was|were) \d+ failures?)?\W*$",
    re.IGNORECASE,
)
ITEM = re.compile(r"^\s*(?:\d+[.)]|\[\d+\]|[-*•✖✗✘✕×x])\s+(?P<name>\S.*)$")
SENTENCES = (
    # Failure in test_cart.TestCart.test_total, FAIL in (cart-test), Failure in TEST(Cart, Net)
    re.compile(
        r"^(?:\S+:\d+(?::\d+)?: )?(?:error: )?\W*"
        r"(?:FAIL(?:URE|ED)?|ERROR|Failure|Error|Failed) in:? (?:test )?"
        r"[('\"`]?(?P<name>\w+\([^()]+\)|[^()'\"`]*[^\s()'\"`:])[)'\"`]?"
        r"(?: \(.*)?(?::|: (?P<error>\S.*))?$"
    ),
    # test quantity: wrong answer, Test 'quantity' failed, Test case quantity FAILED: 2 != 6
    re.compile(
        r"^(?:\[error\] )?\W*(?:test(?: ?case)?|spec|scenario|case|unit)\s+"
        r"[`'\"]?(?P<name>\S.*?)[`'\"]?"
        r"\s*(?:[:.…-]+\s*|\s)(?:has |did )?(?:FAILED|FAILURE|FAIL|wrong answer|not pass)\b"
        r"(?:: (?P<error>\S.*)|.*)$",
        re.IGNORECASE,
    ),
    # (1/2) test_cart.py:Cart.test_total:  FAIL: 5 != 6
    re.compile(r"^\W*(?P<name>\S.*?):\s+(?:FAIL|FAILED|ERROR): (?P<error>\S.*)$"),
    # doctest: TEST CASE:  ring wraps
    re.compile(r"^\s*(?:TEST CASE|SCENARIO):\s+(?P<name>\S.*)$"),
    # Failure ('test-cart.R:4'): total uses the quantity
    re.compile(
        r"^\W*(?:Failure|FAILURE|FAILED|FAIL|Failed)\s*(?:\([^)]*\)"
        r"|\[[^\]]*\])\s*:?\s+(?P<name>\S.*)$"
    ),
)
# Each sentence contains one of these: most lines do not, and need not be matched.
SENTENCE_WORDS = ("fail", "error", "wrong answer", "not pass", "test case:", "scenario:")
RULER = re.compile(r"^\s*([-=~*_.─━═])\1{9,}\s*$")
# The heads of a table also stand between rulers.
COLUMNS = re.compile(r"\S\s{4,}\S")
FAILED_WORD = re.compile(r"\bfail(?:ed|ure)?\b|\bassert\w*\b|\bexpected\b|\berror\b", re.IGNORECASE)
MARKED = re.compile(
    r"^\s*(?:[*•-] (?=FAIL)|\S+:\d+: )?(?:[✕✖✗✘×❌⨯☒✖]\ufe0f?"
    r"|\[(?:FAIL(?:ED|URE)?|F|KO)\]|\(fail\)"
    r"|(?:FAIL(?:ED|URE)?|KO)(?: -|:| »| \||\s{2,})|!!(?!!)|--- FAIL:?|F\s{2,}|FAIL(?:ED)?\s"
    r"|NOT OK(?: -)?)\s*"
    r"(?!\d+ (?:problems?|tests?|of)\b|\|)(?P<name>\S.*)$"
)
END_MARK = re.compile(
    r"(?:\[\s*)?(?:FAIL(?:ED|URE)?!?|[Ff]ailed|KO|NOT OK|✘|✗|✖|✕|❌)(?:\s*\])?"
    r"(?:\s+\(?[\d.]+ ?m?s\)?|\s+\[ *\d+%\]"
    r"|\s+\(?(?P<error>(?:expected|assert|got|want)\b.*?)\)?)?$"
)
# What may stand before the name of a test in a tree or list.
TREE = " \t├└─│|+*•-"
PASSED = re.compile(r"^\s*(?:PASS(?:ED)?\b|ok \d|\[(?:PASS|OK)\]|[✓✔√] )")
# What only counts tests or speaks about the run.
NOT_A_NAME = re.compile(
    r"^(?:\d+\b.*\b(?:tests?|specs?|passed|failed|examples?|assertions?|checks?|cases?)\b.*|tests?"
    r"|specs?|build"
    r"|the build|assertions?|summary|result|results|suites?|overall|test run|test suite"
    r"|FAIL\b.*|.*\d%\]?|(?:pass(?:ed)?|ok): \d+ .*|.*\s\d+\s+\d+(?:\s.*)?|failed \d+ .*|cases?: .*"
    r"|.*\[(?:build|setup) failed\].*|.*\bcompilation|.*\bcoverage\b.*%.*|coverage"
    r"|(?:expected|actual|got|received|status)\b.*|failures?|failed|make\b.*"
    r"|Error \d+.*|exit(?: code| status)? \d+|.*\bprojects?|(?:npm|yarn|pnpm) .*"
    r"|Test Suites:.*|Tests:.*)$",
    re.IGNORECASE,
)
# A name and, behind a colon, what was expected.
STATED = re.compile(
    r"^(?P<name>\S.*?)(?:(?::| -) | \()"
    r"(?P<error>(?:expected|got|want(?:ed)?|assert\w*|should|was)\b.*?)\)?$",
    re.IGNORECASE,
)
TIME = re.compile(r"\s*[(\[]?\b[\d.,]+ ?(?:µs|us|ms|s|secs?|seconds?|m)\b[)\]]?\.?$", re.IGNORECASE)
PLACE = re.compile(
    r"\s{0,4}(?:[#@]|\bat\b|\bin\b)?\s{0,2}[(\[]?[\w./\\-]+\.\w+:\d+(?::\d+)?[)\]]?:?$"
    r"|\s*\([EF]\) line: \d+ \S+$"
)
TEST_LABEL = re.compile(r"^test(?: ?case)?: ", re.IGNORECASE)
NUMBER = re.compile(r"^(?:\{\d+\}|\d+[.)]|#\d+|[\[(]?\d+/\d+[\])]?)\s+")
# Dots, or how the test ended: `cart::total: CRASH!`
NAME_END = re.compile(r"\s*(?:\.{3,}|…|-{2,}|: [A-Z]{4,}!)$")
QUOTES = "'\"`‘’“”"
# The expectation in the block below a name, the most telling first.
EXPECTATIONS = (
    re.compile(
        r"^\W{0,8}(?P<error>(?:[\w.$\\]+[.\\:])?\w*"
        r"(?:Error|Exception|Failure|Failed|Fault|Mismatch)(?: \[\w+\])?:.+)"
    ),
    re.compile(
        r"^\W{0,8}(?P<error>.*\b(?:expect(?:ed|ation)?|assert\w*|should|got|received|actual|want"
        r"|not equal|mismatch\w*|differs?|was|!=|require[sd]?|check failed|error(?=:))\b.*)",
        re.IGNORECASE,
    ),
    re.compile(r"^\s*(?P<error>(?:CHECK|REQUIRE|EXPECT|ASSERT)\w*\s*\(.*)"),
    re.compile(r"^\s*(?:[#|│E>]\s+)?(?P<error>\w.*)$"),
)
# A line that only names the value on the next line.
LABEL = re.compile(r"^\W*(?P<error>(?:actual|expected|got|received)\s*:)\s*$", re.IGNORECASE)
# Where it failed, or the head of a column or of a value on the next line.
NOT_AN_EXPECTATION = re.compile(
    r"^\s*File \S+:\d+|Code ERR_"
    r"|^\W*(?i:(?:(?:actual|expected|got|received|want(?:ed)?|found|diff(?:erence)?)\s*){1,2}:?\s*$)"
    r"|^\s*(?:at\s|# *at\s|File \"|Traceback|\(?\S+:\d+(?::\d+)?\)?:?$|\S+\.\w+ line \d+|❯ "
    r"|\d+ *[|:│]"
    r"|[-+] |\^|~|([-=~*_.─━═])\1{9,}\s*$|stdout|Stack"
    r"|g?make(?:\[\d+\])?: |Error: execution of an external program failed"
    r"|# of (?:un)?expected |Message:$"
    r"|\[?Captured|Ran \d+|Use -p"
    r"|Finished|\d+ (?:tests?|passed)|(?:total|pass(?:ed|ing)?|fail(?:ed|ing)?|duration)\s*:\s+\d)"
)


def names_tests(output: CommandOutput) -> bool:
    """Return whether a summary shows that tests ran and failed."""
    if not any(word.startswith("fail") for word in output.index):
        return False
    return any(TEST_SUMMARY.search(line) for line in output.lines)


def marked_lines(output: CommandOutput) -> frozenset[int]:
    """Return the numbers of the lines that start with a mark for a failure."""
    return frozenset(number for number, line in enumerate(output.lines) if MARKED.match(line))


def read_shapes(output: CommandOutput) -> Sequence[FailedTest]:
    """Return the failing tests by the first shape that occurs."""
    reader = _ShapeReader(output.lines)
    shapes = (
        reader.listed,
        reader.named_in_sentences,
        reader.marked,
        reader.between_rulers,
        reader.marked_at_end,
    )
    for read in shapes:
        found = list(islice(read(), MOST_TESTS))
        if found:
            return found
    return ()


class _ShapeReader:
    """Reads the shapes in the lines of one output."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines

    def listed(self) -> Iterator[FailedTest]:
        """Yield the numbered or marked items below a heading such as "Failures:"."""
        last_line = -LONGEST_BLOCK
        column: int | None = None
        for number, line in enumerate(self.lines):
            if HEADING.match(line):
                last_line = number
                column = None
                continue
            match = ITEM.match(line)
            if match is None or number - last_line > LONGEST_BLOCK:
                continue
            if column is None:
                column = match.start("name")
            if match.start("name") > column + 1:
                # A list inside the block of an item.
                continue
            last_line = number
            yield from self._test(match["name"], number)

    def named_in_sentences(self) -> Iterator[FailedTest]:
        """Yield the tests that a sentence names, as in "Failure in test_total"."""
        for number, line in enumerate(self.lines):
            lowered = line.lower()
            if not any(word in lowered for word in SENTENCE_WORDS):
                continue
            for sentence in SENTENCES:
                match = sentence.match(line)
                if match:
                    error = match.groupdict("").get("error", "")
                    yield from self._test(match["name"], number, error)
                    break

    def between_rulers(self) -> Iterator[FailedTest]:
        """Yield names between two rulers, if the block below says that they failed."""
        rulers = [number for number, line in enumerate(self.lines) if RULER.match(line)]
        for ruler in rulers:
            name = self.lines[ruler - 1].strip()
            is_between = ruler - 2 in rulers and not COLUMNS.search(name)
            if is_between and any(FAILED_WORD.search(self.lines[at]) for at in self._block(ruler)):
                yield from self._test(name, ruler)

    def marked(self) -> Iterator[FailedTest]:
        """Yield lines that start with a mark for a failure."""
        for number, line in enumerate(self.lines):
            match = MARKED.match(line)
            if match:
                yield from self._test(match["name"], number)

    def marked_at_end(self) -> Iterator[FailedTest]:
        """Yield lines that end with a mark for a failure, or with a mark and an expectation."""
        for number, line in enumerate(self.lines):
            found = marked_at_end(line)
            if found:
                name, error = found
                yield from self._test(name, number, error)

    def _test(self, text: str, number: int, error: str = "") -> Iterator[FailedTest]:
        """Yield the test with this name, unless the text is no name."""
        stated = STATED.match(text)
        if stated and not error:
            text = stated["name"]
            error = stated["error"]
        name = clean_name(text)
        if not name or len(name) > LONGEST_NAME or NOT_A_NAME.match(name):
            return
        found = Quote(number, error) if error else self._expectation(number)
        yield FailedTest(name, found.text, found.line)

    def _expectation(self, number: int) -> Quote:
        """Return the line of a block that says what was expected, else one above the name."""
        block = self._block(number)
        telling = self._telling(block)
        below = (
            first_quote(self.lines, telling, EXPECTATIONS[:3])
            or first_quote(self.lines, block, (LABEL,))
            or first_quote(self.lines, telling, EXPECTATIONS[3:])
        )
        if below:
            return below
        lines_above = range(number - 1, max(-1, number - LINES_ABOVE), -1)
        above = list(takewhile(lambda at: at not in self._boundaries, lines_above))
        found = first_quote(self.lines, self._telling(above), EXPECTATIONS[:2])
        return found or Quote(number, "")

    def _telling(self, numbers: Iterable[int]) -> list[int]:
        return [number for number in numbers if not NOT_AN_EXPECTATION.match(self.lines[number])]

    def _block(self, number: int) -> list[int]:
        """Return the numbers of the lines below a title, up to the next title or the summary."""
        end = number + 1
        while end < len(self.lines) and end not in self._boundaries:
            end += 1
        return list(range(number + 1, min(end, number + 1 + LONGEST_BLOCK)))

    @cached_property
    def _boundaries(self) -> frozenset[int]:
        """Numbers of the lines at which a block ends."""
        found = set()
        for number, line in enumerate(self.lines):
            is_title = ITEM.match(line) or MARKED.match(line) or marked_at_end(line)
            is_title = is_title or PASSED.match(line)
            # Most lines lack the word: test for it before searching with a pattern.
            is_summary = "fail" in line.lower() and TEST_SUMMARY.search(line)
            if is_title or is_summary:
                found.add(number)
        return frozenset(found)


def marked_at_end(line: str) -> tuple[str, str] | None:
    """Return the name and the error on a line that ends with a mark for a failure."""
    mark = END_MARK.search(line)
    if mark is None:
        return None
    before = line[: mark.start()]
    name = before.rstrip(" \t.…:=>→-").lstrip(TREE).removeprefix("test ")
    if not name:
        return None
    return name, mark["error"] or ""


def clean_name(text: str) -> str:
    """Return the name of a test without its number, time, place and quotes."""
    name = TEST_LABEL.sub("", NUMBER.sub("", text.strip()))
    before = ""
    while name != before:
        before = name
        name = TIME.sub("", name)
        name = PLACE.sub("", name).rstrip(" :")
        name = NAME_END.sub("", name)
    return name.strip(QUOTES + " ")
