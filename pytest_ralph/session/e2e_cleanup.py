"""Cleaning up after a run that was stopped early: the E2E cleanup of a spec in the middle always runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.session.items import TaskItem
from pytest_ralph.spec.order import is_e2e_cleanup

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_ralph.session.run import Run


class Cleaning:
    """Registered for a run with `--ralph`; at work where -x, --maxfail or a person stopped it."""

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
        tasks = [item for item in session.items if isinstance(item, TaskItem)]
        begun = {item.parent for item in tasks if item.result is not None}
        for item in tasks:
            if item.parent in begun and item.result is None and is_e2e_cleanup(item.task):
                self._run(item)

    def _run(self, item: TaskItem) -> None:
        if self.run.handed:
            # The controller has ended its loop: nobody would take a report.
            item.result = self.run.perform(item)
            return
        # What was left set up is for the test that did not come, and pytest has no other way to say so.
        item.session._setupstate.teardown_exact(item)  # noqa: SLF001
        item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
