"""A broken build with --ralph-rollback: back to the last good commit, all kept, then fixed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.integration import processes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.recovery.conftest import Project


@pytest.fixture
def broken_build(project: Project) -> Project:
    """1.1 passes at the first commit; 1.2 does not build since somebody wrote into build.sh."""
    project.spec("""\
        - [ ] 1.1 It is there
          - **Verify**: `test -e build.sh`

        - [ ] 1.2 It builds
          - **Do**: Make it build
          - **Files**: `build.sh`, `note.txt`
          - **Verify**: `sh build.sh && grep -q fixed note.txt`
    """)
    project.write("build.sh", "true\n")
    project.write("note.txt", "broken\n")
    project.write(".gitignore", ".ralph/\n")
    project.shell("cp build.sh seen-build.sh; ls > seen-files.txt; echo fixed > note.txt")
    project.repository()
    project.write("build.sh", "if then fi (\n")
    project.write("new.txt", "not to be lost\n")
    return project


def test_what_was_there_is_kept_then_rolled_back_then_fixed(broken_build: Project) -> None:
    project = broken_build
    head = project.git("rev-parse", "HEAD")
    # As if the output of the run were redirected to it.
    with (project.root / "run.log").open("w"):
        result = project.run("--ralph-rollback", "-v", executor="sh executor.sh")

    assert result.ret == 0
    assert (project.root / "run.log").exists()
    result.stdout.fnmatch_lines(
        ["*1.2: the build is broken: back to the last good commit, then a fix"]
    )
    assert (project.root / "seen-build.sh").read_text() == "true\n"
    assert "new.txt" not in (project.root / "seen-files.txt").read_text()
    assert project.git("show", "refs/ralph/demo/1.2/1:build.sh") == "if then fi ("
    assert project.git("show", "refs/ralph/demo/1.2/1:new.txt") == "not to be lost"
    assert "refs/ralph/demo/1.2/1" in result.stdout.str()
    assert project.git("rev-parse", "HEAD") == head
    assert project.boxes == {"1.1": True, "1.2": True, "1.2.1": True}


EDITS = {
    "untracked": "mkdir sub; echo x > sub/new; touch -d 2001-02-03 sub/new",
    "staged": "echo staged > a.txt; git add a.txt; echo edited > a.txt",
    "staged new file": "echo staged > n.txt; git add n.txt; echo edited > n.txt",
    "removed": "git rm -q a.txt",
    "removed from index": "git rm -q --cached a.txt",
    "skip-worktree": "echo mine > a.txt; git update-index --skip-worktree a.txt",
    "assume-unchanged": "echo mine > a.txt; git update-index --assume-unchanged a.txt",
    "mixed line endings": r"printf 'one\r\ntwo\nthree\r\n' > mixed.txt",
    "filter that strips": "echo password=mine >> strip.txt",
    "mode 0600": "echo mine > a.txt; chmod 600 a.txt; echo key > key; chmod 600 key",
}
FILES = ("a.txt", "build.sh", "key", "mixed.txt", "n.txt", "note.txt", "strip.txt", "sub/new")


def files_and_index(project: Project) -> dict[str, object]:
    """Content, mode and time of the files that EDITS change, and the index with its flags."""
    found: dict[str, object] = {"index": project.git("ls-files", "-v", "--stage", *FILES)}
    for path in map(project.root.joinpath, FILES):
        if path.exists():
            status = path.stat()
            found[path.name] = (path.read_bytes(), status.st_mode, status.st_mtime_ns)
    return found


def get_back(project: Project, output: str) -> None:
    announced = re.search(r"to get it back: (git show \S+\^3:restore\.sh \| sh)", output)
    assert announced
    subprocess.run(announced[1], shell=True, cwd=project.root, check=True)


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_announced_command_brings_all_back(broken_build: Project, edit: str) -> None:
    project = broken_build
    project.write("build.sh", "true\n")
    project.write("a.txt", "good\n")
    project.write("mixed.txt", "one\ntwo\n")
    project.write("strip.txt", "good\n")
    project.write(".gitattributes", "mixed.txt text=auto\nstrip.txt filter=strip\n")
    project.git("config", "filter.strip.clean", "sed s/password=.*//")
    project.git("config", "filter.strip.smudge", "cat")
    project.git("add", "-A")
    project.git("commit", "-qm", "more files")
    project.write("build.sh", "if then fi (\n")
    subprocess.run(edit, shell=True, cwd=project.root, check=True)
    before = files_and_index(project)
    result = project.run("--ralph-rollback", executor="exit 1")
    assert (project.root / "build.sh").read_text() == "true\n"

    get_back(project, result.stdout.str())
    assert files_and_index(project) == before


@pytest.mark.parametrize("flag", ["--skip-worktree", "--assume-unchanged"])
def test_hidden_file_of_a_later_commit_comes_back(broken_build: Project, flag: str) -> None:
    project = broken_build
    project.write("a.txt", "good\n")
    project.git("add", "a.txt")
    project.git("commit", "-qm", "more files")
    project.run("--ralph-rollback", "-k", "1.1")
    project.write("a.txt", "later\n")
    project.git("commit", "-qm", "later", "a.txt")
    project.write("a.txt", "of the user\n")
    project.git("update-index", flag, "a.txt")
    before = files_and_index(project)
    result = project.run("--ralph-rollback", "-k", "1.2", executor="exit 1")
    assert (project.root / "a.txt").read_text() == "good\n"

    get_back(project, result.stdout.str())
    assert files_and_index(project) == before


def test_large_untracked_file_is_not_copied(
    broken_build: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = broken_build
    (project.root / "large.bin").write_bytes(os.urandom(20_000_000))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    executor = "du -sk .git .ralph $TMPDIR | cut -f1 >> ../sizes; exit 1"
    options = ("--ralph-recovery", "--ralph-rollback", "--ralph-executor", executor)
    _, output = processes.run(project.root, *options, "specs/demo")

    assert "large.bin (20 MB, too large to keep)" in output
    sizes = (project.root.parent / "sizes").read_text().split()
    assert max(map(int, sizes)) < 10_000


@pytest.mark.parametrize("redirection", ["> run.log 2>&1", "-n2 > run.log", "| tee run.log"])
def test_log_of_the_run_stays(broken_build: Project, redirection: str) -> None:
    project = broken_build
    options = "--ralph-recovery --ralph-rollback --ralph-executor 'sh executor.sh' specs/demo"
    command = f"{sys.executable} -m pytest {options} {redirection}"
    # In a process group of its own, as a shell would start it.
    subprocess.run(command, shell=True, cwd=project.root, check=True, start_new_session=True)

    assert (project.root / "seen-build.sh").read_text() == "true\n"
    assert "1 recovered" in (project.root / "run.log").read_text()


def test_ignored_secret_is_not_committed(broken_build: Project) -> None:
    project = broken_build
    project.write(".gitignore", ".ralph/\n.env\n")
    project.write(".env", "KEY=1\n")
    project.run("--ralph-rollback", "--ralph-commit=auto", executor="sh executor.sh")

    assert (project.root / "seen-build.sh").read_text() == "true\n"
    assert (project.root / ".env").read_text() == "KEY=1\n"
    assert ".env" not in project.git("log", "--all", "--name-only", "--format=").split()
    assert ".env" not in project.git("status", "--porcelain")


def test_without_the_option_nothing_is_rolled_back(broken_build: Project) -> None:
    broken_build.run(executor="sh executor.sh")

    assert (broken_build.root / "seen-build.sh").read_text() == "if then fi (\n"
    assert broken_build.git("for-each-ref", "refs/ralph") == ""


def test_an_error_that_is_no_broken_build_is_not_rolled_back(broken_build: Project) -> None:
    broken_build.write("build.sh", "true\n")
    broken_build.run("--ralph-rollback", executor="sh executor.sh")

    assert (broken_build.root / "new.txt").exists()


def test_a_verify_that_no_shell_parses_is_not_rolled_back(broken_build: Project) -> None:
    text = broken_build.tasks.read_text()
    broken_build.tasks.write_text(text.replace("sh build.sh && ", "if sh build.sh; then "))
    broken_build.run("--ralph-rollback", executor="sh executor.sh")

    assert (broken_build.root / "new.txt").exists()
    assert not (broken_build.root / "seen-files.txt").exists()
    assert broken_build.git("for-each-ref", "refs/ralph/demo/1.2") == ""


def detach(project: Project) -> None:
    project.git("checkout", "-q", "--detach")


def begin_a_rebase(project: Project) -> None:
    (project.root / ".git" / "rebase-merge").mkdir()


def add_a_submodule(project: Project) -> None:
    head = project.git("rev-parse", "HEAD")
    project.git("update-index", "--add", "--cacheinfo", f"160000,{head},vendor")


def hold_the_index(project: Project) -> None:
    project.write(".git/index.lock", "")


def leave_git(project: Project) -> None:
    (project.root / ".git").rename(project.root / "no-git")


REFUSALS = [
    (detach, "no rollback: HEAD is detached*"),
    (begin_a_rebase, "no rollback: a rebase is in progress*"),
    (add_a_submodule, "no rollback: submodules cannot be rolled back: vendor*"),
    (hold_the_index, "no rollback: another git process holds the index (index.lock)*"),
    (leave_git, "no rollback: * is not in a git repository*"),
]


@pytest.mark.parametrize(
    ("arrange", "line"), REFUSALS, ids=[function.__name__ for function, _ in REFUSALS]
)
def test_where_it_cannot_be_done_it_is_said_and_nothing_changes(
    broken_build: Project, arrange: object, line: str
) -> None:
    assert callable(arrange)
    arrange(broken_build)
    result = broken_build.run("--ralph-rollback", executor="sh executor.sh")

    result.stdout.fnmatch_lines([f"*{line}"])
    assert (broken_build.root / "seen-build.sh").read_text() == "if then fi (\n"
    assert (broken_build.root / "new.txt").read_text() == "not to be lost\n"


def test_nothing_good_to_go_back_to_is_said(broken_build: Project) -> None:
    text = broken_build.tasks.read_text()
    broken_build.tasks.write_text(text[text.index("- [ ] 1.2") :])
    result = broken_build.run("--ralph-rollback", executor="sh executor.sh")

    result.stdout.fnmatch_lines(["*no rollback: nothing to go back to*"])
    assert (broken_build.root / "new.txt").exists()


def write_parts(project: Project) -> None:
    project.write("build.sh", "true\n")
    project.write("part.txt", "open\n")
    project.write("note.txt", "broken\n")
    project.repository()


def test_work_of_a_passed_task_stays(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 Write the part
          - **Verify**: `grep -q done part.txt`

        - [ ] 1.2 It builds
          - **Do**: Make it build
          - **Verify**: `sh build.sh && grep -q fixed note.txt`
    """)
    write_parts(project)
    executor = project.shell("""\
        case $task in
            1.1*) echo done > part.txt; echo 'if then fi (' > build.sh; echo new > made.txt;;
            *) echo true > build.sh; echo fixed > note.txt;;
        esac
    """)
    project.run("--ralph-rollback", executor=executor)

    assert project.boxes["1.1"]
    assert (project.root / "part.txt").read_text() == "done\n"
    assert (project.root / "made.txt").read_text() == "new\n"


