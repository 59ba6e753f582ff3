"""Failing tests in the shapes that many runners share, whatever the runner.

A shape means a failing test only where tests are known to have run. The shapes are tried in this
order: a list below a heading, a sentence that names the test, a name between two rulers, a line
marked as failed at its start, and one marked at its end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.test_runs.failed_test import FailedTest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.output import CommandOutput

LONGEST_BLOCK = 40
LONGEST_NAME = 200

# A line that shows that tests ran: "2 tests, 1 failure", "Tests: 1 failed", "[ FAIL 1 | ...".
TEST_SUMMARY = re.compile(
    r"^\W*(?:failed|failing) (?:tests?|specs?|scenarios?|examples?)\b\W*$"
    r"|\b\d+ (?:tests?|specs?|examples?|scenarios?|test cases?|assertions?|checks?)\b.*\bfail"
    r"|\b(?:tests?|specs?|examples?|scenarios?|test cases|assertions|checks)\b.{0,30}"
    r"\b[1-9]\d* (?:tests? )?fail"
    r"|\bfail(?:ed|ures?|s)?\s*[:=|]?\s*[1-9]\d*\b|\b[1-9]\d*\s+(?:tests? )?fail(?:ed|ures?|ing)?\b",
    re.IGNORECASE,
)
HEADING = re.compile(
    r"^\W{0,6}(?:\d+ )?(?:(?:failed|failing|undefined|broken|unsuccessful) (?:tests?|specs?|scenarios?"
    r"|examples?|cases?|features?|checks?|assertions?)|(?:test )?(?:failures|errors)|failed"
    r"|there (?:was|were) \d+ (?:failures?|errors?)"
    r"|(?:the )?following (?:tests?|specs?|scenarios?) (?:have )?failed"
    r"|summary of (?:all )?fail\w+(?: tests)?)(?: \(?\d+\)?)?\s*:?\W*$",
    re.IGNORECASE,
)
ITEM = re.compile(r"^\s*(?:\d+[.)]|\[\d+\]|[-*•✖✗✘✕×])\s+(?P<name>\S.*)$")
SENTENCES = (
    # Failure in tests.test_cart.TestCart.test_total, FAIL in (cart-test)
    re.compile(
        r"^\W*(?:FAIL(?:URE|ED)?|ERROR|Failure|Error|Failed) in (?:test )?"
        r"[('\"`]?(?P<name>[^()'\"`]*[^\s()'\"`:])[)'\"`]?(?: \(.*)?:?$"
    ),
    # test quantity: wrong answer, Test 'quantity' failed, Test case quantity FAILED: 2 != 6
    re.compile(
        r"^\W*(?:test(?: ?case)?|spec|scenario|case|unit)\s+[`'\"]?(?P<name>\S.*?)[`'\"]?"
        r"\s*(?:[:.…-]+\s*|\s)(?:has |did )?(?P<error>(?:FAILED|FAILURE|FAIL|wrong answer|not pass)\b.*)$",
        re.IGNORECASE,
    ),
    # Failure ('test-cart.R:4'): total uses the quantity
    re.compile(
        r"^\W*(?:Failure|FAILURE|FAILED|FAIL|Failed)\s*(?:\([^)]*\)|\[[^\]]*\])\s*:?\s+(?P<name>\S.*)$"
    ),
)
RULER = re.compile(r"^\s*([-=~*_.─━═])\1{9,}\s*$")
FAILED_WORD = re.compile(r"\bfail(?:ed|ure)?\b|\bassert\w*\b|\bexpected\b|\berror\b", re.IGNORECASE)
MARKED = re.compile(
    r"^\s*(?:[✕✖✗✘×❌⨯☒✖]\ufe0f?|\[(?:FAIL(?:ED|URE)?|F|KO|ERROR|ERR)\]|\(fail\)"
    r"|(?:FAIL(?:ED|URE)?|KO)(?: -|:| »| \||\s{2,})|!!|--- FAIL:?|F\s{2,}|FAILED?|NOT OK(?: -)?)\s*"
    r"(?!\d+ (?:problems?|tests?|of)\b|\|)(?P<name>\S.*)$"
)
MARKED_AT_END = re.compile(
    r"^[\s├└─│|+*•-]*(?:test )?(?P<name>\S.*?)(?:\s*(?:\.{2,}|…|-{2,}|:|=>|→)\s*|\s+)"
    r"(?:\[\s*)?(?P<mark>FAIL(?:ED|URE)?!?|failed|KO|NOT OK|✘|✗|✖|✕|❌)(?:\s*\])?"
    r"(?:\s+\(?[\d.]+ ?m?s\)?|\s+(?P<error>(?:expected|assert|got|want)\b.*))?$"
)
# What only counts tests or speaks about the run.
NOT_A_NAME = re.compile(
    r"^(?:\d+\b.*\b(?:tests?|specs?|passed|failed|examples?|assertions?)\b.*|tests?|specs?|build"
    r"|the build|assertions?|summary|result|results|total|suites?|overall|test run|test suite"
    r"|FAIL\b.*|.*\d%|.*\s\d+\s+\d+(?:\s.*)?|failed \d+ .*|cases?: .*"
    r"|.*\[(?:build|setup) failed\].*|.*\bcoverage\b.*%.*|coverage"
    r"|failures?|failed|make\b.*|Error \d+.*|exit(?: code| status)? \d+|Test Suites:.*|Tests:.*)$",
    re.IGNORECASE,
)
TIME = re.compile(r"\s*[(\[]?\b[\d.,]+ ?(?:µs|us|ms|s|secs?|seconds?|m)\b[)\]]?\.?$", re.IGNORECASE)
PLACE = re.compile(r"\s*(?:[#@]|\bat\b|\bin\b)?\s*[(\[]?[\w./\\-]+\.\w+:\d+(?::\d+)?[)\]]?:?$")
NUMBER = re.compile(r"^(?:\{\d+\}|\d+[.)]|#\d+|\d+/\d+|\[\d+/\d+\])\s+")
QUOTES = "'\"`‘’“”"
# The expectation in the block below a name, the most telling first.
EXPECTATIONS = (
    re.compile(
        r"^\W{0,8}(?P<error>(?:[\w.$\\]+[.\\:])?\w*"
        r"(?:Error|Exception|Failure|Failed|Fault|Mismatch)(?: \[\w+\])?:.+)"
    ),
    re.compile(
        r"^\W{0,8}(?P<error>.*\b(?:expect(?:ed|ation)?|assert\w*|should|got|received|actual|want"
        r"|not equal|mismatch\w*|differs?|was|!=|require[sd]?)\b.*)",
        re.IGNORECASE,
    ),
    re.compile(r"^\s*(?P<error>(?:CHECK|REQUIRE|EXPECT|ASSERT)\w*\s*\(.*)"),
    re.compile(r"^\s*(?:[#|│E>]\s+)?(?P<error>\w.*)$"),
)
NOT_AN_EXPECTATION = re.compile(
    r"^\s*(?:at\s|# *at\s|File \"|Traceback|\(?\S+:\d+(?::\d+)?\)?:?$|\S+\.\w+ line \d+|❯ |\d+ *[|:│]"
    r"|[-+] |\^|~|stdout|Stack|Message:$|\[?Captured|Ran \d+|Use -p|Finished|\d+ (?:tests?|passed))"
)


def names_tests(output: CommandOutput) -> bool:
    """Return whether a summary shows that tests ran and failed."""
    return any(TEST_SUMMARY.search(line) for line in output.lines)


def read_shapes(output: CommandOutput) -> Sequence[FailedTest]:
    """Return the failing tests by the first shape that occurs."""
    lines = output.lines
    for read in (_listed, _named_in_sentence, _between_rulers, _marked, _marked_at_end):
        found = list(read(lines))
        if found:
            return found
    return ()


def _listed(lines: Sequence[str]) -> Iterator[FailedTest]:
    """Yield the numbered or marked items below a heading such as "Failures:"."""
    last_heading = -LONGEST_BLOCK
    indent: int | None = None
    for number, line in enumerate(lines):
        if HEADING.match(line):
            last_heading = number
            indent = None
            continue
        match = ITEM.match(line)
        if match is None or number - last_heading > LONGEST_BLOCK:
            continue
        if indent is None:
            indent = match.start("name")
        if match.start("name") > indent + 1:
            # A list inside the block of an item.
            continue
        last_heading = number
        test = _failed_test(match["name"], lines, number)
        if test is not None:
            yield test


def _named_in_sentence(lines: Sequence[str]) -> Iterator[FailedTest]:
    for number, line in enumerate(lines):
        for sentence in SENTENCES:
            match = sentence.match(line)
            if match is None:
                continue
            test = _failed_test(match["name"], lines, number)
            if test is not None:
                yield test
                break


def _between_rulers(lines: Sequence[str]) -> Iterator[FailedTest]:
    """Yield names that stand between two rulers, if the block below says that they failed."""
    for number in range(1, len(lines) - 1):
        is_ruled = RULER.match(lines[number - 1]) and RULER.match(lines[number + 1])
        if not is_ruled or not lines[number].strip():
            continue
        block = list(_block(lines, number + 1))
        if not any(FAILED_WORD.search(lines[at]) for at in block):
            continue
        test = _failed_test(lines[number].strip(), lines, number + 1)
        if test is not None:
            yield test


def _marked(lines: Sequence[str]) -> Iterator[FailedTest]:
    for number, line in enumerate(lines):
        match = MARKED.match(line)
        if match:
            test = _failed_test(match["name"], lines, number)
            if test is not None:
                yield test


def _marked_at_end(lines: Sequence[str]) -> Iterator[FailedTest]:
    for number, line in enumerate(lines):
        match = MARKED_AT_END.match(line)
        if match is None:
            continue
        test = _failed_test(match["name"], lines, number)
        if test is None:
            continue
        if match["error"]:
            test = FailedTest(test.name, match["error"], number)
        yield test


def _failed_test(text: str, lines: Sequence[str], number: int) -> FailedTest | None:
    name = clean_name(text)
    if not name or len(name) > LONGEST_NAME or NOT_A_NAME.match(name):
        return None
    at, error = _expectation(lines, number)
    return FailedTest(name, error, at)


def clean_name(text: str) -> str:
    """Return the name of a test without its number, time, place and quotes."""
    name = NUMBER.sub("", text.strip())
    before = ""
    while name != before:
        before = name
        name = TIME.sub("", name)
        name = PLACE.sub("", name).rstrip(" :")
        name = re.sub(r"\s*(?:\.{3,}|…|-{2,})$", "", name)
    if name[:1] in QUOTES and name[-1:] in QUOTES:
        name = name[1:-1]
    return name.strip()


def _block(lines: Sequence[str], number: int) -> Iterator[int]:
    """Yield the numbers of the lines below a title, up to the next title."""
    for at in range(number + 1, min(len(lines), number + 1 + LONGEST_BLOCK)):
        line = lines[at]
        if ITEM.match(line) or MARKED.match(line) or TEST_SUMMARY.search(line):
            return
        yield at


def _expectation(lines: Sequence[str], number: int) -> tuple[int, str]:
    """Return the line of the block that says what was expected, and its number."""
    block = list(_block(lines, number))
    for pattern in EXPECTATIONS:
        for at in block:
            if NOT_AN_EXPECTATION.match(lines[at]) or RULER.match(lines[at]):
                continue
            match = pattern.match(lines[at])
            if match:
                return at, match["error"].strip()
    return number, ""
