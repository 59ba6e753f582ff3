"""Many workers: a worker's side of a run with pytest-xdist. Every worker imports this, so it is small."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_ralph.session.run import Run

PARCEL = "ralph"


class Worker:
    """Registered in a worker: sends along with each report what the controller shall know."""

    def __init__(self, run: Run) -> None:
        self.run = run
        run.shared.arrive()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if parcel := self._parcel():
            report.ralph_parcel = parcel  # type: ignore[attr-defined]
        return report

    def _parcel(self) -> dict[str, Any]:
        run = self.run
        parcel = {
            "notes": run.notes,
            "shown": run.shown,
            "records": [record.to_json() for record in run.records],
        }
        run.notes, run.shown, run.records = [], [], []
        return parcel if any(parcel.values()) else {}

    def pytest_runtest_logfinish(self) -> None:
        if self.run.shared.called_off:
            self.run.halt("called off by the controller")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        run = self.run
        if not run.shared.with_controller and any(work.recovery for work in run.works.values()):
            run.note(
                f"{platform.node()}:{run.root} is a copy of the project: what was written there stays there"
            )
        session.config.workeroutput[PARCEL] = self._parcel()  # type: ignore[attr-defined]
