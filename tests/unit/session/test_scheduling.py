"""Which test goes to which worker, and what becomes of the tests of a worker that died."""

from __future__ import annotations

import time
from collections import defaultdict
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

scheduling = pytest.importorskip("pytest_ralph.session.xdist.scheduling")

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.session.xdist.scheduling import Progress


class Node:
    """A worker as a scheduler sees it: takes places of tests, and can be shut down."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.sent: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, places: Sequence[int]) -> None:
        self.sent += places

    def shutdown(self) -> None:
        self.shutting_down = True


class Scheduler:
    """A scheduler with its workers, all of which have collected the same tests."""

    def __init__(self, tests: Sequence[str], workers: int = 2, mode: str = "load") -> None:
        self.tests = list(tests)
        self.progress: dict[str, Progress] = defaultdict(lambda: "running")
        config: Any = SimpleNamespace(
            getvalue={"dist": mode, "tx": [f"{workers}*popen"]}.__getitem__,
            option=SimpleNamespace(loadscopereorder=True),
        )
        self.scheduling = scheduling.SpecScheduling(
            config, None, lambda _, nodeid: self.progress[nodeid]
        )
        self.nodes = [self.add(f"gw{number}") for number in range(workers)]
        self.scheduling.schedule()

    def add(self, name: str) -> Node:
        node = Node(name)
        self.scheduling.add_node(node)
        self.scheduling.add_node_collection(node, self.tests)
        return node

    def sent_to(self, node: Node) -> list[str]:
        return [self.tests[place] for place in node.sent]

    def complete(self, node: Node, *tests: str) -> None:
        for test in tests:
            self.scheduling.mark_test_complete(node, self.tests.index(test))


SPECS = [f"specs/{spec}/tasks.md::1.{n}" for spec in "ab" for n in range(1, 4)]


@pytest.mark.parametrize(
    ("mode", "nodeid", "scope"),
    [
        *(
            (mode, "specs/a/tasks.md::1.2", "specs/a/tasks.md")
            for mode in ("load", "loadscope", "loadgroup")
        ),
        ("load", "plan.md::1.2", "plan.md"),
        ("load", "t.py::T::test", "t.py::T::test"),
        ("worksteal", "t.py::test[a::b]", "t.py::test[a::b]"),
        ("loadscope", "t.py::T::test", "t.py::T"),
        ("loadfile", "t.py::T::test", "t.py"),
        ("loadgroup", "t.py::T::test@one", "one"),
        ("loadgroup", "t.py::T::test", "t.py::T::test"),
    ],
)
def test_the_scope_of_a_test(mode: str, nodeid: str, scope: str) -> None:
    assert Scheduler([nodeid], 1, mode).scheduling._split_scope(nodeid) == scope


def test_each_spec_goes_whole_to_one_worker() -> None:
    scheduler = Scheduler(SPECS)
    assert [scheduler.sent_to(node) for node in scheduler.nodes] == [SPECS[:3], SPECS[3:]]


def test_a_spec_with_a_name_in_capitals_goes_to_one_worker() -> None:
    tests = ["PLAN.MD::1.1", "PLAN.MD::1.2"]
    scheduler = Scheduler(tests)
    assert [scheduler.sent_to(node) for node in scheduler.nodes] == [tests, []]


def test_a_group_of_specs_goes_to_one_worker() -> None:
    tests = [
        "specs/a/tasks.md::1.1@database",
        "specs/a/tasks.md::1.2",
        "specs/b/tasks.md::1.1",
        "specs/c/tasks.md::1.1@database",
        "test_it.py::test_it@database",
    ]
    scheduler = Scheduler(tests, mode="loadgroup")
    together = [test for test in tests if "/b/" not in test]
    assert [scheduler.sent_to(node) for node in scheduler.nodes] == [together, [tests[2]]]


@pytest.mark.parametrize(
    ("progress", "crashed", "left"),
    [
        ({}, SPECS[0], SPECS[1:3]),
        ({SPECS[0]: "reported"}, SPECS[1], SPECS[2:3]),
        ({SPECS[0]: "reported", SPECS[1]: "waiting"}, None, SPECS[1:3]),
        ({SPECS[0]: "waiting"}, None, SPECS[:3]),
    ],
    ids=["at the first", "report already here", "between two", "before the first"],
)
def test_what_a_dead_worker_was_at_is_not_run_again_and_the_rest_is(
    progress: dict[str, Progress], crashed: str | None, left: list[str]
) -> None:
    scheduler = Scheduler(SPECS)
    scheduler.progress.update(progress)
    first, _ = scheduler.nodes

    assert scheduler.scheduling.remove_node(first) == crashed

    clone = scheduler.add("gw2")
    scheduler.scheduling.schedule()
    assert scheduler.sent_to(clone) == left


def test_a_worker_that_died_after_all_its_tests_leaves_nothing() -> None:
    scheduler = Scheduler(SPECS)
    first, _ = scheduler.nodes
    scheduler.complete(first, *SPECS[:3])
    assert scheduler.scheduling.remove_node(first) is None
    assert not scheduler.scheduling.workqueue


def test_what_a_dead_worker_leaves_comes_before_what_nobody_has_yet() -> None:
    tests = [f"specs/{spec}/tasks.md::1.{n}" for spec in "abc" for n in range(1, 5)]
    scheduler = Scheduler(tests)
    first, _ = scheduler.nodes
    scheduler.complete(first, tests[0])

    scheduler.scheduling.remove_node(first)

    assert list(scheduler.scheduling.workqueue) == ["specs/a/tasks.md", "specs/c/tasks.md"]


def test_ten_thousand_tests_are_given_out_in_seconds() -> None:
    tests = [f"t.py::test[{n}]" for n in range(10_000)]
    begun = time.process_time()
    scheduler = Scheduler(tests, 4)
    done = [0] * 4
    while any(len(node.sent) > done[at] for at, node in enumerate(scheduler.nodes)):
        for at, node in enumerate(scheduler.nodes):
            while len(node.sent) > done[at]:
                scheduler.scheduling.mark_test_complete(node, node.sent[done[at]])
                done[at] += 1
    assert sum(done) == 10_000
    assert time.process_time() - begun < 5
