"""Strays: processes of a command that have left its process group.

Every command carries a Mark that all its descendants inherit: an environment variable and, on
Linux, an unusual but harmless soft limit (on real-time CPU time, far out of reach). The limit
survives a cleared environment, a rewritten process title, closed descriptors and any number of
forks and sessions. A command inherits it from pytest's own process, which carries the limit for
the moment of the start, so that not even its first child is without it.

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
import threading
import time
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if sys.platform == "linux":
    import resource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

VARIABLE = "RALPH_RUN"
# Carried by git, whose hooks may leave processes that outlive a run which was not killed.
GIT_VARIABLE = "RALPH_GIT"
# Seconds in which git removes its lock files and ends.
GIT_GRACE = 2.0
LINUX = sys.platform == "linux"
# A range of at most this many ids is probed one by one; for a longer one /proc is listed.
SHORT_RANGE = 500
# How often processes are looked for again after some were found and killed.
ROUNDS = 20
# Marks are limits from here on, in microseconds, with room for this many commands in each run.
_BEYOND_REACH = 1 << 62
_NUMBERS = 1 << 24
# A process has one limit, so one command is started at a time.
_starting = threading.Lock()


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

    def assignment(self, separator: str, whole_run: bool) -> str:
        """Return the variable of the mark, or with `whole_run` how those of the run start."""
        if whole_run:
            return f"{VARIABLE}={self.run:08x}."
        return f"{VARIABLE}={self.variable}{separator}"

    @contextlib.contextmanager
    def inherited(self) -> Iterator[None]:
        """Have every process that starts in this block inherit the soft limit."""
        with _starting:
            before = set_soft_limit(os.getpid(), self.limit)
            try:
                yield
            finally:
                if before is not None:
                    set_soft_limit(os.getpid(), before)

    def is_on(self, pid: int, whole_run: bool = False) -> bool:
        """Return whether a process carries the mark, or with `whole_run` any mark of the run."""
        if _has_variable(pid, self.assignment("\0", whole_run)):
            return True
        limit = _real_time_limit(_proc(pid, "limits"))
        if whole_run:
            first = Mark(self.run, 0).limit
            return first < limit < first + _NUMBERS
        return limit == self.limit


def start_unmarked() -> contextlib.AbstractContextManager[object]:
    """Let no process that starts in this block carry the mark of another thread's command."""
    return _starting


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
    """Return a file of /proc about a process; empty if the process has ended."""
    # Read for every process of the machine, hence without a Path and without a buffer.
    try:
        with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return b""


def _real_time_limit(limits: bytes) -> int:
    _, found, rest = limits.partition(b"Max realtime timeout")
    if not found:
        return 0
    soft_limit = rest.split(maxsplit=1)[0]
    # It may be `unlimited`.
    return int(soft_limit) if soft_limit.isdigit() else 0


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


def kill_younger(mark: Mark, leader: int) -> None:
    """Kill what the command of session `leader` started outside its group.

    The leader must not have been reaped: its id could belong to another process by now.
    """
    _kill_until_none(lambda: _younger(mark, leader))


def kill_marked(mark: Mark, *, whole_run: bool = False) -> None:
    """Kill every process that carries the mark. Slow but thorough."""
    _kill_until_none(lambda: _marked(mark, whole_run))


def end_run(run: int) -> None:
    """End every process of a run that was killed: its commands, and git with its hooks."""
    kill_marked(Mark(run, 0), whole_run=True)
    _end_git(run)


def git_mark(run: int) -> dict[str, str]:
    """Return the variable by which git is found if the run is killed."""
    return {GIT_VARIABLE: f"{run:08x}"}


def _end_git(run: int) -> None:
    """End git, by a signal at which it removes its lock files, then what ignores that.

    A hook such as that of pre-commit puts back the edits that it has set aside only if it is
    interrupted.
    """
    deadline = time.monotonic() + GIT_GRACE
    found = _git_of(run)
    for pid in found:
        _signal(pid, signal.SIGINT)
    while found and time.monotonic() < deadline:
        time.sleep(0.02)
        found = _git_of(run)
    for pid in found:
        _signal(pid, signal.SIGKILL)


def _git_of(run: int) -> list[int]:
    [value] = git_mark(run).values()
    if not LINUX:
        return _listed_by_ps(f" {GIT_VARIABLE}={value} ")
    return [pid for pid in all_pids() if _has_variable(pid, f"{GIT_VARIABLE}={value}\0")]


def _has_variable(pid: int, assignment: str) -> bool:
    """Return whether the environment of a process has a variable that starts like this."""
    environ = b"\0" + _proc(pid, "environ")
    return f"\0{assignment}".encode() in environ


def _marked(mark: Mark, whole_run: bool) -> list[int]:
    if not LINUX:
        assignment = mark.assignment(" ", whole_run)
        return _listed_by_ps(f" {assignment}")
    return [pid for pid in all_pids() if mark.is_on(pid, whole_run)]


def _kill_until_none(find: Callable[[], Iterable[int]]) -> None:
    """Search and kill until nothing new is found: a stray may start another meanwhile."""
    seen = {os.getpid()}
    for _ in range(ROUNDS):
        found = set(find()) - seen
        if not found:
            break
        seen |= found
        for pid in found:
            _signal(pid, signal.SIGKILL)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def _younger(mark: Mark, leader: int) -> Iterator[int]:
    """Yield the processes of a command outside its group that started after its leader."""
    newest = last_pid()
    if newest is None or newest == leader:
        return
    for pid in _between(leader, newest):
        session = _session(pid)
        if session == leader:
            yield pid
            continue
        is_new_session = _is_between(session, leader, newest)
        if is_new_session and mark.is_on(pid):
            yield pid


def _session(pid: int) -> int:
    """Return the session of a process, or 0 if there is no such process."""
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def _between(leader: int, newest: int) -> Iterable[int]:
    if 0 < newest - leader <= SHORT_RANGE:
        return range(leader + 1, newest + 1)
    return (pid for pid in all_pids() if _is_between(pid, leader, newest))


def _is_between(pid: int, leader: int, newest: int) -> bool:
    """Return whether `pid` was assigned after `leader`."""
    if leader < newest:
        return leader < pid <= newest
    # PIDs have wrapped.
    return pid > leader or 0 < pid <= newest


def all_pids() -> list[int]:
    """Return the ids of all processes; none on systems without `/proc`."""
    # A Path for each process would be most of the cost.
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except FileNotFoundError:
        return []


def _listed_by_ps(wanted: str) -> list[int]:
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
    return read_ps(listing.decode("utf-8", "replace"), wanted)


def read_ps(listing: str, wanted: str) -> list[int]:
    """Return the processes in a `ps -E` listing whose environment has a variable."""
    pids = []
    for line in listing.splitlines():
        process = f"{line.strip()} "
        pid = process.partition(" ")[0]
        if pid.isdigit() and wanted in process:
            pids.append(int(pid))
    return pids
