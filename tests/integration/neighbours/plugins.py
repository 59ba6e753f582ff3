"""The plugins that `tox run -e neighbours` runs tasks beside, in batches that share an environment.

Each is used, not only installed: `arguments` and `ini` are what makes it do its work.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Neighbour:
    """One plugin.

    name: Its name on the package index.
    effect: What it does to tasks, for the documentation.
    workers: Whether it can be used together with pytest-xdist.
    """

    name: str
    effect: str
    arguments: tuple[str, ...] = ()
    ini: str = ""
    workers: bool = True
    # Entry points of plugins that it needs.
    needs: tuple[str, ...] = ()
    # Outcomes in the JUnit file that it changes: without workers, and in any case.
    outcomes: Mapping[str, str] = field(default_factory=dict)
    outcomes_always: Mapping[str, str] = field(default_factory=dict)


NOTHING = "no effect on tasks"
LISTED = "lists tasks like tests"
FIXTURES = "its fixtures do not apply to tasks"

RERUN = {"test_fails": "passed, failed"}
REPEATED = {
    "test_fails": "failed, failed",
    "test_passes": "passed, passed",
    "test_skipped": "skipped, skipped",
}
REPEATED_TASKS = {
    "healed 1.1": "passed, passed",
    "healed 1.2": "recovered, passed",
    "healed 1.3": "manual, manual",
    "failing 1.1": "failed, failed",
    "failing 1.2": "blocked, blocked",
}

BATCHES: dict[str, tuple[Neighbour, ...]] = {
    "reruns": (
        Neighbour(
            "pytest-rerunfailures",
            "runs a failed task again; one that passes then unblocks its dependents",
            ("--reruns=1",),
            outcomes_always=RERUN,
        ),
        Neighbour(
            "flaky",
            "runs a failed task again; both runs are in the JUnit file",
            ("--force-flaky", "--max-runs=2"),
            outcomes_always={**RERUN, "failing 1.1": "failed, failed"},
        ),
        Neighbour("pytest-retry", "retries test functions only, not tasks", ("--retries=1",)),
        Neighbour(
            "pytest-flakefinder",
            "runs tasks again, too, unless there are workers",
            ("--flake-finder", "--flake-runs=2"),
            outcomes=REPEATED_TASKS,
            outcomes_always=REPEATED,
        ),
        Neighbour(
            "pytest-repeat",
            "repeats test functions, not tasks",
            ("--count=2",),
            outcomes_always=REPEATED,
        ),
    ),
    "order": (
        Neighbour("pytest-randomly", "shuffles specs; the tasks of a spec keep their order"),
        Neighbour(
            "pytest-random-order",
            "shuffles specs; the tasks of a spec keep their order",
            ("--random-order-bucket=global",),
        ),
        Neighbour("pytest-reverse", "reverses specs, not the tasks of a spec", ("--reverse",)),
        Neighbour("pytest-order", NOTHING),
        Neighbour("pytest-dependency", f"{NOTHING}, which have dependencies of their own"),
    ),
    "selection": (
        Neighbour(
            "pytest-split",
            "may split a spec: what a task depends on then does not run before it",
            ("--splits=1", "--group=1"),
        ),
        Neighbour(
            "pytest-shard",
            "may split a spec: what a task depends on then does not run before it",
            ("--num-shards=1",),
        ),
        Neighbour("pytest-custom-exit-code", NOTHING),
        Neighbour("pytest-dotenv", "Verify commands see its variables"),
        Neighbour("pytest-skip-slow", NOTHING),
        Neighbour("pytest-testmon", "runs every task: it knows Python code only", ("--testmon",)),
    ),
    "limits": (
        Neighbour(
            "pytest-timeout",
            "its limit does not apply to tasks, which have `--ralph-timeout`",
            ("--timeout=60",),
        ),
        Neighbour(
            "pytest-forked",
            "tasks are not forked",
            ("--forked",),
            workers=False,
            outcomes_always={"test_passes": "failed", "test_skipped": "failed"},
        ),
        Neighbour("pytest-durations", LISTED),
        Neighbour("pytest-monitor", NOTHING, ("--no-monitor",)),
        Neighbour("pytest-pystack", NOTHING, ("--pystack-threshold=60",)),
    ),
    "files": (
        Neighbour(
            "pytest-html", LISTED, ("--html=r.html", "--self-contained-html"), needs=("metadata",)
        ),
        Neighbour("pytest-json-report", LISTED, ("--json-report",)),
        Neighbour("allure-pytest", f"{LISTED}; a failed task is `failed`", ("--alluredir=a",)),
        Neighbour("pytest-reportlog", LISTED, ("--report-log=log.json",)),
        Neighbour("pytest-md", LISTED, ("--md=r.md",)),
        Neighbour("pytest-csv", LISTED, ("--csv=r.csv",)),
        Neighbour("pytest-metadata", NOTHING),
    ),
    "terminal": (
        Neighbour("pytest-sugar", "draws the rows of tasks, too"),
        Neighbour("pytest-instafail", "shows failures of tasks at once", ("--instafail",)),
        Neighbour("pytest-clarity", NOTHING),
        Neighbour("pytest-icdiff", NOTHING),
        Neighbour("pytest-pretty", "its table lists failed tasks"),
        Neighbour("pytest-progress", "counts tasks", ("--show-progress",), needs=("xdist",)),
        Neighbour("pytest-github-actions-annotate-failures", "annotates failed tasks, once"),
        Neighbour("pytest-print", NOTHING),
    ),
    "words": (
        Neighbour("pytest-spec", "its format is for test functions", ("--spec",)),
        Neighbour("pytest-pspec", "its format is for test functions", ("--pspec",)),
        Neighbour("pytest-testdox", LISTED, ("--testdox",)),
        Neighbour("pytest-tldr", "replaces the terminal output, our summary included"),
        Neighbour("pytest-rich", "replaces the terminal output, our summary included", ("--rich",)),
        Neighbour("pytest-emoji", "shows an emoji per task", ("--emoji",)),
    ),
    "environment": (
        Neighbour("pytest-env", "Verify commands see its variables", ini="env = SEEN=yes"),
        Neighbour(
            "pytest-socket",
            "Verify commands may use the network all the same",
            ("--disable-socket",),
        ),
        Neighbour("pytest-mock", FIXTURES),
        Neighbour("pytest-freezer", FIXTURES),
        Neighbour("pytest-datadir", FIXTURES),
        Neighbour("pytest-check", NOTHING),
        Neighbour("pytest-lazy-fixtures", FIXTURES),
        Neighbour("pytest-httpserver", FIXTURES),
    ),
    "measuring": (
        Neighbour(
            "pytest-cov",
            "does not measure Verify commands unless they measure themselves",
            ("--cov=.",),
        ),
        Neighbour("pytest-benchmark", NOTHING),
        Neighbour("pytest-profiling", "profiles this process, not Verify commands", ("--profile",)),
        Neighbour("pytest-memray", "does not track tasks", ("--memray",)),
        Neighbour(
            "pytest-doctestplus", "does not take `tasks.md` for a doctest", ("--doctest-plus",)
        ),
        Neighbour("hypothesis", NOTHING),
    ),
    "asynchronous": (
        Neighbour("pytest-asyncio", FIXTURES, ("--asyncio-mode=auto",)),
        Neighbour("anyio", FIXTURES),
        Neighbour("pytest-trio", FIXTURES, ini="trio_mode = true"),
        Neighbour("pytest-aiohttp", FIXTURES, needs=("asyncio",)),
    ),
    "frameworks": (
        Neighbour("pytest-bdd", NOTHING),
        Neighbour("pytest-django", "its database is not there for tasks"),
        Neighbour("pytest-flask", FIXTURES),
        Neighbour("syrupy", NOTHING),
        Neighbour("pytest-regressions", FIXTURES),
        Neighbour("pytest-subtests", NOTHING),
        Neighbour("pytest-picked", "selects by files; name the spec to run it"),
        Neighbour("pytest-xprocess", FIXTURES),
        Neighbour(
            "pytest-run-parallel",
            "runs test functions in threads, not tasks",
            ("--parallel-threads=2",),
        ),
    ),
}
