"""Child: a process started in a session of its own, in the cheapest way the system offers.

`posix_spawn` takes a third of the time of `subprocess`, which matters for a spec with a thousand
small commands. It cannot set the working directory, so it is used on Linux for commands that run in
ours, and `subprocess` is used otherwise.
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

# Python ignores these signals, and commands would inherit that.
DEFAULTS = tuple(getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name))


class Streams(NamedTuple):
    """The first three descriptors of a command: a file to read, and two descriptors to write to."""

    stdin: str | os.PathLike[str]
    stdout: int
    stderr: int


class Child:
    """A child process. Its id cannot be reused before `wait`."""

    def __init__(self, pid: int, popen: subprocess.Popen[bytes] | None = None) -> None:
        self.pid = pid
        self._popen = popen

    def wait(self) -> int:
        """Reap it and return Popen's return code: -n for signal n."""
        if self._popen is not None:
            return self._popen.wait()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def spawn(argv: Sequence[str], cwd: Path, env: Mapping[str, str], streams: Streams) -> Child:
    """Start a program. Raise OSError if that fails."""
    stdin, stdout, stderr = streams
    # posix_spawn would overwrite a stream that is one of the first three descriptors already.
    no_overlap = stdout > 2 and stderr > 2
    if sys.platform == "linux" and no_overlap:
        # Called before every command: a Path would be slower.
        working_directory = os.getcwd()  # noqa: PTH109
        if working_directory == str(cwd):
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
    # Cheaper than posix_spawnp, which has the new process try every directory.
    program = argv[0] if "/" in argv[0] else find_program(argv[0], env.get("PATH", ""))
    return Child(
        os.posix_spawn(
            program, tuple(argv), env, file_actions=actions, setsid=True, setsigdef=DEFAULTS
        )
    )


@cache
def _inherited() -> list[tuple[int, int]]:
    """Return actions that close descriptors we inherited. Our own are closed by `exec`."""
    actions = []
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names, not paths
        descriptor = int(name)
        if descriptor > 2 and _is_inheritable(descriptor):
            actions.append((os.POSIX_SPAWN_CLOSE, descriptor))
    return actions


def _is_inheritable(descriptor: int) -> bool:
    try:
        return os.get_inheritable(descriptor)
    except OSError:
        # The descriptor that listed the others, which is closed by now.
        return False


def find_program(name: str, path: str) -> str:
    """Return the first executable file of that name on `path`. Raise OSError if there is none."""
    found = errno.ENOENT
    for directory in path.split(":"):
        candidate = f"{directory}/{name}" if directory else name
        if os.access(candidate, os.X_OK):
            # A Path per candidate would cost more than the lookup.
            if stat.S_ISREG(os.stat(candidate).st_mode):  # noqa: PTH116
                return candidate
            found = errno.EACCES
    raise OSError(found, os.strerror(found), name)
