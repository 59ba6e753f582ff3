"""--ralph-undo: what the last run changed through executors and repairs is put back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project


@pytest.fixture
def ran(project: Project) -> Project:
    """A project after a run in which an executor changed, added and removed files."""
    project.spec("""\
        - [ ] 1.1 Write it
          - **Verify**: `grep -q fixed new.txt`
    """)
    project.write("new.txt", "broken\n")
    project.write("old.txt", "old\n")
    project.run(executor=project.shell("echo fixed > new.txt; rm old.txt; echo x > made.txt"))
    assert (project.root / "new.txt").read_text() == "fixed\n"
    return project


def test_the_last_run_is_undone(ran: Project) -> None:
    result = ran.pytester.runpytest("--ralph-undo")

    assert result.ret == 0
    assert (ran.root / "new.txt").read_text() == "broken\n"
    assert (ran.root / "old.txt").read_text() == "old\n"
    assert not (ran.root / "made.txt").exists()
    result.stdout.fnmatch_lines_random(["put back new.txt", "put back old.txt", "removed made.txt"])
    result.stdout.fnmatch_lines(["not put back: *commits*"])


def test_an_undo_can_be_undone(ran: Project) -> None:
    name = next((ran.root / ".ralph/backups").iterdir()).name
    result = ran.pytester.runpytest("--ralph-undo")
    result.stdout.fnmatch_lines([f"to get back what was undone: pytest --ralph-undo {name}-undone"])

    assert ran.pytester.runpytest("--ralph-undo", f"{name}-undone").ret == 0
    assert (ran.root / "new.txt").read_text() == "fixed\n"
    assert not (ran.root / "old.txt").exists()
    assert (ran.root / "made.txt").read_text() == "x\n"


def test_names_of_files_are_made_harmless(project: Project) -> None:
    project.spec("- [ ] 1.1 Write it\n  - **Verify**: `test -e made`\n")
    project.run(executor=project.shell("touch made \"$(printf 'a\\nb\\033[31m')\""))
    result = project.pytester.runpytest("--ralph-undo")

    result.stdout.fnmatch_lines(["removed a b", "removed made"])


def test_later_edits_are_left_and_named(ran: Project) -> None:
    ran.write("new.txt", "mine\n")
    result = ran.pytester.runpytest("--ralph-undo")

    assert result.ret == 1
    assert (ran.root / "new.txt").read_text() == "mine\n"
    assert (ran.root / "old.txt").read_text() == "old\n"
    result.stdout.fnmatch_lines(["cannot put back new.txt: changed since then, left as it is"])


def test_a_run_is_undone_once(ran: Project) -> None:
    ran.pytester.runpytest("--ralph-undo")
    result = ran.pytester.runpytest("--ralph-undo")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*no run has changed anything that can be put back*"])


def test_an_unknown_run_is_a_usage_error(ran: Project) -> None:
    result = ran.pytester.runpytest("--ralph-undo", "yesterday")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*no such run: yesterday*"])


def test_a_path_does_not_limit_the_undo(ran: Project) -> None:
    result = ran.pytester.runpytest("--ralph-undo", "specs/demo")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["the run is undone as a whole: *", "put back old.txt"])


def test_a_named_run_is_undone(ran: Project) -> None:
    # The logs of a run have the same name.
    name = next((ran.root / ".ralph/logs").iterdir()).name
    assert ran.pytester.runpytest("--ralph-undo", name).ret == 0
    assert (ran.root / "old.txt").read_text() == "old\n"
