"""Running: a Child, a process started in a session of its own, in the cheapest way the system has.

`posix_spawnp` starts a process for a third of what `subprocess` takes in our own process, which counts where a spec has
a thousand small commands; but it knows neither another working directory nor another PATH than ours. So it is used
where the command has both from us, on Linux, and `subprocess` everywhere else.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# Python ignores these, and a command would inherit that.
DEFAULTS = tuple(getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name))


class Streams(NamedTuple):
    """What a command finds as its first three descriptors."""

    stdin: int
    stdout: int
    stderr: int


class Child:
    """A process of ours. Its id stays its own until `wait`."""

    def __init__(self, pid: int, popen: subprocess.Popen[bytes] | None = None) -> None:
        self.pid = pid
        self._popen = popen

    def wait(self) -> int:
        """Reap it. Gives Popen's return code: -n for signal n."""
        if self._popen is not None:
            return self._popen.wait()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def spawn(argv: Sequence[str], cwd: Path, env: Mapping[str, str], streams: Streams) -> Child:
    """Start a program. OSError where that cannot be done."""
    if sys.platform == "linux" and _is_ours(cwd, env, streams):
        return _spawn_here(argv, env, streams)
    stdin, stdout, stderr = streams
    popen = subprocess.Popen(argv, cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True)
    return Child(popen.pid, popen)


def _is_ours(cwd: Path, env: Mapping[str, str], streams: Streams) -> bool:
    """Whether a program finds directory and PATH as we do, and its streams may be put in their places one by one."""
    # One that has one of the first three numbers already could be overwritten by another on its way there.
    apart = min(streams) > 2
    return apart and os.getcwd() == str(cwd) and os.environ.get("PATH") == env.get("PATH")  # noqa: PTH109 - a Path is slow


def _spawn_here(argv: Sequence[str], env: Mapping[str, str], streams: Streams) -> Child:
    placed = [(os.POSIX_SPAWN_DUP2, stream, number) for number, stream in enumerate(streams)]
    actions = [*placed, *_inherited()]
    return Child(os.posix_spawnp(argv[0], tuple(argv), env, file_actions=actions, setsid=True, setsigdef=DEFAULTS))


@cache
def _inherited() -> list[tuple[int, int]]:
    """Closes what whoever started us has left open: all of our own descriptors close by themselves in a new program."""
    found = (int(name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208 - names, not paths
    return [(os.POSIX_SPAWN_CLOSE, one) for one in found if one > 2 and _is_inheritable(one)]


def _is_inheritable(descriptor: int) -> bool:
    try:
        return os.get_inheritable(descriptor)
    except OSError:
        # The one by which the others were found.
        return False
