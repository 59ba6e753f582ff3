"""Who runs with whom, who waits for whom, and which plans cannot be carried out."""

from __future__ import annotations

import re
import time

import pytest

from pytest_ralph.spec.order import Plan, plan
from pytest_ralph.spec.task import Task, is_e2e_cleanup, is_e2e_startup


def task(line: str, number: int = 1) -> Task:
    """A task from `1.2 [P] title | after 1.1 | files a, b | phase 2 | done`."""
    heading, *parts = (part.strip() for part in line.split("|"))
    fields: dict[str, str] = {}
    files: tuple[str, ...] = ()
    phase, done = "", False
    for part in parts:
        word, _, rest = part.partition(" ")
        if word == "after":
            fields["Depends on"] = rest
        elif word == "files":
            files = tuple(rest.split(", "))
        elif word == "phase":
            phase = rest
        done = done or word == "done"
    identifier, *title = re.sub(r"\[[^]]*\]", "", heading).split()
    return Task(
        id=identifier.partition("~")[0],
        name=identifier,
        title=" ".join(title),
        markers=tuple(re.findall(r"\[([^]]*)\]", heading)),
        fields=fields,
        files=files,
        phase=phase,
        checked=done,
        line=number,
        end_line=number,
    )


def planned(*lines: str) -> Plan:
    return plan(task(line, number) for number, line in enumerate(lines, 1))


def groups(found: Plan) -> list[str]:
    return [" ".join(each.name for each in group) for group in found.groups]


def order(found: Plan) -> str:
    return " ".join(each.name for each in found.order)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["1.1", "1.2", "1.3"], ["1.1", "1.2", "1.3"]),
        (["1.1 [P]", "1.2 [P]", "1.3"], ["1.1 1.2", "1.3"]),
        (["1.1 [P]", "1.2", "1.3 [P]"], ["1.1", "1.2", "1.3"]),
        (["1.1 [P]", "1.2 [P] [VERIFY]", "1.3 [P]", "1.4 [P]"], ["1.1", "1.2", "1.3 1.4"]),
        (["1.1 [P]", "1.2 [SEQUENTIAL] [P]", "1.3 [P]"], ["1.1", "1.2", "1.3"]),
        (["1.1 [P] | phase 1", "2.1 [P] | phase 2", "2.2 [P] | phase 2"], ["1.1", "2.1 2.2"]),
        (["1.1 [P]", "1.1.1 [FIX 1.1]", "1.2 [P]"], ["1.1 1.2", "1.1.1"]),
        (["1.1 [P]", "1.1.1 [P] [FIX 1.1]", "1.2"], ["1.1", "1.1.1", "1.2"]),
        (["1.1.1 [FIX 1.1]", "1.2 [P]", "1.3 [P]"], ["1.1.1", "1.2 1.3"]),
        (["1.1 [P]", "1.2 [P]", "1.3 [P] | after 1.1", "1.4 [P]"], ["1.1 1.2", "1.3 1.4"]),
    ],
)
def test_adjacent_parallel_tasks_form_a_group(lines: list[str], expected: list[str]) -> None:
    assert groups(planned(*lines)) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["1.1", "1.2 | after 1.1", "1.3"], "1.1 1.2 1.3"),
        (["1.1", "1.2 | after 2.1", "1.3", "2.1"], "1.1 1.3 2.1 1.2"),
        (["1.1", "1.2 | after 2.1", "1.2.1 [FIX 1.2]", "2.1", "2.2"], "1.1 2.1 1.2 1.2.1 2.2"),
        (["1.1 | after 1.2", "1.2 | after 1.3", "1.3"], "1.3 1.2 1.1"),
        (["1.1 (depends on 1.2)", "1.2"], "1.2 1.1"),
    ],
)
def test_tasks_run_in_file_order_unless_they_wait_for_a_later_one(
    lines: list[str], expected: str
) -> None:
    assert order(planned(*lines)) == expected


@pytest.mark.parametrize(
    ("written", "understood"),
    [
        ("1.1", ("1.1",)),
        ("1.1, T001A", ("1.1", "T001A")),
        ("Task 1.1 and `T001A`.", ("1.1", "T001A")),
        ("\n    - 1.1 (schema)\n    - T001A", ("1.1", "T001A")),
        ("1.1; 1.1", ("1.1",)),
        ("2", ("2.",)),
        ("V-P1 & 6.0b", ("V-P1", "6.0b")),
        ("None", ()),
        ("none (can start at once)", ()),
        ("-", ()),
        ("Phase 1", None),
        ("Python 3.12 on the PATH", None),
        ("", None),
        ("whatever comes first", None),
    ],
)
def test_the_depends_on_field_is_read_as_a_person_writes_it(
    written: str, understood: tuple[str, ...] | None
) -> None:
    found = planned("1.1", "T001A", "2.", "V-P1", "6.0b", f"9.1 | after {written}")
    assert found.explicit.get("9.1") == understood
    assert not found.problems


