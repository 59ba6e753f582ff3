"""The guard: what it undoes and reports, also when others write while an executor is at work."""

from __future__ import annotations

import subprocess
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph import files
from pytest_ralph.fixing.git.checkpoint import Git
from pytest_ralph.healing import project_tree
from pytest_ralph.healing.document import changed_checks
from pytest_ralph.healing.guard import Guard
from pytest_ralph.healing.plan_guard import edits_before_kill
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
        note=lambda _: None,
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


@pytest.mark.parametrize("unreadable", [None, b"\xff"])
def test_a_plan_of_unknown_text_is_left_alone(guard: Guard, unreadable: bytes | None) -> None:
    path = guard.spec_files.spec.path
    path.unlink()
    if unreadable is not None:
        path.write_bytes(unreadable)

    before = guard.begin()
    # As an editor does that saves the file in two steps.
    path.write_text(TASKS)
    report = guard.end(before, guard.task)

    assert report.findings == ()
    assert path.read_text() == TASKS


def test_an_edit_is_undone_though_the_file_is_saved_meanwhile(
    guard: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = guard.spec_files.spec.path
    edited = TASKS.replace("`true`", "`false`", 1)

    def save(name: str) -> None:
        if name == "before replace tasks.md":
            monkeypatch.setattr(files, "on_fault_point", None)
            path.write_text(f"{edited}\n")

    before = guard.begin()
    path.write_text(edited)
    monkeypatch.setattr(files, "on_fault_point", save)
    report = guard.end(before, guard.task)

    assert path.read_text() == TASKS
    assert report.findings[0].startswith("1.1 changed Verify of 1.1 in tasks.md: undone")


def test_an_edit_is_not_undone_if_another_process_keeps_saving(
    guard: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = guard.spec_files.spec.path
    edited = TASKS.replace("`true`", "`false`", 1)
    lines: list[str] = []

    def save(name: str) -> None:
        if name == "before replace tasks.md":
            lines.append("")
            path.write_text(edited + "\n".join(lines))

    before = guard.begin()
    path.write_text(edited)
    monkeypatch.setattr(files, "on_fault_point", save)
    report = guard.end(before, guard.task)

    assert report.findings == ("1.1 changed Verify of 1.1 in tasks.md: not undone",)


def test_an_edit_after_an_interrupt_is_not_the_executors(guard: Guard) -> None:
    path = guard.spec_files.spec.path

    guard.interrupted(guard.begin())
    path.write_text(TASKS.replace("`true`", "`false`", 1))

    backups = guard.services.tree.backups.parent
    assert edits_before_kill(guard.services.root, backups, Spec.load(path)) == []


def test_a_plan_is_not_compared_with_that_of_a_namesake(guard: Guard) -> None:
    guard.begin()
    root = guard.services.root
    namesake = root / "other" / guard.spec_files.name / "tasks.md"
    namesake.parent.mkdir(parents=True)
    namesake.write_text(TASKS.replace("`true`", "`false`", 1))

    backups = guard.services.tree.backups.parent
    assert edits_before_kill(root, backups, Spec.load(namesake)) == []
    assert len(list(backups.glob("*/*-plan.saved"))) == 1


def test_every_edited_plan_is_kept(guard: Guard) -> None:
    path = guard.spec_files.spec.path
    for field in ("`false`", "`echo`"):
        before = guard.begin()
        path.write_text(TASKS.replace("`true`", field, 1))
        guard.end(before, guard.task)

    kept = guard.services.tree.backups.glob("*-tasks*.saved")
    assert sorted("`echo`" in one.read_text() for one in kept) == [False, True]


def test_after_an_error_the_next_run_is_alone(
    guard: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = guard.services.tree

    def fail(*_: object) -> None:
        raise OSError

    before = guard.begin()
    monkeypatch.setattr(tree, "record_ignored", fail)
    with pytest.raises(OSError):
        guard.end(before, guard.task)
    monkeypatch.setattr(tree, "ignored_files", fail)
    with pytest.raises(OSError):
        guard.begin()

    assert tree.end_run(tree.begin_run())


@pytest.fixture
def ignoring(guard: Guard) -> Guard:
    """The guard refuses; `secret.env` is ignored, `notes.txt` is not, and neither is tracked."""
    root = guard.services.root
    guard.services.settings.guard = "refuse"  # type: ignore[misc]
    (root / ".gitignore").write_text("*.env\n.ralph/\n")
    (root / "test_a.py").write_text("expects 1\n")
    run_git(root, "add", "-A")
    run_git(root, "commit", "-qm", "ignore")
    (root / "secret.env").write_text("secret")
    (root / "notes.txt").write_text("notes")
    return guard


def test_a_file_that_git_tracks_now_is_not_removed(ignoring: Guard) -> None:
    root = ignoring.services.root

    before = ignoring.begin()
    run_git(root, "add", "-f", "secret.env")
    (root / "test_a.py").write_text("expects 2\n")
    report = ignoring.end(before, ignoring.task)

    assert report.findings == ("1.1 changed tests: test_a.py (undone)",)
    assert (root / "secret.env").read_text() == "secret"


@pytest.mark.parametrize("ignored", ["", "*.env\n*.txt\n"], ids=["fewer", "more"])
def test_a_file_is_not_gone_when_other_files_are_ignored(
    ignoring: Guard, ignored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_tree, "IGNORED_LISTING_AGE", -1.0)
    root = ignoring.services.root

    before = ignoring.begin()
    (root / ".gitignore").write_text(f"{ignored}.ralph/\n")
    (root / "test_a.py").write_text("expects 2\n")
    report = ignoring.end(before, ignoring.task)

    assert report.findings == ("1.1 changed tests: test_a.py (undone)",)
    assert report.changed == ()


def test_files_of_a_renamed_directory_are_changes(guard: Guard) -> None:
    root = guard.services.root
    (root / "old").mkdir()
    (root / "old" / "a.txt").write_text("a")

    before = guard.begin()
    (root / ".gitignore").write_text("*.log\n")
    (root / "old").rename(root / "new")
    report = guard.end(before, guard.task)

    assert report.changed == (".gitignore", "new/a.txt", "old/a.txt")


def test_a_check_configuration_that_is_a_link(guard: Guard) -> None:
    root = guard.services.root
    (root / "strict.toml").write_text("line-length = 80\n")
    (root / "loose.toml").write_text("line-length = 800\n")
    link = root / "ruff.toml"
    link.symlink_to("strict.toml")

    before = guard.begin()
    link.unlink()
    link.symlink_to("loose.toml")
    report = guard.end(before, guard.task)

    assert report.findings == ("1.1 changed check configuration: ruff.toml",)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- [ ] 1.1 Verify: `pytest -q`", "- [ ] 1.1 Verify: `true`"),
        ("- [ ] 1.1 One\n  <verify>pytest -q</verify>", "- [ ] 1.1 One\n  <verify>true</verify>"),
        (
            "- [ ] 1.1 One\n  - **Do**: Run `pytest -q`\n  - **Verify**: All commands exit 0",
            "- [ ] 1.1 One\n  - **Do**: Run `true`\n  - **Verify**: All commands exit 0",
        ),
    ],
    ids=["title", "tag", "Do"],
)
def test_a_check_that_is_not_in_a_verify_field(old: str, new: str) -> None:
    before = Spec.parse(f"# Tasks\n\n{old}\n")
    now = Spec.parse(f"# Tasks\n\n{new}\n")
    assert changed_checks(before, now) == ["Verify of 1.1"]


def test_one_of_two_equal_lines_of_another_plan_is_put_back(guard: Guard) -> None:
    other = guard.services.root / "other" / "tasks.md"
    other.parent.mkdir()
    other.write_text(TASKS)

    before = guard.begin()
    other.write_text(TASKS.replace("  - **Verify**: `true`\n", "", 1))
    report = guard.end(before, guard.task)

    assert report.findings == ("1.1 changed Verify of 1.1 in other/tasks.md: undone",)
    assert other.read_text() == TASKS


@pytest.mark.parametrize("mark", ["x", "X"])
def test_a_tick_in_another_plan_is_left(guard: Guard, mark: str) -> None:
    other = guard.services.root / "other" / "tasks.md"
    other.parent.mkdir()
    other.write_text(TASKS)

    before = guard.begin()
    other.write_text(TASKS.replace("- [ ] 1.1", f"- [{mark}] 1.1"))
    report = guard.end(before, guard.task)

    assert report.findings == ()


def test_tests_that_the_task_names_in_another_way(guard: Guard) -> None:
    root = guard.services.root
    (root / "test_a.py").write_text("expects 1\n")
    task = replace(guard.task, files=("./test_a.py",))
    guard = Guard(guard.services, guard.spec_files, task)

    before = guard.begin()
    (root / "test_a.py").write_text("expects 2\n")
    report = guard.end(before, task)

    assert report.findings == ()
