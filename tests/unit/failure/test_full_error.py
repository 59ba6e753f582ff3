"""The quoted line says what went wrong, with the lines around it where it needs them."""

from __future__ import annotations

import pytest

from pytest_ralph import classify


@pytest.mark.parametrize("mark", ["", "E   "])
def test_both_compared_values_are_quoted(mark: str) -> None:
    output = f"{mark}want: 3\n{mark}got: 4\n"
    assert classify(output, 1, "./check.sh").error.endswith("got: 4, want: 3")


@pytest.mark.parametrize(
    ("command", "trailer"),
    [
        ("yarn test", "error Command failed with exit code 1."),
        ("pnpm test", " ELIFECYCLE  Test failed. See above for more details."),
        ("npm test", "npm ERR! Failed at the app@1.0.0 test script."),
        ("just test", "error: Recipe `test` failed on line 3 with exit code 1"),
        ("task test", 'task: Failed to run task "test": exit status 1'),
        ("nox -s tests", "nox > Session tests failed."),
        ("composer test", "Script ./check handling the test event returned with error code 1"),
    ],
)
def test_what_failed_is_quoted_not_that_its_runner_failed(command: str, trailer: str) -> None:
    assert classify(f"the total is wrong\n{trailer}\n", 1, command).error == "the total is wrong"
