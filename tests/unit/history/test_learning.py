from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.history.learning import (
    Chance,
    TimeLimit,
    chance_of_fix,
    chances,
    error_words,
    fixed_before,
    hints,
    is_better,
    likely_to_fail,
    similarity,
    time_limit,
    wilson,
)
from pytest_ralph.history.store import History
from tests.records import record_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.history.conftest import Diary


@pytest.mark.parametrize(
    ("durations", "expected"),
    [
        ([1.0, 1.0, 1.0, 1.0], None),
        ([1.0, 1.0, 1.0, 1.0, 1.0], TimeLimit(10.0, 1.0, 5)),
        ([10.0, 20.0, 30.0, 40.0, 50.0], TimeLimit(150.0, 50.0, 5)),
        # The 19th of 20 is the 95th percentile; one freak run still fits in twice.
        ([10.0] * 19 + [100.0], TimeLimit(200.0, 10.0, 20)),
    ],
)
def test_a_time_limit_is_suggested_from_past_durations(
    diary: Diary, durations: list[float], expected: TimeLimit | None
) -> None:
    for duration in durations:
        diary.note("1.1", duration=duration)
    assert time_limit(diary.history, "specs/foo", "1.1") == expected


def test_only_recent_passes_suggest_a_time_limit(diary: Diary) -> None:
    for _ in range(10):
        diary.note("1.1", duration=999.0)
    for _ in range(50):
        diary.note("1.1", duration=20.0)
    diary.fails("1.1", duration=5000.0)
    diary.note("1.2", duration=5000.0)
    assert time_limit(diary.history, "specs/foo", "1.1") == TimeLimit(60.0, 20.0, 50)


@pytest.mark.parametrize(
    ("hits", "cases", "low", "high"),
    # From the closed formula, z = 1.96.
    [(5, 5, 0.5655, 1.0), (0, 5, 0.0, 0.4345), (5, 10, 0.2366, 0.7634), (17, 27, 0.4423, 0.7847)],
)
def test_the_interval_is_wilsons(hits: int, cases: int, low: float, high: float) -> None:
    assert wilson(hits, cases) == pytest.approx((low, high), abs=5e-4)


def fixes(
    diary: Diary, worked: int, failed: int, kind: str = "test_failure", **fields: Any
) -> None:
    for number in range(worked + failed):
        diary.fails("1.1", kind)
        diary.fix("1.1", kind, works=number < worked, **fields)


def test_five_cases_give_an_executor_its_chance(diary: Diary) -> None:
    fixes(diary, 4, 1, executor="claude")
    fixes(diary, 0, 5, executor="codex")
    chance = chance_of_fix(diary.history, "test_failure", "claude")
    assert chance == Chance(4, 5, "similar fixes by claude")
    assert chance.probability == pytest.approx(5 / 7)
    assert str(chance) == "71% (4 of 5 similar fixes by claude, 95% interval 38% to 96%)"


def test_with_few_cases_the_chance_is_everybodys(diary: Diary) -> None:
    fixes(diary, 2, 1, executor="claude")
    fixes(diary, 1, 1, executor="codex")
    assert chance_of_fix(diary.history, "test_failure", "claude") == Chance(3, 5, "similar fixes")
    assert chance_of_fix(diary.history, "test_failure") == Chance(3, 5, "similar fixes")


def test_nothing_is_claimed_under_five_cases(diary: Diary) -> None:
    fixes(diary, 4, 0)
    fixes(diary, 5, 0, kind="lint_error")
    assert chance_of_fix(diary.history, "test_failure", "claude") is None
    assert chances(diary.history, "test_failure") == {}


def test_an_empty_history_teaches_nothing(tmp_path: Path) -> None:
    with History(tmp_path / "none" / "history.db") as history:
        assert time_limit(history, "specs/foo", "1.1") is None
        assert chance_of_fix(history, "test_failure", "claude") is None
        assert fixed_before(history, "boom", fingerprint="f", kind="k") == ()
        assert likely_to_fail(history) == ()
        assert not is_better(history, "test_failure", "b", "a")


def test_executors_are_ordered_by_what_worked_before(diary: Diary) -> None:
    fixes(diary, 1, 4, executor="claude")
    fixes(diary, 5, 0, executor="repair:format")
    fixes(diary, 2, 0, executor="codex")
    assert list(chances(diary.history, "test_failure")) == ["repair:format", "claude"]
    # Two of two are too few cases: codex counts as even, like one that was never tried.
    assert is_better(diary.history, "test_failure", "repair:format", "codex")
    assert is_better(diary.history, "test_failure", "aider", "claude")
    assert not is_better(diary.history, "test_failure", "codex", "aider")


def test_approaches_are_ordered_too(diary: Diary) -> None:
    fixes(diary, 0, 5, approach="retry harder")
    fixes(diary, 5, 0, approach="mock the clock")
    tried = chances(diary.history, "test_failure", by="approach")
    assert list(tried) == ["mock the clock", "retry harder"]


