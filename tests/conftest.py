"""Shared by all tests: projects with specs, made of real files."""

from __future__ import annotations

import functools
import importlib.metadata
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# How fast a machine is says nothing about what is right.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

# A shell that starts the tests in the background has them, and all that they start, ignore Ctrl-C
# and the end of the terminal.
for number, handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

SpecMaker = Callable[..., Path]


# What takes long and does not depend on the version of Python.
SLOW = (
    "tests/faults/",
    "tests/docs/",
    "tests/fuzz/",
    "tests/hostile/",
    "tests/integration/executors/",
    "tests/integration/test_examples.py",
    "tests/integration/test_html_report_in_browser.py",
)


# What draws many examples, reads all samples, measures growth, floods or races: once is enough for
# these, too, but they take seconds, not minutes.
ONCE = (
    "tests/integration/parallel/test_many_runs.py",
    "tests/integration/running/test_memory.py",
    "tests/integration/test_hook_examples.py",
    "tests/integration/xdist/test_stress.py",
    "tests/unit/failure/test_hostile.py",
    "tests/unit/failure/test_readings.py::test_of_two_readings_of_a_line_every_process",
    "tests/unit/failure/test_rules.py",
    "tests/unit/failure/test_samples.py",
    "tests/unit/failure/test_wording.py",
    "tests/unit/fixing/test_repair_install.py::test_a_python_package_is_really_installed",
    "tests/unit/healing/test_fix_task.py::test_no_error_text_can_add_a_task_or_a_field",
    "tests/unit/history/test_learning.py::test_learning_stays_quick_with_many_attempts",
    "tests/unit/history/test_stats.py::test_measuring_takes_linear_time",
    "tests/unit/report/test_halt.py::test_the_box_is_as_wide_as_the_terminal",
    "tests/unit/running/test_left_behind.py::test_a_command_that_ends_takes_no_process_of_one",
    "tests/unit/spec/test_edit.py::test_inserting_adds_one_task_and_changes_nothing_else",
    "tests/unit/spec/test_edit.py::test_ticking_flips_one_character",
    "tests/unit/spec/test_frontmatter.py::test_values_may_not_be_nested_too_deeply",
    "tests/unit/spec/test_lint.py::test_a_long_spec_is_judged_in_linear_time",
    "tests/unit/spec/test_order.py::test_ten_thousand_tasks_take_time_in_proportion",
    "tests/unit/spec/test_splice.py",
    "tests/unit/spec/test_state.py::test_whatever_others_write_is_kept",
    "tests/unit/spec/test_state_text.py",
)


# What depends on the versions of pytest and other plugins: every case runs on every Python.
EVERY_CASE = (
    "tests/integration/collecting/",
    "tests/integration/neighbours/",
    "tests/integration/xdist/",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what tox runs on one Python only.

    Of any other test with a table of cases the first case runs on every Python.
    """
    seen = set()
    for item in items:
        test = item.nodeid.partition("[")[0]
        further_case = test in seen and not test.startswith(EVERY_CASE)
        if item.nodeid.startswith(SLOW):
            item.add_marker("slow")
        elif item.nodeid.startswith(ONCE) or further_case:
            item.add_marker("once")
        seen.add(test)


class InstalledPackage:
    """What is known of a distribution, read once.

    Every run of pytest looks at the entry points and the files of all of them. For the runs
    inside our tests that was a third of the time.
    """

    def __init__(self, distribution: importlib.metadata.Distribution) -> None:
        self._distribution = distribution

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._distribution, name)
        setattr(self, name, value)
        return value


@pytest.fixture(autouse=True, scope="session")
def _installed_packages_read_once() -> Iterator[None]:
    find = importlib.metadata.distributions

    @functools.cache
    def found_on(path: tuple[str, ...]) -> list[InstalledPackage]:
        return [InstalledPackage(distribution) for distribution in find(path=list(path))]

    def distributions(**selection: Any) -> Iterable[Any]:
        if selection:
            return find(**selection)
        return found_on(tuple(sys.path))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib.metadata, "distributions", distributions)
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_thread_reads_a_closed_connection() -> Iterator[None]:
    """Let the threads of pytest-rerunfailures end with the workers of a run inside a test.

    The versions for pytest 8.0 read a closed connection again and again, as long as the process
    lives. The few dozen threads of our tests made all tests after them take twice as long.
    """
    if pytest.version_tuple >= (8, 1):
        yield
        return
    rerunfailures = pytest.importorskip("pytest_rerunfailures")

    def receive(database: Any, connection: Any) -> str:
        message = b""
        while byte := connection.recv(1):
            if byte == database.delim:
                return message.decode()
            message += byte
        connection.close()
        raise ConnectionError("closed")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rerunfailures.SocketDB, "_sock_recv", receive)
        yield


@pytest.fixture(autouse=True)
def _outside_any_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our tests may be the Verify command of a spec; the runs they start are not nested in it."""
    for name in ("RALPH_NESTED", "PYTEST_ADDOPTS", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def make_spec(pytester: pytest.Pytester) -> SpecMaker:
    """Write a tasks.md from task blocks, or from `(id, verify)` pairs, and give its path."""

    def make(text: str = "", *, name: str = "demo", **tasks: str) -> Path:
        path = pytester.path / "specs" / name / "tasks.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        blocks = [
            f"- [ ] {id_.removeprefix('t').replace('_', '.')} Task "
            f"{id_.removeprefix('t').replace('_', '.')}\n"
            f"  - **Do**: Make it so\n  - **Files**: `src.txt`\n  - **Verify**: `{verify}`\n"
            for id_, verify in tasks.items()
        ]
        path.write_text(
            dedent(text) if text else "# Tasks\n\n" + "\n".join(blocks), encoding="utf-8"
        )
        return path

    return make
