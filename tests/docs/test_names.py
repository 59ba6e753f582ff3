"""Options, settings, variables, kinds and tox environments that a page names are there."""

from __future__ import annotations

import configparser
import re
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.options import COMMAND_LINE, INI, OPTIONS
from pytest_ralph.plugin import MARKERS
from pytest_ralph.spec.document import Spec
from tests.docs.literal import DOCS, ROOT, blocks

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [
    *ROOT.glob("*.md"),
    *DOCS.glob("*.md"),
    *ROOT.glob("examples/**/README.md"),
    *ROOT.glob(".github/**/*.md"),
]
FLAGS = {
    "--no-ralph-recovery",
    *(option.flag for option in OPTIONS if COMMAND_LINE in option.where),
}
KEYS = {
    *(option.key for option in OPTIONS if INI in option.where),
    *(marker.partition(":")[0] for marker in MARKERS),
}
SOURCE = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "pytest_ralph").rglob("*.py"))


def named(page: Path) -> str:
    """The page without the names of files and modules, which may look like a setting."""
    return re.sub(
        r"pytest[-_]ralph\w*|[\w./-]+\.(?:py|md|xml|html|ini|db)\b",
        "",
        page.read_text(encoding="utf-8"),
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_page_names_is_there(page: Path) -> None:
    text = named(page)
    wrong = set(re.findall(r"--(?:no-)?ralph[a-z-]*", text)) - FLAGS
    wrong |= set(re.findall(r"(?<![\w-])ralph_[a-z_]+\b", text)) - KEYS
    wrong |= {name for name in re.findall(r"\bRALPH_[A-Z_]+\b", text) if name not in SOURCE}

    assert wrong == set()


def test_the_commands_of_contributing_are_environments_of_tox() -> None:
    tox = configparser.ConfigParser()
    tox.read(ROOT / "tox.ini")
    text = (ROOT / "CONTRIBUTING.md").read_text()
    wanted = {
        name for names in re.findall(r"tox run -e ([\w,]+)", text) for name in names.split(",")
    }

    assert [name for name in sorted(wanted) if f"testenv:{name}" not in tox] == []


def test_the_readme_tells_to_run_what_ci_runs() -> None:
    readme, script = (ROOT / "README.md").read_text(), (ROOT / ".ci" / "run").read_text()

    assert script.splitlines()[-1] in readme


def test_the_task_of_the_readme_is_one() -> None:
    (sample,) = [block.text for block in blocks(ROOT / "README.md") if block.language == "markdown"]

    (task,) = Spec.parse(sample).tasks
    assert [check.command for check in task.verify.checks] == ["pytest -q tests/test_parser.py"]


def test_the_version_stands_in_one_place() -> None:
    assert 'dynamic = ["version", ' in (ROOT / "pyproject.toml").read_text()
