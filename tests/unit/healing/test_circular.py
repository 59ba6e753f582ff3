from __future__ import annotations

import pytest

from pytest_ralph.failure.similarity import is_circular, keywords, similarity
from pytest_ralph.healing.decide import is_stuck

EXAMPLE = [
    "Using async await for fetch",
    "Using async/await with try-catch",
    "Using async await pattern",
]


def test_the_third_attempt_of_the_guide_is_circular() -> None:
    assert is_circular(EXAMPLE[2], EXAMPLE[:2])


@pytest.mark.parametrize(
    ("approach", "previous"),
    [
        ("Using async await pattern", []),
        ("Using async await pattern", ["Using async await for fetch"]),
        ("Rewrite the parser as a state machine", EXAMPLE),
        ("with the", ["with the", "with the"]),
        ("", ["", "", ""]),
        (
            "Using async await pattern",
            [*EXAMPLE[:2], "Pin the version", "Add a retry", "Mock the clock"],
        ),
    ],
)
def test_what_is_new_or_long_ago_is_not_circular(approach: str, previous: list[str]) -> None:
    assert not is_circular(approach, previous)


def test_only_the_last_three_attempts_count() -> None:
    assert is_circular("mock the clock", ["mock the clock", "mock the clock", "pin the version"])
    assert not is_circular("mock the clock", ["mock the clock", "mock the clock", "a b", "c d"])


def test_punctuation_splits_words_and_stop_words_do_not_count() -> None:
    assert keywords("Trying async/await, with the try-catch") == {"async", "await", "try", "catch"}


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ("async await fetch", "async await", 2 / 3),
        ("a b", "c d", 0.0),
        ("", "x", 0.0),
        ("x y", "x y", 1.0),
    ],
)
def test_similarity_is_the_share_of_common_keywords(one: str, other: str, share: float) -> None:
    assert similarity(one, other) == pytest.approx(share)


def test_exactly_thirty_percent_is_not_similar() -> None:
    approach, old = "k1 k2 k3 x4 x5 x6", "k1 k2 k3 y4 y5 y6 y7"
    assert similarity(approach, old) == pytest.approx(0.3)
    assert not is_circular(approach, [old, old, old])


@pytest.mark.parametrize(
    ("fingerprints", "trees", "stuck"),
    [
        (["a", "a"], ["t", "t"], True),
        (["x", "a", "a"], ["s", "t", "t"], True),
        (["a", "a"], ["t", "u"], False),
        (["a", "b"], ["t", "t"], False),
        (["a", "b", "a"], ["t", "t", "t"], False),
        (["a"], ["t"], False),
        ([], [], False),
        (["", ""], ["t", "t"], False),
    ],
)
def test_stuck_is_the_same_error_twice_with_nothing_changed_between(
    fingerprints: list[str], trees: list[str], stuck: bool
) -> None:
    assert is_stuck(fingerprints, trees) is stuck


def test_only_the_last_two_attempts_decide_whether_it_is_stuck() -> None:
    assert is_stuck(["a", "b", "c", "c"], ["t", "", "u", "u"])
    assert not is_stuck(["c", "c", "c", "b"], ["u", "u", "u", "u"])
    assert not is_stuck(["c", "c", "c", "c"], ["u", "u", "u", ""])
