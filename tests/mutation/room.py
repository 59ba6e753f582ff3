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
# Which tests have to notice what is changed in a room.
ROOMS = {
    "spec": ("tests/unit/spec",),
    "verify": ("tests/unit/verify", "tests/unit/spec"),
    "failure": ("tests/unit/failure",),
    "healing": ("tests/unit/healing", "tests/integration/recovery"),
}
_COPIED = ("pytest_ralph", "tests", "examples", "pyproject.toml")
_MUTMUT = (sys.executable, "-c", "from mutmut.__main__ import cli; cli()")
_NOTICED = {1, 3}
# A change that makes a loop endless is noticed, too: by who waits for it.
_TOO_LONG = {36, 24, -24, 152, 255}
# Workers are forked before any test ran: what a test left in a cache would hide a change of what
# fills it.
_SETTINGS = """\
    [mutmut]
    source_paths=pytest_ralph
    only_mutate=pytest_ralph/{room}/*
    also_copy=examples
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
    """What became of the changes of one room."""

    possible: int
    noticed: int
    too_long: int
    # Name → the change as a diff, of each that all tests pass with, or that no test reaches.
    survivors: dict[str, str]

    @property
    def sample(self) -> int:
        return self.noticed + self.too_long + len(self.survivors)

    @property
    def score(self) -> float:
        return 100 * (self.noticed + self.too_long) / self.sample

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, 95%: between these lies the score of all changes, of which this is a sample."""
        z, n, p = 1.96, self.sample, self.score / 100
        middle, reach = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        scale = 100 / (1 + z * z / n)
        return scale * (middle - reach), scale * (middle + reach)


def try_room(
    room: str, directory: Path, choose: Callable[[list[str]], list[str]], jobs: int
) -> Tried:
    _copy(room, directory)
    # mutmut knows no other project than the one it is started in.
    os.chdir(directory)
    possible = _all_changes(room)
    chosen = choose(possible)
    _run(chosen, jobs)
    results = _results(room)
    statuses = [results[name] for name in chosen]
    return Tried(
        possible=len(possible),
        noticed=sum(status in _NOTICED for status in statuses),
        too_long=sum(status in _TOO_LONG for status in statuses),
        survivors={
            name: _diff(name) for name in chosen if results[name] not in _NOTICED | _TOO_LONG
        },
    )


def _copy(room: str, directory: Path) -> None:
    for name in _COPIED:
        here, there = PROJECT / name, directory / name
        if here.is_dir():
            shutil.copytree(
                here, there, ignore=shutil.ignore_patterns("__pycache__", "grown", "found")
            )
        else:
            shutil.copy2(here, there)
    settings = dedent(_SETTINGS).format(room=room, tests="\n    ".join(ROOMS[room]))
    (directory / "setup.cfg").write_text(settings, encoding="utf-8")


def _all_changes(room: str) -> list[str]:
    # Only its own environment has it.
    from mutmut.configuration import reset_config  # type: ignore[import-not-found, unused-ignore]
    from mutmut.mutation.file_mutation import mutate_file_contents  # type: ignore[import-not-found, unused-ignore]
    from mutmut.utils.format_utils import get_mutant_name  # type: ignore[import-not-found, unused-ignore]

    reset_config()
    return [
        get_mutant_name(path, name)
        for path in sorted(Path("pytest_ralph", room).rglob("*.py"))
        for name in mutate_file_contents(str(path), path.read_text("utf-8")).mutant_names
    ]


def _run(chosen: list[str], jobs: int) -> None:
    log = Path("mutmut.log")
    with log.open("wb") as file:
        command = [*_MUTMUT, "run", f"--max-children={jobs}", *chosen]
        ended = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False)
    if ended.returncode:
        sys.exit(log.read_text("utf-8", "replace")[-4000:])


def _results(room: str) -> dict[str, int | None]:
    results: dict[str, int | None] = {}
    for path in Path("mutants", "pytest_ralph", room).rglob("*.meta"):
        results |= json.loads(path.read_text("utf-8"))["exit_code_by_key"]
    return results


def _diff(name: str) -> str:
    return subprocess.run(
        [*_MUTMUT, "show", name], check=True, capture_output=True, text=True
    ).stdout
