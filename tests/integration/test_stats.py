"""`--ralph-stats` as a user meets it."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.history.store import History
from tests.records import record_of

if TYPE_CHECKING:
    from pathlib import Path


def record_failures(root: Path, count: int) -> None:
    with History(root / ".ralph" / "history.db") as history:
        for _ in range(count):
            history.record(
                record_of(
                    "r1",
                    time.time(),
                    "specs/foo",
                    "1.1",
                    kind="timeout",
                    category="timeout",
                    outcome="failed",
                    blocked_on="a slow server",
                )
            )


def test_statistics_are_printed_and_nothing_is_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_never_run(): assert False")
    record_failures(pytester.path, 3)
    result = pytester.runpytest("--ralph-stats")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["ralph statistics", "*timeout: 3 (100.0%)", "*a slow server: 3 occurrences"],
        consecutive=False,
    )
    result.stdout.no_fnmatch_line("*test_never_run*")
    result.stdout.no_fnmatch_line("High delegation*")


def test_the_alert_threshold_is_a_setting(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nralph_alert = 2")
    record_failures(pytester.path, 3)
    result = pytester.runpytest("--ralph-stats")
    result.stdout.fnmatch_lines(["High delegation failure rate: 3 failures in 24h"])


def test_json_is_all_that_is_printed(pytester: pytest.Pytester) -> None:
    record_failures(pytester.path, 3)
    result = pytester.runpytest_subprocess("--ralph-stats=json")
    data = json.loads(str(result.stdout))
    assert (data["schema"], data["totals"]["failures"]) == (1, 3)


def test_a_project_without_history_says_so_and_stays_as_it_was(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--ralph-stats")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["ralph: no attempts are recorded yet"])
    assert not (pytester.path / ".ralph").exists()


@pytest.mark.parametrize(
    ("ini", "message"),
    [("ralph_alert = many", "*ralph_alert: expected a whole number, 0 or more, got 'many'*")],
)
def test_a_malformed_setting_is_one_line(pytester: pytest.Pytester, ini: str, message: str) -> None:
    pytester.makeini(f"[pytest]\n{ini}")
    result = pytester.runpytest_subprocess("--ralph-stats")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
    assert "Traceback" not in str(result.stderr)


def test_a_history_of_a_newer_version_is_one_line(pytester: pytest.Pytester) -> None:
    record_failures(pytester.path, 1)
    database = pytester.path / ".ralph" / "history.db"
    content = bytearray(database.read_bytes())
    content[60:64] = (99).to_bytes(4, "big")
    database.write_bytes(content)
    result = pytester.runpytest_subprocess("--ralph-stats")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*newer pytest-ralph*"])
    assert database.read_bytes() == content
