"""No space, no rights, no processes, files removed or rewritten: one clear line, nothing lost."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.faults.hardships import HARDSHIPS, Hardship, suffer
from tests.faults.killing import spread
from tests.faults.scenarios import SCENARIOS

if TYPE_CHECKING:
    from tests.faults.killing import Baseline, Killing

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="limits and rights as Linux has them"
)
SCENARIO = SCENARIOS[0]
HITS = 2


@pytest.fixture(scope="module")
def baseline(killing: Killing) -> Baseline:
    return killing.baseline(SCENARIO, "hardships")


@pytest.mark.parametrize(
    "hardship", HARDSHIPS, ids=lambda hardship: hardship.name.replace(" ", "-")
)
def test_a_run_ends_with_a_clear_word_and_the_next_one_goes_on(
    killing: Killing, baseline: Baseline, hardship: Hardship
) -> None:
    if why := hardship.why_not:
        pytest.skip(why)
    points = spread(len(baseline.ran.points) - 11, HITS) if hardship.has_points else [0]
    hits = killing.each(lambda at: suffer(killing, SCENARIO, baseline, hardship, at), points)
    assert [str(hit) for hit in hits if hit.broken] == []
