"""What runners print of their failing tests, in the shapes that are too rare for the samples."""

from __future__ import annotations

from textwrap import dedent

import pytest

from pytest_ralph import classify
from pytest_ralph.failure.output import CommandOutput
from pytest_ralph.failure.test_runs import read_failed_tests, read_marked_tests


def failing(output: str) -> list[tuple[str, str]]:
    return [(one.name, one.error) for one in read_failed_tests(CommandOutput(dedent(output)))]


DEAD_WORKER = """\
    [gw0] node down: Not properly terminated
    F.                                                                       [100%]
    =================================== FAILURES ===================================
    __________________________________ test_a.py ___________________________________
    [gw0] linux -- Python 3.11.7 /usr/bin/python
    worker 'gw0' crashed while running 'test_a.py::test_dies'
    =========================== short test summary info ============================
    FAILED test_a.py::test_dies - worker 'gw0' crashed while running 'test_a.py::...
    1 failed, 1 passed in 10.67s
"""


def test_a_test_that_took_its_worker_along_is_a_crash_of_that_test() -> None:
    failure = classify(dedent(DEAD_WORKER), 1, "pytest -n1")
    assert (failure.kind, failure.type) == ("crash", "VERIFICATION_FAILED")
    assert failure.error == "worker 'gw0' crashed while running 'test_a.py::test_dies'"
    assert failure.failed_tests == ("test_a.py::test_dies",)


INTERNAL_ERROR = """\
    INTERNALERROR> Traceback (most recent call last):
    INTERNALERROR>   File "/project/conftest.py", line 1, in pytest_collection_modifyitems
    INTERNALERROR>     raise RuntimeError("boom")
    INTERNALERROR> RuntimeError: boom

    no tests ran in 0.01s
"""


def test_a_bare_name_in_a_summary_is_a_test() -> None:
    failure = classify("FAILED test_total - AssertionError\n", 1, "sh check.sh")
    assert (failure.kind, failure.type) == ("test_failure", "VERIFICATION_FAILED")
    assert failure.failed_tests == ("test_total",)


def test_an_error_inside_pytest_is_quoted_by_its_last_line() -> None:
    failure = classify(dedent(INTERNAL_ERROR), 3, "pytest -q")
    assert (failure.kind, failure.error) == ("build_error", "INTERNALERROR> RuntimeError: boom")
    assert failure.failed_tests == ()


def unittest_run(title: str, traceback: str = "") -> str:
    return (
        f"{'=' * 70}\n{title}\n{'-' * 70}\n{dedent(traceback)}\n{'-' * 70}\n"
        "Ran 1 test in 0.001s\n\nFAILED\n"
    )


TRACEBACK = """\
    Traceback (most recent call last):
      File "/project/test_u.py", line 6, in test_sub
        self.fail("no")
    AssertionError: no
"""
CHAINED = """\
    Traceback (most recent call last):
      File "/project/test_u.py", line 3, in test_sub
    KeyError: 'a'

    During handling of the above exception, another exception occurred:

    Traceback (most recent call last):
      File "/project/test_u.py", line 5, in test_sub
    ValueError: no a
"""


@pytest.mark.parametrize(
    ("title", "traceback", "name", "error"),
    [
        (
            "FAIL: test_sub (test_u.T.test_sub) (i=1)",
            TRACEBACK,
            "test_u.T.test_sub",
            "AssertionError: no",
        ),
        ("FAIL: test_sub (test_u.T)", TRACEBACK, "test_u.T.test_sub", "AssertionError: no"),
        ("FAIL: test_u.T.test_sub", TRACEBACK, "test_u.T.test_sub", "AssertionError: no"),
        ("ERROR: test_sub (test_u.T.test_sub)", CHAINED, "test_u.T.test_sub", "ValueError: no a"),
        ("UNEXPECTED SUCCESS: test_un (test_u.T.test_un)", "", "test_u.T.test_un", ""),
    ],
)
def test_unittest_names_a_test_in_several_ways(
    title: str, traceback: str, name: str, error: str
) -> None:
    assert failing(unittest_run(title, traceback)) == [(name, error)]


def test_words_that_look_like_a_title_are_none_without_a_rule_above_them() -> None:
    assert (
        failing(
            "FAIL: test_sub (test_u.T.test_sub)\nTraceback (most recent call last):\n"
            "ValueError: x\n"
        )
        == []
    )


