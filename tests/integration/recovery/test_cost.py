"""What executors cost is in every report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

# Claude's result event; the first run fails after it was paid for.
AGENT = """\
    #!/bin/sh
    cat > /dev/null
    echo run >> runs.txt
    [ $(wc -l < runs.txt) = 2 ] && echo fixed > parser.txt
    echo '{"type": "result", "subtype": "success", "is_error": false, "result": "TASK_COMPLETE",
     "total_cost_usd": 0.25, "usage": {"input_tokens": 100, "output_tokens": 20}}' | tr -d '\\n'
"""


@pytest.fixture
def paid(one_task: Project) -> Project:
    one_task.write("agent", AGENT).chmod(0o755)
    one_task.write("pytest.ini", "[pytest]\nralph_executor_program = ./agent\n")
    return one_task


def test_reports_name_the_cost(paid: Project) -> None:
    result = paid.run("--junitxml", "junit.xml", "--ralph-report", "r.html", executor="claude")

    assert result.ret == 0
    assert "$0.50" in result.outlines[-1]
    junit = (paid.root / "junit.xml").read_text()
    assert '<property name="ralph.cost" value="0.5000"' in junit
    assert sum(paid.history("cost", "cost IS NOT NULL")) == 0.5
    assert sum(paid.history("tokens", "tokens IS NOT NULL")) == 240


def test_statistics_add_up_the_cost(paid: Project) -> None:
    paid.run(executor="claude")
    shown = paid.pytester.runpytest("--ralph-stats").stdout.str()
    statistics = json.loads(paid.pytester.runpytest("--ralph-stats=json").stdout.str())

    assert "$0.50" in shown
    assert statistics["totals"]["cost"] == 0.5
    assert statistics["by_spec"][0]["cost"] == 0.5
    assert statistics["by_executor"][0]["cost"] == 0.5


def test_the_cost_limit_ends_fixing(paid: Project) -> None:
    result = paid.run("--ralph-max-cost", "0.2", executor="claude")

    assert result.ret == 1
    assert len((paid.root / "runs.txt").read_text().split()) == 1
    result.stdout.fnmatch_lines(["*ERROR: Max cost ($0.20) reached"])


@pytest.mark.parametrize(
    "report",
    [
        """echo '{"type": "result", "total_cost_usd": 0.25, "usage": {"input_tokens": 9}}'""",
        """printf '{\n  "result": "done",\n  "cost_usd": 0.25\n}\n'""",
        "echo Done.; echo 'Total cost: $0.25'",
    ],
)
def test_the_cost_of_an_agent_behind_a_script_counts(one_task: Project, report: str) -> None:
    one_task.write("agent", f"#!/bin/sh\necho fixed > parser.txt\n{report}\n").chmod(0o755)
    one_task.run("--junitxml", "junit.xml", executor="./agent")
    junit = (one_task.root / "junit.xml").read_text()
    assert '<property name="ralph.cost" value="0.2500"' in junit


def test_a_conflict_is_not_resolved_for_more_than_the_limit(one_task: Project) -> None:
    one_task.shell(f"""\
        cp calls.txt {one_task.root}
        echo mine > {one_task.root}/parser.txt
        echo fixed > parser.txt
        echo '{{"type": "result", "is_error": false, "result": "done", "total_cost_usd": 1.0}}'
    """)
    one_task.repository()
    options = ("--ralph-isolate=worktree", "--ralph-max-cost=0.5")
    result = one_task.run(*options, executor="sh executor.sh")

    assert one_task.calls == ["1.3.1"]
    result.stdout.fnmatch_lines(
        ["*given up: its changes conflict *", "*✗ 1.3.1 by sh executor.sh, failed, cost $1.00"]
    )
