"""Start a command in a session of its own, in the cheapest way the system offers.

A command line that needs no shell is started directly. `posix_spawn` takes a third of the time of
`subprocess`, which matters for a spec with a thousand small commands. It cannot set the working
directory, so it is used on Linux for commands that run in ours, and `subprocess` otherwise.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

USUAL_SHELLS = ("bash", "sh", "/bin/sh")

# Characters that have no meaning to any POSIX shell, in words that are neither assignments nor job
# names.
_PLAIN = regex(r"[A-Za-z0-9_./][\w./:@%+,-]*(?: +[\w./:@%+,=-]+)*", re.ASCII)

# Reserved words and builtins of bash, dash and ksh, except `true` and `false`, which do the same as
# programs.
SHELL_WORDS = frozenset(
    """
    . : [ alias autoload bg bind break builtin caller case cd chdir command compgen complete compopt
    continue coproc declare dirs disown do done echo elif else enable esac eval exec exit export fc
    fg fi for function getopts hash help hist history if in integer jobs kill let local login logout
    mapfile nameref newgrp popd print printf pushd pwd read readarray readonly return select set
    shift shopt source stop suspend test then time times trap type typeset ulimit umask unalias
    unset until wait whence while
    """.split()
)


def is_plain(command: str) -> bool:
    """Return whether the words of `command` can be executed without a shell, to the same effect."""
    if not _PLAIN.fullmatch(command):
        return False
    first, _, arguments = command.partition(" ")
    if first in {"true", "false"}:
        return not arguments
    return first not in SHELL_WORDS


def direct_argv(command: str, environ: Mapping[str, str]) -> list[str] | None:
    """Return the words to execute without a shell, or None if the command needs one."""
    # A shell would read BASH_ENV first, and has a default PATH.
    if "BASH_ENV" in environ or not environ.get("PATH"):
        return None
    if not is_plain(command):
        return None

    words = command.split()
    is_exported_function = f"BASH_FUNC_{words[0]}%%" in environ
    return None if is_exported_function else words


def shell_argv(shell: str, command: str) -> list[str]:
    """Return the words that have `shell` run `command`."""
    if command.startswith(("-", "+")):
        # The shell would read it as an option.
        command = f" {command}"
    return [shell, "-c", command]


def find_shell(wanted: str | None, environ: Mapping[str, str]) -> str | None:
    """Return the path of the wanted shell, or of the first usual one that is installed."""
    return _first_program((wanted,) if wanted else USUAL_SHELLS, environ.get("PATH"))


@cache
def _first_program(names: Sequence[str], path: str | None) -> str | None:
    # Asked for every command line, and looking into all directories takes longer than the start.
    for name in names:
        program = shutil.which(name, path=path)
        if program:
            return program
    return None


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
    if sys.platform == "linux" and no_overlap and _is_current(cwd):
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


def _is_current(directory: Path) -> bool:
    try:
        # Called before every command: a Path would be slower.
        return os.getcwd() == str(directory)  # noqa: PTH109
    except FileNotFoundError:
        # An executor has removed the directory that pytest was started in.
        return False


def _spawn_here(argv: Sequence[str], env: Mapping[str, str], streams: Streams) -> Child:
    """Start a program in the current directory with posix_spawn."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, streams.stdin, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, streams.stdout, 1),
        (os.POSIX_SPAWN_DUP2, streams.stderr, 2),
        *_inherited(),
    ]
    program = argv[0]
    if "/" not in program:
        # Cheaper than posix_spawnp, which has the new process try every directory.
        program = find_program(program, env.get("PATH", ""))
    pid = os.posix_spawn(
        program, tuple(argv), env, file_actions=actions, setsid=True, setsigdef=DEFAULTS
    )
    return Child(pid)


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