def test_trial_names_every_test_below_the_traceback_they_share() -> None:
    run = f"""\
    {"=" * 70}
    [FAIL]
    Traceback (most recent call last):
      File "/project/test_u.py", line 6, in test_one
        self.fail("no")
    twisted.trial.unittest.FailTest: no

    test_u.T.test_one
    test_u.T.test_two
    {"-" * 70}
    Ran 2 tests in 0.001s
    test_u.T.test_three
    """
    error = "twisted.trial.unittest.FailTest: no"
    assert failing(run) == [("test_u.T.test_one", error), ("test_u.T.test_two", error)]


def marked(output: str) -> list[tuple[str, str]]:
    return [(one.name, one.error) for one in read_marked_tests(CommandOutput(dedent(output)))]


def test_a_title_of_several_lines_names_the_test_by_its_last() -> None:
    run = """\
    > mocha
      1 passing (4ms)
      1 failing

      1) Cart
           adds:

          AssertionError: expected 2 to equal 3
          at Context.<anonymous> (test/cart.js:5:10)
    """
    assert marked(run) == [("adds", "AssertionError: expected 2 to equal 3")]


def test_the_count_of_the_summary_decides_between_shapes() -> None:
    run = """\
    x files are read
    x cart
    x total

    Failed:
      1. cart: expected 1, got 2
      2. total: expected 6, got 5

    2 failed, 1 passed
    """
    assert marked(run) == [("cart", "expected 1, got 2"), ("total", "expected 6, got 5")]


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("- total", "total"),
        ("! total", "total"),
        ("total     fail     0.01s", "total"),
        ("Cart > total:", "Cart > total"),
        ("---- total stdout ----", "total"),
        ("1) total", "total"),
    ],
)
def test_a_weak_mark_counts_only_where_the_summary_agrees(row: str, name: str) -> None:
    block = f"{row}\n  expected 6, got 5\n"
    assert marked(f"{block}\n1 of 2 tests failed\n") == [(name, "expected 6, got 5")]
    assert marked(f"{block}\n3 of 4 tests failed\n") == []


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("WRONG quantity -> got 5, want 6", "quantity"),
        ("[FAIL] quantity (got 5, want 6)", "quantity"),
        ("MISMATCH: quantity: got 5, want 6", "quantity"),
        ("quantity... FAILED: got 5, want 6", "quantity"),
    ],
)
def test_a_script_may_state_both_values_beside_the_name(row: str, name: str) -> None:
    assert failing(f"ok empty\n{row}\n") == [(name, "got 5, want 6")]


def test_a_value_that_was_not_printed_is_no_error() -> None:
    run = """\
    ERROR 2002: no connection
    WRONG quantity: expected 6, got
    """
    assert failing(run) == [("quantity", "ERROR 2002: no connection")]


def test_the_block_of_a_failing_test_ends_at_one_that_passed() -> None:
    run = """\
    cart.total: FAIL (1.2ms)
    cart.empty_is_not_expected: PASS (0.2ms)

    1 of 2 tests failed
    """
    assert marked(run) == [("cart.total", "cart.total: FAIL (1.2ms)")]


def test_a_row_that_passed_is_no_error_of_the_row_below_it() -> None:
    run = """\
     1  no error expected      ok
     2  quantity is used       WRONG
    """
    assert marked(run) == [("quantity is used", "")]


@pytest.mark.parametrize("mark", ["DIFF", "WRONG", "FAIL"])
def test_a_script_may_mark_the_end_of_a_line(mark: str) -> None:
    assert marked(f"totals: ok\nquantity: {mark}\n") == [("quantity", "")]


def test_the_error_of_a_test_may_be_stated_at_the_end_of_its_block() -> None:
    run = """\
    ========================================
    cart uses the quantity

    Traceback (most recent call last):
      check("Expected 5 to...
    FAILED: Expected 5 to be 6.

    Ran 2 specs, 1 failed.
    """
    assert marked(run) == [("cart uses the quantity", "Expected 5 to be 6.")]


def test_numbered_lines_are_tests_only_below_the_count_of_failing_ones() -> None:
    assert failing("  1) read the docs:\n     failing that, ask\n") == []


TAP = """\
    TAP version 13
    # Subtest: cart
        # Subtest: adds
        not ok 1 - adds
          ---
          error: |-
            Expected values to be strictly equal:
          ...
        1..1
    not ok 1 - cart
      ---
      error: '1 subtest failed'
      ...
    not ok 2 - later # TODO not yet
    not ok 3 - pays
      ---
      message: 'no money'
      ...
    ok 4 - fine
"""


