"""Each example of a hook does what its README says."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ralph import hookspecs

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).parents[2] / "examples" / "hooks"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/conftest.py"))


def sessions(readme: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block, and the lines it is said to print."""
    for block in re.findall(r"```console\n(.*?)```", readme, re.DOTALL):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            yield command, lines


def pattern(line: str) -> str:
    return line.replace("[", "[[]")


def test_every_hook_has_an_example() -> None:
    hooks = {name.removeprefix("pytest_ralph_") for name in vars(hookspecs) if name.startswith("pytest_ralph_")}
    assert hooks == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_example_does_what_its_readme_says(pytester: pytest.Pytester, name: str) -> None:
    shutil.copytree(EXAMPLES / name, pytester.path, dirs_exist_ok=True)
    told = list(sessions((EXAMPLES / name / "README.md").read_text(encoding="utf-8")))
    assert told
    for command, lines in told:
        program, *args = shlex.split(command)
        result = pytester.runpytest(*args) if program == "pytest" else pytester.run(program, *args)
        result.stdout.fnmatch_lines([pattern(line) for line in lines])
