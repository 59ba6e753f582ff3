"""Verify once more before a service that cannot be reached is fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph import Decision

if TYPE_CHECKING:
    from pytest_ralph import Failure
    from pytest_ralph.healing.decide import TaskHistory


def pytest_ralph_decide(failure: Failure, history: TaskHistory) -> Decision | None:
    first_time = len(history.fingerprints) == 1
    if failure.kind == "service_unavailable" and first_time:
        return Decision("retry", "the service may be up by now")
    return None
