"""Installed and not asked for, the plugin is not felt."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

TELL = """
    import json, sys

    def pytest_unconfigure(config):
        loaded = sorted(name for name in sys.modules if name.split(".")[0] == "pytest_ralph")
        with open("loaded.json", "w") as file:
            json.dump([loaded, sorted({name.split(".")[0] for name in sys.modules})], file)
"""
HEAVY = {"ruamel", "junitparser", "pyromark", "jinja2", "sqlite3"}


def run_alone(
    pytester: pytest.Pytester, *args: str
) -> tuple[pytest.RunResult, list[str], set[str]]:
    """With our plugin and pytest's own, and no other that could import what we do not."""
    pytester.makeconftest(TELL)
    command = (sys.executable, "-m", "pytest", "-p", "pytest_ralph.plugin", *args)
    result = pytester.run(*command)
    loaded, packages = json.loads((pytester.path / "loaded.json").read_text())
    return result, loaded, set(packages)


@pytest.fixture(autouse=True)
def _no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    # Who measures coverage imports sqlite3 into every process.
    monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)


@pytest.mark.parametrize(
    "args", [(), ("--co", "-q"), ("--strict-markers", "--strict-config"), ("--help",)]
)
def test_only_the_option_table_is_imported(
    pytester: pytest.Pytester, make_spec: SpecMaker, args: tuple[str, ...]
) -> None:
    make_spec(t1_1="true")
    pytester.makepyfile("def test_one(): pass")
    result, loaded, packages = run_alone(pytester, *args)
    assert result.ret == pytest.ExitCode.OK
    assert loaded == ["pytest_ralph", "pytest_ralph.options", "pytest_ralph.plugin"]
    assert not packages & HEAVY


def test_nothing_is_collected_and_nothing_is_written(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    spec = make_spec(t1_1="touch ran")
    before = {path for path, *_ in os.walk(pytester.path)}
    result, *_ = run_alone(pytester, "-p", "no:cacheprovider", "specs", "specs/demo")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert not (pytester.path / "ran").exists()
    assert not (pytester.path / ".ralph").exists()
    assert {path for path, *_ in os.walk(pytester.path)} == before
    assert spec.exists()


def test_hooks_of_ours_in_a_conftest_do_not_break_a_plain_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_one(): pass")
    pytester.makeconftest("def pytest_ralph_failed(task, failure, attempt): pass")
    result = pytester.run(
        sys.executable, "-m", "pytest", "-p", "pytest_ralph.plugin", "--strict-markers"
    )
    result.assert_outcomes(passed=1)


def test_a_misspelt_hook_of_ours_is_told(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("def pytest_ralph_faild(task): pass")
    result = pytester.run(sys.executable, "-m", "pytest", "-p", "pytest_ralph.plugin")
    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*unknown hook 'pytest_ralph_faild'*"])


def test_the_plugin_can_be_left_out(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    make_spec(t1_1="true")
    pytester.makepyfile("def test_one(): pass")
    result = pytester.runpytest_subprocess("-p", "no:ralph", "-v")
    result.assert_outcomes(passed=1)
    assert (
        pytester.runpytest_subprocess("-p", "no:ralph", "--ralph").ret
        == pytest.ExitCode.USAGE_ERROR
    )


def test_the_help_names_every_option_with_its_default(pytester: pytest.Pytester) -> None:
    result = pytester.run(sys.executable, "-m", "pytest", "-p", "pytest_ralph.plugin", "--help")
    text = " ".join(result.stdout.str().split())
    for flag in (
        *(
            "--ralph",
            "--ralph-recovery",
            "--no-ralph-recovery",
            "--ralph-executor",
            "--ralph-execute",
        ),
        *(
            "--ralph-max-fixes",
            "--ralph-max-depth",
            "--ralph-budget",
            "--ralph-timeout",
            "--ralph-executor-timeout",
        ),
        *(
            "--ralph-jobs",
            "--ralph-repair",
            "--ralph-rollback",
            "--ralph-commit",
            "--ralph-pending",
            "--ralph-fresh",
        ),
        *(
            "--ralph-keep-going",
            "--ralph-interactive",
            "--ralph-shell",
            "--ralph-report",
            "--ralph-lint",
        ),
        "--ralph-stats",
    ):
        assert f" {flag} " in text or f" {flag}=" in text, flag
    for default in (
        "(default: 300)",
        "(default: 600)",
        "(default: repair)",
        "(default: format,lint,chmod,install)",
    ):
        assert default in text
