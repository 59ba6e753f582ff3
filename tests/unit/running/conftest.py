"""Fixtures for running: a Runner on a temporary project, and a check for leftovers."""

from __future__ import annotations

import itertools
import os
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from pytest_ralph.running.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_sleeps = itertools.count(1)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


@pytest.fixture
def runner(project: Path) -> Iterator[Runner]:
    runner = Runner(root=project, environ=os.environ, logs=project / ".ralph" / "logs", grace=0.2)
    yield runner
    runner.close()


@pytest.fixture
def nap() -> str:
    """A length for `sleep` that tells the processes of one test from all others."""
    return f"9{os.getpid()}.{next(_sleeps):04d}"


@pytest.fixture
def sleepers(nap: str) -> Callable[[], list[psutil.Process]]:
    def find() -> list[psutil.Process]:
        return [
            process
            for process in psutil.process_iter(["cmdline", "status"])
            if nap in (process.info["cmdline"] or [])
            and process.info["status"] != psutil.STATUS_ZOMBIE
        ]

    return find


@pytest.fixture
def all_gone(sleepers: Callable[[], list[psutil.Process]]) -> Callable[[], bool]:
    """Whether nothing sleeps any more, soon: a killed process takes a moment to go."""

    def gone() -> bool:
        deadline = time.monotonic() + 2
        while sleepers() and time.monotonic() < deadline:
            time.sleep(0.01)
        return not sleepers()

    return gone
