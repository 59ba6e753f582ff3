from __future__ import annotations

import pytest

from pytest_ralph import Failure, classify
from pytest_ralph.failure.fingerprint import fingerprint


def of(error: str, **more: object) -> str:
    return fingerprint(Failure(kind="test_failure", error=error, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("src/a.py:12:5: error: bad", "src/a.py:120:7: error: bad"),
        ("src/a.ts(6,3): error TS2322: bad", "src/a.ts(7,3): error TS2322: bad"),
        ("SyntaxError: bad (a.py, line 3)", "SyntaxError: bad (a.py, line 44)"),
        (
            "<Response object at 0x7f9027a0d810> is None",
            "<Response object at 0x7f1111a0d999> is None",
        ),
        ("timed out after 1.01s", "timed out after 1.27s"),
        ("2026-01-02T03:04:05Z ERROR bad", "2026-02-03 04:05:06.789 ERROR bad"),
        ("12:00:01 bad", "13:10:59 bad"),
        ("/tmp/ccg2oSoR.o: undefined reference", "/tmp/ccABCDEF.o: undefined reference"),
        (
            "/tmp/pytest-of-me/pytest-12/test_a0/x.db is locked",
            "/tmp/pytest-of-me/pytest-13/test_a0/x.db is locked",
        ),
        (
            "bash: line 1: 19726 Segmentation fault",
            "bash: line 1: 4321 Segmentation fault".replace("4321", "43210"),
        ),
        (
            "run 5f3c2a10-1111-2222-3333-444455556666 failed",
            "run 00000000-1111-2222-3333-444455556666 failed",
        ),
        (
            "commit 0123456789abcdef0123456789abcdef01234567 bad",
            "commit fedcba9876543210fedcba9876543210fedcba98 bad",
        ),
        ("expected  two   blanks", "expected two blanks"),
    ],
)
def test_what_passes_from_run_to_run_does_not_count(one: str, other: str) -> None:
    assert of(one) == of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("assert 1 == 2", "assert 1 == 3"),
        ("src/a.py:1: error: bad", "src/b.py:1: error: bad"),
        ("No module named 'a'", "No module named 'b'"),
        ("Expected 200 but got 404", "Expected 200 but got 500"),
    ],
)
def test_another_error_has_another_fingerprint(one: str, other: str) -> None:
    assert of(one) != of(other)


def test_kind_missing_thing_and_failing_tests_count_and_their_order_does_not() -> None:
    assert of("x", failed_tests=("a", "b")) == of("x", failed_tests=("b", "a"))
    assert of("x", failed_tests=("a", "b")) != of("x", failed_tests=("a",))
    assert of("x", missing="a") != of("x", missing="b")
    assert of("x") != fingerprint(Failure(kind="crash", error="x"))


def test_two_runs_of_the_same_failing_test_have_one_fingerprint() -> None:
    run = (
        "F\n=== FAILURES ===\n__ test_a __\n\nE   assert <X at {a}> is None\n\n"
        "test_a.py:{n}: AssertionError\n"
    )
    tail = (
        "=== short test summary info ===\nFAILED test_a.py::test_a - assert <X at...\n"
        "1 failed in {t}s\n"
    )
    one = classify((run + tail).format(a="0x7f00", n=4, t=0.2), 1, "pytest")
    other = classify((run + tail).format(a="0x7faa", n=9, t=1.4), 1, "pytest")
    assert one.fingerprint == other.fingerprint
    assert len(one.fingerprint) == 16