def test_work_of_a_sibling_stays(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 [P] Write the part
          - **Verify**: `grep -q done part.txt`

        - [ ] 1.2 [P] It builds
          - **Verify**: `sh build.sh && grep -q fixed note.txt`
    """)
    write_parts(project)
    executor = project.shell("""\
        case $task in
            1.1) echo done > part.txt; echo new > made.txt;;
            1.2) echo 'if then fi (' > build.sh; echo x > wrong.txt;;
            *) cp build.sh seen-build.sh; ls > seen-files.txt; echo fixed > note.txt;;
        esac
    """)
    # One at a time: 1.1 has passed when the executor of 1.2 begins.
    options = ("--ralph-rollback", "--ralph-execute", "--ralph-jobs=1")
    result = project.run(*options, executor=executor)

    assert result.ret == 0
    assert (project.root / "part.txt").read_text() == "done\n"
    assert (project.root / "seen-build.sh").read_text() == "true\n"
    seen = (project.root / "seen-files.txt").read_text().split()
    assert "made.txt" in seen
    assert "wrong.txt" not in seen


def test_siblings_commit_around_a_rollback(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 [P] It builds
          - **Files**: `note.txt`
          - **Verify**: `sh build.sh && grep -q fixed note.txt`
          - **Commit**: feat: one

        - [ ] 1.2 [P] Write the part
          - **Files**: `part.txt`
          - **Verify**: `grep -q done part.txt`
          - **Commit**: feat: two
    """)
    project.write(".gitignore", ".ralph/\ncalls.txt\nprompt.*\nexecutor.sh\n")
    write_parts(project)
    project.write("mine.txt", "of the user\n")
    executor = project.shell("""\
        case $task in
            1.1) echo 'if then fi (' > build.sh; echo x > wrong.txt;;
            1.2) echo done > part.txt; echo new > helper.txt;;
            *) echo fixed > note.txt;;
        esac
    """)
    options = ("--ralph-rollback", "--ralph-execute", "--ralph-jobs=2", "--ralph-commit=auto")
    result = project.run(*options, executor=executor)

    assert result.ret == 0
    assert (project.root / "mine.txt").exists()
    assert not (project.root / "wrong.txt").exists()
    listed = ("show", "--format=", "--name-only")
    assert project.git(*listed, ":/feat: one", "--", "*.txt", "*.sh") == "note.txt"
    assert project.git(*listed, ":/feat: two", "--", "*.txt").split() == ["helper.txt", "part.txt"]


