"""Files that the run itself writes: its output may be redirected into the project."""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING

from pytest_ralph.running.strays import all_pids

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ACCESS_MODE = os.O_RDONLY | os.O_WRONLY | os.O_RDWR
FLAGS = re.compile(rb"flags:\s*([0-7]+)")


def files_being_written(root: Path) -> set[str]:
    """Return the files below `root` that our process group has open for writing.

    These are logs, such as that of `pytest > out.txt` or of `pytest | tee out.txt`; workers find
    them, too. Commands and executors are not among the writers, because each has a group of its
    own. Without `/proc` nothing is found.
    """
    prefix = f"{os.path.realpath(root)}/"
    own_group = os.getpgrp()
    found: set[str] = set()
    for pid in all_pids():
        # The process may have ended, or belong to another user.
        with contextlib.suppress(OSError):
            if os.getpgid(pid) == own_group:
                found.update(_files_written_by(pid, prefix))
    return found


def _files_written_by(pid: int, prefix: str) -> Iterator[str]:
    """Yield the files below `prefix` that a process has open for writing."""
    for entry in os.scandir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            path = os.readlink(entry.path)  # noqa: PTH115 - may be the name of a pipe
            if path.startswith(prefix) and _is_writable(pid, entry.name):
                yield path.removeprefix(prefix)


def _is_writable(pid: int, descriptor: str) -> bool:
    with open(f"/proc/{pid}/fdinfo/{descriptor}", "rb") as file:  # noqa: PTH123 - fast
        flags = FLAGS.search(file.read())
    if flags is None:
        # The process has ended.
        return False
    return int(flags[1], 8) & ACCESS_MODE != os.O_RDONLY
