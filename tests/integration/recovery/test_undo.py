"""--ralph-undo: what the last run changed through executors and repairs is put back."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.files import backups_directory
from pytest_ralph.fixing import directory_modes
from tests.integration.processes import start, wait_for

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


def test_a_staged_rename_is_named(project: Project) -> None:
    project.spec("- [ ] 1.1 Rename it\n  - **Verify**: `test -f new.txt`\n")
    project.write("old.txt", "old\n")
    project.repository()
    project.run(executor=project.shell("git mv old.txt new.txt"))
    result = project.pytester.runpytest("--ralph-undo")

    result.stdout.fnmatch_lines(["still staged (to unstage: git restore --staged new.txt old.txt)"])


def test_an_undo_can_be_undone(ran: Project) -> None:
    name = next(backups_directory(ran.root).iterdir()).name
    result = ran.pytester.runpytest("--ralph-undo")
    result.stdout.fnmatch_lines([f"to get back what was undone: pytest --ralph-undo {name}-undone"])

    assert ran.pytester.runpytest("--ralph-undo", f"{name}-undone").ret == 0
    assert (ran.root / "new.txt").read_text() == "fixed\n"
    assert not (ran.root / "old.txt").exists()
    assert (ran.root / "made.txt").read_text() == "x\n"


def test_bytes_modes_times_and_index_come_back(project: Project) -> None:
    project.spec("- [ ] 1.1 Write it\n  - **Verify**: `test -e made.txt`\n")
    project.write("mixed.txt", "one\n")
    project.write("strip.txt", "one\n")
    project.write("hidden.txt", "one\n")
    project.write("staged.txt", "one\n")
    project.write(".gitattributes", "mixed.txt text=auto\nstrip.txt filter=strip\n")
    names = ("mixed.txt", "strip.txt", "hidden.txt", "staged.txt", "key", "made.txt")
    executor = project.shell("""\
        for file in mixed.txt strip.txt hidden.txt staged.txt; do
            echo agent >> $file; touch -d 2001-02-03 $file; chmod 755 $file
        done
        rm key; echo made > made.txt; chmod 600 made.txt
    """)
    project.repository()
    project.git("config", "filter.strip.clean", "sed s/password=.*//")
    (project.root / "mixed.txt").write_bytes(b"one\r\ntwo\n")
    project.write("strip.txt", "one\npassword=of-the-user\n")
    project.write("hidden.txt", "of the user\n")
    project.git("update-index", "--skip-worktree", "hidden.txt")
    project.write("staged.txt", "staged\n")
    project.git("add", "staged.txt")
    project.write("staged.txt", "edited\n")
    project.write("key", "private\n").chmod(0o600)

    def state() -> list[object]:
        found: list[object] = [project.git("ls-files", "-v", "--stage", *names)]
        for path in map(project.root.joinpath, names):
            if path.exists():
                status = path.stat()
                found.append((path.name, path.read_bytes(), status.st_mode, status.st_mtime_ns))
        return found

    before = state()
    project.run(executor=executor)
    after = state()
    name = next(backups_directory(project.root).iterdir()).name

    project.pytester.runpytest("--ralph-undo")
    assert state() == before
    project.pytester.runpytest("--ralph-undo", f"{name}-undone")
    assert state() == after


def test_huge_files_are_left_and_named(project: Project) -> None:
    """To copy one of 300 GB would take hours."""
    project.spec("- [ ] 1.1 Write it\n  - **Verify**: `test -e new.txt`\n")
    project.run(executor=project.shell("truncate -s 300G big.bin; touch new.txt"))
    result = project.pytester.runpytest("--ralph-undo")

    assert result.ret == 1
    line = "cannot put back big.bin: too large to be kept, left as it is"
    result.stdout.fnmatch_lines(["removed new.txt", line])
    assert (project.root / "big.bin").exists()
    assert not (project.root / "new.txt").exists()


@pytest.fixture
def directories(project: Project) -> Project:
    """A project with a private directory and one that cannot be written."""
    project.spec("- [ ] 1.1 Write it\n  - **Verify**: `test -e new.txt`\n")
    project.write("private/key.txt", "old\n")
    project.write("fixed/inner/data.txt", "old\n")
    project.write("gone/old.txt", "old\n")
    project.repository()
    for name, mode in DIRECTORIES.items():
        (project.root / name).chmod(mode)
    return project


DIRECTORIES = {"private": 0o700, "fixed/inner": 0o555, "fixed": 0o755, "gone": 0o700}
OPEN_UP = """
    chmod 755 private fixed/inner
    echo new > private/key.txt; echo new > fixed/inner/data.txt; rm -r gone; touch new.txt
    chmod 500 fixed