def test_what_the_user_staged_meanwhile_stays_staged(breaking_executor: Project) -> None:
    project = breaking_executor
    stage = "test -e s.txt || { echo 1 > s.txt; git add s.txt; echo 2 > s.txt; }"
    project.tasks.write_text(project.tasks.read_text().replace("touch user.txt", stage))
    project.run("--ralph-rollback", "--ralph-execute", executor="sh executor.sh")

    assert (project.root / "seen-build.sh").read_text() == "true\n"
    assert project.git("show", ":s.txt") == "1"
    assert (project.root / "s.txt").read_text() == "2\n"


@pytest.mark.slow
def test_workers_keep_what_others_have_done(project: Project) -> None:
    pytest.importorskip("xdist")
    for name in ("a", "b", "c"):
        project.write(
            f"specs/{name}/tasks.md",
            f"""\
            - [ ] 1.0 Begin
              - **Verify**: `true`
            - [ ] 1.1 Write the part
              - **Verify**: `grep -q done {name}-part.txt`
            - [ ] 1.2 Build
              - **Verify**: `sh build-{name}.sh && grep -q fixed {name}.txt`
            """,
        )
        project.write(f"build-{name}.sh", "true\n")
        project.write(f"{name}.txt", "open\n")
        project.write(f"{name}-part.txt", "open\n")
    executor = project.shell("""\
        name=${RALPH_SPEC_PATH##*/}
        case $task in
            1.0) ;;
            1.1) echo done > $name-part.txt;;
            1.2) sleep 1; echo 'if then fi (' > build-$name.sh;;
            *) echo true > build-$name.sh; echo fixed > $name.txt;;
        esac
    """)
    project.repository()
    options = ("--ralph-recovery", "--ralph-execute", "--ralph-rollback", "-n2")
    specs = ("specs/a", "specs/b", "specs/c")
    status, _ = processes.run(project.root, *options, "--ralph-executor", executor, *specs)

    assert status == 0
    for name in ("a", "b", "c"):
        assert (project.root / f"{name}-part.txt").read_text() == "done\n"
        assert (project.root / f"{name}.txt").read_text() == "fixed\n"


