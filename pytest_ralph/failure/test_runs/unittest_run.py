"""Failing tests of Python's unittest and of runners that print like it (Django, nose2, trial).

======================================================================
FAIL: test_total (test_cart.CartTest.test_total)
----------------------------------------------------------------------
Traceback (most recent call last):
...
AssertionError: 1 != 2
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.test_runs.failed_test import FailedTest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.output import CommandOutput

# Some runners leave out the word before `method (path)`.
TITLE = re.compile(
    r"^(?P<state>(?:FAIL|ERROR|UNEXPECTED SUCCESS)(?: \[[\d.]+s\])?: )?"
    r"(?:(?P<method>\w+) \((?P<where>[\w.]+)\)|(?P<dotted>[\w.]+\.\w+)|(?P<loader>\w+) \(<.*)"
)
TRIAL_TITLES = {"[FAIL]", "[ERROR]"}
TEST_NAME = re.compile(r"^[\w.]+\.test\w*$")
RULER = re.compile(r"^(?:={20,}|-{20,})$")
# What stands in place of a test if its module could not be imported.
LOADER = re.compile(
    r"(?:unittest\.loader\.)?_FailedTest|unittest\.loader\.ModuleImportFailure|setUpModule"
    r"|nose2\.loader"
)
TRACEBACK = "Traceback (most recent call last)"
ANY_EXCEPTION = re.compile(r"^[A-Za-z_][\w.]*(?::|$)")
NAMED_EXCEPTION = re.compile(r"^[\w.]+(?:Error|Exception): ")
LONGEST_BLOCK = 400
LONGEST_LIST = 40


def read(output: CommandOutput) -> Iterator[FailedTest]:
    """Yield the tests titled between two rulers."""
    lines = output.lines
    for number in _below_rulers(lines):
        match = TITLE.match(lines[number])
        if match is None or not (match["state"] or match["method"]):
            continue
        at, error = _exception(lines, number + 1)
        title = lines[number].strip()
        yield FailedTest(_name(match), error or title, at, not LOADER.search(title))


def read_trial(output: CommandOutput) -> Iterator[FailedTest]:
    """Twisted's trial names the tests below the traceback that they share."""
    lines = output.lines
    for number in _below_rulers(lines):
        if lines[number] not in TRIAL_TITLES:
            continue
        at, error = _exception(lines, number + 1)
        for below in lines[at + 1 : at + LONGEST_LIST]:
            if RULER.match(below):
                break
            if TEST_NAME.match(below):
                yield FailedTest(below.strip(), error, at)


def _below_rulers(lines: Sequence[str]) -> Iterator[int]:
    """Yield the numbers of the lines that stand directly below a ruler."""
    for number in range(1, len(lines)):
        if RULER.match(lines[number - 1]):
            yield number


def _name(match: re.Match[str]) -> str:
    if match["dotted"]:
        return match["dotted"]
    if match["loader"]:
        return match["loader"]
    method = match["method"]
    where = match["where"]
    # Since Python 3.11 the path in brackets ends with the method.
    if where.endswith("." + method):
        return where
    return f"{where}.{method}"


def _exception(lines: Sequence[str], start: int) -> tuple[int, str]:
    """Return the exception that ends the last traceback of a block, and its line number."""
    at = start
    error = ""
    is_inside = False
    for number in range(start, min(len(lines), start + LONGEST_BLOCK)):
        line = lines[number]
        if RULER.match(line) and number > start + 1:
            break
        if TRACEBACK in line:
            is_inside = True
        elif is_inside and ANY_EXCEPTION.match(line):
            at, error = number, line.strip()
            is_inside = False
        elif not error and NAMED_EXCEPTION.match(line):
            at, error = number, line.strip()
    return at, error
