"""Commands on a system without /proc, pidfd and prlimit, such as macOS; simulated."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.running import strays
from pytest_ralph.running.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def macos_runner(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(strays, "LINUX", False)
    monkeypatch.setattr(strays, "_proc", lambda *_: b"")
    monkeypatch.setattr(strays, "last_pid", lambda: None)
    monkeypatch.setattr(strays, "all_pids", lambda: pytest.fail("/proc was listed"))
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    # Python 3.15 looks for it once, when the module is imported.
    monkeypatch.setattr(subprocess, "_CAN_USE_PIDFD_OPEN", False, raising=False)
    runner = Runner(root=project, environ=os.environ, logs=project / ".ralph" / "logs", grace=0.2)
    yield runner
    runner.close()


@pytest.mark.parametrize(
    ("command", "exit_code", "output"),
    [("echo one | cat", 0, "one\n"), ("true", 0, ""), ("exit 3", 3, ""), ("kill -9 $$", 137, "")],
)
def test_commands_end_without_proc(
    macos_runner: Runner, command: str, exit_code: int, output: str
) -> None:
    ended = macos_runner.run(command, timeout=20)
    assert (ended.exit_code, ended.output()) == (exit_code, output)


@pytest.mark.parametrize("command", ["sleep {nap}", "sleep {nap} & sleep {nap}"])
def test_a_time_limit_ends_the_whole_group(
    macos_runner: Runner, nap: str, all_gone: Callable[[], bool], command: str
) -> None:
    ended = macos_runner.run(command.format(nap=nap), timeout=0.2)
    assert ended.timed_out
    assert all_gone()
