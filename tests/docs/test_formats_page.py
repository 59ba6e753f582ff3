"""Every sample of a format is read as the table below it says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.running.expectations import in_words
from pytest_ralph.spec.document import Spec
from tests.docs.literal import DOCS
from tests.docs.tables import CELL, code

if TYPE_CHECKING:
    from pytest_ralph.spec.task import Task

PAGE = (DOCS / "formats.md").read_text(encoding="utf-8")
SECTION = re.compile(
    r"^## (?P<name>[^\n]+)\n.*?^```markdown\n(?P<sample>.*?)^```\n", re.MULTILINE | re.DOTALL
)
ROW = re.compile(r"^\|.*\|$", re.MULTILINE)


def sections() -> list[tuple[str, str, list[list[str]]]]:
    """The name, the sample and the rows of the table of each section."""
    found = []
    for match in SECTION.finditer(PAGE):
        below = PAGE[match.end() :].partition("\n## ")[0]
        lines = ROW.findall(below)[2:]
        rows = [[cell.strip() for cell in CELL.split(line)[1:-1]] for line in lines]
        found.append((match["name"], match["sample"], rows))
    return found


SECTIONS = sections()


def shown(task: Task) -> list[str]:
    """A task as a row of a table."""
    verify = task.verify
    commands = ", then ".join(f"`{check.command}`" for check in verify.checks)
    expects = [in_words(expect) for check in verify.checks for expect in check.expect]
    asked = "; ".join(expects)
    if verify.manual:
        asked = "reported as MANUAL"
    elif not verify.checks:
        asked = "–"
    return [task.heading, commands or "nothing", asked or "it exits with 0"]


@pytest.mark.parametrize(("name", "sample", "rows"), SECTIONS)
def test_a_sample_is_read_as_shown(name: str, sample: str, rows: list[list[str]]) -> None:
    spec = Spec.parse(sample, f"{name}.md")
    assert [shown(task) for task in spec.tasks] == rows


def test_every_section_has_a_sample() -> None:
    outside_samples = re.sub(r"(?ms)^```markdown\n.*?^```\n", "", PAGE)
    assert len(SECTIONS) == outside_samples.count("\n## ")


def test_commands_in_the_tables_are_in_the_samples() -> None:
    for _, sample, rows in SECTIONS:
        for row in rows:
            assert all(command in sample for command in code(row[1]))
