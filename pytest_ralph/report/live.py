"""Live rows below pytest's progress that show what is running; lines without a terminal.

The rows are drawn below the line with the cursor, and the cursor is put back, so that pytest
continues where it was. They are erased before pytest writes again. Workers of pytest-xdist have no
terminal and their controller runs nothing itself, so that there are no rows with xdist.
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

from pytest_ralph.text.bounded import columns, cut_to_columns
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

# What ends sooner than this gets no row (seconds).
DELAY = 1.0
INTERVAL = 0.25
MOST_ROWS = 4
MARGIN = "  "
SHORTEST_TEXT = 8
# Seconds between two lines about the same activity, without a terminal, and their width.
LINE_INTERVAL = 30.0
LINE_WIDTH = 120
# IND moves down one line in the same column, and scrolls at the end of the screen.
DOWN = "\x1bD"
CLEAR_LINE = "\x1b[K"
CLEAR_BELOW = "\x1b[J"
SAVE_CURSOR = "\x1b7"
RESTORE_CURSOR = "\x1b8"


@dataclass
class Activity:
    """Something that is running, with its time limit and the last line it printed."""

    name: str
    limit: float
    about: str = ""
    started: float = field(default_factory=time.monotonic)
    last_line: str = ""
    # When a line about it was written last.
    reported: float = field(default_factory=time.monotonic)

    def row(self, now: float, width: int) -> str:
        """Return as much as fits into `width` columns, the last line in place of `about`."""
        elapsed = f"{now - self.started:.0f} s"
        head = f"{self.name}  {elapsed} of {self.limit:g} s"
        if columns(head) > width:
            room_for_name = width - columns(f"  {elapsed}")
            return f"{cut_to_columns(self.name, max(room_for_name, 1))}  {elapsed}"

        text = one_line(self.last_line or self.about)
        room_for_text = width - columns(f"{head}  ")
        if not text or room_for_text < SHORTEST_TEXT:
            return head
        return f"{head}  {cut_to_columns(text, room_for_text)}"


class RowsOutput(Protocol):
    """Where rows are drawn."""

    def write(self, text: str) -> None: ...
    def size(self) -> os.terminal_size: ...


class TerminalOutput:
    """The terminal that pytest writes to.

    Create it while nothing is captured: it duplicates the descriptor, so that the terminal can be
    reached while pytest captures output.
    """

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


class LiveRows:
    """The rows of one run. A thread of its own redraws them; any thread may add activities."""

    def __init__(self, output: RowsOutput, *, markup: Callable[[str], str] = str) -> None:
        self._output = output
        self._markup = markup
        self._activities: list[Activity] = []
        self._drawn: tuple[str, ...] = ()
        self._hidden = 0
        self._closed = False
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def doing(self, name: str, limit: float, about: str = "") -> Iterator[Callable[[str], None]]:
        """Show a row during the block. Call the value with each line that is printed."""
        activity = Activity(name, limit, about)
        with self._lock:
            self._activities.append(activity)
            if self._thread is None:
                self._thread = threading.Thread(target=self._redraw, name="ralph-live", daemon=True)
                self._thread.start()
        self._wake.set()

        def printed(line: str) -> None:
            activity.last_line = line

        try:
            yield printed
        finally:
            with self._lock:
                self._activities.remove(activity)
                self._refresh()

    @contextlib.contextmanager
    def hidden(self) -> Iterator[None]:
        """Erase the rows during the block, because something else writes to the terminal."""
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
        """Return a row for each long activity, or for the first few and the number of others."""
        size = self._output.size()
        most = min(MOST_ROWS, size.lines - 2)
        if most < 1 or size.columns < 2 * SHORTEST_TEXT:
            return ()

        # The last column stays empty: a terminal would continue on the next line.
        width = size.columns - len(MARGIN) - 1
        long = [activity for activity in self._activities if now - activity.started >= DELAY]
        rows = [activity.row(now, width) for activity in long]
        if len(rows) > most:
            shown = rows[: most - 1]
            rows = [*shown, f"{len(long) - len(shown)} more"]
        return tuple(MARGIN + row for row in rows)

    def _redraw(self) -> None:
        """Redraw the rows as long as something runs; the body of the thread."""
        while not self._closed:
            with self._lock:
                self._refresh()
                idle = not self._activities
            if idle:
                self._wake.wait()
                self._wake.clear()
            time.sleep(INTERVAL)

    def _refresh(self) -> None:
        if not self._hidden:
            self._show(self.rows(time.monotonic()))

    def _show(self, rows: Sequence[str]) -> None:
        """Draw rows below the line with the cursor, in place of those drawn before."""
        if self._closed or tuple(rows) == self._drawn:
            return
        if rows:
            make_room = f"{DOWN * len(rows)}\x1b[{len(rows)}A"
            text = "".join(f"\r\n{self._markup(row)}{CLEAR_LINE}" for row in rows)
        else:
            make_room = ""
            text = "\r\n"
        self._output.write(f"{make_room}{SAVE_CURSOR}{text}{CLEAR_BELOW}{RESTORE_CURSOR}")
        self._drawn = tuple(rows)

    def close(self) -> None:
        """Erase the rows for good."""
        with self._lock:
            self._show(())
            self._closed = True
        self._wake.set()


class ProgressLines(LiveRows):
    """Without a terminal, as in CI: a line now and then about whatever takes long."""

    def _refresh(self) -> None:
        now = time.monotonic()
        for activity in self._activities:
            if now - activity.reported >= LINE_INTERVAL:
                activity.reported = now
                # pytest's own line may not be complete.
                self._output.write(f"\nralph: {activity.row(now, LINE_WIDTH)}\n")

    def _show(self, rows: Sequence[str]) -> None:
        """Nothing is drawn that would have to be erased."""


class RowsHider:
    """Hooks that hide the live rows while pytest writes about a test."""

    def __init__(self, rows: LiveRows) -> None:
        self._rows = rows

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logstart(self) -> Generator[None, object, object]:
        with self._rows.hidden():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self) -> Generator[None, object, object]:
        with self._rows.hidden():
            return (yield)


def live_rows(config: pytest.Config) -> LiveRows | None:
    """Start live rows if pytest's reporter writes to a terminal, otherwise progress lines."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if reporter is None or config.option.verbose < 0:
        return None
    try:
        terminal = TerminalOutput()
    except (AttributeError, OSError, ValueError):
        # Standard output is an object without a file, as under xdist's --looponfail.
        return None

    if not reporter.isatty or os.environ.get("TERM") == "dumb":
        rows: LiveRows = ProgressLines(terminal)
    else:
        writer = config.get_terminal_writer()
        rows = LiveRows(terminal, markup=lambda row: writer.markup(row, light=True))
        config.pluginmanager.register(RowsHider(rows), "ralph-live")

    config.add_cleanup(terminal.close)
    config.add_cleanup(rows.close)
    return rows