@pytest.mark.slow
def test_work_of_other_workers_stays(project: Project) -> None:
    pytest.importorskip("xdist")
    for name in ("a", "b", "c"):
        verify = f"sh build-{name}.sh && grep -q fixed {name}.txt"
        project.write(f"specs/{name}/tasks.md", f"- [ ] 1.1 Build\n  - **Verify**: `{verify}`\n")
        project.write(f"build-{name}.sh", "true\n")
        project.write(f"{name}.txt", "open\n")
    project.repository()
    executor = project.shell("""\
        name=${RALPH_SPEC_PATH##*/}
        case $task in
            1.1) echo 'if then fi (' > build-$name.sh;;
            *) echo true > build-$name.sh; echo fixed > $name.txt;;
        esac
    """)
    options = ("--ralph-recovery", "--ralph-execute", "--ralph-rollback", "-n2", "-v")
    result = project.pytester.runpytest_subprocess(
        *options, "--ralph-executor", executor, "specs/a", "specs/b", "specs/c"
    )

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*no rollback: other workers use the same files*"])
    for name in ("a", "b", "c"):
        assert (project.root / f"{name}.txt").read_text() == "fixed\n"
        assert (project.root / f"build-{name}.sh").read_text() == "true\n"


def test_failing_smudge_filter_leaves_all_files(broken_build: Project) -> None:
    project = broken_build
    project.git("config", "filter.bad.smudge", "false")
    project.git("config", "filter.bad.clean", "cat")
    project.git("config", "filter.bad.required", "true")
    project.write(".git/info/attributes", "note.txt filter=bad\n")
    project.write("note.txt", "other\n")
    before = {path: (project.root / path).read_bytes() for path in ("build.sh", "new.txt")}
    result = project.run("--ralph-rollback", "-v", executor=project.shell("exit 1"))

    assert {path: (project.root / path).read_bytes() for path in before} == before
    assert (project.root / "note.txt").read_text() == "other\n"
    result.stdout.fnmatch_lines(["*no rollback: *"])


