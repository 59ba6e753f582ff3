"""Follow an executor while it runs: for the live display and for the idle limit."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from pytest_ralph.fixing.agents.events import message_in_log, parse_line
from pytest_ralph.fixing.agents.transcript import Transcript
from pytest_ralph.running.project_files import last_change
from pytest_ralph.running.spool import STORED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytest_ralph.fixing.agents.events import Event
    from pytest_ralph.running.spool import Spool

RETRY = re.compile(r"retry|attempt|reconnect|stream error", re.IGNORECASE)
LOG_TAIL = 2_000


class IdleWatch:
    """Ends an executor that makes no progress for `limit` seconds.

    Progress is whatever `steps` counts, and any change of a file in the project.
    """

    def __init__(self, root: Path, limit: float | None) -> None:
        self._root = root
        self._limit = limit
        self._steps = 0
        self._last_progress = time.monotonic()

    def goes_on(self, steps: int, *, busy: bool = False) -> bool:
        """Return whether the run may go on. `busy` means that it waits for one of its own tools."""
        if self._limit is None:
            return True
        # The clock of the system may be set meanwhile, and goes on while a computer sleeps.
        now = time.monotonic()
        if steps != self._steps or busy:
            self._steps = steps
            self._last_progress = now
        earliest = now - self._limit
        if self._last_progress > earliest:
            return True

        # Looking at all files is slow, so this happens only before a run would be ended.
        age = time.time() - last_change(self._root)
        self._last_progress = max(self._last_progress, now - age)
        return self._last_progress > earliest


class LiveReader:
    """Reads the output of a running agent as it grows."""

    def __init__(
        self,
        add_event: Callable[[Transcript, Event | str], None],
        idle: IdleWatch,
        show: Callable[[str], None] | None,
    ) -> None:
        self.transcript = Transcript()
        self._add_event = add_event
        self._idle = idle
        self._show = show
        self._shown = ""
        self._offset = 0
        # How long the log was when the agent last said or did something.
        self._steps = 0
        self._log_size = 0

    def __call__(self, output: Sequence[Spool]) -> bool:
        """Read what is new, show it, and return whether the run may go on."""
        stdout = output[0]
        self._read_new_lines(stdout.path)
        self._update_display(output)

        # Beyond this size only the end of the output is stored, and only when the run has ended.
        steps = stdout.size if stdout.size >= STORED else self.transcript.steps
        return self._idle.goes_on(steps, busy=bool(self.transcript.running_tool))

    def _read_new_lines(self, file: Path) -> None:
        try:
            with file.open("rb") as opened:
                opened.seek(self._offset)
                data = opened.read()
        except OSError:
            return
        # The last one is not complete yet. A line of JSON may hold other line separators.
        *lines, rest = data.split(b"\n")
        self._offset += len(data) - len(rest)
        for line in lines:
            self._add_event(self.transcript, parse_line(line.decode("utf-8", "replace")))

    def _update_display(self, output: Sequence[Spool]) -> None:
        if self._show is None:
            return
        line = self.transcript.last_activity
        if len(output) > 1:
            line = self._new_retry(output[1]) or line
        if line and line != self._shown:
            self._shown = line
            self._show(line)

    def _new_retry(self, log: Spool) -> str:
        """Return what the log says about a retry since the agent last said or did something."""
        if self.transcript.steps != self._steps:
            self._steps = self.transcript.steps
            self._log_size = log.size
        if log.size <= self._log_size:
            return ""
        return last_retry(log.text(0, LOG_TAIL))


def last_retry(log: str) -> str:
    """Return the last line of a log that is about another attempt to reach the service."""
    for line in reversed(log.splitlines()):
        if RETRY.search(line):
            return message_in_log(line)
    return ""
