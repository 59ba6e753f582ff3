"""A broken promise is noticed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.faults.forkserver import ForkServer
from tests.faults.model.promises import check, check_bytes_kept, look
from tests.faults.model.world import FILES, RunPlan, World, git
from tests.faults.remains import BrokenError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@pytest.fixture
def world() -> Iterator[World]:
    server = ForkServer()
    world = World(server)
    yield world
    world.close()
    server.close()


def lose_a_file(world: World) -> None:
    world.remove("draft.txt")


def break_a_task(world: World) -> None:
    world.write(FILES["a:1.1"], "to do\n")


def commit_another_file(world: World) -> None:
    git(world.project, "add", "draft.txt")
    git(world.project, "commit", "-q", "--amend", "--no-edit")


def commit_lines_of_the_user(world: World) -> None:
    git(world.project, "commit", "-q", "--amend", "--no-edit", "--", FILES["b:1.1"])


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (lose_a_file, "in no file, ref or backup any more"),
        (break_a_task, "a:1.1 is shown as passed and does not pass"),
        (commit_another_file, "also holds ['draft.txt']"),
        (commit_lines_of_the_user, "also holds edits of the user in src/five.txt"),
    ],
)
def test_a_fault_is_noticed(world: World, fault: Callable[[World], None], said: str) -> None:
    world.write("draft.txt", world.text("new"))
    world.append(FILES["b:1.1"], world.text("remark"))
    plan = RunPlan(("--ralph-commit", "auto"), dict.fromkeys(FILES, ("fix",)))
    before = look(world)
    ended = world.run(plan)
    check(world, before, plan, ended)

    fault(world)

    with pytest.raises(BrokenError) as broken:
        check(world, before, plan, ended)
    assert said in str(broken.value)


def test_a_lost_line_beside_a_kept_patch_is_noticed(world: World) -> None:
    path = FILES["b:1.1"]
    world.write(path, "fixed b:1.1\nbetween\nremark\n")
    before = look(world)
    patch = world.project / ".ralph/patches/merge.patch"
    patch.parent.mkdir(parents=True)
    patch.write_text("@@ -1,2 +1,2 @@\n-to do\n+fixed b:1.1\n between\n")

    world.write(path, "to do\nbetween\nremark\n")
    check_bytes_kept(world, before)

    world.write(path, "to do\nbetween\n")
    with pytest.raises(BrokenError, match="in no file, ref or backup any more"):
        check_bytes_kept(world, before)
