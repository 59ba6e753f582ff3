"""The guard, when siblings' fix tasks arrive while an executor is at work."""

from __future__ import annotations

import subprocess
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.fixing.git.checkpoint import Git
from pytest_ralph.healing.guard import Guard
from pytest_ralph.healing.project_tree import ProjectTree
from pytest_ralph.healing.spec_files import SpecFiles
from pytest_ralph.spec.document import Spec
from pytest_ralph.spec.order import plan

if TYPE_CHECKING:
    from pathlib import Path

TASKS = """\
# Tasks

- [ ] 1.1 [P] One
  - **Verify**: `true`

- [ ] 1.2 [P] Two
  - **Verify**: `true`
"""
FIX = "- [ ] 1.2.1 [FIX 1.2] Fix: it\n  - **Verify**: `true`\n"


def run_git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def guard(tmp_path: Path) -> Guard:
    """The guard of task 1.1, in a repository with one commit."""
    path = tmp_path / "demo" / "tasks.md"
    path.parent.mkdir()
    path.write_text(TASKS)
    run_git(tmp_path, "init", "-q")
    run_git(tmp_path, "config", "user.name", "T")
    run_git(tmp_path, "config", "user.email", "t@example.com")
    run_git(tmp_path, "add", "-A")
    run_git(tmp_path, "commit", "-qm", "start")

    spec = Spec.load(path)
    spec_files = SpecFiles(spec, plan(spec.tasks))
    spec_files.start("demo")
    git = Git(tmp_path)
    services: Any = SimpleNamespace(
        root=tmp_path,
        directory=tmp_path / ".ralph",
        our_directories=(),
        git=git,
        git_lock=threading.RLock(),
        tree=ProjectTree(tmp_path, tmp_path / ".ralph" / "backups" / "run", git),
        settings=SimpleNamespace(guard="report", commit="none", rollback=False),
        has_other_workers=False,
        do_workers_mix=False,
    )
    return Guard(services, spec_files, spec.tasks[0])


def test_the_fix_task_of_a_sibling_stays(guard: Guard) -> None:
    sibling = guard.spec_files.spec.tasks[1]

    before = guard.begin()
    guard.spec_files.insert_fix(sibling, "1.2.1", FIX, "error")
    report = guard.end(before, guard.task)

    assert report.findings == ()
    assert "1.2.1 [FIX 1.2]" in guard.spec_files.spec.path.read_text()


def test_an_edit_of_the_executor_is_undone(guard: Guard) -> None:
    path = guard.spec_files.spec.path

    before = guard.begin()
    path.write_text(TASKS + "\n" + FIX)
    report = guard.end(before, guard.task)

    assert report.findings[0].startswith("1.1 edited tasks.md: undone")
    assert path.read_text() == TASKS


def test_a_commit_of_the_executor_is_reported(guard: Guard) -> None:
    root = guard.services.root

    before = guard.begin()
    run_git(root, "commit", "-q", "--allow-empty", "-m", "mine")
    report = guard.end(before, guard.task)

    assert len(report.findings) == 1
    assert " from " in report.findings[0]


def test_one_of_the_siblings_reports_a_commit(guard: Guard) -> None:
    root = guard.services.root
    sibling = Guard(guard.services, guard.spec_files, guard.spec_files.spec.tasks[1])

    before = guard.begin()
    sibling_before = sibling.begin()
    run_git(root, "commit", "-q", "--allow-empty", "-m", "mine")
    findings = guard.end(before, guard.task).findings
    findings += sibling.end(sibling_before, sibling.task).findings

    assert len(findings) == 1
    assert " from " in findings[0]


def test_edited_checks_of_other_workers_are_put_back(guard: Guard) -> None:
    services: Any = guard.services
    services.has_other_workers = True
    other = services.root / "other" / "tasks.md"
    other.parent.mkdir()
    other.write_text(TASKS)
    ticked = TASKS.replace("- [ ] 1.1", "- [x] 1.1")
    fix = "- [ ] 1.2.1 [FIX 1.2] Fix: it\n  - **Verify**: `true`\n"

    before = guard.begin()
    other.write_text(ticked)
    assert guard.end(before, guard.task).findings == ()

    before = guard.begin()
    # Meanwhile the worker of that spec inserts a fix task, and ticks a task.
    other.write_text(f"{ticked}{fix}".replace("`true`", "`:`").replace("[ ] 1.2 ", "[x] 1.2 "))
    report = guard.end(before, guard.task)

    fields = "Verify of 1.1, Verify of 1.2"
    assert report.findings == (f"1.1 changed {fields} in other/tasks.md: undone",)
    assert other.read_text() == f"{ticked}{fix}".replace("[ ] 1.2 ", "[x] 1.2 ")


def test_a_run_begins_while_edits_are_undone(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    path = guard.spec_files.spec.path
    sibling = Guard(guard.services, guard.spec_files, guard.spec_files.spec.tasks[1])
    begun = []
    undo = guard._plans.undo_edits

    def begin_sibling_and_undo(*given: Any) -> Any:
        begun.append(sibling.begin())
        return undo(*given)

    before = guard.begin()
    path.write_text(TASKS.replace("`true`", "`false`"))
    monkeypatch.setattr(guard._plans, "undo_edits", begin_sibling_and_undo)
    guard.end(before, guard.task)
    sibling.end(begun[0], sibling.task)

    assert path.read_text() == TASKS
