"""The quoted line says what went wrong, with the lines around it where it needs them."""

from __future__ import annotations

import pytest

from pytest_ralph import classify


@pytest.mark.parametrize("mark", ["", "E   "])
def test_both_compared_values_are_quoted(mark: str) -> None:
    output = f"{mark}want: 3\n{mark}got: 4\n"
    assert classify(output, 1, "./check.sh").error.endswith("got: 4, want: 3")
