"""The recipes for CI are the files of the example, and their commands run."""

from __future__ import annotations

import configparser
import re
import shutil
from typing import TYPE_CHECKING

import pytest
from ruamel.yaml import YAML

from tests.docs.literal import DOCS, ROOT, Step, blocks, run

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = ROOT / "examples" / "ci"
RECIPES = {block.title: block.text for block in blocks(DOCS / "ci.md") if block.title}


def commands(name: str) -> list[str]:
    """What a recipe has run, without what installs it."""
    text = RECIPES[name]
    if name.endswith("spec.yml"):
        found = [
            step["run"]
            for step in YAML(typ="safe").load(text)["jobs"]["spec"]["steps"]
            if "run" in step
        ]
    elif name == ".gitlab-ci.yml":
        found = YAML(typ="safe").load(text)["spec"]["script"]
    elif name == "tox.ini":
        parser = configparser.ConfigParser()
        parser.read_string(text)
        found = parser["testenv:spec"]["commands"].strip().splitlines()
    else:
        found = [
            line.removeprefix(". .venv/bin/activate && ")
            for line in re.findall(r"\bsh '(.+)'", text)
        ]
    return [command for command in found if "pip install" not in command]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_the_file_of_the_example(name: str) -> None:
    assert RECIPES[name] == (EXAMPLE / name).read_text()


@pytest.mark.parametrize("name", RECIPES)
def test_the_commands_of_a_recipe_run(name: str, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)

    run([Step(command) for command in commands(name)], tmp_path)

    assert (tmp_path / "ralph.xml").exists()
    assert (tmp_path / "ralph.html").exists()
