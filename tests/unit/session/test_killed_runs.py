"""A run ends the processes that a killed run left behind, and removes its temporary files."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

from pytest_ralph.running.strays import VARIABLE, Mark, set_soft_limit
from pytest_ralph.session.locks import record_mark

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_processes_of_a_killed_run_are_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    # A process that has ended: its id stands for the run that was killed.
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    mark = Mark(int.from_bytes(os.urandom(4), "big"), 1)
    left_behind = subprocess.Popen(
        ["sleep", "600"], env={**os.environ, VARIABLE: mark.variable}, start_new_session=True
    )
    set_soft_limit(left_behind.pid, mark.limit)
    locks = tmp_path / "locks"
    locks.mkdir()
    stale = locks / f"{gone.pid}-{mark.run:08x}.mark"
    stale.touch()
    half_written = tmp_path / "src" / f".main.py.{gone.pid}-0123456789ab.tmp"
    being_written = tmp_path / "src" / f".main.py.{os.getpid()}-0123456789ab.tmp"
    half_written.parent.mkdir()
    half_written.touch()
    being_written.touch()
    merged = tmp_path / f"ralph-merge-{gone.pid}-abcd"
    (merged / "a").mkdir(parents=True)
    being_merged = tmp_path / f"ralph-merge-{os.getpid()}-abcd"
    being_merged.mkdir()

    own = record_mark(tmp_path, locks, 7)
    assert left_behind.wait(timeout=60) == -9
    assert not stale.exists()
    assert not half_written.exists()
    assert being_written.exists()
    assert not merged.exists()
    assert being_merged.exists()
    assert own is not None
    assert own.exists()


def test_processes_of_a_living_run_stay(tmp_path: Path) -> None:
    own = record_mark(tmp_path, tmp_path / "locks", 7)
    record_mark(tmp_path, tmp_path / "locks", 8)
    assert own is not None
    assert own.exists()
