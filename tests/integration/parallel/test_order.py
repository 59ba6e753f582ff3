"""The order of tasks, whatever was selected or shuffled; plans that cannot be carried out."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from tests.integration.blocks import spec, task

if TYPE_CHECKING:
    from tests.conftest import SpecMaker


def ran(pytester: pytest.Pytester) -> list[str]:
    """The ids of tasks in the order their commands ran."""
    path = pytester.path / "ran.txt"
    return path.read_text().split() if path.exists() else []


def noted(heading: str, **fields: str) -> str:
    """A task whose command notes its id."""
    return task(heading, "echo $RALPH_TASK_ID >> ran.txt", **fields)


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ([noted("1.1 A"), noted("1.2 B"), noted("1.3 C")], "1.1 1.2 1.3"),
        ([noted("1.1 A", depends_on="1.3"), noted("1.2 B"), noted("1.3 C")], "1.2 1.3 1.1"),
        ([noted("1.1 A"), noted("1.2 B", depends_on="1.1, 2.1"), noted("2.1 C")], "1.1 2.1 1.2"),
        ([noted("1.1 A (depends on 1.2)"), noted("1.2 B")], "1.2 1.1"),
    ],
    ids=["file order", "forward", "both ways", "in the title"],
)
def test_tasks_run_in_file_order_except_where_one_depends_on_a_later_one(
    pytester: pytest.Pytester, make_spec: SpecMaker, tasks: list[str], expected: str
) -> None:
    make_spec(spec(*tasks))

    result = pytester.runpytest("--ralph", "specs")

    result.assert_outcomes(passed=len(tasks))
    assert " ".join(ran(pytester)) == expected


SHUFFLED = """
    import pytest

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(items):
        items.reverse()
"""


def test_an_order_made_by_another_plugin_holds_between_specs_and_not_within_one(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    for name in ("a", "b"):
        make_spec(
            spec(*(noted(f"1.{n} T").replace("$RALPH_TASK_ID", f"{name}{n}") for n in (1, 2, 3))),
            name=name,
        )
    pytester.makepyfile(
        test_plain="import os\ndef test_plain(): assert os.system('echo plain >> ran.txt') == 0"
    )
    pytester.makeconftest(SHUFFLED)

    pytester.runpytest("--ralph", "specs", "test_plain.py").assert_outcomes(passed=7)

    assert ran(pytester) == ["plain", "b1", "b2", "b3", "a1", "a2", "a3"]


def test_failed_first_does_not_turn_the_order_of_a_spec_round(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(spec(noted("1.1 A"), task("1.2 B", "echo 1.2 >> ran.txt; false"), noted("1.3 C")))
    pytester.runpytest("--ralph", "specs")
    (pytester.path / "ran.txt").unlink()

    pytester.runpytest("--ralph", "--ff", "specs")

    assert ran(pytester) == ["1.1", "1.2", "1.3"]


def test_a_selection_keeps_the_order_and_misses_nothing_it_did_not_select(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(
        spec(
            noted("1.1 Apple", depends_on="1.4"),
            noted("1.2 Pear"),
            noted("1.3 Plum"),
            noted("1.4 Apple"),
        )
    )

    pytester.runpytest("--ralph", "-k", "Apple", "specs").assert_outcomes(passed=2, deselected=2)

    assert ran(pytester) == ["1.4", "1.1"]


TOGETHER = "echo start >> ran.txt; sleep 0.3; echo end >> ran.txt"


@pytest.mark.parametrize(
    ("headings", "expected"),
    [
        (["1.1 [P] A", "1.2 [P] B"], "start start end end"),
        (["1.1 [P] A", "1.2 B"], "start end start end"),
        (["1.1 [P] A", "1.2 [P] [SEQUENTIAL] B"], "start end start end"),
        (["1.1 [P] A", "1.2 [VERIFY] B", "1.3 [P] C"], "start end start end start end"),
    ],
    ids=["group", "no mark", "sequential", "verify"],
)
def test_adjacent_parallel_tasks_run_at_once(
    pytester: pytest.Pytester, make_spec: SpecMaker, headings: list[str], expected: str
) -> None:
    make_spec(spec(*(task(heading, TOGETHER) for heading in headings)))

    pytester.runpytest("--ralph", "--ralph-jobs=4", "specs").assert_outcomes(passed=len(headings))

    assert " ".join(ran(pytester)) == expected


CYCLE = """
    ERROR: circular_dependency (NON-RETRYABLE)
    ==========================================

    Plan contains circular task dependencies:
      Task 1.1 depends on Task 1.2
      Task 1.2 depends on Task 1.1

    RALPH CANNOT PROCEED

    Resolution:
      Fix the plan's "Depends on" fields to remove the cycle.
      Ensure dependencies form a directed acyclic graph (DAG).

    [HALTED - Invalid plan]
"""
UNKNOWN = """
    ERROR: plan_invalid (NON-RETRYABLE)
    ===================================

    Plan names a task that does not exist:
      Task 1.2 depends on Task 9.9

    RALPH CANNOT PROCEED
"""
CONFLICT = """
    ERROR: file_conflict (NON-RETRYABLE)
    ====================================

    Parallel tasks modify the same file:
      File: src/api/routes.ts
      Task 1.1 names it (line 3)
      Task 1.2 names it (line 8)

    RALPH CANNOT PROCEED

    Resolution options:
    1. Manually merge the changes
    2. Modify plan to make these tasks sequential
    3. Split the shared file to avoid conflicts

    [HALTED - Parallel conflict]
"""
CYCLIC = spec(noted("1.1 A", depends_on="1.2"), noted("1.2 B", depends_on="1.1"))
DANGLING = spec(noted("1.1 A"), noted("1.2 B", depends_on="9.9"))
CONFLICTING = spec(*(noted(f"1.{n} [P] T", files="`src/api/routes.ts`") for n in (1, 2)))


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        (CYCLIC, "--ralph", CYCLE),
        (CYCLIC, "--ralph-recovery", CYCLE),
        (DANGLING, "--ralph", UNKNOWN),
        (CONFLICTING, "--ralph-recovery", CONFLICT),
    ],
    ids=["cycle, verifying", "cycle", "unknown id", "file conflict"],
)
def test_an_impossible_plan_is_a_collection_error(
    pytester: pytest.Pytester, make_spec: SpecMaker, text: str, mode: str, said: str
) -> None:
    before = make_spec(text).read_bytes()

    result = pytester.runpytest(mode, "specs")

    assert result.ret == 1
    assert dedent(said).strip() in result.stdout.str()
    assert "Traceback" not in result.stderr.str() + result.stdout.str()
    assert ran(pytester) == []
    assert (pytester.path / "specs/demo/tasks.md").read_bytes() == before
    assert not (pytester.path / "specs/demo/.ralph-state.json").exists()


def test_where_nothing_is_written_a_file_conflict_is_a_warning(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(CONFLICTING)

    result = pytester.runpytest("--ralph", "-W", "default", "specs")

    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(
        ["*RalphWarning: parallel tasks 1.1 and 1.2 name the same file: src/api/routes.ts"]
    )


def test_a_file_conflict_is_refused_where_an_executor_is_to_do_the_tasks(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(CONFLICTING)

    result = pytester.runpytest("--ralph", "--ralph-execute", "--ralph-executor", "true", "specs")

    assert result.ret == 1
    assert "file_conflict (NON-RETRYABLE)" in result.stdout.str()
