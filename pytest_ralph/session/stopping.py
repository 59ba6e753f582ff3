"""What a run that is stopped early still does.

SIGTERM and SIGHUP end a run as Ctrl-C does: commands run in sessions of their own, so a signal to
pytest does not reach them, and a cancelled CI job or a closed terminal would leave them running.
And the E2E cleanup task of each started spec is run.
"""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.session.items import task_items
from pytest_ralph.spec.task import is_e2e_cleanup

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

    from pytest_ralph.session.items import TaskItem
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


class E2ECleanup:
    """Runs the remaining cleanup tasks after -x, --maxfail or a person stopped the run."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        try:
            return (yield)
        finally:
            if session.shouldfail or session.shouldstop:
                self._clean_up(session)

    def _clean_up(self, session: pytest.Session) -> None:
        items = task_items(session)
        started_specs = {item.parent for item in items if item.result is not None}
        for item in items:
            if item.parent not in started_specs or item.result is not None:
                continue
            if is_e2e_cleanup(item.task):
                self._run(item)

    def _run(self, item: TaskItem) -> None:
        if self.run.worker:
            # The controller has ended its loop and would not accept a report.
            item.result = self.run.perform(item)
            return
        # The fixtures still set up belong to the item that was to come next. pytest has no public
        # way to tear them down.
        item.session._setupstate.teardown_exact(item)  # noqa: SLF001
        item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