BLOCKED = [
    # tasks, failed, asked, strict, explicit only
    (["1.1", "1.2", "1.3"], "1.1", "1.3", "1.1", None),
    (["1.1", "1.2", "1.3"], "1.2", "1.1", None, None),
    (["1.1", "1.2 | after 1.1", "1.3"], "1.1", "1.2", "1.1", "1.1"),
    (["1.1", "1.2", "1.3 | after 1.1"], "1.2", "1.3", None, None),
    (["1.1", "1.2", "1.3 | after none"], "1.1", "1.3", None, None),
    (["1.1", "1.2 | after 1.1", "1.3 | after 1.2"], "1.1", "1.3", "1.1", "1.1"),
    (["1.1", "1.2", "1.3 | after 1.2"], "1.1", "1.3", "1.1", None),
    (["1.1 [P]", "1.2 [P]", "1.3"], "1.1", "1.2", None, None),
    (["1.1 [P]", "1.2 [P]", "1.3"], "1.2", "1.3", "1.2", None),
    (["1.1", "1.2 | after 2.1", "1.3", "2.1"], "1.3", "1.2", "1.3", None),
    (["1.1", "1.2 | after 2.1", "1.3", "2.1"], "1.2", "2.1", None, None),
    (["1.1", "VE3 [VERIFY] E2E cleanup"], "1.1", "VE3", None, None),
    (["1.1", "5.1 [CLEANUP] stop all | after 1.1"], "1.1", "5.1", None, None),
    (["1.1", "1.3~2 twice", "1.4"], "1.3~2", "1.4", "1.3~2", None),
    (["1.1", "1.2"], "7.7", "1.2", None, None),
    (["1.1", "1.2"], "1.2", "1.2", None, None),
]


@pytest.mark.parametrize(("lines", "failed", "asked", "strict", "explicit"), BLOCKED)
def test_a_failure_blocks_exactly_what_depends_on_it(
    lines: list[str], failed: str, asked: str, strict: str | None, explicit: str | None
) -> None:
    found = planned(*lines)
    wanted = next(each for each in found.order if each.name == asked)
    assert found.blocker(wanted, {failed}) == strict
    assert found.blocker(wanted, {failed}, explicit_only=True) == explicit


def test_a_task_that_passes_after_all_blocks_no_more() -> None:
    found = planned("1.1", "1.2 | after 1.1", "1.3 | after 1.2")
    assert found.blocker(found.order[2], {"1.1"}) == "1.1"
    assert found.blocker(found.order[2], {"1.1", "1.2"}) == "1.1"
    assert found.blocker(found.order[2], {"1.2"}) == "1.2"
    assert found.blocker(found.order[2], ()) is None


def test_a_cycle_is_shown_as_it_goes_round() -> None:
    found = planned("1.1", "2.1 | after 3.1", "3.1 | after 2.1", "4.1 | after 3.1")
    (problem,) = found.problems
    assert (problem.kind, problem.tasks, problem.line) == ("circular_dependency", ("2.1", "3.1"), 2)
    assert problem.message == "circular dependency: 2.1 -> 3.1 -> 2.1"
    assert problem.facts == (
        "Plan contains circular task dependencies:",
        "  Task 2.1 depends on Task 3.1",
        "  Task 3.1 depends on Task 2.1",
    )
    assert problem.resolution == (
        "Resolution:",
        '  Fix the plan\'s "Depends on" fields to remove the cycle.',
        "  Ensure dependencies form a directed acyclic graph (DAG).",
    )
    assert problem.verdict == "Invalid plan"
    assert sorted(each.name for each in found.order) == ["1.1", "2.1", "3.1", "4.1"]
    assert found.blocker(found.order[-1], {"2.1"}) == "2.1"


@pytest.mark.parametrize(
    ("lines", "cycles"),
    [
        (["1.1 | after 1.1"], [("1.1",)]),
        (["1.1 | after 1.2", "1.2 | after 1.3", "1.3 | after 1.1"], [("1.1", "1.2", "1.3")]),
        (
            ["1.1 | after 1.2", "1.2 | after 1.1", "2.1 | after 2.2", "2.2 | after 2.1"],
            [("1.1", "1.2"), ("2.1", "2.2")],
        ),
        (["1.1 | after 1.1.1", "1.1.1 [FIX 1.1]"], []),
    ],
)
def test_every_cycle_is_found_once(lines: list[str], cycles: list[tuple[str, ...]]) -> None:
    assert [problem.tasks for problem in planned(*lines).problems] == cycles


def test_an_unknown_id_makes_the_plan_invalid() -> None:
    (problem,) = planned("1.1", "2.1 | after 1.1, 9.9").problems
    assert problem.kind == "plan_invalid"
    assert problem.message == "task 2.1 depends on 9.9, which is not in the plan"
    assert problem.facts == (
        "Plan names a task that does not exist:",
        "  Task 2.1 depends on Task 9.9",
    )
    assert problem.resolution == (
        "Resolution:",
        '  Fix the "Depends on" field of task 2.1 (line 2), or add task 9.9.',
    )
    assert (problem.verdict, problem.tasks, problem.line) == ("Invalid plan", ("2.1",), 2)