"""


def modes_of(project: Project) -> dict[str, int]:
    return {name: (project.root / name).stat().st_mode & 0o7777 for name in DIRECTORIES}


def test_permissions_of_directories_are_put_back(directories: Project) -> None:
    directories.run(executor=directories.shell(OPEN_UP))
    result = directories.pytester.runpytest("--ralph-undo")

    assert result.ret == 0
    assert modes_of(directories) == DIRECTORIES
    assert (directories.root / "fixed/inner/data.txt").read_text() == "old\n"
    result.stdout.fnmatch_lines_random(
        [f"put back the permissions of {name}/" for name in DIRECTORIES]
    )
    name = next(backups_directory(directories.root).glob("*-undone")).name
    assert directories.pytester.runpytest("--ralph-undo", name).ret == 0
    assert (directories.root / "private").stat().st_mode & 0o7777 == 0o755
    assert directories.pytester.runpytest("--ralph-undo").ret == 0
    assert modes_of(directories) == DIRECTORIES


def test_a_run_that_only_changed_permissions_is_undone(directories: Project) -> None:
    directories.spec("- [ ] 1.1 Open it\n  - **Verify**: `test $(stat -c %a private) = 755`\n")
    assert directories.run(executor=directories.shell("chmod 755 private")).ret == 0
    result = directories.pytester.runpytest("--ralph-undo")

    assert result.ret == 0
    assert modes_of(directories) == DIRECTORIES
    assert directories.boxes["1.1"] is False


def test_a_refused_fix_leaves_permissions_as_they_were(directories: Project) -> None:
    directories.write("tests/test_it.py", "def test_it(): assert False\n")
    directories.spec("- [ ] 1.1 Write it\n  - **Verify**: `pytest -q tests/test_it.py`\n")
    body = f"{OPEN_UP}\necho 'def test_it(): pass' > tests/test_it.py"
    result = directories.run("--ralph-guard=refuse", executor=directories.shell(body))

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*refused and undone: *tests/test_it.py"])
    assert modes_of(directories) == DIRECTORIES
    assert (directories.root / "private/key.txt").read_text() == "old\n"


def test_permissions_changed_since_then_stay(directories: Project) -> None:
    directories.run(executor=directories.shell(OPEN_UP))
    (directories.root / "private").chmod(0o711)
    result = directories.pytester.runpytest("--ralph-undo")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["cannot put back permissions of private/: changed since then"])
    assert modes_of(directories) == {**DIRECTORIES, "private": 0o711}


def test_undo_and_redo_take_turns(ran: Project) -> None:
    name = next(backups_directory(ran.root).iterdir()).name
    new = ran.root / "new.txt"
    ran.pytester.runpytest("--ralph-undo")
    redone = ran.pytester.runpytest("--ralph-undo", f"{name}-undone")
    redone.stdout.fnmatch_lines(
        [f"ralph: redoing run {name}", f"to undo it again: pytest --ralph-undo {name}"]
    )
    assert new.read_text() == "fixed\n"

    undone = ran.pytester.runpytest("--ralph-undo")
    undone.stdout.fnmatch_lines(
        [f"ralph: undoing run {name}", f"*: pytest --ralph-undo {name}-undone"]
    )
    assert new.read_text() == "broken\n"

    ran.pytester.runpytest("--ralph-undo", f"{name}-undone")
    assert new.read_text() == "fixed\n"


def test_earlier_runs_are_undone_in_turn(ran: Project) -> None:
    ran.write("new.txt", "broken again\n")
    ran.run(executor=ran.shell("echo fixed twice > new.txt"))
    assert ran.pytester.runpytest("--ralph-undo").ret == 0
    assert (ran.root / "new.txt").read_text() == "broken again\n"

    # The first run is next, and what the user wrote into its file since then stays.
    assert ran.pytester.runpytest("--ralph-undo").ret == 1
    assert (ran.root / "new.txt").read_text() == "broken again\n"
    assert (ran.root / "old.txt").read_text() == "old\n"


def test_an_undone_task_is_open_again(ran: Project) -> None:
    ran.tasks.write_text(f"# Mine\n\n{ran.tasks.read_text()}\nA note.\n", encoding="utf-8")
    before = ran.tasks.read_text()
    result = ran.pytester.runpytest("--ralph-undo")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["reopened: 1.1 (specs/demo/tasks.md)"])
    assert "- [x] 1.1 Write it" in before
    # The fix task stays ticked: it was carried out.
    assert ran.tasks.read_text() == before.replace("- [x] 1.1 Write it", "- [ ] 1.1 Write it")
    assert "- [x] 1.1 Write it" not in (ran.directory / ".progress.md").read_text()
    assert "1.1" not in ran.state.get("taskResults", {})
    assert ran.state["taskIndex"] == 0

    again = ran.run("--ralph-pending", executor="none")
    assert again.ret == 1
    assert "ALL_TASKS_COMPLETE" not in again.stdout.str()


def test_a_redone_task_stays_open(ran: Project) -> None:
    name = next(backups_directory(ran.root).iterdir()).name
    ran.pytester.runpytest("--ralph-undo")
    result = ran.pytester.runpytest("--ralph-undo", f"{name}-undone")
    result.stdout.fnmatch_lines(["tasks that were reopened stay open until they pass again"])
    assert "- [ ] 1.1 Write it" in ran.tasks.read_text()

    # Once it has passed, the next undo opens it again.
    assert ran.run("--ralph-pending").ret == 0
    result = ran.pytester.runpytest("--ralph-undo")
    result.stdout.fnmatch_lines(["reopened: 1.1 (specs/demo/tasks.md)"])


def test_undo_reopens_what_rests_on_it(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 Passes before anything changes
          - **Verify**: `true`
        - [ ] 1.2 Write it
          - **Verify**: `grep -q fixed new.txt`
        - [ ] 1.3 Passes thanks to the work on 1.2
          - **Verify**: `test -e new.txt`
    """)
    project.run(executor=project.shell("echo fixed > new.txt"))
    result = project.pytester.runpytest("--ralph-undo")

    result.stdout.fnmatch_lines(["reopened: 1.2, 1.3 (specs/demo/tasks.md)"])
    assert "- [x] 1.1" in project.tasks.read_text()


