"""A worker killed in the middle of a task: nothing lost, run twice or left behind."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.integration.blocks import numbered, spec, task
from tests.integration.processes import left_in, run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import SpecMaker

RAN = 'echo "$RALPH_SPEC $RALPH_TASK_ID" >> ran.txt'
KILL = f"{RAN}; kill -9 $PPID; sleep 60"


def ran(root: Path) -> Counter[str]:
    return Counter((root / "ran.txt").read_text().splitlines())


def reported(junit: Path) -> dict[str, str]:
    """`spec task` → outcome, from the properties; every test case counts once."""
    told = {}
    for case in ET.parse(junit).iter("testcase"):
        properties = {found.get("name"): found.get("value") for found in case.iter("property")}
        name = f"{properties['ralph.spec']} {properties['ralph.task']}"
        assert name not in told
        told[name] = str(properties["ralph.outcome"])
    return told


def test_what_was_done_stays_what_depends_is_blocked_and_the_rest_runs(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    tasks = [
        task("1.1 Done", RAN),
        task("1.2 Deadly", KILL),
        task("1.3 Needs it", RAN, depends_on="1.2"),
        task("1.4 Needs nothing", RAN),
    ]
    make_spec(spec(*tasks), name="a")
    make_spec(numbered(3, RAN), name="b")

    code, output = run(pytester.path, "--ralph", "-n2", "--junitxml=junit.xml", "-rs", "specs")

    assert code == 1
    assert "1 failed, 5 passed, 1 blocked" in output
    assert re.search(r"worker 'gw\d' crashed while running 'specs/a/tasks.md::1.2'", output)
    assert "blocked by 1.2" in output
    assert ran(pytester.path) == Counter(["a 1.1", "a 1.2", "a 1.4", "b 1.1", "b 1.2", "b 1.3"])
    assert reported(pytester.path / "junit.xml") == {
        "a 1.1": "passed",
        "a 1.2": "failed",
        "a 1.3": "blocked",
        "a 1.4": "passed",
        "b 1.1": "passed",
        "b 1.2": "passed",
        "b 1.3": "passed",
    }
    assert left_in(pytester.path) == []


def test_in_a_group_what_has_ended_keeps_its_result_and_what_was_running_is_told_to_have_crashed(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    """When 1.3 kills the worker, 1.2 passed unreported, 1.1 and 1.4 run, 1.5 has not begun."""
    wait = "until [ $(wc -l < ran.txt) -eq 4 ]; do sleep 0.02; done"
    tasks = [
        task("1.1 [P] Slow", f"{RAN}; sleep 60"),
        task("1.2 [P] Quick", RAN),
        task("1.3 [P] Deadly", f"{RAN}; {wait}; sleep 0.3; kill -9 $PPID; sleep 60"),
        task("1.4 [P] Slow too", f"{RAN}; sleep 60"),
        task("1.5 [P] Waiting", f"test $(grep -c 'a 1.3' ran.txt) -eq 1; {RAN}"),
        task("2.1 After", RAN, depends_on="1.4"),
    ]
    make_spec(spec(*tasks).replace("1.5 [P]", "1.5 [P]"), name="a")

    code, output = run(
        pytester.path,
        "--ralph",
        "-n1",
        "--ralph-jobs=4",
        "--junitxml=junit.xml",
        "-k",
        "not Waiting",
        "specs",
    )

    assert code == 1
    assert ran(pytester.path) == Counter(["a 1.1", "a 1.2", "a 1.3", "a 1.4"]), output
    assert reported(pytester.path / "junit.xml") == {
        "a 1.1": "failed",
        "a 1.2": "passed",
        "a 1.3": "failed",
        "a 1.4": "failed",
        "a 2.1": "blocked",
    }
    assert output.count("crashed while running it") >= 2
    assert left_in(pytester.path) == []


def test_the_worker_that_takes_over_collects_what_the_controller_saw_whatever_the_file_says_by_then(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    """Fix tasks were put into tasks.md before the worker died; the run is in recovery mode."""
    tasks = [
        task("1.1 Broken", f"{RAN}; test -e fixed"),
        task("1.2 Deadly", KILL),
        task("1.3 Free", RAN, depends_on="1.1"),
    ]
    path = make_spec(spec(*tasks), name="a")

    code, output = run(
        pytester.path,
        "--ralph-recovery",
        "--ralph-executor=touch fixed",
        "-n1",
        "-vv",
        "--junitxml=junit.xml",
        "specs",
    )

    assert code == 1
    assert "1 failed, 1 passed, 1 recovered" in output
    assert ran(pytester.path) == Counter({"a 1.1": 2, "a 1.2": 1, "a 1.3": 1})
    assert re.findall(r"^- \[(.)\] (\S+)", path.read_text(), re.MULTILINE) == [
        ("x", "1.1"),
        ("x", "1.1.1"),
        (" ", "1.2"),
        ("x", "1.3"),
    ]
    assert "RALPH HALTED" in output
    assert "Error: crash" in output
    state = json.loads((path.parent / ".ralph-state.json").read_text())
    assert state["fixTaskMap"]["1.1"]["fixTaskIds"] == ["1.1.1"]


@pytest.mark.parametrize(
    ("verify", "outcome"), [(RAN, "passed"), (f"{RAN}; test -e fixed", "recovered")]
)
def test_a_task_that_was_checked_off_when_its_worker_died_is_told_as_what_it_had_become(
    pytester: pytest.Pytester, make_spec: SpecMaker, verify: str, outcome: str
) -> None:
    path = make_spec(spec(task("1.1 First", verify), task("1.2 Second", RAN)), name="a")
    pytester.makeconftest("""
        import os
        from pytest_ralph.healing.takeover_log import TakeoverLog

        ended = TakeoverLog.ended

        def deadly(self, name, result):
            if name == "1.1":
                os.kill(os.getpid(), 9)
            ended(self, name, result)

        TakeoverLog.ended = deadly
    """)

    run(
        pytester.path,
        "--ralph-recovery",
        "--ralph-executor=touch fixed",
        "-n1",
        "--junitxml=junit.xml",
        "specs",
    )

    assert "- [x] 1.1" in path.read_text()
    assert reported(pytester.path / "junit.xml") == {"a 1.1": outcome, "a 1.2": "passed"}


def test_a_test_of_python_that_kills_its_worker_is_not_run_again_either(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(numbered(2, RAN), name="a")
    pytester.makepyfile(
        test_deadly="""
        import os

        def test_deadly():
            os.system("echo deadly >> ran.txt")
            os.kill(os.getpid(), 9)

        def test_after():
            os.system("echo after >> ran.txt")
        """
    )

    code, output = run(pytester.path, "--ralph", "-n1", "test_deadly.py", "specs")

    assert code == 1
    assert "1 failed, 3 passed" in output
    assert ran(pytester.path) == Counter(["deadly", "after", "a 1.1", "a 1.2"])


@pytest.mark.parametrize(
    ("moment", "when"),
    [
        ("pytest_runtest_call(item)", "True"),
        ("pytest_runtest_makereport(item, call)", "call.when == 'call'"),
        ("pytest_runtest_teardown(item)", "True"),
    ],
    ids=["before it is begun", "before it is reported", "after it is reported"],
)
def test_a_worker_that_dies_around_a_task_and_not_in_it_costs_nothing(
    pytester: pytest.Pytester, make_spec: SpecMaker, moment: str, when: str
) -> None:
    make_spec(numbered(3, RAN), name="a")
    pytester.makeconftest(
        f"""
        import os, pathlib, pytest

        @pytest.hookimpl(tryfirst=True)
        def {moment}:
            if item.name == "1.2" and {when} and not pathlib.Path("died").exists():
                pathlib.Path("died").touch()
                os.kill(os.getpid(), 9)
        """
    )

    code, output = run(pytester.path, "--ralph", "-n1", "--junitxml=junit.xml", "specs")

    assert (pytester.path / "died").exists()
    assert code == 0, output
    assert "3 passed" in output
    assert ran(pytester.path) == Counter(["a 1.1", "a 1.2", "a 1.3"])
    assert reported(pytester.path / "junit.xml") == {
        "a 1.1": "passed",
        "a 1.2": "passed",
        "a 1.3": "passed",
    }


def test_a_worker_that_dies_when_a_task_is_checked_off_takes_its_success_not_with_it(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    path = make_spec(numbered(3, RAN), name="a")
    pytester.makeconftest(
        """
        import os
        from pytest_ralph.healing.spec_files import SpecFiles

        passed = SpecFiles.passed

        def passed_and_killed(self, task):
            passed(self, task)
            if task.id == "1.2":
                os.kill(os.getpid(), 9)

        SpecFiles.passed = passed_and_killed
        """
    )

    code, output = run(pytester.path, "--ralph-recovery", "-n1", "--junitxml=junit.xml", "specs")

    assert code == 0, output
    assert "3 passed" in output
    assert "ALL_TASKS_COMPLETE: a" in output
    assert ran(pytester.path) == Counter(["a 1.1", "a 1.2", "a 1.3"])
    assert reported(pytester.path / "junit.xml") == {
        "a 1.1": "passed",
        "a 1.2": "passed",
        "a 1.3": "passed",
    }
    assert path.read_text().count("- [x]") == 3