def test_uncommitted_work_that_passed_stays(broken_build: Project) -> None:
    project = broken_build
    project.tasks.write_text(
        project.tasks.read_text().replace("test -e build.sh", "grep -q lost new.txt")
    )
    result = project.run("--ralph-rollback", "-v", executor="sh executor.sh")

    result.stdout.fnmatch_lines(["*no rollback: demo::1.1 would no longer pass*"])
    assert (project.root / "new.txt").read_text() == "not to be lost\n"
    assert (project.root / "seen-build.sh").read_text() == "if then fi (\n"
    assert project.git("status", "--porcelain", "build.sh").strip() == "M build.sh"


def test_what_an_executor_broke_is_undone(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 It is there
          - **Verify**: `grep -q draft notes.txt`

        - [ ] 1.2 It builds
          - **Do**: Make it build
          - **Verify**: `sh build.sh && grep -q fixed note.txt`
    """)
    project.write("build.sh", "true\n")
    project.write("note.txt", "open\n")
    project.repository()
    project.write("notes.txt", "draft of the user\n")
    project.write("build.sh", "true # not committed\n")
    executor = project.shell("""\
        case $task in
            1.1) ;;
            1.2) echo 'if then fi (' > build.sh; echo x > made.txt;;
            *) cp build.sh seen-build.sh; ls > seen-files.txt; echo fixed > note.txt;;
        esac
    """)
    project.run("--ralph-rollback", "--ralph-execute", executor=executor)

    assert (project.root / "seen-build.sh").read_text() == "true # not committed\n"
    assert (project.root / "notes.txt").read_text() == "draft of the user\n"
    assert "made.txt" not in (project.root / "seen-files.txt").read_text()
    assert project.git("show", "refs/ralph/demo/1.2/1:made.txt") == "x"


def test_what_was_undone_is_not_committed(project: Project) -> None:
    """Although the user changed the same file, so that it differs from HEAD."""
    project.spec("""\
        - [ ] 1.1 It builds
          - **Files**: `note.txt`
          - **Verify**: `sh build.sh && grep -q fixed note.txt`
          - **Commit**: `fix: note`
    """)
    lines = [f"{number}\n" for number in range(30)]
    project.write("build.sh", "true\n")
    project.write("note.txt", "broken\n")
    project.write("other.txt", "".join(lines))
    project.repository()
    edited = "".join(["user\n", *lines])
    project.write("other.txt", edited)
    breaks = "echo '(' > build.sh; echo broken >> other.txt; echo new > new.txt; git add -A"
    executor = project.shell(f"[ $task = 1.1.1 ] && {{ {breaks}; }} || echo fixed > note.txt")
    result = project.run("--ralph-rollback", "--ralph-commit=auto", executor=executor)

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*went back to the files as they were before*"])
    assert (project.root / "other.txt").read_text() == edited
    committed = project.git("show", "--name-only", "--format=%s", "HEAD").split("\n")
    assert committed[0] == "fix: note"
    assert "note.txt" in committed
    assert "other.txt" not in committed
    staged = project.git("diff", "--cached", "--name-only").split()
    assert not {"build.sh", "new.txt", "other.txt"}.intersection(staged)


def test_what_was_undone_is_committed_if_the_executor_committed_it(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 It builds
          - **Files**: `note.txt`
          - **Verify**: `sh build.sh && grep -q fixed note.txt`
          - **Commit**: `fix: note`
    """)
    project.write("build.sh", "true\n")
    project.write("note.txt", "broken\n")
    project.repository()
    breaks = "echo '(' > build.sh; git commit -qam agent"
    executor = project.shell(f"[ $task = 1.1.1 ] && {{ {breaks}; }} || echo fixed > note.txt")
    result = project.run("--ralph-rollback", "--ralph-commit=auto", executor=executor)

    assert result.ret == 0
    assert project.git("log", "--format=%s").split("\n")[:2] == ["fix: note", "agent"]
    assert project.git("show", "HEAD:build.sh") == "true"


