"""A failure that passes again with nothing changed is flaky: no fix task, no executor."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project


def failing_at_first(project: Project, printed: str, times: int = 1) -> None:
    """One task whose Verify prints this and fails as often as `times`, and then passes."""
    project.write("out.txt", printed + "\n")
    project.write(
        "check.sh",
        f"echo run >> runs.txt; [ $(wc -l < runs.txt) -gt {times} ] || {{ cat out.txt; exit 1; }}",
    )
    project.spec("- [ ] 1.1 Work\n  - **Verify**: `sh check.sh`\n")


def runs(project: Project) -> int:
    return len((project.root / "runs.txt").read_text().split())


ASSERTION = "AssertionError: Expected 200 but got 404"


def test_a_flaky_test_costs_nothing(project: Project) -> None:
    failing_at_first(project, ASSERTION)
    result = project.run("-v", "--junitxml", "junit.xml", executor=project.shell("true"))

    assert result.ret == 0
    assert project.calls == []
    assert project.boxes == {"1.1": True}
    result.stdout.fnmatch_lines(["*1.1*FLAKY*"])
    junit = (project.root / "junit.xml").read_text()
    assert '<property name="ralph.outcome" value="flaky"' in junit
    assert junit.count("<flakyFailure") == 1
    assert project.history("outcome", "what = 'verify'") == ["failed", "flaky"]
    assert "fix" not in project.progress.lower()


def test_without_an_executor_no_fix_task_is_left(project: Project) -> None:
    failing_at_first(project, ASSERTION)

    assert project.run().ret == 0
    assert project.boxes == {"1.1": True}


def test_a_service_gets_some_seconds(project: Project) -> None:
    failing_at_first(project, "Error: connect ECONNREFUSED 127.0.0.1:5432")
    started = time.monotonic()

    assert project.run(executor=project.shell("true")).ret == 0
    assert project.calls == []
    assert time.monotonic() - started > 2


@pytest.mark.parametrize(
    ("option", "ends"),
    [
        ("--ralph-wait=0", "echo 'Invalid API key · Please run /login'; exit 1"),
        ("--ralph-budget=1", ""),
    ],
    ids=["no executor left", "no run left"],
)
def test_a_flaky_task_needs_no_executor(project: Project, option: str, ends: str) -> None:
    failing_at_first(project, ASSERTION)
    first = "- [ ] 1.0 First\n  - **Verify**: `grep -q done README.md`\n"
    project.spec(first + project.tasks.read_text())
    executor = project.shell(ends)
    result = project.run(option, "--ralph-keep-going", "--ralph-max-fixes=1", executor=executor)

    assert result.ret == 1
    assert project.calls == ["1.0.1"]
    assert project.boxes["1.1"]
    result.stdout.fnmatch_lines(["FLAKY demo 1.1*"])


def test_the_probe_is_not_an_attempt(project: Project) -> None:
    failing_at_first(project, ASSERTION, times=2)
    result = project.run("--junitxml", "junit.xml", executor=project.shell("true"))

    assert result.ret == 0
    assert project.calls == ["1.1.1"]
    assert runs(project) == 3
    junit = (project.root / "junit.xml").read_text()
    assert '<property name="ralph.attempts" value="2"' in junit


@pytest.mark.parametrize("printed", ["grep: nothing found", "error: Found 3 lint errors"])
def test_what_cannot_pass_unchanged_is_not_probed(project: Project, printed: str) -> None:
    project.write("out.txt", printed + "\n")
    project.spec("- [ ] 1.1 Work\n  - **Verify**: `echo run >> runs.txt; grep -q fixed out.txt`\n")
    project.run("--ralph-max-fixes", "1", executor=project.shell("true"))

    assert runs(project) == 2


def test_statistics_count_a_flaky_task_as_passed(project: Project) -> None:
    failing_at_first(project, ASSERTION)
    project.repository()
    project.run(executor=project.shell("true"))
    result = project.pytester.runpytest("--ralph-stats=json")
    statistics = json.loads(result.stdout.str())

    assert statistics["runs"][0]["failed"] == 0
    assert [task["task"] for task in statistics["flaky"]] == ["1.1"]
    assert statistics["by_executor"] == []


def test_work_of_a_sibling_is_a_change(project: Project) -> None:
    project.write("code.txt", "broken\n")
    project.write("quick.sh", f"grep -q fixed code.txt || {{ echo '{ASSERTION}'; exit 1; }}")
    project.write("slow.sh", "sh quick.sh && exit; sleep 1; sh quick.sh")
    project.spec(
        "- [ ] 1.1 [P] Slow\n  - **Verify**: `sh slow.sh`\n"
        "- [ ] 1.2 [P] Quick\n  - **Verify**: `sh quick.sh`\n"
    )
    executor = project.shell("echo fixed > code.txt")
    result = project.run("-v", "--ralph-jobs=2", executor=executor)

    assert result.ret == 0
    assert project.calls == ["1.2.1"]
    result.stdout.fnmatch_lines(["*::1.1 RECOVERED*", "*passes since code.txt was changed*"])
    result.stdout.no_fnmatch_line("*FLAKY*")
