"""Strays: processes of a command that have left its process group.

Every command carries a Mark that all its descendants inherit: an environment variable and, on
Linux, an unusual but harmless soft limit (on real-time CPU time, far out of reach). The limit
survives a cleared environment, a rewritten process title, closed descriptors and any number of
forks and sessions. A command gets its own limit just after its start. Until then it has the limit
of number 0, which pytest's own process carries during a run.

Looking at every process after every command would cost milliseconds. Linux assigns process ids in
order and reports the last one, so only ids newer than the command are looked at: none for a command
that started nothing. Processes in the session of the command belong to it, processes in older
sessions do not, and only in sessions begun since then is the mark read.

Not found on Linux: work handed to a daemon (docker, systemd-run, at, cron), and processes that
changed user and limits (su, sudo). Other systems have no cheap way to look: there `ps` finds
processes by their environment, after a timeout and at the end of the run, and those that cleared
their environment are not found.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if sys.platform == "linux":
    import resource

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

VARIABLE = "RALPH_RUN"
LINUX = sys.platform == "linux"
# A range of at most this many ids is probed one by one; for a longer one /proc is listed.
SHORT_RANGE = 500
ROUNDS = 20
_BEYOND_REACH = 1 << 62
_NUMBERS = 1 << 24


class Mark(NamedTuple):
    """Identifies the processes of one command (`number`) of one run."""

    run: int
    number: int

    @property
    def variable(self) -> str:
        return f"{self.run:08x}.{self.number}"

    @property
    def limit(self) -> int:
        return _BEYOND_REACH + self.run * _NUMBERS + self.number % _NUMBERS

    @property
    def unnumbered(self) -> Mark:
        return Mark(self.run, 0)

    def put_on(self, pid: int) -> None:
        """Set the soft limit of a running process. Its environment was set at the start."""
        set_soft_limit(pid, self.limit)

    def is_on(self, pid: int, whole_run: bool = False) -> bool:
        """Return whether a process carries the mark, or with `whole_run` any mark of the run."""
        prefix = f"{VARIABLE}={self.run:08x}." if whole_run else f"{VARIABLE}={self.variable}\0"
        if f"\0{prefix}".encode() in b"\0" + _proc(pid, "environ"):
            return True
        limit = _real_time_limit(_proc(pid, "limits"))
        if whole_run:
            return self.unnumbered.limit < limit < self.unnumbered.limit + _NUMBERS
        return limit == self.limit


def set_soft_limit(pid: int, limit: int) -> int | None:
    """Set the soft limit that marks use. Return the one before, or None if it cannot be set."""
    if sys.platform != "linux":
        return None
    try:
        return resource.prlimit(pid, resource.RLIMIT_RTTIME, (limit, _hard_limit()))[0]
    except (OSError, ValueError):
        return None


@cache
def _hard_limit() -> int:
    """Return the hard limit, which all children inherit."""
    if sys.platform != "linux":
        return 0
    return resource.getrlimit(resource.RLIMIT_RTTIME)[1]


def _proc(pid: int, name: str) -> bytes:
    # Read for every process of the machine, hence without a Path and without a buffer.
    try:
        with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return b""


def _real_time_limit(limits: bytes) -> int:
    _, found, rest = limits.partition(b"Max realtime timeout")
    word = rest.split(maxsplit=1)[0] if found else b""
    return int(word) if word.isdigit() else 0


def last_pid() -> int | None:
    """Return the id of the newest process, if the system reports it."""
    # Called after every command, hence without a file object.
    try:
        descriptor = os.open("/proc/loadavg", os.O_RDONLY)
    except OSError:
        return None
    try:
        return int(os.read(descriptor, 256).rsplit(None, 1)[-1])
    except (OSError, ValueError, IndexError):
        return None
    finally:
        os.close(descriptor)


def is_youngest(leader: int) -> bool:
    """Return whether no process at all was started after `leader`."""
    return last_pid() == leader


def kill_younger(mark: Mark, leader: int, sessions: Callable[[], Collection[int]]) -> None:
    """Kill what the command of session `leader` started outside its group.

    `sessions` returns the sessions of all running commands. The leader must not have been reaped:
    its id could belong to another process by now.
    """
    _kill_until_none(lambda: _younger(mark, leader, sessions))


def kill_marked(mark: Mark, leaders: Collection[int] = (), *, whole_run: bool = False) -> None:
    """Kill every process that carries the mark, except the `leaders`. Slow but thorough."""
    if LINUX:
        _kill_until_none(
            lambda: (
                pid for pid in _all_pids() if pid not in leaders and mark.is_on(pid, whole_run)
            )
        )
    else:
        _kill_until_none(lambda: _marked_by_ps(mark, whole_run))


def _kill_until_none(find: Callable[[], Iterable[int]]) -> None:
    """Search and kill until nothing new is found: a stray may start another meanwhile."""
    seen = {os.getpid()}
    for _ in range(ROUNDS):
        found = set(find()) - seen
        if not found:
            break
        seen |= found
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def _younger(mark: Mark, leader: int, sessions: Callable[[], Collection[int]]) -> Iterator[int]:
    newest = last_pid()
    if newest is None or newest == leader:
        return
    for pid in _between(leader, newest):
        session = _session(pid)
        if session == leader:
            yield pid
            continue
        is_new_session = _is_between(session, leader, newest)
        if is_new_session and _is_stray(pid, session, mark, sessions):
            yield pid


def _is_stray(pid: int, session: int, mark: Mark, sessions: Callable[[], Collection[int]]) -> bool:
    """Return whether a process in another session belongs to the command.

    It does if it carries the mark, or if it carries that of the run and no other command runs.
    """
    # Asked after the process was seen: by then the command that it may belong to is registered.
    running = sessions()
    if session in running:
        return False
    if mark.is_on(pid):
        return True
    is_only_command = len(running) == 1
    return is_only_command and mark.unnumbered.is_on(pid) and _parent(pid) != os.getpid()


def _parent(pid: int) -> int:
    # State and parent follow the name in parentheses, which may itself contain parentheses.
    fields = _proc(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0


def _session(pid: int) -> int:
    """Return the session of a process, or 0 if there is no such process."""
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def _between(leader: int, newest: int) -> Iterable[int]:
    if 0 < newest - leader <= SHORT_RANGE:
        return range(leader + 1, newest + 1)
    return (pid for pid in _all_pids() if _is_between(pid, leader, newest))


def _is_between(pid: int, leader: int, newest: int) -> bool:
    """Return whether `pid` was assigned after `leader`."""
    if leader < newest:
        return leader < pid <= newest
    # PIDs have wrapped.
    return pid > leader or 0 < pid <= newest


def _all_pids() -> list[int]:
    # A Path for each process would be most of the cost.
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208


def _marked_by_ps(mark: Mark, whole_run: bool) -> list[int]:
    try:
        listing = subprocess.run(
            ["ps", "-axEww", "-o", "pid=,command="],
            capture_output=True,
            timeout=10,
            check=False,
            env=dict(os.environ),
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return read_ps(listing.decode("utf-8", "replace"), mark, whole_run)


def read_ps(listing: str, mark: Mark, whole_run: bool) -> list[int]:
    """Return the processes in a `ps -E` listing whose environment carries the mark."""
    wanted = f" {VARIABLE}={mark.run:08x}." if whole_run else f" {VARIABLE}={mark.variable} "
    pids = []
    for line in listing.splitlines():
        pid = line.strip().partition(" ")[0]
        if pid.isdigit() and wanted in f"{line.strip()} ":
            pids.append(int(pid))
    return pids