@pytest.mark.parametrize(
    ("lines", "conflicts"),
    [
        (["1.1 [P] | files a.py, b.py", "1.2 [P] | files ./b.py"], [("1.1", "1.2")]),
        (["1.1 [P] | files a.py", "1.2 [P] | files b.py"], []),
        (["1.1 [P] | files a.py", "1.2 | files a.py"], []),
        (["1.1 [P] | files a.py | done", "1.2 [P] | files a.py"], []),
        (["1.1 [P] | files a.py, a.py", "1.2 [P]"], []),
        (["1.1 [P] | files src/, *.py", "1.2 [P] | files src/, *.py"], []),
        (
            ["1.1 [P] | files app/[id]/page.tsx", "1.2 [P] | files app/[id]/page.tsx"],
            [("1.1", "1.2")],
        ),
        (
            ["1.1 [P] | files a.py", "1.2 [P] | files a.py", "1.3 [P] | files a.py"],
            [("1.1", "1.2", "1.3")],
        ),
    ],
)
def test_two_tasks_of_a_group_naming_one_file_are_in_conflict(
    lines: list[str], conflicts: list[tuple[str, ...]]
) -> None:
    problems = planned(*lines).problems
    assert [problem.tasks for problem in problems] == conflicts
    assert {problem.kind for problem in problems} <= {"file_conflict"}


@pytest.mark.parametrize(
    ("count", "listed", "shown", "more"),
    [
        (2, "1.1 and 1.2", 2, ""),
        (4, "1.1, 1.2, 1.3 and 1.4", 4, ""),
        (5, "1.1, 1.2 and 3 more", 5, ""),
        (10, "1.1, 1.2 and 8 more", 10, ""),
        (12, "1.1, 1.2 and 10 more", 10, "  … 2 more"),
    ],
)
def test_a_conflict_of_many_names_a_few(count: int, listed: str, shown: int, more: str) -> None:
    (problem,) = planned(
        *(f"1.{number} [P] | files a.py" for number in range(1, count + 1))
    ).problems
    assert problem.message == f"parallel tasks {listed} name the same file: a.py"
    assert (problem.line, problem.verdict) == (1, "Parallel conflict")
    assert problem.facts[:2] == ("Parallel tasks modify the same file:", "  File: a.py")
    assert problem.resolution == (
        "Resolution options:",
        "1. Manually merge the changes",
        "2. Modify plan to make these tasks sequential",
        "3. Split the shared file to avoid conflicts",
    )
    assert [fact for fact in problem.facts if fact.startswith("  Task")] == [
        f"  Task 1.{number} names it (line {number})" for number in range(1, shown + 1)
    ]
    assert problem.facts[-1] == more or not more


@pytest.mark.parametrize(
    ("line", "startup", "cleanup"),
    [
        ("VE1 [VERIFY] start the server", True, False),
        ("VE1 [VERIFY] E2E startup: dev server", True, False),
        ("4.1 E2E startup", True, False),
        ("VE2 [VERIFY] E2E check", False, False),
        ("VE3 [VERIFY] stop the server", False, True),
        ("VE3 [VERIFY] E2E check: second flow", False, False),
        ("VE5 [VERIFY] E2E cleanup", False, True),
        ("4.9 E2E tear-down", False, True),
        ("4.9 [CLEANUP] remove the database", False, True),
        ("4.9 Clean up the imports", False, False),
        ("3.1 E2E tests for the login", False, False),
    ],
)
def test_e2e_tasks_are_known_by_title_mark_or_id(line: str, startup: bool, cleanup: bool) -> None:
    assert is_e2e_startup(task(line)) is startup
    assert is_e2e_cleanup(task(line)) is cleanup


@pytest.mark.parametrize(
    "depends", ["", "| after {0}", "| after 0.0"], ids=["plain", "chain", "star"]
)
@pytest.mark.parametrize("marker", ["", "[P]"])
def test_ten_thousand_tasks_take_time_in_proportion(depends: str, marker: str) -> None:
    def seconds(count: int) -> float:
        lines = [
            "0.0",
            *(
                f"0.{n} {marker} {depends.format(f'0.{n - 1}')} | files f{n}"
                for n in range(1, count)
            ),
        ]
        tasks = [task(line, number) for number, line in enumerate(lines, 1)]
        started = time.process_time()
        found = plan(tasks)
        failed: set[str] = set()
        for each in found.order:
            found.blocker(each, failed, explicit_only=True)
            if int(each.id[2:]) % 10 == 0:
                failed.add(each.name)
        return time.process_time() - started

    small = min(seconds(1_000) for _ in range(3))
    large = min(seconds(10_000) for _ in range(2))
    assert large < 40 * small + 0.1
