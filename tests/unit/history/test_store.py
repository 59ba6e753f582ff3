from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.history import schema, store
from pytest_ralph.history.store import History, HistoryError
from tests.records import record_of, rows_on_disk

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.history.record import Record


def attempt(task: str = "1.1", **fields: Any) -> Record:
    return record_of(**{"run": "r1", "time": 1000.0, "spec": "specs/foo", "task": task, **fields})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".ralph" / "history.db"


def test_every_field_is_read_back(path: Path) -> None:
    full = record_of(
        "r1",
        12.5,
        "specs/foo",
        "1.3",
        number=2,
        what="fix",
        kind="test_failure",
        type="VERIFICATION_FAILED",
        category="tool_error",
        error="E assert 1 == 2",
        fingerprint="abc123",
        blocked_on="a flaky clock",
        duration=3.25,
        decision="fix again",
        fix_id="1.3.1",
        executor="claude",
        outcome="recovered",
        prediction=0.75,
        approach="mock the clock",
        tree="tree9",
        timeout=300.0,
        session_id="session-7",
    )
    with History(path) as history:
        history.record(full)
    with History(path) as again:
        assert again.records() == [full]


def test_a_run_that_records_nothing_creates_nothing(path: Path) -> None:
    with History(path) as history:
        assert history.records() == []
        assert history.query("SELECT 1") == []
        assert history.prune() == 0
    assert not path.parent.exists()


def test_the_directory_hides_itself_from_git(path: Path) -> None:
    with History(path) as history:
        history.record(attempt())
    assert (path.parent / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize(
    ("fields", "at_once"),
    [
        ({"outcome": "passed"}, False),
        ({"outcome": "passed", "what": "execute"}, False),
        ({"outcome": "failed"}, True),
        ({"outcome": "escalated"}, True),
        ({"outcome": "recovered"}, True),
        ({"outcome": "passed", "what": "fix"}, True),
        ({"outcome": "failed", "what": "repair"}, True),
    ],
)
def test_only_plain_passes_wait_for_a_flush(
    path: Path, fields: dict[str, str], at_once: bool
) -> None:
    with History(path, flush_every=3600) as history:
        history.record(attempt(**fields))
        assert rows_on_disk(path) == (1 if at_once else 0)
    assert rows_on_disk(path) == 1


def test_a_failure_flushes_waiting_passes_in_order(path: Path) -> None:
    with History(path, flush_every=3600) as history:
        for number in (1, 2, 3):
            history.record(attempt(number=number))
        history.record(attempt(number=4, outcome="failed"))
        assert rows_on_disk(path) == 4
        assert [record.attempt.number for record in history.records()] == [1, 2, 3, 4]


def test_passes_are_flushed_after_some_seconds(path: Path) -> None:
    with History(path, flush_every=0.0) as history:
        history.record(attempt())
        assert rows_on_disk(path) == 1


def test_a_reader_sees_its_own_waiting_records(path: Path) -> None:
    with History(path, flush_every=3600) as history:
        history.record(attempt())
        assert len(history.records()) == 1


@pytest.mark.parametrize(
    ("filters", "tasks"),
    [
        ({}, ["1.1", "1.2", "1.1", "2.1"]),
        ({"spec": "specs/foo", "task": "1.1"}, ["1.1", "1.1"]),
        ({"spec": "specs/foo", "task": "1.1", "limit": 1}, ["1.1"]),
        ({"limit": 2}, ["1.1", "2.1"]),
        ({"spec": "specs/foo", "task": "2.1"}, []),
        ({"spec": "specs/bar"}, ["2.1"]),
    ],
)
def test_attempts_are_filtered_and_oldest_first(
    path: Path, filters: dict[str, Any], tasks: list[str]
) -> None:
    with History(path) as history:
        history.record(attempt("1.1", time=1000.0))
        history.record(attempt("1.2", time=1001.0))
        history.record(attempt("1.1", time=1002.0, outcome="failed", kind="timeout"))
        history.record(attempt("2.1", time=1003.0, spec="specs/bar"))
        assert [record.task for record in history.records(**filters)] == tasks


def test_the_order_does_not_follow_the_clock(path: Path) -> None:
    with History(path) as history:
        for number, time in ((1, 5000.0), (2, 1000.0), (3, 3000.0)):
            history.record(attempt(number=number, time=time))
        assert [record.attempt.number for record in history.records()] == [1, 2, 3]
        assert [record.attempt.number for record in history.records(limit=1)] == [3]


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ({"error": "bad \udcff byte"}, {"error": "bad ? byte"}),
        ({"error": "nul \0 inside"}, {"error": "nul \0 inside"}),
        ({"error": "x" * 5000}, {"error": "x" * 2000}),
        ({"duration": float("nan")}, {"duration": 0.0}),
        ({"started": float("inf")}, {"started": 0.0}),
        ({"error": "'); DROP TABLE attempts; --"}, {"error": "'); DROP TABLE attempts; --"}),
    ],
)
def test_hostile_values_are_stored_tamely(
    path: Path, given: dict[str, Any], stored: dict[str, Any]
) -> None:
    with History(path) as history:
        history.record(attempt(**given))
        (read,) = history.records()
    assert {name: getattr(read.attempt, name) for name in stored} == stored


