"""The live rows: what is being done right now, below pytest's own progress, on a terminal and nowhere else.

They are drawn below the line the cursor is in, and the cursor is put back: what pytest has written stays as it is,
and goes on where it was. Before pytest writes again they are gone. Workers of pytest-xdist have no terminal, and a
controller does nothing itself: there are none then.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import pytest

from pytest_ralph.text.inert import one_line
from pytest_ralph.text.width import columns, fitted

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

# What ends sooner needs no row.
AFTER = 1.0
EVERY = 0.25
MOST_ROWS = 4
MARGIN = "  "
SHORTEST = 8
# Down one line in the same column, at the end of the screen by scrolling it; clear the line, or all from here on.
DOWN, CLEAR, CLEAR_BELOW, SAVE, RESTORE = "\x1bD", "\x1b[K", "\x1b[J", "\x1b7", "\x1b8"


@dataclass
class Doing:
    """One thing that runs: what it is, for how long at most, what it is about, since when, and what it said last."""

    what: str
    limit: float
    about: str = ""
    started: float = field(default_factory=time.monotonic)
    last_line: str = ""

    def row(self, now: float, width: int, *, verbose: bool = False) -> str:
        """As much as there is room for. What it said last is told where it is `verbose`."""
        elapsed = f"{now - self.started:.0f} s"
        head = f"{self.what}  {elapsed} of {self.limit:g} s"
        if columns(head) > width:
            return f"{fitted(self.what, max(width - columns(elapsed) - 2, 1))}  {elapsed}"
        about = one_line(self.last_line if verbose and self.last_line else self.about)
        room = width - columns(head) - 2
        return f"{head}  {fitted(about, room)}" if about and room >= SHORTEST else head


class Screen(Protocol):
    """Where rows are drawn."""

    def write(self, text: str) -> None: ...
    def size(self) -> os.terminal_size: ...


class Terminal:
    """The terminal pytest writes to. To be made while nothing is captured: the copy leads there even when it is."""

    def __init__(self) -> None:
        self._descriptor = os.dup(sys.stdout.fileno())
        self._encoding = sys.stdout.encoding or "utf-8"

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            os.write(self._descriptor, text.encode(self._encoding, "replace"))

    def size(self) -> os.terminal_size:
        try:
            return os.get_terminal_size(self._descriptor)
        except OSError:
            return os.terminal_size((0, 0))

    def close(self) -> None:
        os.close(self._descriptor)


class Live:
    """The rows of one run, whichever threads do the work."""

    def __init__(
        self, screen: Screen, *, verbose: bool = False, mark: Callable[[str], str] = str
    ) -> None:
        self._screen, self._verbose, self._mark = screen, verbose, mark
        self._doing: list[Doing] = []
        self._drawn: tuple[str, ...] = ()
        self._hidden = 0
        self._closed = False
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def doing(self, what: str, limit: float, about: str = "") -> Iterator[Callable[[str], None]]:
        """Something runs; what is given takes the last line it printed."""
        one = Doing(what, limit, about)
        with self._lock:
            self._doing.append(one)
            if self._thread is None:
                self._thread = threading.Thread(target=self._go_on, name="ralph-live", daemon=True)
                self._thread.start()
        self._wake.set()

        def said(line: str) -> None:
            one.last_line = line

        try:
            yield said
        finally:
            with self._lock:
                self._doing.remove(one)
                self._refresh()

    @contextlib.contextmanager
    def hidden(self) -> Iterator[None]:
        """Somebody else writes to the terminal."""
        with self._lock:
            self._show(())
            self._hidden += 1
        try:
            yield
        finally:
            with self._lock:
                self._hidden -= 1
                self._refresh()

    def rows(self, now: float) -> tuple[str, ...]:
        """One for each thing that has taken a while, longest first; of many the first few and how many more."""
        size = self._screen.size()
        most = min(MOST_ROWS, size.lines - 2)
        long = [one for one in self._doing if now - one.started >= AFTER]
        if not long or most < 1 or size.columns < 2 * SHORTEST:
            return ()
        shown = long if len(long) <= most else long[: most - 1]
        # The last column stays empty, lest the terminal goes on to the next line.
        rows = [
            one.row(now, size.columns - len(MARGIN) - 1, verbose=self._verbose) for one in shown
        ]
        more = [f"{len(long) - len(shown)} more"] if len(long) > len(shown) else []
        return tuple(f"{MARGIN}{row}" for row in (*rows, *more))

    def _go_on(self) -> None:
        while not self._closed:
            with self._lock:
                self._refresh()
                idle = not self._doing
            if idle:
                self._wake.wait()
                self._wake.clear()
            time.sleep(EVERY)

    def _refresh(self) -> None:
        if not self._hidden:
            self._show(self.rows(time.monotonic()))

    def _show(self, rows: Sequence[str]) -> None:
        if self._closed or tuple(rows) == self._drawn:
            return
        room = f"{DOWN * len(rows)}\x1b[{len(rows)}A" if rows else ""
        below = "".join(f"\r\n{self._mark(row)}{CLEAR}" for row in rows) or "\r\n"
        self._screen.write(f"{room}{SAVE}{below}{CLEAR_BELOW}{RESTORE}")
        self._drawn = tuple(rows)

    def close(self) -> None:
        with self._lock:
            self._show(())
            self._closed = True
        self._wake.set()


class Aside:
    """Registered with live rows: what pytest writes about a test is written while they are not there."""

    def __init__(self, live: Live) -> None:
        self._live = live

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logstart(self) -> Generator[None, object, object]:
        with self._live.hidden():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self) -> Generator[None, object, object]:
        with self._live.hidden():
            return (yield)


def live_of(config: pytest.Config) -> Live | None:
    """Live rows where pytest's reporter writes to a terminal, else None."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if (
        reporter is None
        or not reporter.isatty
        or config.option.verbose < 0
        or os.environ.get("TERM") == "dumb"
    ):
        return None
    writer, terminal = config.get_terminal_writer(), Terminal()
    live = Live(
        terminal, verbose=config.option.verbose > 0, mark=lambda row: writer.markup(row, light=True)
    )
    config.pluginmanager.register(Aside(live), "ralph-live")
    config.add_cleanup(terminal.close)
    config.add_cleanup(live.close)
    return live
