"""The live line: what is being done right now, beside pytest's own progress, on a terminal and nowhere else."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

AFTER = 1.0
EVERY = 0.25
SAVE, CLEAR, RESTORE = "\x1b7", "\x1b[K", "\x1b8"


@dataclass
class Doing:
    """One thing that runs: what it is, since when, for how long at most, and what it said last."""

    what: str
    limit: float
    started: float = field(default_factory=time.monotonic)
    last_line: str = ""

    def text(self, now: float, *, verbose: bool) -> str:
        said = f"  {one_line(self.last_line, 200)}" if verbose and self.last_line else ""
        return f"{self.what}  {now - self.started:.0f} s of {self.limit:g} s{said}"


class Live:
    """Draws with save and restore of the cursor, so that what pytest has written stays as it is."""

    def __init__(self, write: Callable[[str], None], room: Callable[[], int], *, verbose: bool = False) -> None:
        self._write, self._room, self._verbose = write, room, verbose
        self._doing: list[Doing] = []
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def doing(self, what: str, limit: float) -> Iterator[Callable[[str], None]]:
        one = Doing(what, limit)
        with self._lock:
            self._doing.append(one)
            if self._thread is None:
                self._thread = threading.Thread(target=self._draw_on, name="ralph-live", daemon=True)
                self._thread.start()
        self._wake.set()

        def said(line: str) -> None:
            one.last_line = line

        try:
            yield said
        finally:
            with self._lock:
                self._doing.remove(one)
                if not self._doing:
                    self._erase()

    def line(self, now: float) -> str:
        """What the longest running thing is, and how many run beside it."""
        if not self._doing or now - self._doing[0].started < AFTER:
            return ""
        more = f"  (+{len(self._doing) - 1} more)" if len(self._doing) > 1 else ""
        return self._doing[0].text(now, verbose=self._verbose) + more

    def _draw_on(self) -> None:
        while not self._closed:
            with self._lock:
                text = self.line(time.monotonic())[: max(0, self._room())]
                if text:
                    self._write(f"{SAVE}  {text}{CLEAR}{RESTORE}")
                    self._drawn = True
                idle = not self._doing
            if idle:
                self._wake.wait()
                self._wake.clear()
            time.sleep(EVERY)

    _drawn = False

    def _erase(self) -> None:
        if self._drawn:
            self._write(f"{SAVE}{CLEAR}{RESTORE}")
            self._drawn = False

    def close(self) -> None:
        self._closed = True
        self._wake.set()


def live_of(config: pytest.Config) -> Live | None:
    """A live line where pytest's reporter writes to a terminal, else None. To be made while nothing is captured."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if reporter is None or not reporter.isatty or config.option.verbose < 0 or os.environ.get("TERM") == "dumb":
        return None
    # pytest captures the descriptor while a task runs; a copy made before still leads to the terminal.
    descriptor = os.dup(sys.stdout.fileno())
    writer = config.get_terminal_writer()

    def write(text: str) -> None:
        with contextlib.suppress(OSError):
            os.write(descriptor, text.encode("utf-8", "replace"))

    def room() -> int:
        return int(writer.fullwidth - writer.width_of_current_line - 4)

    live = Live(write, room, verbose=config.option.verbose > 0)
    config.add_cleanup(live.close)
    config.add_cleanup(lambda: os.close(descriptor))
    return live
