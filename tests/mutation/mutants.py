"""Mutation of one package in a copy of the project, by mutmut at randomly drawn places."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PROJECT = Path(__file__).parents[2]
# The tests that have to notice a change in a package.
PACKAGES = {
    "shell": ("tests/unit/shell", "tests/unit/verify"),
    "spec": ("tests/unit/spec",),
    "verify": ("tests/unit/verify", "tests/unit/spec"),
    "failure": ("tests/unit/failure",),
    "healing": ("tests/unit/healing", "tests/integration/recovery"),
}
_COPIED = ("pytest_ralph", "tests", "examples", "scripts", "pyproject.toml")
_MUTMUT = (sys.executable, "-c", "from mutmut.__main__ import cli; cli()")
_NOTICED = {1, 3}
# A change that makes a loop endless is noticed too: by the time limit.
_TOO_LONG = {36, 24, -24, 152, 255}
# Workers are forked before any test has run: a cache that a test filled would hide a change of the
# code that fills it.
_SETTINGS = """\
    [mutmut]
    source_paths=pytest_ralph
    only_mutate=pytest_ralph/{package}/*
    also_copy=
        examples
        scripts
    pytest_add_cli_args_test_selection=
        {tests}
    pytest_add_cli_args=
        -p
        no:rerunfailures
        -p
        no:cacheprovider
        -p
        tests.mutation.quickest
    process_isolation=forkserver
    timeout_multiplier=2
    timeout_constant=5
    use_git_change_detection=false
"""


@dataclass(frozen=True)
class Tried:
    """How many changes of one package were tried, and which of them no test noticed."""

    possible: int
    noticed: int
    too_long: int
    # Name and diff of each change that no test reaches, or that all tests pass with.
    survivors: dict[str, str]

    @property
    def sample(self) -> int:
        return self.noticed + self.too_long + len(self.survivors)

    @property
    def score(self) -> float:
        return 100 * (self.noticed + self.too_long) / self.sample

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval: the score of all changes lies in it with a probability of 95%."""
        z = 1.96
        n = self.sample
        p = self.score / 100
        middle = p + z * z / (2 * n)
        reach = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        scale = 100 / (1 + z * z / n)
        return scale * (middle - reach), scale * (middle + reach)


def try_package(
    package: str, directory: Path, choose: Callable[[list[str]], list[str]], jobs: int
) -> Tried:
    """Try the changes that `choose` picks, in a copy of the project in `directory`."""
    _copy(package, directory)
    # mutmut works on the current directory only.
    os.chdir(directory)
    possible = _all_changes(package)
    chosen = choose(possible)
    _run(chosen, jobs)
    results = _results(package)
    statuses = [results[name] for name in chosen]
    return Tried(
        possible=len(possible),
        noticed=sum(status in _NOTICED for status in statuses),
        too_long=sum(status in _TOO_LONG for status in statuses),
        survivors={
            name: _diff(name) for name in chosen if results[name] not in _NOTICED | _TOO_LONG
        },
    )


def _copy(package: str, directory: Path) -> None:
    for name in _COPIED:
        here, there = PROJECT / name, directory / name
        if here.is_dir():
            shutil.copytree(
                here, there, ignore=shutil.ignore_patterns("__pycache__", "grown", "found")
            )
        else:
            shutil.copy2(here, there)
    settings = dedent(_SETTINGS).format(package=package, tests="\n    ".join(PACKAGES[package]))
    (directory / "setup.cfg").write_text(settings, encoding="utf-8")


def _all_changes(package: str) -> list[str]:
    # mutmut is installed in the environment of `tox -e mutation` only.
    from mutmut.configuration import reset_config  # type: ignore[import-not-found, unused-ignore]
    from mutmut.mutation.file_mutation import mutate_file_contents  # type: ignore[import-not-found, unused-ignore]
    from mutmut.utils.format_utils import get_mutant_name  # type: ignore[import-not-found, unused-ignore]

    reset_config()
    return [
        get_mutant_name(path, name)
        for path in sorted(Path("pytest_ralph", package).rglob("*.py"))
        for name in mutate_file_contents(str(path), path.read_text("utf-8")).mutant_names
    ]


def _run(chosen: list[str], jobs: int) -> None:
    log = Path("mutmut.log")
    with log.open("wb") as file:
        command = [*_MUTMUT, "run", f"--max-children={jobs}", *chosen]
        ended = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False)
    if ended.returncode:
        sys.exit(log.read_text("utf-8", "replace")[-4000:])


def _results(package: str) -> dict[str, int | None]:
    results: dict[str, int | None] = {}
    for path in Path("mutants", "pytest_ralph", package).rglob("*.meta"):
        results |= json.loads(path.read_text("utf-8"))["exit_code_by_key"]
    return results


def _diff(name: str) -> str:
    return subprocess.run(
        [*_MUTMUT, "show", name], check=True, capture_output=True, text=True
    ).stdout