def test_repository_without_commits_is_left_alone(broken_build: Project) -> None:
    project = broken_build
    project.git("update-ref", "-d", "HEAD")
    result = project.run("--ralph-rollback", executor="sh executor.sh")

    result.stdout.fnmatch_lines(["*no rollback: nothing to go back to: the branch has no commit*"])
    assert (project.root / "new.txt").read_text() == "not to be lost\n"


def test_first_commits_of_a_run_are_no_target(broken_build: Project) -> None:
    project = broken_build
    text = project.tasks.read_text().replace("test -e build.sh", "grep -q done part.txt")
    project.tasks.write_text(text)
    project.git("update-ref", "-d", "HEAD")
    project.git("read-tree", "--empty")
    executor = project.shell("""\
        case $task in
            1.1*) echo done > part.txt;;
            *) echo true > build.sh; echo fixed > note.txt;;
        esac
    """)
    result = project.run("--ralph-rollback", "--ralph-commit=auto", executor=executor)

    result.stdout.fnmatch_lines(
        ["*no rollback: nothing to go back to: the branch had no commit before this run*"]
    )
    assert (project.root / "new.txt").read_text() == "not to be lost\n"


def test_words_in_a_searched_file_roll_nothing_back(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 It is there
          - **Verify**: `test -e notes.txt`

        - [ ] 1.2 Notes are fixed
          - **Do**: Fix them
          - **Verify**: `cat notes.txt && grep -q fixed notes.txt`
    """)
    project.write("notes.txt", "open\n")
    project.repository()
    project.write("notes.txt", "build error: syntax error in notes.txt, line 3\n")
    project.write("mine.txt", "not to be lost\n")
    result = project.run("--ralph-rollback", executor=project.shell("echo fixed >> notes.txt"))

    assert result.ret == 0
    assert (project.root / "mine.txt").read_text() == "not to be lost\n"
    assert "syntax error" in (project.root / "notes.txt").read_text()
    assert project.git("for-each-ref", "refs/ralph/demo/1.2") == ""


@pytest.fixture
def breaking_executor(project: Project) -> Project:
    """The executor of 1.2 breaks build.sh, and the one of its fix looks at what it finds."""
    project.spec("""\
        - [ ] 1.1 It is there
          - **Verify**: `test -e build.sh`

        - [ ] 1.2 It builds
          - **Do**: Make it build
          - **Verify**: `touch user.txt; sh build.sh && grep -q fixed note.txt`
    """)
    project.write("build.sh", "true\n")
    project.write("note.txt", "open\n")
    project.write(".gitignore", ".ralph/\n")
    project.shell("""\
        case $task in
            1.1) ;;
            1.2) echo 'if then fi (' > build.sh; echo x > made.txt;;
            *) cp build.sh seen-build.sh; ls > seen-files.txt; echo fixed > note.txt;;
        esac
    """)
    project.repository()
    return project


def test_edits_of_the_user_during_a_run_stay(breaking_executor: Project) -> None:
    project = breaking_executor
    project.run("--ralph-rollback", "--ralph-execute", executor="sh executor.sh")

    assert (project.root / "seen-build.sh").read_text() == "true\n"
    seen = (project.root / "seen-files.txt").read_text().split()
    assert "user.txt" in seen
    assert "made.txt" not in seen


def test_uncommitted_work_of_earlier_runs_stays(breaking_executor: Project) -> None:
    project = breaking_executor
    project.run("--ralph-rollback", "-k", "1.1")
    project.write("build.sh", "true # not committed\n")
    project.write("draft.txt", "not to be lost\n")
    options = ("--ralph-rollback", "--ralph-execute", "--ralph-pending")
    project.run(*options, executor="sh executor.sh")

    assert (project.root / "seen-build.sh").read_text() == "true # not committed\n"
    assert (project.root / "draft.txt").read_text() == "not to be lost\n"
    assert "made.txt" not in (project.root / "seen-files.txt").read_text().split()


def test_sibling_that_passes_later_keeps_no_break(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 [P] It builds
          - **Verify**: `touch verified; sh build.sh && grep -q fixed note.txt`

        - [ ] 1.2 [P] Write the part
          - **Verify**: `until [ -e verified ]; do sleep 0.05; done; grep -q done part.txt`
    """)
    write_parts(project)
    executor = project.shell("""\
        case $task in
            1.1) echo 'if then fi (' > build.sh;;
            1.2) echo done > part.txt;;
            *) cp build.sh seen-build.sh; echo fixed > note.txt;;
        esac
    """)
    options = ("--ralph-rollback", "--ralph-execute", "--ralph-jobs=2")
    result = project.run(*options, executor=executor)

    assert result.ret == 0
    assert (project.root / "seen-build.sh").read_text() == "true\n"
    assert (project.root / "part.txt").read_text() == "done\n"