def test_ticks_from_before_the_run_stay(project: Project) -> None:
    project.spec("- [x] 1.1 Write it\n  - **Verify**: `grep -q fixed new.txt`\n")
    project.run(executor=project.shell("echo fixed > new.txt"))
    result = project.pytester.runpytest("--ralph-undo")

    result.stdout.no_fnmatch_line("reopened*")
    assert "- [x] 1.1" in project.tasks.read_text()


def test_work_that_stays_keeps_its_tick(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 Write a
          - **Verify**: `grep -q fixed a.txt`
        - [ ] 1.2 Write b
          - **Verify**: `grep -q fixed b.txt`
    """)
    body = "case $RALPH_FIX_FOR in 1.1) echo fixed > a.txt;; *) echo fixed > b.txt;; esac\n"
    project.write("executor.sh", body)
    project.run(executor="sh executor.sh")
    project.write("a.txt", "fixed by me\n")
    result = project.pytester.runpytest("--ralph-undo")

    result.stdout.fnmatch_lines(["reopened: 1.2 (specs/demo/tasks.md)"])
    assert "- [x] 1.1 Write a" in project.tasks.read_text()


def test_an_executed_task_is_reopened(project: Project) -> None:
    project.spec("- [ ] 1.1 Write it\n  - **Verify**: `test -e made`\n")
    project.verify("--ralph-execute", executor=project.shell("touch made"))
    assert "- [x] 1.1" in project.tasks.read_text()
    project.pytester.runpytest("--ralph-undo")

    assert "- [ ] 1.1" in project.tasks.read_text()
    assert not (project.directory / ".progress.md").exists()


def test_a_renumbered_task_is_reopened(ran: Project) -> None:
    text = ran.tasks.read_text().replace("- [x] 1.1 Write it", "- [x] 7.1 Write it")
    ran.tasks.write_text(text, encoding="utf-8")
    ran.pytester.runpytest("--ralph-undo")

    assert "- [ ] 7.1 Write it" in ran.tasks.read_text()


def test_a_broken_state_file_is_named(ran: Project) -> None:
    (ran.directory / ".ralph-state.json").write_text("{", encoding="utf-8")
    result = ran.pytester.runpytest("--ralph-undo")

    assert result.ret == 1
    assert (ran.root / "new.txt").read_text() == "broken\n"
    result.stdout.fnmatch_lines(["cannot reopen tasks in specs/demo/tasks.md: *"])


def test_names_of_files_are_made_harmless(project: Project) -> None:
    project.spec("- [ ] 1.1 Write it\n  - **Verify**: `test -e made`\n")
    project.run(executor=project.shell("touch made \"$(printf 'a\\nb\\033[31m')\""))
    result = project.pytester.runpytest("--ralph-undo")

    result.stdout.fnmatch_lines(["removed a b", "removed made"])


def test_secrets_in_names_of_files_are_masked(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRETKEY", "tr0ub4dor-7")
    project.spec("- [ ] 1.1 Write it\n  - **Verify**: `test -e made`\n")
    project.run(executor=project.shell("touch made tr0ub4dor-7.txt"))
    result = project.pytester.runpytest("--ralph-undo")

    result.stdout.fnmatch_lines(["removed made", "removed [*][*][*].txt"])
    assert not (project.root / "tr0ub4dor-7.txt").exists()


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


def test_what_could_not_be_put_back_is_tried_again(ran: Project) -> None:
    in_the_way = ran.root / "old.txt"
    in_the_way.mkdir()
    result = ran.pytester.runpytest("--ralph-undo")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["cannot put back old.txt: a link or directory is in the way"])
    result.stdout.fnmatch_lines(["to try the rest again: pytest --ralph-undo *"])

    in_the_way.rmdir()
    result = ran.pytester.runpytest("--ralph-undo")
    assert result.ret == 0
    assert in_the_way.read_text() == "old\n"
    assert (ran.root / "new.txt").read_text() == "broken\n"
    assert not (ran.root / "made.txt").exists()


def test_an_undo_that_was_killed_reopens_tasks_later(ran: Project) -> None:
    """All files had been put back."""
    ran.write("new.txt", "broken\n")
    ran.write("old.txt", "old\n")
    (ran.root / "made.txt").unlink()
    assert "- [x] 1.1" in ran.tasks.read_text()

    result = ran.pytester.runpytest("--ralph-undo")
    result.stdout.fnmatch_lines(["reopened: 1.1*"])
    assert "- [ ] 1.1" in ran.tasks.read_text()


def test_an_unknown_run_is_a_usage_error(ran: Project) -> None:
    result = ran.pytester.runpytest("--ralph-undo", "yesterday")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*no such run: yesterday*"])


def test_nothing_is_undone_while_a_run_is_at_work(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 Write it
          - **Verify**: `grep -q fixed new.txt`

        - [ ] 1.2 Wait
          - **Verify**: `touch waiting; until test -e go; do sleep 0.05; done`
    """)
    project.write("new.txt", "broken\n")
    executor = project.shell("echo fixed > new.txt")
    run = start(project.root, "--ralph-recovery", "--ralph-executor", executor, "specs")
    wait_for((project.root / "waiting").exists)
    result = project.pytester.runpytest("--ralph-undo")
    project.write("go", "")
    output, _ = run.communicate(timeout=60)

    assert run.returncode == 0, output
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [f"ERROR: --ralph-undo: nothing was undone: a run is at work (pid {run.pid}, since *)"]
    )
    assert (project.root / "new.txt").read_text() == "fixed\n"
    assert project.pytester.runpytest("--ralph-undo").ret == 0
    assert (project.root / "new.txt").read_text() == "broken\n"


