"""The page on files shows a spec, mappings and a state that are what they are said to be."""

from __future__ import annotations

import pytest

from pytest_ralph.spec.document import Spec
from pytest_ralph.spec.state_file import DEFAULTS
from tests.docs.literal import DOCS, blocks
from tests.docs.tables import code, rows

PAGE = DOCS / "files.md"
SAMPLES = {block.language: block.text for block in blocks(PAGE)}
OTHERS = """\
## Phase 1: Setup

- [ ] T001 Set up
- [ ] T002 [P] [US1] A story

## Phase 2: More

- [ ] T003 The rest
"""


def test_the_sample_of_a_spec_is_read_as_it_says() -> None:
    spec = Spec.parse(SAMPLES["markdown"], "specs/greeting/tasks.md")

    (task,) = spec.tasks
    assert (task.id, task.title, task.parallel, task.phase) == (
        "1.1",
        "Title",
        True,
        "Phase 1: Make it work",
    )
    assert list(task.fields) == [
        "Do",
        "Files",
        "Done when",
        "Verify",
        "Depends on",
        "Timeout",
        "Commit",
    ]
    assert spec.settings == {"timeout": 60, "executor": "claude"}


def commands(spec: Spec) -> list[str]:
    return [check.command for task in spec.tasks for check in task.verify.checks]


def test_a_mapping_in_the_front_matter_gives_commands() -> None:
    spec = Spec.parse(f"---\n{SAMPLES['yaml']}---\n{OTHERS}")

    assert commands(spec) == ["pytest -q tests/test_setup.py", "pytest -q tests/us1", "npm test"]


def test_a_mapping_in_the_ini_file_gives_commands(pytester: pytest.Pytester) -> None:
    (pytester.path / "tasks.md").write_text(OTHERS)
    pytester.makeini(SAMPLES["ini"])

    result = pytester.runpytest("--ralph-lint")

    result.stdout.fnmatch_lines(["1 spec, 0 errors, 0 warnings"])


def test_every_field_of_a_state_is_on_the_page() -> None:
    told = {name for cells in rows(PAGE, "field") for name in code(cells[0])}

    assert set(DEFAULTS) - told == set()


@pytest.mark.parametrize("marker", [code(cells[0])[0] for cells in rows(PAGE, "marker")])
def test_a_marker_is_read_as_one(marker: str) -> None:
    (task,) = Spec.parse(f"- [ ] 1.1 {marker} A task\n").tasks

    assert task.markers == (marker.strip("[]"),)
