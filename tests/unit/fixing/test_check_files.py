"""Tests and configuration of checks, by their paths and contents."""

from __future__ import annotations

import pytest

from pytest_ralph.fixing.check_files import (
    checks_run_by,
    configures_the_same,
    files_replaced_by,
    is_check_configuration,
    is_test,
)
from pytest_ralph.verify.model import Check, Verify


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_a.py",
        "tests/data/expected.json",
        "src/a_test.go",
        "web/app.test.tsx",
        "web/app.spec.mjs",
        "src/__tests__/app.js",
    ],
)
def test_paths_of_tests(path: str) -> None:
    assert is_test(path)
    assert not is_check_configuration(path)


@pytest.mark.parametrize("path", ["src/latest.py", "specs/demo/design.md", "src/contest.py"])
def test_other_paths_are_no_tests(path: str) -> None:
    assert not is_test(path)
    assert not is_check_configuration(path)


@pytest.mark.parametrize(
    "path",
    [
        "tests/conftest.py",
        "pytest.ini",
        "tsconfig.build.json",
        "web/eslint.config.mjs",
        ".github/workflows/ci.yml",
    ],
)
def test_paths_of_check_configuration(path: str) -> None:
    assert is_check_configuration(path)
    assert not is_test(path)


@pytest.mark.parametrize(
    ("path", "before", "after", "same"),
    [
        ("pyproject.toml", "[project]\nname = 'a'", "[project]\nname = 'b'", True),
        ("pyproject.toml", "", "[tool.pytest.ini_options]\naddopts = '-x'", False),
        ("pyproject.toml", "", "not TOML", False),
        ("pyproject.toml", "", "[tool.pdm.dev-dependencies]\nlint = ['ruff']", True),
        ("pyproject.toml", "", "[tool.poetry.scripts]\ndemo = 'demo:main'", True),
        ("pyproject.toml", "", "[tool.pdm.scripts]\ntest = 'true'", False),
        ("pyproject.toml", "", "[tool.hatch.envs.default.scripts]\ntest = 'true'", False),
        ("package.json", "{}", '{"dependencies": {"a": "1"}}', True),
        ("package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {"test": "true"}}', False),
        ("tox.ini", "a", "b", False),
    ],
)
def test_only_changes_of_checks_count(path: str, before: str, after: str, same: bool) -> None:
    assert configures_the_same(path, before.encode(), after.encode()) is same


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("sh check.sh", "check.sh"),
        ("bash -e ./scripts/run-tests.sh fast", "scripts/run-tests.sh"),
        ("cd web && ../lint", "lint"),
        ("uv run python3.12 scripts/validate_docs.py", "scripts/validate_docs.py"),
        ("bash -c '. ./verify.sh'", "verify.sh"),
        ("make check", "Makefile"),
        ("make -C web check", "web/Makefile"),
        ("make --file=build.mk check", "build.mk"),
        ("just check", "justfile"),
        ("make", "Makefile"),
        ("task -d web check", "web/Taskfile.yml"),
    ],
)
def test_checks_that_a_command_runs(command: str, path: str) -> None:
    assert path in checks_run_by(Verify((Check(command),)))


@pytest.mark.parametrize(
    "command",
    [
        "python app.py check.txt",
        "cat check.txt",
        "bash -n check.sh",
        "sh checkout.sh",
        "test -f check.sh",
        "sh tests/check.sh",
        "cd $HOME && sh check.sh",
        "sh ../check.sh",
        "make build",
    ],
)
def test_other_files_of_a_command(command: str) -> None:
    assert not checks_run_by(Verify((Check(command),)))


@pytest.mark.parametrize(
    ("new", "replaced"),
    [("web/taskfile.yml", "web/Taskfile.yaml"), ("rakefile", "Rakefile")],
)
def test_files_that_a_runner_no_longer_reads(new: str, replaced: str) -> None:
    assert replaced in files_replaced_by(new)
    assert new not in files_replaced_by(replaced)


def test_check_in_the_directory_of_its_command() -> None:
    assert checks_run_by(Verify((Check("sh check.sh", directory="web"),))) == {"web/check.sh"}
