from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.history.directory import make_private, prune_logs
from pytest_ralph.history.record import HistoryError

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_000_000.0


def test_the_directory_hides_itself_from_git(tmp_path: Path) -> None:
    directory = make_private(tmp_path / ".ralph")
    assert (directory / ".gitignore").read_text() == "*\n"


def test_an_existing_gitignore_is_kept(tmp_path: Path) -> None:
    directory = make_private(tmp_path / ".ralph")
    (directory / ".gitignore").write_text("logs/\n")
    make_private(directory)
    assert (tmp_path / ".ralph" / ".gitignore").read_text() == "logs/\n"


def test_the_directory_error_is_one_line(tmp_path: Path) -> None:
    (tmp_path / ".ralph").touch()
    with pytest.raises(HistoryError, match=r"^cannot create .*\.ralph: File exists$"):
        make_private(tmp_path / ".ralph")


def run_logs(logs: Path, name: str, size: int, age: float) -> Path:
    run = logs / name
    (run / "deep").mkdir(parents=True)
    log = run / "deep" / "out.log"
    log.write_bytes(b"x" * size)
    for path in (log, run / "deep", run):
        os.utime(path, (NOW - age, NOW - age))
    return run


@pytest.mark.parametrize(
    ("keep_runs", "max_bytes", "kept"),
    [
        (10, 10**9, {"a", "b", "c", "d"}),
        (2, 10**9, {"c", "d"}),
        (0, 10**9, set()),
        (10, 50_000, {"c", "d"}),
        (10, 0, set()),
    ],
)
def test_logs_stay_within_runs_and_bytes(
    tmp_path: Path, keep_runs: int, max_bytes: int, kept: set[str]
) -> None:
    for age, name in enumerate("dcba"):
        run_logs(tmp_path, name, 15_000, age=10_000 + age)
    before = set(tmp_path.iterdir())
    removed = prune_logs(tmp_path, keep_runs=keep_runs, max_bytes=max_bytes, now=NOW)
    assert {path.name for path in tmp_path.iterdir()} == kept
    assert set(removed) == before - set(tmp_path.iterdir())


def test_logs_of_a_recent_run_stay(tmp_path: Path) -> None:
    run_logs(tmp_path, "busy", 10, age=5)
    run_logs(tmp_path, "old", 10, age=5000)
    prune_logs(tmp_path, keep_runs=0, now=NOW)
    assert [path.name for path in tmp_path.iterdir()] == ["busy"]


def test_the_target_of_a_link_stays(tmp_path: Path) -> None:
    treasure = run_logs(tmp_path, "treasure", 10, age=5000)
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "link").symlink_to(treasure)
    prune_logs(logs, keep_runs=0, now=NOW, grace=0)
    assert not list(logs.iterdir())
    assert (treasure / "deep" / "out.log").exists()


def test_a_missing_log_directory_is_fine(tmp_path: Path) -> None:
    assert prune_logs(tmp_path / "none") == ()
