"""The history with many writers, kills, a full disk and an unwritable directory."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.history.store import History
from tests.records import record_of, rows_on_disk

if TYPE_CHECKING:
    from collections.abc import Iterator

PRELUDE = dedent(
    """
    import os, sys
    from pathlib import Path
    from pytest_ralph.history.store import History, HistoryError, Record
    from pytest_ralph.results import Attempt

    def attempt(number, outcome="failed", **fields):
        made = Attempt(number=number, outcome=outcome, error="e" * 200, **fields)
        return Record("r", "specs/foo", "1.1", made)
    """
)


def child(
    script: str, *arguments: object, stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + dedent(script), *map(str, arguments)],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out


@pytest.mark.parametrize("before", ["nothing", "garbage"])
def test_eight_writers_at_once_lose_nothing(tmp_path: Path, before: str) -> None:
    path = tmp_path / ".ralph" / "history.db"
    if before == "garbage":
        path.parent.mkdir()
        path.write_bytes(b"garbage" * 1000)
    script = """
        sys.stdin.read()
        with History(Path(sys.argv[1])) as history:
            for number in range(60):
                outcome = "passed" if number % 3 else "failed"
                history.record(attempt(number, outcome, session_id=sys.argv[2]))
    """
    gate, opener = os.pipe()
    writers = [child(script, path, name, stdin=gate) for name in range(8)]
    os.close(gate)
    os.close(opener)
    for writer in writers:
        finish(writer)
    with History(path) as history:
        counts = history.query(
            "SELECT session, count(*), min(number), max(number) FROM attempts GROUP BY session"
        )
        assert history.query("PRAGMA integrity_check") == [("ok",)]
    assert sorted(counts) == [(str(name), 60, 0, 59) for name in range(8)]
    assert len(list(path.parent.glob("*.corrupt-*"))) == (before == "garbage")


def test_a_killed_writer_loses_no_failure(tmp_path: Path) -> None:
    path = tmp_path / ".ralph" / "history.db"
    script = """
        history = History(Path(sys.argv[1]))
        for number in range(int(sys.argv[2]), 10**9):
            history.record(attempt(number))
            os.write(1, b"%d\\n" % number)
    """
    last = 0
    for round_ in range(6):
        writer = child(script, path, last + 1)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(0.013 * round_)
        writer.send_signal(signal.SIGKILL)
        acknowledged = writer.communicate()[0].split("\n")
        last = int(acknowledged[-2]) if len(acknowledged) > 1 else last + 1
        with History(path) as history:
            assert history.query("PRAGMA integrity_check") == [("ok",)]
            numbers = {record.attempt.number for record in history.records()}
        assert set(range(1, last + 1)) <= numbers
        last = max(numbers)


@pytest.mark.parametrize(
    "point", ["before history write", "before history commit", "after history write"]
)
def test_a_write_is_all_or_nothing(tmp_path: Path, point: str) -> None:
    path = tmp_path / "history.db"
    script = """
        import signal
        from pytest_ralph import files as disk
        def kill(name):
            if name == sys.argv[2]:
                os.kill(os.getpid(), signal.SIGKILL)
        disk.on_fault_point = kill
        history = History(Path(sys.argv[1]))
        for number in (1, 2):
            history.record(attempt(number, "passed"))
        history.record(attempt(3))
    """
    writer = child(script, path, point)
    writer.communicate(timeout=60)
    assert writer.returncode == -signal.SIGKILL
    with History(path) as history:
        assert len(history.records()) == (3 if point == "after history write" else 0)


def test_a_full_disk_is_one_warning(tmp_path: Path) -> None:
    script = """
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        history = History(Path(sys.argv[1]), warn=print)
        for number in range(2000):
            history.record(attempt(number))
        history.close()
        print("went on")
    """
    path = tmp_path / "history.db"
    warning, *rest = finish(child(script, path)).splitlines()
    assert warning.startswith(f"history is not recorded: {path}: ")
    assert rest == ["went on"]
    with History(path) as history:
        assert history.query("PRAGMA integrity_check") == [("ok",)]
        assert 0 < len(history.records()) < 2000


@pytest.fixture
def visible_directory() -> Iterator[Path]:
    """A directory another user can reach: pytest's own temporary ones are closed to them."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o755)
    yield directory
    directory.chmod(0o755)
    shutil.rmtree(directory)


def test_a_read_only_history_can_be_read(
    visible_directory: Path,
) -> None:
    path = visible_directory / "history.db"
    with History(path) as history:
        history.record(record_of("r", 1.0, "specs/foo", "1.1", outcome="failed"))
    visible_directory.chmod(0o555)
    script = """
        import locale, sqlite3, urllib.parse, urllib.request, pytest_ralph.history.schema
        if os.getuid() == 0:
            os.setuid(65534)
        history = History(Path(sys.argv[1]), warn=print)
        print(len(history.records()))
        for number in range(3):
            history.record(attempt(number))
        history.close()
    """
    read, warning = finish(child(script, path)).splitlines()
    assert read == "1"
    assert warning.startswith(f"history is not recorded: {path}: ")


def test_a_read_only_project_gets_one_warning(visible_directory: Path) -> None:
    visible_directory.chmod(0o555)
    script = """
        if os.getuid() == 0:
            os.setuid(65534)
        history = History(Path(sys.argv[1]), warn=print)
        print(len(history.records()))
        history.record(attempt(1))
        history.close()
    """
    out = finish(child(script, visible_directory / ".ralph" / "history.db")).splitlines()
    assert out == [
        "0",
        f"history is not recorded: cannot create {visible_directory}/.ralph: Permission denied",
    ]


def test_a_removed_history_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / ".ralph" / "history.db"
    with History(path) as first, History(path) as second:
        first.record(record_of("run", 1.0, "demo", "1.1", outcome="failed"))
        second.record(record_of("run", 2.0, "demo", "1.2", outcome="failed"))
        shutil.rmtree(path.parent)
        first.record(record_of("run", 3.0, "demo", "1.3", outcome="failed"))
        second.record(record_of("run", 4.0, "demo", "1.4", outcome="failed"))

    with History(path) as history:
        assert [record.task for record in history.records()] == ["1.1", "1.2", "1.3", "1.4"]
    assert (path.parent / ".gitignore").exists()


def test_a_thousand_passes_cost_one_transaction(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with History(path, flush_every=3600) as history:
        for number in range(1000):
            history.record(record_of("r", 1.0, "specs/foo", f"1.{number}", tree="t", duration=0.1))
        written_before_the_end = rows_on_disk(path)
    assert (written_before_the_end, rows_on_disk(path)) == (0, 1000)


def test_what_is_read_while_another_writes_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    script = """
        with History(Path(sys.argv[1]), flush_every=3600) as history:
            for number in range(200):
                for _ in range(9):
                    history.record(attempt(number, "passed"))
                history.record(attempt(number))
    """
    writer = child(script, path)
    seen = []
    with History(path) as history:
        while writer.poll() is None:
            seen.append(len(history.records()))
    finish(writer)
    assert all(count % 10 == 0 for count in seen)
