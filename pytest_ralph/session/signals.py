"""Termination: a run that is told to end (a cancelled CI job, a closed terminal) ends as with Ctrl-C.

Commands run in sessions of their own, so nobody else would end them.
"""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import FrameType

    from pytest_ralph.session.run import Run

SIGNALS = ("SIGTERM", "SIGHUP")


class Termination:
    """Registered for a run. A signal that somebody else handles, or has ignored, is theirs."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._ours: list[signal.Signals] = []
        self._finishing = False

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        known = (number for name in SIGNALS if (number := getattr(signal, name, None)))
        self._ours = [number for number in known if signal.getsignal(number) is signal.SIG_DFL]
        for number in self._ours:
            signal.signal(number, self._end)
        session.config.add_cleanup(self._restore)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._finishing = True

    def _end(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the shape of a signal handler
        # A second one ends the process at once, as it would without us.
        self._restore()
        if not self._finishing:
            self.run.note(f"ended by {signal.Signals(number).name}")
            raise KeyboardInterrupt

    def _restore(self) -> None:
        for number in self._ours:
            signal.signal(number, signal.SIG_DFL)
        self._ours = []
