"""A test command that runs no test does not pass, with the real runners that are installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.verdict.test_verify_contract import Case, run_cases

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

NO_TEST = "task_incomplete"
QUICK_PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -m pytest"
# The directory of the toolchains of cargo; pytester gives every test a home of its own.
RUSTUP = Path.home() / ".rustup"


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"needs {program}")


def ending(pytester: pytest.Pytester, make_spec: SpecMaker, command: str) -> str:
    """Return how a task with this command ends."""
    (found,) = run_cases(pytester, make_spec, (Case(f"`{command}`", NO_TEST),))
    return found


def test_pytest_and_unittest_need_a_test(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    pytester.makepyfile(test_menu="def test_tea(): pass")
    pytester.mkdir("empty").joinpath("__init__.py").touch()
    cases = (
        Case(f"`{QUICK_PYTEST} -q test_menu.py -k coffee`", NO_TEST),
        Case(f"`cd empty && {sys.executable} -m unittest discover`", NO_TEST),
    )
    assert run_cases(pytester, make_spec, cases) == [case.ends for case in cases]


@needs("node")
def test_node_needs_a_test(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    pytester.mkdir("empty").joinpath("readme.txt").touch()
    assert ending(pytester, make_spec, "cd empty && node --test") == NO_TEST


@needs("ctest")
def test_ctest_needs_a_test(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    pytester.mkdir("build").joinpath("CTestTestfile.cmake").touch()
    assert ending(pytester, make_spec, "cd build && ctest") == NO_TEST


@pytest.mark.slow
@needs("cargo")
def test_cargo_needs_a_test(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    if RUSTUP.is_dir():
        monkeypatch.setenv("RUSTUP_HOME", str(RUSTUP))
    if subprocess.run(["cargo", "--version"], check=False, capture_output=True).returncode:
        pytest.skip("cargo does not start here")
    pytester.makefile(".toml", Cargo='[package]\nname = "menu"\nversion = "0.1.0"\n')
    pytester.mkdir("src").joinpath("lib.rs").write_text("pub fn tea() {}\n")

    assert ending(pytester, make_spec, "cargo test --lib --offline") == NO_TEST


@pytest.mark.slow
@needs("go")
def test_go_needs_a_test(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOTOOLCHAIN", "local")
    pytester.makefile(".mod", go="module menu\n")
    pytester.makefile(".go", menu="package menu\n\nfunc Tea() int { return 1 }\n")
    assert ending(pytester, make_spec, "go test ./...") == NO_TEST
