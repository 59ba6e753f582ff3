"""A short walk of the state machine, always the same; `tox -e faults` takes the long one."""

from __future__ import annotations

import sys

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.faults.model.machine import Machine

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


class QuickMachine(Machine):
    """The state machine without what takes long."""

    rare = ()


def test_promises_hold_in_a_short_walk() -> None:
    short = settings(
        max_examples=12,
        stateful_step_count=16,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(QuickMachine, settings=short)
        assert Machine.runs > 2
    finally:
        Machine.stop_server()
