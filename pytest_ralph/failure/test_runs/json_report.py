"""Failing tests in a JSON report that a runner prints in place of text.

Runners disagree about the names of fields. What they share: a test is an object with a name and
with a status or an error, and the outermost objects are suites.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from pytest_ralph.failure.test_runs.failed_test import FailedTest, first_line

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST = 2_000_000
DEEPEST = 40
MOST_TESTS = 200
JSON_LINE = re.compile(r"^[{\[].*", re.MULTILINE)
# Words without which no JSON report speaks of a failing test.
FAILING = re.compile(r'"(?:failed|fail|failures?|error)"|": ?false', re.IGNORECASE)
NAMES = (
    "fullName", "fullTitle", "full_description", "nodeid", "title", "name", "check", "test", "case",
    "step",
)  # fmt: skip
NAMED = re.compile(rf'"(?:{"|".join(NAMES)})"\s*:')
STATUSES = ("status", "outcome", "state", "result")
# Fields that say whether a test passed.
PASSED = ("ok", "pass", "passed", "success")
FAILED = frozenset({"failed", "fail", "failure", "error", "broken"})
# Where the words of the error stand, the plainest first.
ERRORS = (
    "failureMessages", "errors", "err", "error", "exception", "failure", "crash", "call",
    "longrepr",
)  # fmt: skip
MESSAGES = ("message", "text", "value", "stack")


def read(printed: str) -> Iterator[FailedTest]:
    """Yield the failing tests of a JSON report that stands in the printed text."""
    if len(printed) > LARGEST:
        return
    if FAILING.search(printed) and NAMED.search(printed):
        yield from islice(_failed_in(printed), MOST_TESTS)


def _failed_in(printed: str) -> Iterator[FailedTest]:
    decoder = json.JSONDecoder()
    read_until = 0
    is_first = True
    for line in JSON_LINE.finditer(printed):
        if line.start() < read_until:
            # It is part of a value that is cut off.
            continue
        # A stream has one value per line: `["fail", {"fullTitle": ...}]`, `{"check": ...}`.
        if not is_first and not FAILING.search(line[0]):
            continue
        try:
            report, end = decoder.raw_decode(printed, line.start())
        except json.JSONDecodeError as error:
            read_until = error.pos
            continue
        except RecursionError:
            return
        is_first = False
        yield from _failed_below(report, DEEPEST)
        if end > line.end():
            return


def _failed_below(value: Any, depth: int) -> Iterator[FailedTest]:
    """Yield the innermost failing tests of a value: a suite failed only because they did."""
    if depth == 0:
        return
    if isinstance(value, list):
        for item in value:
            yield from _failed_below(item, depth - 1)
    elif isinstance(value, dict):
        inside = list(_failed_below(list(value.values()), depth))
        yield from inside or _as_failed_test(value)


def _as_failed_test(value: dict[str, Any]) -> Iterator[FailedTest]:
    """Yield an object as a test if it has a name and failed."""
    name = _first_text(value, NAMES)
    if not name:
        return
    status = _first_text(value, STATUSES)
    if any(value.get(key) is False for key in PASSED):
        status = "failed"
    if status and status.lower() not in FAILED:
        return
    error = _error_in(value)
    if status or error:
        yield FailedTest(name, error)


def _first_text(value: dict[str, Any], keys: tuple[str, ...]) -> str:
    for key in keys:
        text = value.get(key)
        if isinstance(text, str):
            return text
    return ""


def _error_in(test: dict[str, Any]) -> str:
    """Return the first line of the error of a test, or an empty string."""
    for key in ERRORS:
        found = test.get(key)
        if isinstance(found, list):
            found = next(iter(found), "")
        if isinstance(found, dict):
            found = next((found[part] for part in MESSAGES if found.get(part)), "")
        if isinstance(found, str) and found.strip():
            return first_line(found)
    return ""