def test_a_run_is_undone_without_git(ran: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(ran.root))
    result = ran.pytester.runpytest("--ralph-undo")

    assert result.ret == 0
    assert (ran.root / "old.txt").read_text() == "old\n"
    result.stdout.fnmatch_lines(["to get back what was undone: *"])


def test_permissions_that_cannot_be_recorded_are_named(
    directories: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    directories.run(executor=directories.shell(OPEN_UP))
    monkeypatch.setattr(directory_modes, "append_json", full_disk)
    result = directories.pytester.runpytest_inprocess("--ralph-undo")

    assert result.ret == 1
    assert modes_of(directories) == DIRECTORIES
    result.stdout.fnmatch_lines(
        [
            "put back private/key.txt",
            "cannot put back permissions of directories by a redo: not recorded: No space *",
        ]
    )


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_run_before_the_repository_is_undone(ran: Project) -> None:
    ran.repository()
    assert ran.pytester.runpytest("--ralph-undo").ret == 0
    assert (ran.root / "new.txt").read_text() == "broken\n"

    # A redo is found there, too.
    name = next((ran.root / ".ralph/backups").glob("*-undone")).name
    assert ran.pytester.runpytest("--ralph-undo", name).ret == 0
    assert (ran.root / "new.txt").read_text() == "fixed\n"


def test_a_path_does_not_limit_the_undo(ran: Project) -> None:
    result = ran.pytester.runpytest("--ralph-undo", "specs/demo")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["the run is undone as a whole: *", "put back old.txt"])


