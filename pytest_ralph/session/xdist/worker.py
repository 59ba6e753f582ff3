"""A worker's side of a run with pytest-xdist. Every worker imports this module, so it is small."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_ralph.session.run import Run

MESSAGE_KEY = "ralph"


class Worker:
    """Sends notes, terminal lines and history records to the controller with each report."""

    def __init__(self, run: Run) -> None:
        self.run = run
        run.run_directory.register_worker()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        message = self._take_message()
        if message:
            report.ralph_message = message  # type: ignore[attr-defined]
        return report

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
            self.run.halt("called off by the controller")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        is_recovered = any(spec_run.recovery for spec_run in self.run.spec_runs.values())
        if is_recovered and not self.run.run_directory.with_controller:
            self.run.messages.note(
                f"{platform.node()}:{self.run.root} is a copy of the project: "
                "what was written there stays there"
            )
        session.config.workeroutput[MESSAGE_KEY] = self._take_message()  # type: ignore[attr-defined]
