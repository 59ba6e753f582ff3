"""Head and tail of what is too long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ralph.text.bounded import cut_lines, cut_middle, near


@pytest.mark.parametrize(
    ("lines", "head", "tail", "shown"),
    [
        (0, 2, 2, []),
        (4, 2, 2, ["1", "2", "3", "4"]),
        (5, 2, 2, ["1", "2", "3", "4", "5"]),
        (6, 2, 2, ["1", "2", "… 2 lines left out …", "5", "6"]),
        (1239, 0, 5, ["… 1,234 lines left out …", "1235", "1236", "1237", "1238", "1239"]),
        (9, 3, 0, ["1", "2", "3", "… 6 lines left out …"]),
    ],
)
def test_what_is_left_out_is_counted(lines: int, head: int, tail: int, shown: list[str]) -> None:
    text = "\n".join(str(number + 1) for number in range(lines))
    assert cut_lines(text, head, tail).split("\n") == (shown or [""])


@pytest.mark.parametrize(
    ("around", "shown"),
    [
        ("50", ["1", "… 48 lines left out …", "50", "… 48 lines left out …", "99"]),
        ("2", ["1", "2", "… 96 lines left out …", "99"]),
        ("nowhere", ["1", "… 97 lines left out …", "99"]),
        (" ", ["1", "… 97 lines left out …", "99"]),
    ],
)
def test_what_surrounds_a_text_is_kept(
    around: str, shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near, "__defaults__", (0,))
    assert cut_lines("\n".join(map(str, range(1, 100))), 1, 1, around=around).split("\n") == shown


def test_as_much_before_as_behind_is_near() -> None:
    lines = [*map(str, range(100))]
    assert near(lines, "50", 2) == range(48, 53)
    assert near(lines, "0", 2) == range(3)
    assert near(lines, "99", 2) == range(97, 100)


def test_a_wide_line_is_cut_in_its_middle() -> None:
    assert cut_middle("abcdefghij", 10) == "abcdefghij"
    assert cut_middle("abcdefghijk", 4) == "ab… 7 characters left out …jk"
    assert len(cut_lines("x" * 1_000_000, 5, 5)) < 2_100


@given(
    text=st.text(max_size=500),
    head=st.integers(0, 5),
    tail=st.integers(0, 5),
    widest=st.integers(0, 40),
)
def test_it_is_never_longer_than_asked_for(text: str, head: int, tail: int, widest: int) -> None:
    lines = cut_lines(text, head, tail, widest=widest).splitlines()
    assert len(lines) <= head + tail + 1
    assert all(len(line) <= widest + 40 for line in lines)
