"""A worker's side of a run with pytest-xdist: what it sends, and when it stops."""

from __future__ import annotations

import os
import signal
import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.session.items import task_items
from pytest_ralph.session.xdist.worker_input import KEY

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_ralph.results import TaskResult
    from pytest_ralph.session.run import Run
    from pytest_ralph.session.xdist.outbox import Outbox

# Seconds between two looks whether the controller was interrupted or killed.
INTERVAL = 0.2


class Worker:
    """Sends notes, terminal lines and history records to the controller with each report."""

    def __init__(self, run: Run) -> None:
        self.run = run
        run.run_directory.register_worker()
        self._has_ended = threading.Event()
        threading.Thread(target=self._watch_controller, daemon=True).start()

    def _watch_controller(self) -> None:
        """End what runs once the controller has received Ctrl-C, which may not reach workers.

        A signal from the controller would be a second one after Ctrl-C in a terminal, and cut off
        the work that the first one began. If the controller was killed, end this process: without
        reports its work is lost, and pytest-xdist would let it go on for seconds.
        """
        assert self.run.worker is not None
        controller = self.run.worker.controller
        # Workers on other machines and those of a socket server have another parent.
        is_child = os.getppid() == controller
        while not self._has_ended.wait(INTERVAL):
            if is_child and os.getppid() != controller:
                os.kill(os.getpid(), signal.SIGKILL)
            if self.run.run_directory.is_interrupted:
                # Not `run.stop`: the main thread may still wait for what that would cancel.
                self.run.resources.stop()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> Generator[None, None, None]:
        """Append the groups of tasks to the node ids that pytest-xdist sends to the controller.

        pytest-xdist 3.8 appends them, too, but pytest 9.2 ignores how it does that.
        """
        grouped = []
        if session.config.option.loadgroup:
            grouped = task_items(session)
        for item in grouped:
            if "@" not in item.nodeid.partition("::")[2]:
                item.group_suffix = _group_suffix(item)
        yield
        for item in grouped:
            item.group_suffix = ""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Send along with each report what the controller has not received yet."""
        report = yield
        message = self._take_message()
        if self.run.run_directory.is_elsewhere and hasattr(report, "ralph"):
            message |= self._work(item, report.ralph)
            report.ralph = report.ralph._replace(elsewhere=True)  # type: ignore[attr-defined]
        if message:
            report.ralph_message = message  # type: ignore[attr-defined]
        return report

    def _work(self, item: Any, result: TaskResult) -> dict[str, Any]:
        """Return what was done about a task in a copy of the project."""
        spec_run = self.run.spec_run(item.parent.spec)
        work = self._outbox.collect(spec_run, result)
        return {"work": work, "root": str(self.run.root)} if work else {}

    @cached_property
    def _outbox(self) -> Outbox:
        # Imported here: most workers have no need to send files.
        from pytest_ralph.session.xdist.outbox import Outbox

        return Outbox(self.run)

    def _take_message(self) -> dict[str, Any]:
        """Return what the controller has not received yet; empty if there is nothing."""
        messages = self.run.messages
        resources = self.run.resources
        message = {
            "notes": messages.notes,
            "lines": messages.unwritten,
            "records": [record.row() for record in resources.records],
        }
        messages.notes = []
        messages.unwritten = []
        resources.records = []
        return message if any(message.values()) else {}

    def pytest_runtest_logfinish(self) -> None:
        if self.run.run_directory.is_called_off:
            self.run.halt("cancelled by the controller")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._has_ended.set()
        # The controller ends the process once it has the message, before `pytest_unconfigure`.
        self.run.close()
        message = self._take_message()
        if self.run.run_directory.is_elsewhere:
            message["root"] = str(self.run.root)
        session.config.workeroutput[KEY] = message  # type: ignore[attr-defined]


def _group_suffix(item: pytest.Item) -> str:
    """Return the names of the `xdist_group` marks of an item, as pytest-xdist appends them."""
    names = set()
    for mark in item.iter_markers("xdist_group"):
        name = mark.args[0] if mark.args else mark.kwargs.get("name", "default")
        names.add(str(name))
    return f"@{'_'.join(sorted(names))}" if names else ""
