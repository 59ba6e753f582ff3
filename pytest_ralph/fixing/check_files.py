"""Files that decide whether a project passes its checks: tests, and the configuration of checks."""

from __future__ import annotations

import json
import re
import sys
from fnmatch import translate
from importlib import import_module
from pathlib import PurePosixPath
from typing import Any

from pytest_ralph.text.regex import regex

TEST_DIRECTORIES = frozenset({"test", "tests", "__tests__", "e2e", "cypress", "testdata"})
TEST_NAMES = (
    "test_*.py",
    "*_test.py",
    "*_test.go",
    "*.test.[jt]s",
    "*.test.[jt]sx",
    "*.test.[cm][jt]s",
    "*.spec.[jt]s",
    "*.spec.[jt]sx",
    "*.spec.[cm][jt]s",
    "*Test.java",
    "*Tests.java",
    "*Test.kt",
    "*Tests.cs",
    "*_spec.rb",
    "*_test.rb",
    "*_test.exs",
    "*Test.php",
    "*.bats",
    "*.snap",
)
CONFIGURATION_NAMES = (
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "package.json",
    "tox.ini",
    "setup.cfg",
    "noxfile.py",
    ".coveragerc",
    "mypy.ini",
    ".mypy.ini",
    "pyrightconfig.json",
    "ruff.toml",
    ".ruff.toml",
    ".flake8",
    ".pylintrc",
    "pylintrc",
    "tsconfig*.json",
    "jsconfig.json",
    ".eslintrc*",
    ".eslintignore",
    "eslint.config.*",
    ".prettierrc*",
    ".prettierignore",
    "prettier.config.*",
    "biome.json*",
    "jest.config.*",
    "vitest.config.*",
    "playwright.config.*",
    "cypress.config.*",
    "karma.conf.*",
    ".golangci.*",
    ".rubocop.yml",
    "phpunit.xml*",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".gitlab-ci.yml",
    "azure-pipelines.yml",
    "Jenkinsfile",
)
TEST_NAME = regex("|".join(map(translate, TEST_NAMES)))
CONFIGURATION_NAME = regex("|".join(map(translate, CONFIGURATION_NAMES)))
CI_DIRECTORY = re.compile(r"^\.(?:github/workflows|circleci|buildkite)/")

# The parts of package.json that say how the project is checked.
PACKAGE_KEYS = ("scripts", "jest", "eslintConfig", "prettier", "mocha", "ava", "lint-staged")
# Tables below `tool` in pyproject.toml that describe the package, not its checks.
PACKAGING_TOOLS = frozenset({"poetry", "pdm", "hatch", "uv", "setuptools", "flit", "rye"})


def is_test(path: str) -> bool:
    """Return whether this file is a test or data of tests."""
    pure = PurePosixPath(path)
    if not TEST_DIRECTORIES.isdisjoint(pure.parts[:-1]):
        return not is_check_configuration(path)
    return TEST_NAME.match(pure.name) is not None


def is_check_configuration(path: str) -> bool:
    """Return whether this file configures tests, linters, type checkers or CI."""
    if CI_DIRECTORY.match(path):
        return True
    return CONFIGURATION_NAME.match(path.rpartition("/")[2]) is not None


def configures_the_same(path: str, before: bytes, after: bytes) -> bool:
    """Return whether two versions of a configuration file configure the checks in the same way.

    New dependencies in pyproject.toml or package.json are no change of the checks.
    """
    name = PurePosixPath(path).name
    try:
        if name == "pyproject.toml":
            return _checks_in_pyproject(before) == _checks_in_pyproject(after)
        if name == "package.json":
            return _checks_in_package(before) == _checks_in_package(after)
    except (ValueError, RecursionError, AttributeError):
        return False
    return before == after


def _checks_in_pyproject(content: bytes) -> dict[str, Any]:
    parser = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    tools: dict[str, Any] = parser.loads(content.decode()).get("tool", {})
    return {name: table for name, table in tools.items() if name not in PACKAGING_TOOLS}


def _checks_in_package(content: bytes) -> dict[str, Any]:
    package = json.loads(content)
    return {key: package.get(key) for key in PACKAGE_KEYS}
