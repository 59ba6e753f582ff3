"""SIGKILL of pytest ends the commands and executors that it started."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.integration.processes import start, wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import SpecMaker

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX only")

WAYS = {
    "plain": "echo $$ > pid; exec sleep 600",
    "session": "setsid sh -c 'echo $$ > pid; exec sleep 600' & wait",
    "no environment": "env -i PATH=$PATH setsid sh -c 'echo $$ > pid; exec sleep 600' & wait",
}


def _is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("way", WAYS)
def test_killed_pytest_ends_its_executor(
    pytester: pytest.Pytester, make_spec: SpecMaker, way: str
) -> None:
    if way == "no environment" and sys.platform != "linux":
        pytest.skip("only Linux has a mark that survives")
    make_spec(t1_1="test -e missing")
    (pytester.path / "agent.sh").write_text(WAYS[way])
    process = start(pytester.path, "--ralph-recovery", "--ralph-executor", "sh agent.sh")

    _kill_when_started(process.pid, pytester.path / "pid")
    process.communicate(timeout=60)

    pid = int((pytester.path / "pid").read_text())
    wait_for(lambda: _is_gone(pid))


@pytest.mark.slow
def test_killed_controller_ends_commands_of_workers(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    pytest.importorskip("xdist")
    make_spec(t1_1="echo $$ > pid; exec sleep 600")
    process = start(pytester.path, "--ralph", "-n1")

    _kill_when_started(process.pid, pytester.path / "pid")

    pid = int((pytester.path / "pid").read_text())
    wait_for(lambda: _is_gone(pid))
    process.communicate(timeout=60)


def _kill_when_started(pid: int, file: Path) -> None:
    wait_for(lambda: file.exists() and file.read_text().strip())
    os.kill(pid, signal.SIGKILL)