def test_secrets_are_masked_before_cutting(path: Path) -> None:
    def mask(text: str) -> str:
        return text.replace("hunter2", "***")

    with History(path, mask=mask) as history:
        history.record(
            attempt(error="x" * 1996 + "hunter2", executor="agent --key hunter2", tree="hunter2")
        )
        (read,) = history.records()
    assert (read.attempt.error[-3:], read.attempt.executor, read.attempt.tree) == (
        "***",
        "agent --key ***",
        "hunter2",
    )


def test_prune_forgets_the_oldest(path: Path) -> None:
    with History(path) as history:
        for number in range(1, 11):
            history.record(attempt(number=number))
        history.flush()
        assert history.prune(keep=4) == 6
        assert [record.attempt.number for record in history.records()] == [7, 8, 9, 10]
        assert history.prune(keep=4) == 0


def test_threads_share_one_history(path: Path) -> None:
    with History(path) as history:

        def write(name: str) -> None:
            for number in range(50):
                history.record(
                    attempt(name, number=number, outcome="failed" if number % 10 == 0 else "passed")
                )

        threads = [threading.Thread(target=write, args=(f"1.{n}",)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(history.records()) == 400


def test_version_1_is_migrated_with_its_rows(path: Path) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    for statement in schema.MIGRATIONS[0]:
        connection.execute(statement)
    connection.execute(
        "INSERT INTO attempts (run, time, spec, task, number, what, kind, type, error, "
        "fingerprint, duration, decision,"
        ' fix, executor, outcome, "commit") VALUES'
        " ('old', 1, 'specs/foo', '1.1', 1, 'verify', 'timeout', 'UNKNOWN', 'slow', 'f', 2.5, "
        "'', '', '', 'failed', '')"
    )
    connection.execute("PRAGMA user_version=1")
    connection.commit()
    connection.close()
    with History(path) as history:
        history.record(attempt(approach="new column"))
        old, new = history.records()
        assert history.query("PRAGMA user_version") == [(schema.VERSION,)]
    assert (
        old.run,
        *(
            getattr(old.attempt, name)
            for name in ("kind", "approach", "tree", "timeout", "session_id")
        ),
    ) == (
        "old",
        "timeout",
        "",
        "",
        None,
        "",
    )
    assert new.attempt.approach == "new column"


def test_a_newer_database_is_not_touched(path: Path) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE attempts (future TEXT)")
    connection.execute("PRAGMA user_version=99")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    history = History(path)
    with pytest.raises(HistoryError, match="newer pytest-ralph") as refused:
        history.record(attempt(outcome="failed"))
    with pytest.raises(HistoryError, match="newer pytest-ralph"):
        history.records()
    history.close()
    assert "\n" not in str(refused.value)
    assert path.read_bytes() == before
    assert sorted(p.name for p in path.parent.iterdir()) == [".gitignore", "history.db"]


def test_the_log_of_a_newer_database_stays(path: Path) -> None:
    path.parent.mkdir()
    newer = sqlite3.connect(path, isolation_level=None)
    newer.execute("PRAGMA journal_mode=WAL")
    newer.execute("PRAGMA user_version=99")
    newer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    newer.execute("CREATE TABLE later (x)")
    pending = {name: path.with_name(name).read_bytes() for name in ("history.db", "history.db-wal")}
    # As after a crash: copied while open, so that nobody has tidied up.
    newer.close()
    for name, content in pending.items():
        path.with_name(name).write_bytes(content)
    with pytest.raises(HistoryError, match="newer pytest-ralph"):
        History(path).records()
    assert {name: path.with_name(name).read_bytes() for name in pending} == pending


def test_a_database_of_another_program_is_refused(path: Path) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()
    with pytest.raises(HistoryError, match="another program"):
        History(path).record(attempt(outcome="failed"))


@pytest.mark.parametrize(
    "inside", [b"this is not a database\n" * 100, b"SQLite format 3\0" + b"\xff" * 4000]
)
def test_a_corrupt_database_is_moved_aside(path: Path, inside: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(inside)
    told: list[str] = []
    with History(path, warn=told.append) as history:
        history.record(attempt(outcome="failed"))
        assert len(history.records()) == 1
    (aside,) = path.parent.glob("history.db.corrupt-*")
    assert aside.read_bytes() == inside
    assert told == [f"history was corrupt: moved to {aside}, started a new one"]


def test_a_corrupt_log_is_moved_aside_too(path: Path) -> None:
    history = History(path)
    for number in range(50):
        history.record(attempt(number=number, error="e" * 500, outcome="failed"))
    log = path.with_name("history.db-wal").read_bytes()
    history.close()
    path.write_bytes(b"garbage" * 5000)
    path.with_name("history.db-wal").write_bytes(log[: len(log) // 2])
    with History(path) as history:
        history.record(attempt("2.1", outcome="failed"))
        assert "2.1" in [record.task for record in history.records()]
        assert history.query("PRAGMA integrity_check") == [("ok",)]


def test_a_database_may_break_during_a_run(path: Path) -> None:
    with History(path) as history:
        for number in range(300):
            history.record(attempt(number=number, error="e" * 500, outcome="failed"))
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\x5a" * (size - 4096))
    told: list[str] = []
    with History(path, warn=told.append) as history:
        history.record(attempt(outcome="failed"))
        assert len(history.records()) == 1
        assert len(told) == 1


def test_an_empty_file_is_a_new_database(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    with History(path) as history:
        history.record(attempt(outcome="failed"))
        assert len(history.records()) == 1


def test_an_impossible_directory_is_one_warning(tmp_path: Path) -> None:
    (tmp_path / ".ralph").write_text("a file where the directory should be")
    told: list[str] = []
    with History(tmp_path / ".ralph" / "history.db", warn=told.append) as history:
        for number in range(5):
            history.record(attempt(number=number, outcome="failed"))
    assert len(told) == 1
    assert told[0].startswith("history is not recorded: cannot create")
    assert "\n" not in told[0]


def test_unwritten_attempts_are_written_later(tmp_path: Path) -> None:
    blocker = tmp_path / ".ralph"
    blocker.write_text("in the way")
    told: list[str] = []
    history = History(blocker / "history.db", warn=told.append)
    history.record(attempt(number=1, outcome="failed"))
    history.record(attempt(number=2, outcome="failed"))
    blocker.unlink()
    history.close()
    assert rows_on_disk(blocker / "history.db") == 2
    assert len(told) == 1


def test_after_a_failed_write_the_next_try_waits(path: Path) -> None:
    with History(path) as history:
        history.record(attempt(outcome="failed"))
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    told: list[str] = []
    history = History(path, busy_timeout=0.5, warn=told.append)
    begun = time.monotonic()
    for number in range(20):
        history.record(attempt(number=number, outcome="failed"))
    # Twenty tries would wait ten seconds.
    assert time.monotonic() - begun < 8
    holder.close()
    history.close()
    assert (rows_on_disk(path), len(told)) == (21, 1)


def test_waiting_for_a_lock_is_bounded(path: Path) -> None:
    with History(path) as history:
        history.record(attempt(outcome="failed"))
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    history = History(path, busy_timeout=0.05)
    with pytest.raises(HistoryError, match="database is locked"):
        history.record(attempt(outcome="failed"))
    holder.execute("ROLLBACK")
    holder.close()
    history.close()
    assert rows_on_disk(path) == 2


def test_the_number_of_waiting_records_is_bounded(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MOST_WAITING", 10)
    told: list[str] = []
    with History(path, flush_every=3600, warn=told.append) as history:
        for number in range(25):
            history.record(attempt(number=number))
    assert rows_on_disk(path) == 10
    assert told == ["history: only the latest 10 attempts wait to be recorded"]


def test_a_second_outage_is_a_second_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "TRY_AGAIN_AFTER", 0.0)
    directory = tmp_path / ".ralph"
    told: list[str] = []
    history = History(directory / "history.db", warn=told.append)
    for _ in range(2):
        directory.write_text("in the way")
        history.record(attempt(outcome="failed"))
        history.record(attempt(outcome="failed"))
        directory.unlink()
        history.close()
        shutil.rmtree(directory)
    assert len(told) == 2


def test_a_number_may_be_too_large_for_the_database(path: Path) -> None:
    with History(path) as history:
        history.record(attempt(outcome="failed", tokens=10**30))
        (read,) = history.records()
    assert read.attempt.tokens == 2**63 - 1
