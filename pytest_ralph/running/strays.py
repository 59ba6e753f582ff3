"""Running: strays, processes of a command that left its process group.

Every command carries a Mark that all its descendants inherit: an environment variable and, on Linux, an odd
but harmless soft limit (real-time CPU time, far beyond reach), which survives a cleared environment, a
rewritten process title, closed descriptors and any number of forks and sessions. A command gets its own limit
just after its start; to leave no gap before, pytest's own process carries that of number 0 during a run, and all it
starts inherits it.

Looking at every process after every command would cost milliseconds. Linux hands out process ids in order and
tells the last one, so only ids younger than the command are looked at: none at all for a command that
started nothing. What is in the session of the command is its own; what is in an older session is not; only
processes in sessions begun meanwhile have their mark read.

What escapes: on Linux, work handed to somebody else's daemon (docker, systemd-run, at, cron) and processes
that changed user and limits (su, sudo). Elsewhere there is no cheap look: a process that left the group is
found by its environment with `ps`, after a timeout and at the end of the run, and one that cleared its
environment is not found.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if sys.platform == "linux":
    import resource

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

VARIABLE = "RALPH_RUN"
LINUX = sys.platform == "linux"
# Ids of a shorter range are asked for one by one, those of a longer one are looked up in /proc.
SHORT_RANGE = 500
ROUNDS = 20
_BEYOND_REACH = 1 << 62
_NUMBERS = 1 << 24


class Mark(NamedTuple):
    """What tells the processes of one command (`number`) of one run from all others."""

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
        """Add the part of the mark that a running process takes; the environment was given at its start."""
        set_soft_limit(pid, self.limit)

    def is_on(self, pid: int, whole_run: bool = False) -> bool:
        prefix = f"{VARIABLE}={self.run:08x}." if whole_run else f"{VARIABLE}={self.variable}\0"
        if f"\0{prefix}".encode() in b"\0" + _proc(pid, "environ"):
            return True
        limit = _real_time_limit(_proc(pid, "limits"))
        if whole_run:
            return self.unnumbered.limit < limit < self.unnumbered.limit + _NUMBERS
        return limit == self.limit


def set_soft_limit(pid: int, limit: int) -> int | None:
    """Set the soft limit that marks are made of; gives the one before, or None where it cannot be set."""
    if sys.platform != "linux":
        return None
    try:
        return resource.prlimit(pid, resource.RLIMIT_RTTIME, (limit, _hard_limit()))[0]
    except (OSError, ValueError):
        return None


@cache
def _hard_limit() -> int:
    """Inherited by all that is started here, and asked for once."""
    if sys.platform != "linux":
        return 0
    return resource.getrlimit(resource.RLIMIT_RTTIME)[1]


def _proc(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _real_time_limit(limits: bytes) -> int:
    _, found, rest = limits.partition(b"Max realtime timeout")
    word = rest.split(maxsplit=1)[0] if found else b""
    return int(word) if word.isdigit() else 0


def last_pid() -> int | None:
    """The id given to the youngest process, where the system tells."""
    # After every command: without the cost of a file object.
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
    """Whether it is certain that the command of session `leader` has started nothing: nobody has since."""
    return last_pid() == leader


def kill_younger(mark: Mark, leader: int, sessions: Callable[[], Collection[int]]) -> None:
    """Kill what the command of session `leader` started outside its group. `sessions`: those of running commands now.

    The leader must not have been reaped, or its id could by now be somebody else's.
    """
    _kill_until_none(lambda: _younger(mark, leader, sessions))


def kill_marked(mark: Mark, leaders: Collection[int] = (), *, whole_run: bool = False) -> None:
    """Kill every process that carries the mark, whatever its age, except the `leaders`: slow, thorough."""
    if LINUX:
        _kill_until_none(
            lambda: (p for p in _all_pids() if p not in leaders and mark.is_on(p, whole_run))
        )
    else:
        _kill_until_none(lambda: _marked_by_ps(mark, whole_run))


def _kill_until_none(find: Callable[[], Iterable[int]]) -> None:
    """A stray may start another while it is being looked for: look again until there is no new one."""
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
        if session == leader or (
            _is_between(session, leader, newest) and _is_stray(pid, session, mark, sessions)
        ):
            yield pid


def _is_stray(pid: int, session: int, mark: Mark, sessions: Callable[[], Collection[int]]) -> bool:
    """Whether a process in another session is of the command, by its mark, or because it can be of no other."""
    # Asked after the process was seen: the command that it may be of has been announced by then.
    running = sessions()
    if session in running:
        return False
    alone = len(running) == 1
    return mark.is_on(pid) or (alone and mark.unnumbered.is_on(pid) and _parent(pid) != os.getpid())


def _parent(pid: int) -> int:
    # The name in parentheses may hold anything, parentheses too; state and parent come after it.
    fields = _proc(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0


def _session(pid: int) -> int:
    """The session of a process; 0 where there is no such process."""
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def _between(leader: int, newest: int) -> Iterable[int]:
    if 0 < newest - leader <= SHORT_RANGE:
        return range(leader + 1, newest + 1)
    return (pid for pid in _all_pids() if _is_between(pid, leader, newest))


def _is_between(pid: int, leader: int, newest: int) -> bool:
    """Whether `pid` was given out after `leader`; ids start again from below when they run out."""
    return leader < pid <= newest if leader < newest else pid > leader or 0 < pid <= newest


def _all_pids() -> list[int]:
    # os.listdir: a Path for each process would be most of the cost.
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
    """The ids of the processes in a `ps -E` listing whose environment carries the mark."""
    wanted = f" {VARIABLE}={mark.run:08x}." if whole_run else f" {VARIABLE}={mark.variable} "
    lines = (line.strip() for line in listing.splitlines())
    return [
        int(line.split(None, 1)[0]) for line in lines if wanted in f"{line} " and line[0].isdigit()
    ]
