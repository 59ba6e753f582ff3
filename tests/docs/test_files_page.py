"""The page on files shows a spec, mappings and a state that are what they are said to be."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.fixing.file_state import Change, new_state
from pytest_ralph.fixing.git.checkpoint import Git
from pytest_ralph.fixing.isolation.patch import keep_patch
from pytest_ralph.spec.document import Spec
from pytest_ralph.spec.state_file import DEFAULTS
from tests.docs.literal import DOCS, blocks
from tests.docs.tables import code, rows

if TYPE_CHECKING:
    from pathlib import Path

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


SETUP = """\
git init -q -b main
git config user.name P
git config user.email p@example.org
echo good > a.txt
git add a.txt
git commit -qm start
echo staged > a.txt
git add a.txt
echo broken > a.txt
git update-ref refs/ralph/demo/1.3.1/refused-1 \
    $(git commit-tree HEAD^{tree} -p HEAD -m refused < /dev/null)
"""
ROLLBACK = "refs/ralph/demo/1.3/1"
REFUSED = "refs/ralph/demo/1.3.1/refused-1"


def test_every_command_of_the_page_runs(tmp_path: Path) -> None:
    def run(command: str) -> str:
        done = subprocess.run(
            ["sh", "-ec", command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    run(SETUP)
    Git(tmp_path).rollback("HEAD", [], ROLLBACK)
    added = Change("b.txt", None, new_state(b"b\n", 0o644, tmp_path / "states"))
    patch = keep_patch(tmp_path, tmp_path, [added], "a", announce=pytest.fail)
    words = {"FILE": "a.txt", "NAME": "new", "PATCH": patch}

    printed = []
    for cells in rows(PAGE, "ref"):
        words["REF"] = REFUSED if "refused" in cells[0] else ROLLBACK
        for command in code(cells[2]):
            given = re.sub("|".join(words), lambda match: words[match[0]], command)
            printed.append(run(given))
    assert printed == ["", "", "staged\n", ""]
    assert (tmp_path / "a.txt").read_text() == "broken\n"
    assert run("git rev-parse new") == run(f"git rev-parse {REFUSED}")

    words["REF"] = ROLLBACK
    for command in re.findall("`(git [^`]*)`", PAGE.read_text(encoding="utf-8")):
        if command.startswith(("git apply", "git for-each-ref", "git update-ref")):
            run(re.sub("|".join(words), lambda match: words[match[0]], command))
    assert (tmp_path / "b.txt").read_text() == "b\n"
    assert ROLLBACK not in run("git for-each-ref refs/ralph")
