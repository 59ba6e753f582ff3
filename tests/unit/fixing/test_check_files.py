"""Tests and configuration of checks, by their paths and contents."""

from __future__ import annotations

import pytest

from pytest_ralph.fixing.check_files import configures_the_same, is_check_configuration, is_test


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
        ("package.json", "{}", '{"dependencies": {"a": "1"}}', True),
        ("package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {"test": "true"}}', False),
        ("tox.ini", "a", "b", False),
    ],
)
def test_only_changes_of_checks_count(path: str, before: str, after: str, same: bool) -> None:
    assert configures_the_same(path, before.encode(), after.encode()) is same
