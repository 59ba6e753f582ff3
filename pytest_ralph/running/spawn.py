"""Running: a Child, a process started in a session of its own, in the cheapest way the system has.

`posix_spawn` starts a process for a third of what `subprocess` takes in our own process, which counts where a spec has
a thousand small commands; but it knows no working directory. So it is used where the command runs in our own, on
Linux, and `subprocess` everywhere else.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
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
    """What a command finds as its first three descriptors: a file to read, and where it prints to."""

    stdin: str | os.PathLike[str]
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
    stdin, stdout, stderr = streams
    # A stream that has one of the first three numbers already could be overwritten by another on its way there.
    apart = stdout > 2 and stderr > 2
    if sys.platform == "linux" and apart and os.getcwd() == str(cwd):  # noqa: PTH109 - asked before every command
        return _spawn_here(argv, env, streams)
    with open(stdin, "rb", buffering=0) as source:  # noqa: PTH123 - takes a name or a path
        popen = subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=source,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
    return Child(popen.pid, popen)


def _spawn_here(argv: Sequence[str], env: Mapping[str, str], streams: Streams) -> Child:
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, streams.stdin, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, streams.stdout, 1),
        (os.POSIX_SPAWN_DUP2, streams.stderr, 2),
        *_inherited(),
    ]
    # Looking for it ourselves is cheaper than to have the new process try every place, as `posix_spawnp` does.
    program = argv[0] if "/" in argv[0] else find_program(argv[0], env.get("PATH", ""))
    return Child(
        os.posix_spawn(
            program, tuple(argv), env, file_actions=actions, setsid=True, setsigdef=DEFAULTS
        )
    )


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


def find_program(name: str, path: str) -> str:
    """The first file of that name on `path` that may be executed, looked for as the system does. OSError if none."""
    found = errno.ENOENT
    for directory in path.split(":"):
        candidate = f"{directory}/{name}" if directory else name
        if os.access(candidate, os.X_OK):
            if stat.S_ISREG(os.stat(candidate).st_mode):  # noqa: PTH116 - a Path for each would cost more than the look
                return candidate
            found = errno.EACCES
    raise OSError(found, os.strerror(found), name)
