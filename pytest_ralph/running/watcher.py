"""Watcher: a process that ends the commands of a run if pytest itself is killed.

It is a shell that waits for a line from pytest. A run that ends in any regular way sends it. After
SIGKILL the pipe is closed without it, and the shell becomes a Python that ends every process with
the mark of the run. What the watcher misses, the next run ends.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.running.spawn import Streams, spawn
from pytest_ralph.running.strays import end_run, start_unmarked

if TYPE_CHECKING:
    from pytest_ralph.running.spawn import Child

SHELL = "/bin/sh"
SCRIPT = 'cd / && { read -r _ || exec "$@"; }'
KILL = """\
import sys
sys.path.insert(0, sys.argv[1])
from pytest_ralph.running.watcher import kill_run
kill_run(int(sys.argv[2]))
"""
# How often it looks for processes: one may just be starting when pytest is killed.
ROUNDS = 3


class Watcher:
    """Watches over the processes of one run, from the first command on."""

    def __init__(self, run: int) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._is_started = False
        self._child: Child | None = None
        self._pipe = -1

    def start(self) -> None:
        """Start watching, unless that was done before. If it fails, the next call tries again."""
        if self._is_started:
            return
        with self._lock, contextlib.suppress(OSError):
            if not self._is_started:
                self._start()
                self._is_started = True

    def _start(self) -> None:
        """Start the shell, with the reading end of a pipe of ours as its stdin."""
        package = Path(__file__).parents[2]
        kill = (sys.executable, "-c", KILL, str(package), str(self._run))
        reader, self._pipe = os.pipe()
        nothing = os.open(os.devnull, os.O_WRONLY)

        try:
            streams = Streams(f"/dev/fd/{reader}", nothing, nothing)
            argv = (SHELL, "-c", SCRIPT, SHELL, *kill)
            # With the mark of a command it would be killed along with it.
            with start_unmarked():
                self._child = spawn(argv, Path.cwd(), dict(os.environ), streams)
        except OSError:
            os.close(self._pipe)
            raise
        finally:
            os.close(reader)
            os.close(nothing)

    def close(self) -> None:
        """End the watcher: the run has ended its processes itself."""
        with self._lock:
            self._is_started = True
            if self._child is None:
                return
            with contextlib.suppress(OSError):
                os.write(self._pipe, b"\n")
            os.close(self._pipe)
            self._child.wait()
            self._child = None


def kill_run(run: int) -> None:
    """End the processes of a run, also those that were being started when it was killed."""
    for _ in range(ROUNDS):
        end_run(run)
