"""The controller collects results, lineage, history, notes, warnings and halts of workers."""

from __future__ import annotations

import re
import shlex
import sqlite3
import sys
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pexpect
import pytest

from tests.integration.blocks import numbered, spec, task
from tests.integration.processes import run, start, wait_for

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

RECOVERED = spec(
    task("1.1 Broken", "test -e fixed.$RALPH_SPEC"),
    task("1.2 [P] Fine", "true"),
    task("1.3 [P] Fine", "true"),
)
FIXER = 'touch "fixed.$(basename $RALPH_SPEC_PATH)"'


def test_recovery_in_workers_is_told_as_if_there_were_none(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    paths = [make_spec(RECOVERED, name=name) for name in ("a", "b")]
    make_spec(spec(task("1.1 Hopeless", "false"), task("1.2 After", "true")), name="c")

    code, output = run(
        pytester.path,
        *(
            "--ralph-recovery",
            "--ralph-executor",
            FIXER,
            "-n2",
            "--junitxml=junit.xml",
            "--ralph-report=r.html",
        ),
        "specs",
    )

    assert code == 1, output
    assert "1 failed, 4 passed, 2 recovered, 1 blocked" in output
    assert output.count("- Task 1.1: 1 fix attempted (1.1.1) - Final: PASS") == 2
    assert output.count("ALL_TASKS_COMPLETE") == 2
    assert output.count("RALPH HALTED") == 1
    assert all(path.read_text().count("- [x]") == 4 for path in paths)
    cases = list(ET.parse(pytester.path / "junit.xml").iter("testcase"))
    assert len(cases) == 8
    assert len(list(ET.parse(pytester.path / "junit.xml").iter("flakyFailure"))) == 2
    connection = sqlite3.connect(pytester.path / ".ralph/history.db")
    runs, verifications = connection.execute(
        "select count(distinct run), count(*) from attempts where what = 'verify'"
    ).fetchone()
    connection.close()
    assert runs == 1
    # What passed is verified again if it may be affected by a fix in the other spec.
    assert verifications >= 2 * 4 + 2
    assert (pytester.path / "r.html").stat().st_size > 10_000
    assert list((pytester.path / ".ralph/runs").iterdir()) == []


def test_notes_and_warnings_are_told_once_however_many_workers_have_them(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(spec(task("1.1 A", "true"), task("1.1 Twice", "true")), name="a")
    make_spec(numbered(2, "true"), name="b")
    (pytester.path / "specs/b/.ralph-state.json").write_text(
        '{"recoveryMode": true, "taskResults": {"1.1": {"status": "running"}}}'
    )

    code, output = run(pytester.path, "--ralph", "-o", "ralph_recovery=state", "-n3", "specs")

    assert code == 0, output
    assert output.count("duplicate id 1.1") == 1
    assert output.count("continuing where 1.1 stopped in an interrupted run") == 1
    assert "4 passed, 1 warning" in output


def test_recovery_that_is_off_is_named_once(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(numbered(2, "true"))
    (pytester.path / "specs/demo/.ralph-state.json").write_text('{"recoveryMode": true}')

    code, output = run(pytester.path, "--ralph", "-n2", "specs")

    assert code == 0, output
    assert output.count("ralph: specs/demo/tasks.md: recovery is off although") == 1


def test_explain_needs_no_workers(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(spec(task("1.1 Broken", "touch ran; false")))

    code, output = run(pytester.path, "--ralph-explain", "-n2", "specs")

    assert code == 0, output
    assert output.count("check 1: touch ran; false") == 1
    assert not (pytester.path / "ran").exists()


def test_batches_are_shown_in_detail_by_workers(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(spec(task("2.1 [P] A", "test -e fixed"), task("2.2 [P] B", "sleep 2")))

    code, output = run(
        pytester.path,
        "--ralph-recovery",
        "--ralph-executor=touch fixed",
        "-n1",
        "-vv",
        "--ralph-jobs=2",
        "specs",
    )

    assert code == 0, output
    assert output.count("PARALLEL BATCH - PARTIAL FAILURE\n================================\n") == 1
    assert output.count("Initiating retry for Task 2.1...") == 1


def test_one_budget_is_shared_by_all_workers(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    for name in "abcd":
        make_spec(numbered(2, "false"), name=name)

    run(
        pytester.path,
        *(
            "--ralph-recovery",
            "--ralph-executor=echo . >> calls.txt",
            "--ralph-budget=5",
            "--ralph-keep-going",
            "-n2",
        ),
        "specs",
    )

    assert (pytester.path / "calls.txt").read_text().count(".") == 5


@pytest.mark.parametrize("option", ["-x", "--maxfail=1"])
def test_a_failure_in_one_worker_stops_the_others_too(
    pytester: pytest.Pytester, make_spec: SpecMaker, option: str
) -> None:
    make_spec(
        spec(task("1.1 Bad", "sleep 0.3; false"), *(task(f"1.{n} T", "true") for n in (2, 3))),
        name="a",
    )
    make_spec(numbered(30, "echo b >> ran.txt; sleep 0.2"), name="b")

    code, output = run(pytester.path, "--ralph", "-n2", option, "specs")

    assert code in (1, 2), output
    assert "1 failed" in output
    assert (pytester.path / "ran.txt").read_text().count("b") < 20


def test_a_missing_executor_is_reported_by_the_controller(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    executor = "---\nralph:\n  executor: no-such-agent-anywhere\n---\n# Tasks"
    make_spec(numbered(1, "true").replace("# Tasks", executor))
    make_spec(numbered(2, "touch ran.txt"), name="b")

    code, output = run(pytester.path, "--ralph-recovery", "-n2", "specs")

    assert code == 4, output
    assert "ERROR: " in output
    assert "Traceback" not in output
    assert "INTERNALERROR" not in output
    assert not (pytester.path / "ran.txt").exists()


def test_an_impossible_plan_stops_only_its_spec(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(
        spec(task("1.1 A", "true", depends_on="1.2"), task("1.2 B", "true", depends_on="1.1"))
    )
    make_spec(numbered(2, "touch ran.txt"), name="b")

    code, output = run(pytester.path, "--ralph", "-n2", "specs")

    assert code == 1, output
    assert "circular_dependency (NON-RETRYABLE)" in output
    assert "INTERNALERROR" not in output
    assert (pytester.path / "ran.txt").exists()


def test_a_spec_held_by_another_run_is_refused_in_one_line(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(numbered(1, "touch started; until [ -e stop ]; do sleep 0.05; done"))
    holder = start(pytester.path, "--ralph", "specs")
    wait_for((pytester.path / "started").exists)

    code, output = run(pytester.path, "--ralph", "-n2", "specs")

    (pytester.path / "stop").touch()
    holder.communicate(timeout=60)
    assert code == 4
    (line,) = re.findall(r"^ERROR: .*", output, re.MULTILINE)
    assert line.startswith(
        f"ERROR: specs/demo/tasks.md is being worked on by another run (pid {holder.pid}, since "
    )
    assert "Traceback" not in output


def test_a_spec_that_is_not_selected_is_not_held(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(numbered(2, "true"), name="a")
    make_spec(spec(task("1.1 A", "true", depends_on="1.1")), name="b")

    code, output = run(pytester.path, "--ralph", "-n1", "--ignore=specs/b", "specs")

    assert code == 0, output
    assert "2 passed" in output


def test_questions_cannot_be_asked_from_workers(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(numbered(1, "true"))
    command = shlex.join(
        [sys.executable, "-m", "pytest", "--ralph-recovery", "--ralph-interactive", "-n1", "specs"]
    )

    terminal = pexpect.spawn(command, cwd=str(pytester.path), encoding="utf-8", timeout=60)
    output = terminal.read()
    terminal.close()

    assert terminal.exitstatus == 4, output
    assert (
        "ERROR: --ralph-interactive needs the terminal, which workers do not have: leave out -n"
        in output
    )
    assert "Traceback" not in output
