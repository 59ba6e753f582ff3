"""The screen in the middle of a task, when pytest waits for it, and captures what is written."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    import pytest

    from pytest_ralph.report.live import LiveRows


class Screen:
    """What may be seen while a run goes on: live rows, and what is said between pytest's own lines."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._live: LiveRows | None = None
        # The test pytest waits for.
        self.item: pytest.Item | None = None

    def open(self) -> None:
        """Once pytest is ready to write."""
        reporter = self._reporter
        if reporter is not None and reporter.isatty:
            from pytest_ralph.report.live import live_rows

            self._live = live_rows(self._config)

    def doing(
        self, what: str, limit: float, about: str = ""
    ) -> AbstractContextManager[Callable[[str], None] | None]:
        return self._live.doing(what, limit, about) if self._live else nullcontext()

    def aside(self) -> AbstractContextManager[None]:
        """Somebody else writes to the terminal: no live rows meanwhile."""
        return self._live.hidden() if self._live else nullcontext()

    def write(self, lines: Sequence[str]) -> bool:
        """False where there is no terminal reporter to write them."""
        reporter = self._reporter
        if reporter is None:
            return False
        with self._uncaptured():
            for line in lines if self.item else ():
                # What pytest writes of the test it waits for begins with a new line of its own.
                reporter.write_ensure_prefix(line, "")
            for line in () if self.item else lines:
                reporter.ensure_newline()
                reporter.write_line(line)
            self._begin_line(reporter)
        return True

    @contextmanager
    def between_lines(self) -> Iterator[pytest.TerminalReporter | None]:
        """pytest's line is ended, and afterwards begun again with the test it is about."""
        reporter = self._reporter
        if reporter is None:
            yield None
            return
        with self._uncaptured():
            reporter.ensure_newline()
            yield reporter
            self._begin_line(reporter)

    def _begin_line(self, reporter: pytest.TerminalReporter) -> None:
        """A letter has to follow its path; a word brings it along."""
        if self.item is not None and self._config.option.verbose <= 0:
            reporter.pytest_runtest_logstart(self.item.nodeid, self.item.location)

    @contextmanager
    def _uncaptured(self) -> Iterator[None]:
        capture = self._config.pluginmanager.getplugin("capturemanager")
        with self.aside(), capture.global_and_fixture_disabled() if capture else nullcontext():
            yield

    def heading(self, text: str) -> str:
        """As the heading of a failure looks."""
        return (
            self._config.get_terminal_writer().markup(text, bold=True, red=True)
            if self._reporter
            else text
        )

    @property
    def _reporter(self) -> pytest.TerminalReporter | None:
        if hasattr(self._config, "workerinput"):
            # A worker has one too, which writes for nobody.
            return None
        found: pytest.TerminalReporter | None = self._config.pluginmanager.getplugin(
            "terminalreporter"
        )
        return found
