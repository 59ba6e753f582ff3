"""Which code Python imports in a worktree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph.fixing.git.command import GitCommand
from pytest_ralph.fixing.isolation.python_paths import worktree_variables
from pytest_ralph.fixing.isolation.worktree import Worktree

if TYPE_CHECKING:
    from pathlib import Path

FINDER = "import sys\nMAPPING: dict[str, str] = {{'shop': '{0}/flat/shop'}}\nNAMESPACES = {{}}\n"


@pytest.fixture
def worktree(tmp_path: Path) -> Worktree:
    project = tmp_path.resolve() / "project"
    container = project.parent / "container"
    (project / ".venv/bin").mkdir(parents=True)
    (project / ".venv/lib/python3.12/site-packages").mkdir(parents=True)
    (container / "project").mkdir(parents=True)
    (container / "project/.venv").symlink_to(project / ".venv")
    path = container / "project"
    git = GitCommand.at(path, {})
    return Worktree(container, project, path, path, git, "", linked=(".venv",))


@pytest.mark.parametrize(
    ("name", "text", "directories"),
    [
        ("__editable__.shop-1.pth", "{0}/src\n", ["src"]),
        ("easy-install.pth", "# comment\n{0}\nimport os\n/elsewhere\n", [""]),
        ("__editable___shop_1_finder.py", FINDER, ["flat"]),
        ("__editable___shop_1_finder.py", "nothing\n", []),
        ("__editable___shop_1_finder.py", "MAPPING = {{name: 1 for name in ()}}\n", []),
        ("other.py", "{0}/src\n", []),
    ],
)
def test_editable_installs(
    worktree: Worktree, name: str, text: str, directories: list[str]
) -> None:
    packages = worktree.project / ".venv/lib/python3.12/site-packages"
    (packages / name).write_text(text.format(worktree.project))
    variables = worktree_variables(worktree, {})

    expected = [str(worktree.path / directory) for directory in directories]
    assert variables.get("PYTHONPATH", "").split(":") == (expected or [""])
    assert variables["UV_NO_SYNC"] == "1"


def test_paths_of_the_user_are_kept(worktree: Worktree) -> None:
    environ = {"PYTHONPATH": f"lib:/elsewhere::{worktree.project}/lib"}
    variables = worktree_variables(worktree, environ)
    assert variables["PYTHONPATH"] == f"lib:/elsewhere::{worktree.path}/lib"


def test_nothing_is_set_without_need(worktree: Worktree) -> None:
    worktree.linked = ()
    assert worktree_variables(worktree, {}) == {}
