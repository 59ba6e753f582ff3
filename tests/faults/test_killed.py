"""SIGKILL at any point: files are whole, records are kept, and the next run continues."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.faults.killing import spread
from tests.faults.scenarios import SCENARIOS, Scenario

if TYPE_CHECKING:
    from tests.faults.killing import Killing

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="what a process does is watched as Linux has it"
)
HITS = 20


@pytest.mark.parametrize(
    "scenario", SCENARIOS, ids=lambda scenario: scenario.name.replace(" ", "-")
)
def test_a_run_that_was_killed_goes_on_as_if_it_had_not_been(
    killing: Killing, scenario: Scenario
) -> None:
    baseline = killing.baseline(scenario)
    assert len(baseline.ran.points) > 40
    hits = killing.hit(scenario, baseline, spread(len(baseline.ran.points) - 7, HITS))
    assert [str(hit) for hit in hits if hit.broken] == []
