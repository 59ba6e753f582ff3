"""A small storm on every run of the tests; the large one is in tests/faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.faults.stress import (
    World,
    check_all_told_once_and_run_once,
    check_calm_finishes_everything,
    check_files_are_whole,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_a_dozen_specs_whose_tasks_kill_their_workers(tmp_path: Path) -> None:
    world = World.make(tmp_path, specs=12, seed=3)
    kinds = [kind for _, kind in world.tasks().values()]
    assert {"broken", "stubborn", "hopeless", "deadly"} <= set(kinds)

    code, output = world.run(2, timeout=300)

    assert code == 1, output[-4000:]
    check_all_told_once_and_run_once(world)
    check_files_are_whole(world)
    expected = world.expected()
    assert {
        name: outcome for name, outcome in world.reported().items() if name in expected
    } == expected
    check_calm_finishes_everything(world, 2, timeout=300)
