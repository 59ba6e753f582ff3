"""Process: a started command with its process group and the pipes that it prints to."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

from pytest_ralph.running.spawn import Streams, spawn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from pytest_ralph.running.spool import SpoolWriter

# Bytes that a pipe holds, and those of a pipe that was found full.
PIPE_SIZE = 64 * 1024
BIG_PIPE = 1024 * 1024
# Seconds between two calls of whoever follows a command while it runs.
HEARTBEAT = 0.5
# Seconds to wait for output that is still on its way after the end, as with `exec > >(tee log)`.
LINGER = 0.1
# Seconds: poll() cannot wait for longer than 24 days, and a time limit may be of any size.
LONGEST_WAIT = 3600.0


class Process:
    """Starts at once, in a session and group of its own.

    Its id cannot be reused before `reap`, so no signal reaches another process.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: str | os.PathLike[str],
        outputs: Sequence[SpoolWriter],
    ) -> None:
        self._lock = threading.Lock()
        self._reaped = False
        self._ended = False
        self._reader: threading.Thread | None = None
        self._open: dict[int, SpoolWriter] = {}

        ends: list[int] = []
        try:
            for output in outputs:
                reader, writer = os.pipe()
                self._open[reader] = output
                ends.append(writer)
            self._child = spawn(argv, cwd, env, Streams(stdin, ends[0], ends[-1]))
            self.pid = self._child.pid
            self._exit = self._exit_descriptor()
        except BaseException:
            _close(self._open)
            raise
        finally:
            _close(ends)
        self._poll = select.poll()
        for descriptor in (self._exit, *self._open):
            self._poll.register(descriptor, select.POLLIN)

    def _exit_descriptor(self) -> int:
        try:
            return exit_descriptor(self.pid)
        except BaseException:
            self.signal(signal.SIGKILL)
            self._child.wait()
            raise

    def follow(self, deadline: float, heartbeat: Callable[[], bool] | None = None) -> bool:
        """Read the output until the command ends.

        Return False if the deadline comes first, or if `heartbeat`, which is called about twice a
        second, returns False.
        """
        longest = LONGEST_WAIT if heartbeat is None else HEARTBEAT
        while not self._ended:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            if heartbeat is not None and not heartbeat():
                return False
            self._take(min(left, longest))
        return True

    def drain(self, longest: float) -> None:
        """Read for at most `longest` seconds what other processes still write to the pipes."""
        deadline = time.monotonic() + longest
        while self._open:
            wait = deadline - time.monotonic()
            if wait <= 0:
                break
            self._take(wait)

    def _take(self, wait: float) -> None:
        """Wait for output or for the end of the process, and read what there is."""
        for descriptor, _ in self._poll.poll(wait * 1000):
            if descriptor == self._exit:
                self._ended = True
                self._poll.unregister(descriptor)
            else:
                self._read(descriptor)

    def _read(self, descriptor: int) -> None:
        """Read once from a pipe; close it at its end."""
        chunk = os.read(descriptor, BIG_PIPE)
        if not chunk:
            self._poll.unregister(descriptor)
            del self._open[descriptor]
            os.close(descriptor)
            return
        if len(chunk) == PIPE_SIZE:
            _enlarge(descriptor)
        self._open[descriptor].write(chunk)

    def signal(self, number: int) -> None:
        """Send a signal to the whole group, unless the process has been reaped."""
        with self._lock:
            if not self._reaped:
                # macOS reports EPERM if only the dead leader is left.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, number)

    def reap(self) -> int:
        """Wait for the process and return Popen's return code: -n for signal n."""
        with self._lock:
            self._reaped = True
            code = self._child.wait()
        if self._reader is not None:
            self._reader.join(LINGER)
        _close((self._exit, *self._open))
        self._open.clear()
        return code

    def peek(self) -> int:
        """Return Popen's return code of a command that has ended, without reaping it."""
        if not hasattr(os, "waitid"):
            return self._child.wait()
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        assert ended is not None
        if ended.si_code == os.CLD_EXITED:
            return ended.si_status
        return -ended.si_status

    def keep_reading(self) -> None:
        """Keep reading the output of background children until they have ended."""
        self._reader = threading.Thread(
            target=self._read_on, name=f"ralph-read-{self.pid}", daemon=True
        )
        self._reader.start()

    def _read_on(self) -> None:
        with contextlib.suppress(OSError):
            while self._open:
                self._take(LONGEST_WAIT)


def _close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _enlarge(descriptor: int) -> None:
    """Enlarge the pipe of a command that prints a lot, for fewer and larger reads."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, BIG_PIPE)


def exit_descriptor(pid: int) -> int:
    """Return a descriptor that becomes readable when the process ends, without reaping it."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return _exit_pipe(pid)


def _exit_pipe(pid: int) -> int:
    reader, writer = os.pipe()

    def wait() -> None:
        try:
            wait_unreaped(pid)
        finally:
            os.close(writer)

    threading.Thread(target=wait, name=f"ralph-wait-{pid}", daemon=True).start()
    return reader


def wait_unreaped(pid: int) -> None:
    """Block until the process has ended, and leave it to be reaped."""
    if hasattr(os, "waitid"):
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    else:
        _wait_by_kqueue(pid)


def _wait_by_kqueue(pid: int) -> None:
    if sys.platform != "linux":
        queue = select.kqueue()
        event = select.kevent(pid, select.KQ_FILTER_PROC, select.KQ_EV_ADD, select.KQ_NOTE_EXIT)
        with contextlib.closing(queue), contextlib.suppress(ProcessLookupError):
            queue.control([event], 1)
