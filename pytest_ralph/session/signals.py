"""Termination signals: SIGTERM and SIGHUP end a run as Ctrl-C does.

Commands run in sessions of their own, so a signal to pytest does not reach them. Without a handler
a cancelled CI job or a closed terminal would leave them running.
"""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import FrameType

    from pytest_ralph.session.run import Run

SIGNAL_NAMES = ("SIGTERM", "SIGHUP")


class TerminationSignals:
    """Handles the signals that nobody else handles and that are not ignored."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._handled: list[signal.Signals] = []
        self._finishing = False

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        if threading.current_thread() is not threading.main_thread():
            # Python allows signal handlers in the main thread only.
            return
        for name in SIGNAL_NAMES:
            # Windows has no SIGHUP.
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, self._interrupt)
                self._handled.append(number)
        session.config.add_cleanup(self._restore)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._finishing = True

    def _interrupt(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a handler
        # A second signal ends the process at once, as it would without this plugin.
        self._restore()
        if not self._finishing:
            self.run.messages.note(f"ended by {signal.Signals(number).name}")
            raise KeyboardInterrupt

    def _restore(self) -> None:
        for number in self._handled:
            signal.signal(number, signal.SIG_DFL)
        self._handled = []