def test_an_equal_error_tells_what_fixed_it(diary: Diary) -> None:
    diary.fails("1.3")
    diary.fix(
        "1.3",
        works=True,
        fingerprint="f1",
        fix_id="1.3.1",
        approach="freeze the clock",
        error="E assert late",
        commit="0123456789abcdef",
    )
    diary.fails("1.4")
    diary.fix("1.4", works=False, fingerprint="f1", approach="sleep longer", error="E assert late")
    (known,) = fixed_before(diary.history, "E assert late", fingerprint="f1", kind="test_failure")
    assert str(known) == (
        "this error was fixed before by claude (specs/foo 1.3.1), commit 0123456789ab: freeze "
        "the clock"
    )


def test_equal_fixes_are_merged_most_used_first(diary: Diary) -> None:
    for approach in ("a", "b", "b", "c", "d"):
        diary.fails()
        diary.fix(works=True, fingerprint="f1", approach=approach)
    found = fixed_before(diary.history, "", fingerprint="f1", kind="test_failure")
    assert [(fix.approach, fix.times) for fix in found] == [("b", 2), ("d", 1), ("c", 1)]


def test_hints_name_past_fixes_and_good_approaches(
    diary: Diary,
) -> None:
    fixes(diary, 5, 0, approach="mock the clock")
    fixes(diary, 1, 4, approach="sleep longer")
    diary.fails("1.3")
    diary.fix("1.3", works=True, fingerprint="f1", fix_id="1.3.1")
    assert hints(diary.history, "E late", fingerprint="f1", kind="test_failure") == (
        "this error was fixed before by claude (specs/foo 1.3.1)",
        "worked before on test_failure: mock the clock, 86% (5 of 5, 95% interval 57% to 100%)",
    )


@pytest.mark.parametrize(
    ("error", "known"),
    [
        ("tests/a.py:91: TypeError: unsupported operand type for +: 'int' and 'str'", True),
        ("src/deep/b.py:3: TypeError: unsupported operand type for +: 'str' and 'int'", True),
        ("TypeError: 'NoneType' object is not subscriptable", False),
        ("boom", False),
        ("", False),
    ],
)
def test_a_similar_error_is_reported_as_similar(diary: Diary, error: str, known: bool) -> None:
    past = "a.py:12: TypeError: unsupported operand type for +: 'int' and 'str'"
    diary.fails()
    diary.fix(works=True, fingerprint="f1", error=past, approach="convert first")
    found = fixed_before(diary.history, error, fingerprint="another", kind="test_failure")
    assert [fix.same for fix in found] == [False] * known
    if known:
        assert str(found[0]).startswith(f'a similar error ("{past}") was fixed before by claude')
    assert fixed_before(diary.history, error, fingerprint="another", kind="lint_error") == ()


def test_numbers_addresses_and_directories_are_no_words() -> None:
    one = error_words("/home/a/src/app.py:12: Foo at 0x7f3a12 took 12.5s (id 8f14e45fceea167a)")
    other = error_words("lib/app.py:9: Foo at 0x11bb took 3s (id 1234567deadbeef)")
    assert one == other == {"app", "py", "foo", "at", "took", "id"}
    assert similarity(one, other) == 1.0


def test_two_words_are_like_nothing() -> None:
    assert similarity(error_words("Build failed"), error_words("Build failed")) == 0.0


def test_tasks_that_mostly_fail_are_reported(diary: Diary) -> None:
    for number in range(12):
        diary.run = f"r{number}"
        # 1.1 fails at first and is recovered each time; 1.2 failed long ago only; 1.3 now and then.
        diary.fails("1.1", "timeout" if number % 3 else "lint_error")
        diary.fix("1.1", works=True)
        diary.note("1.2", "failed" if number < 2 else "passed")
        diary.note("1.3", "failed" if number % 2 else "passed")
    (risk,) = likely_to_fail(diary.history)
    assert (risk.spec, risk.task, risk.kind) == ("specs/foo", "1.1", "timeout")
    assert (risk.chance.hits, risk.chance.cases) == (10, 10)
    assert str(risk.chance).startswith("92% (10 of 10 runs")
    assert likely_to_fail(diary.history, "specs/other") == ()


def test_four_failing_runs_are_too_few(diary: Diary) -> None:
    for number in range(4):
        diary.run = f"r{number}"
        diary.fails("1.1")
    assert likely_to_fail(diary.history) == ()


def test_learning_stays_quick_with_many_attempts(tmp_path: Path) -> None:
    with History(tmp_path / "history.db") as history:
        rows = [
            record_of(
                f"r{n // 50}",
                float(n),
                "specs/foo",
                f"1.{n % 50}",
                what="fix" if n % 2 else "verify",
                kind="test_failure",
                error=f"E some error number {n}",
                fingerprint=f"f{n}",
                executor="claude",
            )
            for n in range(9_000)
        ]
        history._waiting.extend(rows)
        history.flush()
        begun = time.process_time()
        for _ in range(10):
            chance_of_fix(history, "test_failure", "claude")
            fixed_before(history, "E some other error", fingerprint="g", kind="test_failure")
            time_limit(history, "specs/foo", "1.2")
        assert (time.process_time() - begun) / 10 < 0.1
