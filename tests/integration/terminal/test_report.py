"""`--ralph-report`: a page about a real run, or one note about why there is none."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.history.store import History
from tests.integration.blocks import spec, task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import SpecMaker


@pytest.fixture(autouse=True)
def _project(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    """A task that a built-in repair recovers, and one that passes."""
    pytester.makeini("[pytest]")
    make_spec(spec(task("1.1 Run <it>", "./run.sh"), task("1.2 Pass", "test -d specs")))
    script = pytester.path / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o644)


def run(pytester: pytest.Pytester, report: str, *args: str) -> pytest.RunResult:
    return pytester.runpytest("--ralph-recovery", "specs", f"--ralph-report={report}", *args)


def tasks(page: Path) -> Any:
    """The tasks a page tells of, by id."""
    found = re.search(
        r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page.read_text(), re.DOTALL
    )
    assert found is not None
    return {one["id"]: one for one in json.loads(found[1])["tasks"]}


def test_the_page_tells_of_the_run_its_fixes_and_its_notes(pytester: pytest.Pytester) -> None:
    result = run(pytester, "out.html", "--ralph-fresh")
    result.stdout.fnmatch_lines(["ralph: report: out.html"])
    told = tasks(pytester.path / "out.html")
    assert told["1.1"]["outcome"] == "recovered"
    assert [fix["id"] for fix in told["1.1"]["fixes"]] == ["1.1.1"]
    assert told["1.1"]["fixes"][0]["executor"] == "repair:chmod"
    page = (pytester.path / "out.html").read_text()
    assert "Run <it>" not in page
    assert "All 2 tasks pass" in page


def test_earlier_runs_are_charted_and_notes_shown(pytester: pytest.Pytester) -> None:
    run(pytester, "out.html")
    assert "Recovery rate" not in (pytester.path / "out.html").read_text()
    (pytester.path / "run.sh").chmod(0o644)
    result = run(pytester, "out.html", "--ralph-fresh")
    result.stdout.fnmatch_lines(["ralph: demo: state moved aside to *"])
    page = (pytester.path / "out.html").read_text()
    assert "state moved aside to" in page
    assert "Recovery rate" in page
    assert "permission_denied" in page


def test_directories_on_the_way_are_made(pytester: pytest.Pytester) -> None:
    run(pytester, "build/reports/out.html")
    assert tasks(pytester.path / "build/reports/out.html").keys() == {"1.1", "1.2"}


def test_a_path_is_seen_from_where_pytest_was_called(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pytester.mkdir("below"))
    result = pytester.runpytest("--ralph-recovery", "../specs", "--ralph-report=out.html")
    result.stdout.fnmatch_lines(["ralph: report: out.html"])
    assert (pytester.path / "below" / "out.html").exists()


@pytest.mark.parametrize("report", ["specs", "run.sh/out.html", "nul\0.html"])
def test_a_page_that_cannot_be_written_is_one_note_and_no_failure(
    pytester: pytest.Pytester, report: str
) -> None:
    result = run(pytester, report)
    assert result.ret == 0
    header, *notes = [line for line in result.outlines if line.startswith("ralph: ")]
    assert header.startswith("ralph: recovery")
    assert len(notes) == 1
    assert notes[0].startswith("ralph: the report could not be written: ")


def test_workers_tell_the_one_page_of_the_controller(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    pytest.importorskip("xdist")
    make_spec(spec(task("2.1 Other", "test -d specs")), name="other")
    result = run(pytester, "out.html", "-n2")
    assert result.ret == 0
    assert tasks(pytester.path / "out.html").keys() == {"1.1", "1.2", "2.1"}
    assert sum("report: out.html" in line for line in result.outlines) == 1


@pytest.mark.parametrize(("setting", "kept"), [("100", 61), ("30", 30)])
def test_as_many_logs_are_kept_as_set(
    pytester: pytest.Pytester, make_spec: SpecMaker, setting: str, kept: int
) -> None:
    make_spec(t1_1="echo out")
    pytester.makeini(f"[pytest]\nralph_keep_logs = {setting}")
    logs = pytester.path / ".ralph" / "logs"
    for number in range(60):
        old = logs / f"20240101-0000{number:02}-0000abcd"
        old.mkdir(parents=True)
        os.utime(old, (number, number))
    assert pytester.runpytest("--ralph", "specs/demo").ret == 0
    assert len(list(logs.iterdir())) == kept


def test_old_attempts_leave_the_history(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_spec(t1_1="true", t1_2="true", t1_3="true")
    monkeypatch.setattr(History.prune, "__defaults__", (2,))
    assert pytester.runpytest_inprocess("--ralph", "specs/demo").ret == 0
    with History(pytester.path / ".ralph" / "history.db") as history:
        assert [record.task for record in history.records()] == ["1.2", "1.3"]


def test_a_malformed_number_of_logs_to_keep_is_one_line(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nralph_keep_logs = many")
    result = pytester.runpytest("--ralph", "specs")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: ralph_keep_logs (ini file): expected a whole number, 0 or more, got 'many'"]
    )
