"""A duration is read as a person means it."""

from __future__ import annotations

import pytest

from pytest_ralph.spec.document import Spec
from pytest_ralph.spec.durations import seconds, written_timeout


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90", 90),
        ("90s", 90),
        ("`90 s`", 90),
        ("2 min", 120),
        ("2 minutes", 120),
        ("1.5h", 5400),
        ("2 hrs", 7200),
        ("1d", 86_400),
        ("500ms", 0.5),
        ("500 milliseconds", 0.5),
        ("1h30m", 5400),
        ("1 hour 30 min", 5400),
        ("1,000 s", 1000),
        ("90 max", 90),
        ("10 (slow machines)", 10),
        ("10 s, 20 on CI", 10),
    ],
)
def test_a_time_limit_may_be_written_in_many_ways(text: str, expected: float) -> None:
    (task,) = Spec.parse(f"- [ ] 1.1 A\n  - **Timeout**: {text}\n").tasks
    duration = written_timeout(task)
    assert duration is not None
    assert seconds(duration) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["none", "", "at most a minute"])
def test_other_words_are_no_time_limit(text: str) -> None:
    (task,) = Spec.parse(f"- [ ] 1.1 A\n  - **Do**: x\n  - **Timeout**: {text}\n").tasks
    assert written_timeout(task) is None
