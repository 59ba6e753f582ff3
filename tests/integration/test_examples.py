"""Each example does what its README says, on a copy of it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.docs.literal import ROOT, blocks, follow

if TYPE_CHECKING:
    from pathlib import Path

# Those of the hooks, one a directory, have a test of their own.
EXAMPLES = sorted(
    path.parent for path in (ROOT / "examples").glob("*/README.md") if path.parent.name != "hooks"
)
NEEDS = {"javascript": "node", "python-tox": "tox"}
# The package as it is here, in place of one from an index.
ENVIRONMENT = {"TOX_OVERRIDE": "testenv:spec.deps=;testenv:spec.allowlist_externals=pytest"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_works_as_its_readme_says(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (program := NEEDS.get(example.name)) and not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    if example.name == "multi-spec":
        pytest.importorskip("xdist")
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    shutil.copytree(
        example,
        tmp_path,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns(".ralph", "__pycache__", ".tox", "build"),
    )

    assert follow(tmp_path / "README.md", tmp_path) > 0


def test_every_example_has_a_readme_that_shows_its_commands() -> None:
    examples = [
        path for path in (ROOT / "examples").iterdir() if path.is_dir() and path.name != "hooks"
    ]

    assert sorted(examples) == EXAMPLES
    assert [
        path.name
        for path in EXAMPLES
        if not any(block.language == "console" for block in blocks(path / "README.md"))
    ] == []
