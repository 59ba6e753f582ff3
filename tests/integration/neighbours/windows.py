"""Run pytest in a process that looks like Windows to the package: `python windows.py ARGUMENTS`.

What other packages import is imported before, as it is on this system. `os.name` stays: pathlib
cannot create paths of another system.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys

import _pytest.junitxml
import jinja2
import junitparser
import pyromark
import pytest
import ruamel.yaml

# Python 3.14's debugger imports asyncio.
IMPORTED = (_pytest.junitxml, asyncio, jinja2, junitparser, pyromark, ruamel.yaml, sqlite3)
STARTED_BY = subprocess

MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty")
OF_OS = """
    O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK WNOHANG fchmod fchown fork forkpty geteuid getpgid
    getuid killpg mkfifo nice pidfd_open posix_spawn posix_spawnp pread pwrite sched_getaffinity
    setpgid setsid statvfs waitid
""".split()
SIGNALS = ("SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM", "SIG_DFL", "SIG_IGN")


def remove_posix() -> None:
    """Take away what Windows does not have."""
    for module in MODULES:
        sys.modules[module] = None  # type: ignore[assignment]
    for name in OF_OS:
        if hasattr(os, name):
            delattr(os, name)
    for name in list(vars(signal)):
        if name.startswith("SIG") and name not in SIGNALS:
            delattr(signal, name)
    sys.platform = "win32"


if __name__ == "__main__":
    remove_posix()
    # Capturing needs the console of Windows.
    sys.exit(pytest.main(["-s", "-p", "pytest_ralph.plugin", *sys.argv[1:]]))
