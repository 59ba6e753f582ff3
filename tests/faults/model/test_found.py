"""Combinations in which the state machine once found a broken promise."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.faults.forkserver import ForkServer
from tests.faults.model.promises import check, look
from tests.faults.model.world import FILES, RunPlan, World, git

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.faults.model.world import Ended

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
FIX_ALL: dict[str, tuple[str, ...]] = dict.fromkeys(FILES, ("fix",))


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    server = ForkServer()
    yield server
    server.close()


@pytest.fixture
def world(server: ForkServer) -> Iterator[World]:
    world = World(server)
    yield world
    world.close()


def run(
    world: World,
    *options: str,
    workers: int = 0,
    target: str = "specs",
    **actions: tuple[str, ...],
) -> Ended:
    """Run pytest, where all tasks but the given ones are fixed, and check all promises."""
    given = {key.replace("_", ":").replace("p", "."): deeds for key, deeds in actions.items()}
    words = ("--ralph-jobs=2", "--ralph-max-fixes=2", *options)
    plan = RunPlan(words, {**FIX_ALL, **given}, workers=workers, target=target)
    before = look(world)
    ended = world.run(plan)
    check(world, before, plan, ended)
    return ended


def test_commits_of_siblings_are_told_apart(world: World) -> None:
    deeds = ("new file", "pause", "fix")

    run(world, "--ralph-commit", "auto", a_1p2=deeds, a_1p3=deeds)

    log = git(world.project, "log", "--format=%s", "--name-only", "--diff-filter=A")
    assert log.count("src/new-a-1.2.txt") == 1
    assert log.count("src/new-a-1.3.txt") == 1


def test_all_tasks_that_a_fix_broke_are_named(world: World) -> None:
    once = ("fix once",)

    ended = run(world, a_1p1=once, a_1p2=once, a_1p3=once, a_1p4=("git stash",))

    assert ended.status == 1
    for task in ("1.1", "1.2", "1.3"):
        assert f"{task} no longer passes" in ended.output


def test_plans_of_other_specs_are_put_back(world: World) -> None:
    plan = world.project / "specs/b/tasks.md"
    text = f"{plan.read_text()}\n<!-- {world.text('remark').strip()} -->\n"
    plan.write_text(text)

    ended = run(world, a_1p1=("git checkout", "fix"), b_1p1=("nothing",))

    assert "1.1.1 edited specs/b/tasks.md: undone" in ended.output
    assert "<!-- remark by the user" in plan.read_text()


def test_checks_of_other_workers_are_put_back(world: World) -> None:
    pytest.importorskip("xdist")

    ended = run(world, workers=2, a_1p1=("pause", "fix"), b_1p1=("edit the plan", "fix"))

    assert "in specs/a/tasks.md: undone" in ended.output
    assert ended.status == 0


def test_a_staged_plan_may_be_committed(world: World) -> None:
    run(world, "--ralph-commit", "auto", target="specs/a/tasks.md::1.1")
    world.git("reset", "-q", "--soft", "HEAD~1")
    plan = world.project / "specs/a/tasks.md"
    plan.write_text(plan.read_text().replace("[x]", "[ ]") + "\n<!-- by the user, 1 -->\n")
    staged = git(world.project, "show", ":specs/a/tasks.md")

    run(world, "--ralph-commit", "auto")

    committed = git(world.project, "log", "--format=%H", "--", "specs/a/tasks.md").split()
    assert staged in [git(world.project, "show", f"{one}:specs/a/tasks.md") for one in committed]


def test_specs_that_another_worker_removes(world: World) -> None:
    pytest.importorskip("xdist")
    for path in FILES.values():
        world.write(path, "fixed by the user, 1\n")
    world.write(FILES["b:1.1"], "to do\n")

    ended = run(world, workers=2, b_1p1=("pause", "pause", "remove specs", "fix"))

    assert "1.1.1 removed specs/a/tasks.md: undone" in ended.output
    assert "# Tasks" in (world.project / "specs/a/tasks.md").read_text()
    assert "1.5" in (world.project / "specs/a/.progress.md").read_text()


def test_a_staged_removal_may_be_committed(world: World) -> None:
    """An executor removes a file that the user has removed from the index only."""
    path = FILES["a:1.1"]
    world.git("rm", "-q", "--cached", "--", path)

    run(world, "--ralph-commit", "auto", a_1p2=("git clean", "fix once"))

    removed = git(world.project, "log", "--format=", "--name-only", "--diff-filter=D")
    assert path in removed.split()
