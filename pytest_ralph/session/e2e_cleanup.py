"""Run the E2E cleanup task of each started spec, even if the run is stopped early."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.session.items import TaskItem
from pytest_ralph.spec.e2e_steps import is_e2e_cleanup

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_ralph.session.run import Run


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
        items = [item for item in session.items if isinstance(item, TaskItem)]
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
