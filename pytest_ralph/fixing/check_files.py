"""Files that decide whether a project passes its checks.

They are tests, the configuration of checks, and what a Verify field runs as a check.
"""

from __future__ import annotations

import json
import posixpath
import re
from fnmatch import translate
from functools import cache
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from pytest_ralph.shell.command import Command
from pytest_ralph.text.regex import regex
from pytest_ralph.text.toml import parse_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ralph.shell.command import Stage
    from pytest_ralph.verify.model import Verify

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
# Those of them that also run commands: `pdm run test` is what `scripts` says.
SCRIPT_TOOLS = frozenset({"pdm", "rye"})

# The files of task runners; each runner reads the first that is there. What npm and the like run is
# configuration in package.json.
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
TASKFILES = (
    "Taskfile.yml",
    "taskfile.yml",
    "Taskfile.yaml",
    "taskfile.yaml",
    "Taskfile.dist.yml",
    "taskfile.dist.yml",
    "Taskfile.dist.yaml",
    "taskfile.dist.yaml",
)
RUNNER_FILES = {
    "make": MAKEFILES,
    "gmake": MAKEFILES,
    "just": ("justfile", "Justfile", ".justfile"),
    "task": TASKFILES,
    "go-task": TASKFILES,
    "rake": ("rakefile", "Rakefile", "rakefile.rb", "Rakefile.rb"),
}
# Options of task runners that name another file.
RUNNER_FILE_OPTIONS = frozenset({"-f", "--file", "--makefile", "--justfile", "-t", "--taskfile"})
# Programs whose first operand is a script.
INTERPRETER = re.compile(r"(?:ba|da|z|k|a|fi)?sh|\.|source|python[\d.]*|node|ruby|perl|php")
# First options with which an interpreter only reads the script.
SYNTAX_OPTIONS = frozenset({"-n", "-c", "--check"})
CHECK_WORD = re.compile(
    r"(?<![a-z])(?:checks?|verify|tests?|lint|validate|smoke|ci)(?![a-z])", re.IGNORECASE
)


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


@cache
def checks_run_by(verify: Verify) -> frozenset[str]:
    """Return the files that a Verify field runs as checks, other than tests.

    They are scripts whose name says that they check something, and the files of task runners.
    A file need not exist.
    """
    found = set()
    for check in verify.checks:
        for stage in Command.parse(check.command).stages:
            if stage.directory is None:
                continue
            directory = posixpath.join(check.directory or "", stage.directory)
            for name in _checks_of(stage):
                path = posixpath.normpath(posixpath.join(directory, name))
                is_outside = path.startswith("../")
                if not is_outside and not is_test(path):
                    found.add(path)
    return frozenset(found)


def _checks_of(stage: Stage) -> Iterator[str]:
    """Yield the script that a stage runs as a check, and the files of its task runner."""
    script = _script(stage)
    if CHECK_WORD.search(posixpath.basename(script)):
        yield script
    yield from _runner_files(stage)


def _script(stage: Stage) -> str:
    """Return the script that a stage runs, or an empty text."""
    if INTERPRETER.fullmatch(stage.program):
        only_reads = not SYNTAX_OPTIONS.isdisjoint(stage.arguments[:1])
        if only_reads or not stage.operands:
            return ""
        return stage.operands[0]
    if "/" in stage.executable:
        return stage.executable
    return ""


def _runner_files(stage: Stage) -> Iterator[str]:
    """Yield the files in which a task runner may find the check that it runs.

    In `make build` they are sources like any other: the name of the target is not that of a check.
    """
    if stage.program not in RUNNER_FILES:
        return
    if stage.operands and not CHECK_WORD.search(" ".join(stage.operands)):
        return
    words: list[str] = []
    for argument in stage.arguments:
        words += argument.split("=")
    names = list(RUNNER_FILES[stage.program])
    for option, value in pairwise(words):
        if option in RUNNER_FILE_OPTIONS:
            names.append(value)
    # A word may be another directory, as in `make -C web`.
    for directory in ("", *words):
        for name in names:
            yield posixpath.join(directory, name)


def files_replaced_by(path: str) -> Iterator[str]:
    """Yield the files that a task runner does not read if there is a file `path`."""
    directory, name = posixpath.split(path)
    for names in set(RUNNER_FILES.values()):
        if name not in names:
            continue
        position = names.index(name)
        for later in names[position + 1 :]:
            yield posixpath.join(directory, later)


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
    tools = parse_toml(content.decode()).get("tool", {})
    checks = {name: table for name, table in tools.items() if name not in PACKAGING_TOOLS}
    for name in SCRIPT_TOOLS:
        checks[name] = tools.get(name, {}).get("scripts")
    environments = tools.get("hatch", {}).get("envs", {})
    checks["hatch"] = {name: table.get("scripts") for name, table in environments.items()}
    return checks


def _checks_in_package(content: bytes) -> dict[str, Any]:
    package = json.loads(content)
    return {key: package.get(key) for key in PACKAGE_KEYS}
