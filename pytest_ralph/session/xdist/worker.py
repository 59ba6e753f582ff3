"""A worker's side of a run with pytest-xdist. Every worker imports this module, so it is small."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_ralph.results import TaskReport
    from pytest_ralph.session.run import Run
    from pytest_ralph.session.xdist.outbox import Outbox

MESSAGE_KEY = "ralph"


class Worker:
    """Sends notes, terminal lines and history records to the controller with each report."""

    def __init__(self, run: Run) -> None:
        self.run = run
        run.run_directory.register_worker()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        message = self._take_message()
        if self.run.run_directory.is_elsewhere and hasattr(report, "ralph"):
            message |= self._work(item, report.ralph)
        if message:
            report.ralph_message = message  # type: ignore[attr-defined]
        return report

    def _work(self, item: Any, report: TaskReport) -> dict[str, Any]:
        """Return what was done about a task in a copy of the project."""
        work = self._outbox.collect(self.run.spec_run(item.parent.spec), report.result)
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
            "records": [record.to_json() for record in resources.records],
        }
        messages.notes = []
        messages.unwritten = []
        resources.records = []
        return message if any(message.values()) else {}

    def pytest_runtest_logfinish(self) -> None:
        if self.run.run_directory.is_called_off:
            self.run.halt("cancelled by the controller")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        message = self._take_message()
        if self.run.run_directory.is_elsewhere:
            message["root"] = str(self.run.root)
        session.config.workeroutput[MESSAGE_KEY] = message  # type: ignore[attr-defined]
