"""Where a run can be hit, and what hits it.

The points of a run are the steps the program names (`disk.on_fault_point`) and what Python sees it
do to files and processes (audit events), so that none has to be guessed.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import re
import resource
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGES = {
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.chmod",
    "os.link",
    "os.symlink",
    "os.truncate",
}
_NEED_ROOM = {"open", "os.mkdir", "os.rename", "sqlite3.connect"}
_STARTS = {"subprocess.Popen", "sqlite3.connect"}
_RANDOM = re.compile(r"\d+-[0-9a-f]{12}|[0-9a-f]{12}|\d{8}[-T]\d{6}-\w+")
SPEC = "specs/demo/tasks.md"


@dataclass(frozen=True)
class Fault:
    """`happen` is told the project and the event.

    One that lasts happens again at every later point.
    """

    happen: Callable[[Path, str], None]
    lasts: bool = False


class Points:
    """Counts and notes the points a run passes, and triggers the fault at the given one."""

    def __init__(self, project: Path, notes: Path, at: int, fault: Fault) -> None:
        self._project, self._at, self._fault = project, at, fault
        self._notes = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        self._pid = os.getpid()
        self._numbers = itertools.count(1)
        self._hitting = False

    def watch(self, disk: Any) -> None:
        disk.on_fault_point = lambda name: self._point("step", name)
        sys.addaudithook(self._seen)

    def _point(self, event: str, name: str) -> None:
        if self._hitting or os.getpid() != self._pid:
            return
        # One step for the interpreter: no two threads get the same number.
        number = next(self._numbers)
        # A limit on the size of files holds for the notes, too.
        with contextlib.suppress(OSError):
            os.write(self._notes, os.fsencode(f"{name}\n"))
        if self._at and (number == self._at or (self._fault.lasts and number > self._at)):
            self._hitting = True
            try:
                self._fault.happen(self._project, event)
            finally:
                self._hitting = False

    def _seen(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if not flags & _WRITING or isinstance(path, int):
                return
        elif event in _CHANGES or event in _STARTS:
            path = arguments[0]
        else:
            return
        name = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
        ours = name.startswith(str(self._project)) or not name.startswith("/")
        if event == "subprocess.Popen" or ours:
            self._point(event, f"{event} {_RANDOM.sub('*', os.path.basename(name))}")  # noqa: PTH119 - may be no path


def kill(_: Path, __: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(number: int, events: set[str]) -> Callable[[Path, str], None]:
    """What the system says from now on."""

    def happen(_: Path, event: str) -> None:
        if event in events:
            raise OSError(number, os.strerror(number))

    return happen


def vanish(name: str) -> Callable[[Path, str], None]:
    return lambda project, _: (project / name).unlink(missing_ok=True)


def edit(project: Path, _: str) -> None:
    """Another program saves tasks.md: a task more at its end, and a comment at its beginning."""
    path = project / SPEC
    text = path.read_bytes().decode()
    if "theirs" not in text:
        path.write_bytes(
            f"<!-- theirs -->\n{text}\n- [ ] 9.9 theirs\n  - **Verify**: `true`\n".encode()
        )


def save_state(project: Path, _: str) -> None:
    """Another program adds a field of its own to the state."""
    path = project / "specs/demo/.ralph-state.json"
    if path.exists():
        path.write_text(json.dumps({**json.loads(path.read_text()), "theirs": 1}, indent=2))


def clock_goes_back(_: Path, __: str) -> None:
    real = time.time
    time.time = lambda: real() - 86_400


def slow(_: Path, event: str) -> None:
    if event != "subprocess.Popen":
        time.sleep(0.02)


def no_descriptors(_: Path, __: str) -> None:
    used = sum(1 for _ in Path("/proc/self/fd").iterdir())
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (used + 2, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    )


FAULTS: Mapping[str, Fault] = {
    "kill": Fault(kill),
    "disk full": Fault(refuse(errno.ENOSPC, _NEED_ROOM), lasts=True),
    "disk full for a moment": Fault(refuse(errno.ENOSPC, _NEED_ROOM)),
    "read-only": Fault(refuse(errno.EROFS, {"open", *_CHANGES, "sqlite3.connect"}), lasts=True),
    "no process": Fault(refuse(errno.EAGAIN, {"subprocess.Popen"}), lasts=True),
    "no descriptor": Fault(no_descriptors),
    "tasks.md vanishes": Fault(vanish(SPEC)),
    "state vanishes": Fault(vanish("specs/demo/.ralph-state.json")),
    "progress vanishes": Fault(vanish("specs/demo/.progress.md")),
    "history vanishes": Fault(vanish(".ralph/history.db")),
    "another editor": Fault(edit),
    "another program": Fault(save_state),
    "clock goes back": Fault(clock_goes_back),
    "slow": Fault(slow, lasts=True),
}
