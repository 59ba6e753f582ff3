"""Each example of a hook does what its README says, on a copy of it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from pytest_ralph import hookspecs
from tests.docs.literal import ROOT, follow

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = ROOT / "examples" / "hooks"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/conftest.py"))


def test_every_hook_has_an_example() -> None:
    hooks = {
        name.removeprefix("pytest_ralph_")
        for name in vars(hookspecs)
        if name.startswith("pytest_ralph_")
    }
    assert hooks == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_example_does_what_its_readme_says(tmp_path: Path, name: str) -> None:
    shutil.copytree(
        EXAMPLES / name,
        tmp_path,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns(".*", "__pycache__"),
    )

    assert follow(tmp_path / "README.md", tmp_path) > 0
