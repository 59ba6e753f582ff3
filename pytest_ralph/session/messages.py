"""Messages of a run to the user, at once or at its end.

`Screen` writes to the terminal while pytest runs an item and captures all output.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, TypeGuard

from _pytest.terminal import TerminalReporter

from pytest_ralph.report.lines import start_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import pytest

    from pytest_ralph.report.live import LiveRows


class Screen:
    """The terminal of a run: live rows, and lines between those of pytest's own reporter.

    item: The item that pytest runs at the moment, whose line on the terminal is not complete.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._live: LiveRows | None = None
        self.item: pytest.Item | None = None

    def open(self) -> None:
        """Prepare live rows; called once pytest is ready to write."""
        if self._reporter is not None and self._config.option.verbose >= 0:
            # Imported here: a worker writes nothing, and with -q nothing is shown while it runs.
            from pytest_ralph.report.live import live_rows

            self._live = live_rows(self._config)

    def doing(
        self, what: str, limit: float, about: str = ""
    ) -> AbstractContextManager[Callable[[str], None] | None]:
        """Show a live row; the context gives a function that takes the last line of output."""
        if self._live is None:
            return nullcontext()
        return self._live.doing(what, limit, about)

    def without_live_rows(self) -> AbstractContextManager[None]:
        """Hide the live rows while something else writes to the terminal."""
        if self._live is None:
            return nullcontext()
        return self._live.hidden()

    def write(self, lines: Sequence[str]) -> bool:
        """Write lines between those of pytest; return False if there is no terminal reporter."""
        reporter = self._reporter
        if reporter is None:
            return False
        with self._uncaptured():
            start_line(reporter)
            reporter.write("\n".join(lines), flush=True)
            if self.item is None or self._config.option.verbose < 0:
                reporter.write_line("")
            # Otherwise pytest starts a new line before it writes about the item again.
            self._restart_item_line(reporter)
        return True

    @contextmanager
    def between_lines(self) -> Iterator[pytest.TerminalReporter | None]:
        """End pytest's current line; afterwards start it again with the item that it is about."""
        reporter = self._reporter
        if reporter is None:
            yield None
            return
        with self._uncaptured():
            reporter.ensure_newline()
            yield reporter
            self._restart_item_line(reporter)

    def _restart_item_line(self, reporter: pytest.TerminalReporter) -> None:
        # Without -v pytest writes only a letter when the item ends, and it must follow its path.
        if self.item is not None and self._config.option.verbose <= 0:
            reporter.pytest_runtest_logstart(self.item.nodeid, self.item.location)

    @contextmanager
    def _uncaptured(self) -> Iterator[None]:
        capture = self._config.pluginmanager.getplugin("capturemanager")
        disabled = capture.global_and_fixture_disabled() if capture else nullcontext()
        with self.without_live_rows(), disabled:
            yield

    def heading(self, text: str) -> str:
        """Return the text in the style of a failure's heading."""
        if self._reporter is None:
            return text
        return self._config.get_terminal_writer().markup(text, bold=True, red=True)

    @property
    def _reporter(self) -> pytest.TerminalReporter | None:
        if hasattr(self._config, "workerinput"):
            # A worker has a terminal reporter too, but nothing reads what it writes.
            return None
        return terminal_reporter(self._config)


def terminal_reporter(config: pytest.Config) -> pytest.TerminalReporter | None:
    """Return pytest's own reporter; None if it is off, or if another plugin replaced it."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    return reporter if is_terminal_reporter(reporter) else None


def is_terminal_reporter(reporter: object) -> TypeGuard[pytest.TerminalReporter]:
    """Return whether it is pytest's own; a plugin may have replaced it."""
    return isinstance(reporter, TerminalReporter)


class Messages:
    """Where a run writes its messages, without secrets.

    A worker of pytest-xdist has no terminal. What would be written there is kept in `unwritten`
    until the worker sends it to the controller.
    """

    def __init__(self, config: pytest.Config, root: Path, mask: Callable[[str], str]) -> None:
        self._config = config
        self._root = root
        self._mask = mask
        self.screen = Screen(config)
        self.notes: list[str] = []
        self.unwritten: list[str] = []

    def note(self, line: str) -> None:
        """Show a line at the end of the run, once however often it is noted."""
        line = self._mask(line.replace(f"{self._root}/", ""))
        if line not in self.notes:
            self.notes.append(line)

    def announce(self, line: str) -> None:
        """Write a line at once, for what a user must know even if the run is killed."""
        if not self.screen.write([f"ralph: {self._mask(line)}"]):
            self.note(line)

    def announce_verbose(self, line: str) -> None:
        """Write a line at once, with `-v`.

        Only the main thread can write between pytest's own lines. The tasks that other threads
        run have live rows.
        """
        if self._config.option.verbose <= 0:
            return
        if threading.current_thread() is not threading.main_thread():
            return
        line = self._mask(line)
        if not self.screen.write([line]):
            self.unwritten.append(line)

    def show(self, lines: Sequence[str]) -> None:
        """Write a paragraph at once, with `-vv`."""
        if self._config.option.verbose < 2:
            return
        if not self.screen.write(["", *lines, ""]):
            self.unwritten.extend(lines)
