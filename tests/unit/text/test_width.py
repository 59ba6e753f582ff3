"""Columns of a terminal, which are not characters."""

from __future__ import annotations

import pytest

from pytest_ralph.text.bounded import columns, cut_to_columns


@pytest.mark.parametrize(
    ("text", "width"),
    [("", 0), ("plain", 5), ("漢字", 4), ("e\u0301", 1), ("a\u200bb", 2), ("✓ └─", 4)],
)
def test_columns_are_counted_as_a_terminal_does(text: str, width: int) -> None:
    assert columns(text) == width


@pytest.mark.parametrize(
    ("given", "width", "expected"),
    [
        ("short", 10, "short"),
        ("exactly10!", 10, "exactly10!"),
        ("eleven chars", 8, "eleven…"),
        ("漢字漢字漢字", 8, "漢字漢…"),
        ("anything", 1, "…"),
    ],
)
def test_text_is_cut_by_columns(given: str, width: int, expected: str) -> None:
    assert cut_to_columns(given, width) == expected
