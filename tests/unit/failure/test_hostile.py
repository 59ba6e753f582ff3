"""Whatever a command prints, reading it takes bounded time and memory and never raises."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ralph import classify
from pytest_ralph.failure.sampling import LARGEST_WHOLE

MEGABYTE = 1_000_000
PATTERNS = {
    "one line": "x",
    "errors in one line": "error: ",
    "spaces": " ",
    "newlines": "\n",
    "carriage returns": "50%\r",
    "escapes": "\x1b[31mx\x1b[0m ",
    "broken escapes": "\x1b[",
    "open titles": "\x1b]0;",
    "NUL bytes": "\x00",
    "lone surrogates": "\udcff",
    "quotes": "'\"",
    "paths": "a/",
    "places": "a.c:1:1: error: x\n",
    "dots": ".",
    "brackets": "([{",
    "frames": '  File "a.py", line 1, in f\n    f()\n',
    "words": "expected failed could not found got error ",
    "titles": "____ test_a ____\nE   assert 1\n",
    "summaries": "FAILED a.py::test_a - assert 1 == 2\n",
    "digits": "1",
    "hashes": "# ",
    "boxes": "│ ",
    "rulers": "-" * 79 + "\n",
    "wide gaps": " " * 300 + "x\n",
    "open JSON lists": '"name": "x", "error"\n' + "[1,\n" * 250_000,
    "open JSON objects": '{"name": "x", "error":\n',
    "open suites": "<testcase>\n" + "<testsuite>\n" * 80_000,
    "wide boxes": "│" + " " * 1_100 + "x\n",
    "wide indentation": " " * 1_100 + ":\n",
    "long words": "." + "a" * 1_100 + "\n",
    "failed results": "not ok 1 - a\n",
    "dots before an error": "." * 200 + " error\n",
}


@pytest.mark.parametrize("name", PATTERNS)
def test_a_megabyte_of_anything_is_read_at_once(name: str) -> None:
    text = PATTERNS[name] * -(-MEGABYTE // len(PATTERNS[name]))
    start = time.process_time()
    failure = classify(text, 1, "npm test")
    assert time.process_time() - start < 1.0
    classify(text[:LARGEST_WHOLE], 1, "npm test")
    assert time.process_time() - start < 2.0
    assert len(failure.error) <= 1_000
    assert len(failure.raw_output) < 200_000
    failure.error.encode()


def test_time_grows_no_faster_than_the_output() -> None:
    def taken(megabytes: int) -> float:
        text = "cc -Wall -c src/module.c -o build/module.o\n" * (megabytes * MEGABYTE // 43)
        start = time.process_time()
        classify(text, 1, "make")
        return time.process_time() - start

    taken(1)
    assert taken(20) < 20 * max(taken(1), 0.01)


@settings(max_examples=150, deadline=None)
@given(st.text(), st.integers(-2, 300), st.text(max_size=60))
def test_nothing_that_is_printed_raises(output: str, exit_code: int, command: str) -> None:
    failure = classify(output, exit_code, command)
    assert failure.error
    assert failure.fingerprint
    assert "\n" not in failure.error


GRAMMAR = st.lists(
    st.sampled_from(
        [
            "error: ",
            "FAILED ",
            "a.py::test_x",
            "a.c:1:2:",
            " - ",
            "Traceback (most recent call last):",
            "\n",
            "  ",
            'File "a.py", line 1',
            "ModuleNotFoundError: No module named 'x'",
            "____ t ____",
            "E   ",
            "● ",
            "not ok 1 - ",
            "Task 1.1: x FAILED",
            "- Error: ",
            "Child agent failed: ",
            "<retryable>",
            "1 failing",
            "  1) a",
            ":",
            "'",
            "\x1b[",
        ]
    ),
    max_size=40,
)


@settings(max_examples=200, deadline=None)
@given(
    GRAMMAR,
    st.sampled_from(["pytest", "make", "npx jest", "", "bash x.sh", "cargo test", "git diff"]),
)
def test_no_mixture_of_what_tools_print_raises(parts: list[str], command: str) -> None:
    classify("".join(parts), 1, command)
    classify("".join(parts), 1, command, source="executor")