def test_fix_that_breaks_the_build_is_undone(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 It builds
          - **Do**: Make it build
          - **Verify**: `sh build.sh && grep -q fixed note.txt`
    """)
    write_parts(project)
    executor = project.shell("""\
        case $task in
            1.1.1|1.1.2) echo "if then fi ($task" > build.sh;;
            *) echo fixed > note.txt;;
        esac
        cp build.sh seen-$task
    """)
    result = project.run("--ralph-rollback", executor=executor)

    assert result.ret == 0
    assert (project.root / "seen-1.1.3").read_text() == "true\n"
    assert project.git("show", "refs/ralph/demo/1.1/2:build.sh") == "if then fi (1.1.2"


def test_fix_of_a_build_that_never_worked_stays(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 It builds
          - **Do**: Make it build
          - **Verify**: `sh build.sh && grep -q fixed note.txt`
    """)
    write_parts(project)
    project.write("build.sh", "if then fi (\n")
    executor = project.shell("""\
        case $task in
            1.1.1) echo "if true; then (" > build.sh;;
            *) cp build.sh seen-build.sh; echo true > build.sh; echo fixed > note.txt;;
        esac
    """)
    result = project.run("--ralph-rollback", executor=executor)

    assert result.ret == 0
    assert (project.root / "seen-build.sh").read_text() == "if true; then (\n"


def test_break_in_a_worktree_is_undone_there(project: Project) -> None:
    project.spec("""\
        - [ ] 1.0 Begin
          - **Verify**: `true`
        - [ ] 1.1 It builds
          - **Verify**: `sh build.sh && grep -q fixed note.txt`
    """)
    write_parts(project)
    project.write("mine.txt", "of the user\n")
    executor = project.shell("""\
        case $task in
            1.1.1) echo "if then fi (" > build.sh; echo x > made.txt;;
            *) ls > seen.txt; sh build.sh && echo fixed > note.txt;;
        esac
    """)
    result = project.run("--ralph-rollback", "--ralph-isolate=worktree", executor=executor)

    assert result.ret == 0
    assert "made.txt" not in (project.root / "seen.txt").read_text()
    result.stdout.fnmatch_lines(["*the worktree's changes are kept as .ralph/patches/*"])
    assert (project.root / "mine.txt").read_text() == "of the user\n"