def test_of_nested_taps_the_innermost_failed_and_those_to_do_did_not() -> None:
    assert failing(TAP) == [("adds", "Expected values to be strictly equal:"), ("pays", "no money")]


@pytest.mark.parametrize(
    ("command", "output", "name"),
    [
        (
            "./tst_cart",
            "PASS   : TestCart::initTestCase()\nFAIL!  : TestCart::total() Values differ\n"
            "Totals: 2 passed, 1 failed, 0 skipped, 0 blacklisted, 1ms\n",
            "TestCart::total()",
        ),
        (
            "nunit3-console shop.dll",
            "Errors and Failures\n\n1) Failed : Shop.CartTests.Total\n  Expected: 6\n  But was: 5"
            "\n  Test Count: 2, Passed: 1, Failed: 1\n",
            "Shop.CartTests.Total",
        ),
        (
            "pwsh -c Invoke-Pester",
            "  [-] adds the prices 12ms (10ms|2ms)\n   Expected 6, but got 5.\n"
            "Tests Passed: 1, Failed: 1, Skipped: 0\n",
            "adds the prices",
        ),
        (
            "sbt test",
            "[info] Cart should\n[error]   x total the prices\n[error]    5 != 6 (Cart.scala:8)\n"
            "[info] 2 examples, 1 failure, 0 error\n",
            "total the prices",
        ),
        (
            "./test_cart",
            "Test total...                           [ FAILED ]\n  Check total == 6... failed\n"
            "FAILED: 1 of 2 unit tests has failed.\n",
            "total",
        ),
        (
            "./t",
            "[ RUN      ] cart.total\nt.c:5: Failure\n  Expected : 6\n    Actual : 5\n"
            "[  FAILED  ] cart.total (120ns)\n[  PASSED  ] 1 tests.\n",
            "cart.total",
        ),
        ("./t", "FAIL total: total(2,3) != 6 (t.c:8)\n2 tests - 1 passed, 1 failed\n", "total"),
        (
            "./t",
            "/cart/empty    [ OK    ]\n/cart/total    [ FAIL  ]\nError: t.c:8: 5 == 6\n",
            "/cart/total",
        ),
        (
            "npx dredd",
            "fail: GET (200) /total duration: 12ms\nfail: body: At '' Missing property: sum\n"
            "complete: 1 passing, 1 failing, 0 errors, 0 skipped, 2 total\n",
            "GET (200) /total",
        ),
        (
            "vendor/bin/behat",
            "--- Failed scenarios:\n\n    features/cart.feature:5 (on line 8)\n\n"
            "2 scenarios (1 passed, 1 failed)\n",
            "features/cart.feature:5",
        ),
        (
            "vendor/bin/phpspec run",
            "  12  ✘ totals the prices\n  expected 6, got 5\n2 examples (1 passed, 1 failed)\n",
            "totals the prices",
        ),
        (
            "dotnet run",
            "[12:00:00 ERR] cart.totals the prices failed in 00:00:00.0100000. \nexpected: 6\n"
            "  actual: 5\n[12:00:00 INF] EXPECTO! 2 tests run - 1 passed, 0 ignored, 1 failed\n",
            "cart.totals the prices",
        ),
        (
            "npx uvu tests",
            '   FAIL  cart  "totals the prices"\n    Values to be equal:\n  Passed:    1\n',
            "totals the prices",
        ),
        ("k6 run t.js", "     ✗ status is 200\n      ↳  0% — ✓ 0 / ✗ 10\n", "status is 200"),
        (
            "pg_prove t/cart.sql",
            '# Failed test 2: "totals the prices"\n#         have: 5\n#         want: 6\n',
            "totals the prices",
        ),
        (
            "forge test",
            "[FAIL: assertion failed: 5 != 6] test_total() (gas: 1234)\n[PASS] test_empty()\n",
            "test_total()",
        ),
        ("opa test .", "data.shop.test_total: FAIL (1.2ms)\nFAIL: 1/2\n", "data.shop.test_total"),
        (
            "terraform test",
            '  run "sets_name"... fail\n\nFailure! 0 passed, 1 failed.\n',
            "sets_name",
        ),
        (
            "mvn test",
            "[ERROR] Failures: \n[ERROR]   Totals the prices: expected: <6> but was: <5>\n[INFO] \n"
            "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0\n",
            "Totals the prices",
        ),
    ],
)
def test_the_title_of_a_failing_test_has_many_shapes(command: str, output: str, name: str) -> None:
    assert name in classify(output, 1, command).failed_tests