def test_a_named_run_is_undone(ran: Project) -> None:
    # The logs of a run have the same name.
    name = next((ran.root / ".ralph/logs").iterdir()).name
    assert ran.pytester.runpytest("--ralph-undo", name).ret == 0
    assert (ran.root / "old.txt").read_text() == "old\n"


# What a person loses most with an executor that cleans up: work and settings that git does not have


@pytest.fixture
def cleaned(project: Project) -> Project:
    """A repository with files that git does not have, after an executor removed them."""
    project.spec("- [ ] 1.1 Write it\n  - **Verify**: `grep -q fixed new.txt`\n")
    project.write("new.txt", "broken\n")
    project.write(".gitignore", ".env\ncache/\nexecutor.sh\n")
    project.repository()
    project.write("notes.txt", "mine\n")
    project.write(".env", "KEY=value\n")
    (project.root / ".env").chmod(0o600)
    project.write("cache/old.txt", "old\n")
    body = "rm .env; git clean -fdxq; echo fixed > new.txt"
    result = project.run(executor=project.shell(body))
    assert result.ret == 0
    assert not (project.root / "notes.txt").exists()
    result.stdout.fnmatch_lines(
        [
            "*1.1.1 removed .ralph: its logs are gone",
            "*1.1.1 removed files that git ignores: .env*(--ralph-undo puts them back)",
        ]
    )
    return project


def test_what_git_clean_removed_is_put_back(cleaned: Project) -> None:
    result = cleaned.pytester.runpytest("--ralph-undo")

    assert result.ret == 0
    assert (cleaned.root / "notes.txt").read_text() == "mine\n"
    assert (cleaned.root / ".env").read_text() == "KEY=value\n"
    assert (cleaned.root / ".env").stat().st_mode & 0o777 == 0o600
    assert (cleaned.root / "new.txt").read_text() == "broken\n"


def test_copies_of_private_files_are_private(cleaned: Project) -> None:
    copies = [*backups_directory(cleaned.root).rglob("*.saved")]

    assert copies
    assert {copy.stat().st_mode & 0o777 for copy in copies} == {0o600}


def test_an_ignored_file_that_was_written_again_stays(cleaned: Project) -> None:
    cleaned.write(".env", "KEY=new\n")
    result = cleaned.pytester.runpytest("--ralph-undo")

    assert result.ret == 0
    assert (cleaned.root / ".env").read_text() == "KEY=new\n"


def test_projects_in_one_repository_keep_their_copies_apart(project: Project) -> None:
    project.write("a.txt", "")
    project.repository()
    top = backups_directory(project.root)
    below = backups_directory(project.root / "packages" / "app")

    assert top == project.root / ".git" / "ralph" / "backups"
    assert below == project.root / ".git" / "ralph" / "backups-packages%2Fapp"
