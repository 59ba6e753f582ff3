"""Runs of pytest as processes of their own, and what is left of them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable


# Each worker of a run loads every plugin that is installed here.
LIGHT = [
    word
    for name in ("cacheprovider", "html", "metadata", "hypothesispytest", "cov")
    for word in ("-p", f"no:{name}")
]


def start(root: Path, *arguments: str) -> subprocess.Popen[str]:
    """pytest in a process group of its own, as a shell would start it."""
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *LIGHT, *arguments],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def run(root: Path, *arguments: str, timeout: float = 90) -> tuple[int, str]:
    """Exit status and output."""
    process = start(root, *arguments)
    try:
        output, _ = process.communicate(timeout=timeout)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, output


def wait_for(condition: Callable[[], object], timeout: float = 60) -> None:
    until = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


def left_in(root: Path) -> list[psutil.Process]:
    """Processes that still work in a directory, after a moment in which they may end."""
    until = time.monotonic() + 3
    while (left := list(_in(root))) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def _in(root: Path) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter()
        if process.pid != os.getpid() and _is_in(process, root)
    ]


def _is_in(process: psutil.Process, root: Path) -> bool:
    try:
        return Path(process.cwd()).is_relative_to(root) and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):
        return False
