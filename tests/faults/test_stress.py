"""Two hundred specs with random failures and killed workers, and specs that share files."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.faults.shared_files import MODES, heal
from tests.faults.stress import (
    World,
    check_all_told_once_and_run_once,
    check_calm_finishes_everything,
    check_files_are_whole,
)

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("xdist")
HOUR = 3600


def test_two_hundred_specs_whose_tasks_kill_their_workers(tmp_path: Path) -> None:
    world = World.make(tmp_path, specs=200, seed=6)

    code, output = world.run(4, timeout=HOUR)

    assert code == 1, output[-4000:]
    check_all_told_once_and_run_once(world)
    check_files_are_whole(world)
    expected = world.expected()
    assert {
        name: outcome for name, outcome in world.reported().items() if name in expected
    } == expected
    check_calm_finishes_everything(world, 4, timeout=HOUR)


def test_two_hundred_specs_whose_workers_are_killed_from_outside(tmp_path: Path) -> None:
    world = World.make(tmp_path, specs=200, seed=7)

    code, output = world.run(4, timeout=HOUR, killer=random.Random(7))

    assert code == 1, output[-4000:]
    check_all_told_once_and_run_once(world)
    check_files_are_whole(world)
    check_calm_finishes_everything(world, 4, timeout=HOUR)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(5))
def test_recovered_tasks_of_shared_files_pass(tmp_path: Path, seed: int, mode: str) -> None:
    ended = heal(tmp_path / "project", seed, mode)

    assert ended.problems == [], ended.output
    assert ended.good > 0
