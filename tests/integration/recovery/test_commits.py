"""With commits, each newly passing task is one commit of its changes; without, none is made."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from tests.integration import processes
from tests.integration.processes import start, wait_for

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

SPEC = """\
    # Tasks

    - [x] 1.1 Done before
      - **Files**: `old.txt`
      - **Verify**: `test -d specs`

    - [ ] 1.2 Write it
      - **Files**: `new.txt`
      - **Verify**: `grep -q fixed new.txt`
      - **Commit**: feat: write it
"""


@pytest.fixture
def repository(project: Project) -> Project:
    project.spec(SPEC)
    project.write("new.txt", "broken\n")
    project.repository()
    return project


def subjects(project: Project) -> list[str]:
    return project.git("log", "--format=%s").splitlines()


def test_what_newly_passes_is_committed_and_noted_with_its_commit(repository: Project) -> None:
    result = repository.run(
        "--ralph-commit=auto", executor=repository.shell("echo fixed > new.txt")
    )

    assert result.ret == 0
    assert subjects(repository) == ["feat: write it", "the beginning"]
    assert "new.txt" in repository.git("show", "--format=", "--name-only", "HEAD").split()
    commit = repository.git("rev-parse", "HEAD")[:12]
    assert f"- [x] 1.2 Write it - {commit}" in repository.progress
    assert "1.1" not in repository.progress


def test_that_nothing_can_be_committed_is_said(repository: Project) -> None:
    (repository.root / ".git").rename(repository.root / "no-git")

    result = repository.run(
        "--ralph-commit=auto", executor=repository.shell("echo fixed > new.txt")
    )

    assert result.ret == 0
    result.stdout.fnmatch_lines(["ralph: no commits: * is not in a git repository"])


def test_why_git_cannot_sign_a_commit_is_said(repository: Project) -> None:
    repository.git("config", "commit.gpgsign", "true")
    repository.git("config", "gpg.program", "false")

    result = repository.run(
        "--ralph-commit=auto", executor=repository.shell("echo fixed > new.txt")
    )

    result.stdout.fnmatch_lines(["*no commit for 1.2: *: error: gpg failed to sign the data"])


def test_huge_files_are_not_committed(repository: Project) -> None:
    """For git to read one of 300 GB would take hours."""
    executor = repository.shell("mkdir sub; truncate -s 300G sub/big.bin; echo fixed > new.txt")
    result = repository.run("--ralph-commit=auto", executor=executor)

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1.2: too large to be committed: sub/big.bin*"])
    assert subjects(repository) == ["feat: write it", "the beginning"]
    assert repository.git("status", "--porcelain", "*.bin", "*.txt") == "?? sub/big.bin"


def test_a_hook_that_formats_leaves_nothing_staged(repository: Project) -> None:
    hook = repository.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho formatted >> new.txt; git add new.txt\n")
    hook.chmod(0o755)
    repository.run("--ralph-commit=auto", executor=repository.shell("echo fixed > new.txt"))

    assert repository.git("show", "HEAD:new.txt").split() == ["fixed", "formatted"]
    assert repository.git("status", "--short", "--", "new.txt") == ""


def test_a_staged_version_that_would_take_back_a_fix(repository: Project) -> None:
    repository.write("new.txt", "broken\n\n\n\n\n\ntheirs\n")
    repository.git("commit", "-qam", "longer")
    repository.write("new.txt", "broken\n\n\n\n\n\nmine\n")
    repository.git("add", "new.txt")
    executor = repository.shell("sed -i s/broken/fixed/ new.txt")
    result = repository.run("--ralph-commit=auto", executor=executor)

    assert result.ret == 0
    assert repository.git("show", ":new.txt").split() == ["broken", "mine"]
    result.stdout.fnmatch_lines(["*1.2: you had staged new.txt before it was changed: *git add*"])


def test_staged_version_of_a_named_file_stays_staged(repository: Project) -> None:
    repository.write("new.txt", "broken\nstaged\n")
    repository.git("add", "new.txt")
    repository.write("new.txt", "broken\n")
    repository.run("--ralph-commit=auto", executor=repository.shell("echo fixed > new.txt"))

    assert repository.git("show", "HEAD:new.txt") == "fixed"
    assert repository.git("show", ":new.txt") == "broken\nstaged"


def test_staged_removal_of_a_named_file_stays_staged(repository: Project) -> None:
    repository.git("rm", "-q", "--cached", "new.txt")
    repository.run("--ralph-commit=auto", executor=repository.shell("echo fixed > new.txt"))

    assert repository.git("show", "HEAD:new.txt") == "fixed"
    assert repository.git("ls-files", "new.txt") == ""


def test_background_child_of_a_hook_does_not_block(repository: Project) -> None:
    repository.write(".git/hooks/post-commit", "#!/bin/sh\nsleep 20 &\n").chmod(0o755)
    started = time.monotonic()
    repository.run("--ralph-commit=auto", executor=repository.shell("echo fixed > new.txt"))

    assert time.monotonic() - started < 15
    assert subjects(repository)[0] == "feat: write it"


def test_commit_that_a_kill_cut_off_is_made_later(repository: Project) -> None:
    hook = repository.write(".git/hooks/pre-commit", "#!/bin/sh\ntouch .git/begun; sleep 60\n")
    hook.chmod(0o755)
    executor = repository.shell("echo fixed > new.txt; echo helper > helper.txt")
    arguments = ("--ralph-recovery", "--ralph-commit=auto", "--ralph-executor", executor)
    process = start(repository.root, *arguments, "specs/demo")
    wait_for((repository.root / ".git/begun").exists)
    process.kill()
    process.communicate()
    assert subjects(repository) == ["the beginning"]

    hook.unlink()
    repository.write("mine.txt", "written since then\n")
    repository.run("--ralph-commit=auto")
    assert {"new.txt", "helper.txt"} <= committed_files(repository)
    assert "mine.txt" not in committed_files(repository)


def test_an_executor_that_removes_what_git_ignores(repository: Project) -> None:
    clean = "git clean -ffdxq; echo fixed > new.txt"
    result = repository.run("--ralph-commit=auto", executor=repository.shell(clean))

    assert result.ret == 0
    assert "new.txt" in committed_files(repository)


def test_a_run_with_nothing_new_commits_nothing(repository: Project) -> None:
    repository.run("--ralph-commit=auto", executor=repository.shell("echo fixed > new.txt"))
    before = subjects(repository)
    result = repository.run("--ralph-commit=auto")

    assert result.ret == 0
    assert subjects(repository) == before


def test_messages_alone_are_a_script_for_a_person(repository: Project) -> None:
    repository.run("--ralph-commit=message-only", executor=repository.shell("echo fixed > new.txt"))

    assert subjects(repository) == ["the beginning"]
    script = (repository.root / ".ralph" / "commits-demo.sh").read_text()
    assert "feat: write it" in script
    assert "new.txt" in script


def test_by_default_nothing_is_committed(repository: Project) -> None:
    result = repository.run(executor=repository.shell("echo fixed > new.txt"))

    assert result.ret == 0
    assert subjects(repository) == ["the beginning"]
    assert not (repository.root / ".ralph" / "commits-demo.sh").exists()
    assert "- [x] 1.2 Write it\n" in repository.progress


def committed_files(project: Project) -> set[str]:
    return {*project.git("show", "--format=", "--name-only", "HEAD").split("\n")}


def test_unrelated_edits_are_not_committed(repository: Project) -> None:
    repository.write("mine.txt", "before the run\n")
    body = "echo fixed > new.txt; echo helper > helper.txt"
    executor = repository.shell(body)
    result = repository.run("--ralph-commit=auto", executor=executor)

    assert result.ret == 0
    files = committed_files(repository)
    assert {"new.txt", "helper.txt"} <= files
    assert "mine.txt" not in files
    assert "executor.sh" not in files


def test_repair_is_committed_without_edits(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 It runs
          - **Files**: `run.sh`
          - **Verify**: `./run.sh`
    """)
    project.write("run.sh", "#!/bin/sh\ntrue\n")
    project.repository()
    project.write("run.sh", "#!/bin/sh\ntrue # edited by the user\n")
    result = project.run("--ralph-commit=auto")

    assert result.ret == 0
    assert project.git("show", "HEAD:run.sh") == "#!/bin/sh\ntrue"
    assert project.git("ls-tree", "HEAD", "run.sh").startswith("100755")


def test_what_the_user_commits_and_stages_meanwhile_stays(project: Project) -> None:
    project.spec(SPEC.replace("grep -q fixed new.txt", "grep -q fixed new.txt && sh user.sh"))
    project.write("new.txt", "broken\n")
    project.write(
        "user.sh", "echo u > u.txt; git add u.txt; git commit -qm user; echo s > s.txt; git add ."
    )
    project.repository()
    project.run("--ralph-commit=auto", executor=project.shell("echo fixed > new.txt"))

    assert subjects(project) == ["feat: write it", "user", "the beginning"]
    assert "s.txt" not in committed_files(project)
    assert "s.txt" in project.git("diff", "--cached", "--name-only").split()


def test_edits_made_while_verify_runs_are_not_committed(project: Project) -> None:
    project.spec("""\
        - [ ] 1.2 Write it
          - **Files**: `new.txt`
          - **Verify**: `echo user > mine.txt; grep -q fixed new.txt`
    """)
    project.write("new.txt", "broken\n")
    project.repository()
    project.run("--ralph-commit=auto", executor=project.shell("echo fixed > new.txt"))

    assert "new.txt" in committed_files(project)
    assert "mine.txt" not in committed_files(project)


def test_fix_of_tests_alone_is_not_committed(project: Project) -> None:
    project.spec("""\
        - [ ] 1.2 Write it
          - **Files**: `src.txt`
          - **Verify**: `grep -q fixed tests/test_it.txt`
    """)
    project.write("tests/test_it.txt", "broken\n")
    project.write("calls.txt", "")
    project.write(".gitignore", "calls.txt\nprompt.*\n")
    project.repository()
    executor = project.shell("echo fixed > tests/test_it.txt")
    result = project.run("--ralph-commit=auto", executor=executor)

    assert subjects(project) == ["the beginning"]
    result.stdout.fnmatch_lines(["*no commit for 1.2: the fix only changed tests or checks*"])


def test_commit_field_may_ask_for_none(project: Project) -> None:
    project.spec(SPEC.replace("feat: write it", "None (checkpoint)"))
    project.write("new.txt", "broken\n")
    project.repository()
    project.run("--ralph-commit=auto", executor=project.shell("echo fixed > new.txt"))

    assert subjects(project) == ["the beginning"]


def test_tick_without_commit_field_waits_for_work(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 Was there
          - **Files**: `old.txt`
          - **Verify**: `test -e old.txt`

        - [ ] 1.2 Write it
          - **Verify**: `grep -q fixed new.txt`
    """)
    project.write("old.txt", "there\n")
    project.write("new.txt", "broken\n")
    project.repository()
    project.run("--ralph-commit=auto", executor=project.shell("echo fixed > new.txt"))

    assert subjects(project) == ["feat(demo): Write it", "the beginning"]
    assert "- [x] 1.1" in project.git("show", "HEAD:specs/demo/tasks.md")


@pytest.mark.parametrize(
    ("obstacle", "reason"),
    [(".git/hooks/pre-commit", "git refused the commit"), (".git/index.lock", "(index.lock)")],
)
def test_refused_commit_is_made_by_the_next_run(
    repository: Project, obstacle: str, reason: str
) -> None:
    path = repository.write(obstacle, "#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    executor = repository.shell("echo fixed > new.txt; echo helper > helper.txt")
    result = repository.run("--ralph-commit=auto", executor=executor)
    assert "no commit for 1.2: " in result.stdout.str()
    assert reason in result.stdout.str()
    assert subjects(repository) == ["the beginning"]

    path.unlink()
    repository.run("--ralph-commit=auto", executor=executor)
    assert subjects(repository) == ["feat: write it", "the beginning"]
    assert {"new.txt", "helper.txt"} <= committed_files(repository)


def test_work_of_earlier_runs_is_not_committed_again(repository: Project) -> None:
    executor = repository.shell(
        "test -e helper.txt || echo helper > helper.txt; echo fixed > new.txt"
    )
    repository.run("--ralph-commit=auto", executor=executor)
    assert "helper.txt" in committed_files(repository)

    repository.tasks.write_text(repository.tasks.read_text().replace("[x] 1.2 ", "[ ] 1.2 "))
    repository.write("new.txt", "broken\n")
    repository.write("helper.txt", "an edit of the user\n")
    repository.run("--ralph-commit=auto", executor=executor)
    assert "helper.txt" not in committed_files(repository)


LINES = "".join(f"{number}\n" for number in range(1, 21))


@pytest.fixture
def long_file(project: Project) -> Project:
    """Task 1.1 passes once the last of the twenty lines of long.txt is `fixed`."""
    project.spec("""\
        # Tasks

        - [ ] 1.1 Write it
          - **Files**: `long.txt`
          - **Verify**: `grep -q fixed long.txt`

        - [ ] 2.1 Another
          - **Verify**: `test -d specs`
    """)
    project.write("long.txt", LINES)
    project.write("calls.txt", "")
    project.write(".gitignore", "calls.txt\nprompt.*\nexecutor.sh\n.ralph/\n")
    project.repository()
    return project


FIX_LAST_LINE = "sed -i 's/^20$/fixed/' long.txt"


def test_own_hunks_of_an_edited_file_are_committed(long_file: Project) -> None:
    edited = LINES.replace("1\n", "edit of the user\n", 1)
    long_file.write("long.txt", edited)
    executor = long_file.shell(FIX_LAST_LINE)
    long_file.run("--ralph-commit=auto", executor=executor)

    assert long_file.git("show", "HEAD:long.txt") == LINES.replace("20\n", "fixed\n").strip()
    assert (long_file.root / "long.txt").read_text() == edited.replace("20\n", "fixed\n")
    assert long_file.git("diff", "--numstat", "long.txt").split()[:2] == ["1", "1"]


def test_progress_is_committed_without_edits(long_file: Project) -> None:
    """The executor runs out of context twice."""
    long_file.write("mine.txt", "of the user\n")
    long_file.git("add", "mine.txt")
    long_file.git("commit", "-qm", "more files")
    long_file.write("long.txt", LINES.replace("1\n", "edit of the user\n", 1))
    long_file.write("mine.txt", "edit of the user\n")
    long_file.write("untracked.txt", "of the user\n")
    executor = long_file.shell(f"""\
        echo part $call >> long.txt
        [ $call = 3 ] && {FIX_LAST_LINE} && exit
        echo "Error: Maximum context length (128k tokens) exceeded"; exit 1
    """)
    result = long_file.run("--ralph-commit=auto", executor=executor)

    assert result.ret == 0
    log = long_file.git("log", "-p", "--format=%s", "HEAD~3..")
    assert log.count("wip(demo): progress on task 1.1") == 2
    assert "+part 2" in log
    assert "of the user" not in log


@pytest.mark.parametrize("flag", ["--skip-worktree", "--assume-unchanged"])
def test_own_hunks_of_a_hidden_file_are_committed(long_file: Project, flag: str) -> None:
    edited = LINES.replace("1\n", "edit of the user\n", 1)
    long_file.write("long.txt", edited)
    long_file.git("update-index", flag, "long.txt")
    before = long_file.git("ls-files", "-v", "long.txt")
    long_file.run("--ralph-commit=auto", executor=long_file.shell(FIX_LAST_LINE))

    assert long_file.git("show", "HEAD:long.txt") == LINES.replace("20\n", "fixed\n").strip()
    assert (long_file.root / "long.txt").read_text() == edited.replace("20\n", "fixed\n")
    assert long_file.git("ls-files", "-v", "long.txt") == before


def test_workers_commit_their_own_hunks(project: Project) -> None:
    pytest.importorskip("xdist")
    for name in ("a", "b"):
        verify = f"grep -q fixed-{name} long.txt"
        text = f"- [ ] 1.1 Write\n  - **Verify**: `{verify}`\n  - **Commit**: feat: {name}\n"
        project.write(f"specs/{name}/tasks.md", text)
    project.write("long.txt", LINES)
    project.write(".gitignore", "calls.txt\nprompt.*\nexecutor.sh\n.ralph/\n")
    executor = project.shell("""\
        case $RALPH_SPEC_PATH in
            *a) sed -i s/^2$/fixed-a/ long.txt;;
            *b) sed -i s/^17$/fixed-b/ long.txt;;
        esac
        sleep 0.5
    """)
    project.repository()
    project.write("long.txt", LINES.replace("9\n", "edit of the user\n", 1))
    options = ("--ralph-recovery", "--ralph-commit=auto", "-n2", "--ralph-executor", executor)
    status, _ = processes.run(project.root, *options, "specs/a", "specs/b")

    assert status == 0
    for name, line in (("a", "2"), ("b", "17")):
        shown = project.git("show", "-U0", "--format=", f":/feat: {name}", "--", "long.txt")
        assert shown.split("\n")[-2:] == [f"-{line}", f"+fixed-{name}"]
        assert "user" not in shown


def test_an_edit_after_the_executor_is_not_committed(long_file: Project) -> None:
    text = long_file.tasks.read_text()
    verify = "grep -q fixed long.txt && echo edit >> long.txt"
    long_file.tasks.write_text(text.replace("grep -q fixed long.txt", verify))
    long_file.git("commit", "-qam", "another Verify")
    long_file.run("--ralph-commit=auto", executor=long_file.shell(FIX_LAST_LINE))

    assert long_file.git("show", "HEAD:long.txt") == LINES.replace("20\n", "fixed\n").strip()
    assert (long_file.root / "long.txt").read_text().endswith("fixed\nedit\n")


def test_an_edit_in_the_same_line_is_reported(long_file: Project) -> None:
    long_file.write("long.txt", LINES.replace("20\n", "20 edited\n"))
    executor = long_file.shell("sed -i 's/^20.*/fixed/' long.txt")
    result = long_file.run("-q", "--ralph-commit=auto", executor=executor)

    result.stdout.fnmatch_lines(
        ["ralph: demo: no commit for 1.1: there were uncommitted edits of the same lines: long*"]
    )
    assert long_file.git("show", "HEAD:long.txt") == LINES.strip()
    assert long_file.state["uncommittedTasks"] == ["1.1"]


def test_edits_of_the_plan_are_not_committed(long_file: Project) -> None:
    edited = long_file.tasks.read_text().replace("# Tasks", "# Tasks, reworded")
    long_file.tasks.write_text(edited.replace("2.1 Another", "2.1 Another, reworded"))
    long_file.run("--ralph-commit=auto", executor=long_file.shell(FIX_LAST_LINE))

    committed = long_file.git("show", "HEAD:specs/demo/tasks.md")
    assert "reworded" not in committed
    assert "- [x] 1.1 Write it" in committed
    assert "- [x] 1.1.1 [FIX 1.1]" in committed
    assert long_file.tasks.read_text().count("reworded") == 2


def test_a_line_below_a_fix_task_is_not_committed(long_file: Project) -> None:
    """The user saves it while the fix is verified."""
    save = "grep -q remark $plan || sed -i '/- \\*\\*Commit/a My remark' $plan"
    long_file.write(
        "verify.sh", f"plan=specs/demo/tasks.md\ngrep -q fixed long.txt && {{ {save}; }}\n"
    )
    plan = long_file.tasks.read_text()
    long_file.tasks.write_text(plan.replace("grep -q fixed long.txt", "sh verify.sh"))
    long_file.git("add", "-A")
    long_file.git("commit", "-q", "-m", "another check")
    result = long_file.run("--ralph-commit=auto", executor=long_file.shell(FIX_LAST_LINE))

    assert result.ret == 0
    assert "from task 1.1`\nMy remark\n" in long_file.tasks.read_text()
    committed = long_file.git("show", "HEAD:specs/demo/tasks.md")
    assert "- [x] 1.1.1 [FIX 1.1]" in committed
    assert "remark" not in committed


@pytest.mark.parametrize("guard", ["report", "refuse"])
def test_a_secret_that_was_ignored_stays(repository: Project, guard: str) -> None:
    repository.write(".gitignore", "secret.env\n")
    repository.git("add", ".gitignore")
    repository.git("commit", "-q", "-m", "ignore it")
    secret = repository.write("secret.env", "KEY=1\n")
    # Older than what the executor writes, also where times are coarse.
    os.utime(secret)
    time.sleep(0.05)
    repository.write("test_it.py", "")
    edit = "echo '*.log' > .gitignore; echo fixed > new.txt"
    if guard == "refuse":
        edit += "; echo '# easier' > test_it.py"
    executor = repository.shell(edit)
    repository.run("--ralph-commit=auto", f"--ralph-guard={guard}", executor=executor)

    assert secret.read_text() == "KEY=1\n"
    assert "secret.env" not in repository.git("log", "--all", "--name-only", "--format=")


def test_untracked_file_that_the_executor_edits(long_file: Project) -> None:
    long_file.write("mine.txt", "not to be committed\n")
    executor = long_file.shell(f"{FIX_LAST_LINE}; echo more >> mine.txt")
    result = long_file.run("--ralph-commit=auto", executor=executor)

    result.stdout.fnmatch_lines(
        ["*no commit for 1.1: there were uncommitted edits of the same lines: mine.txt*"]
    )
    assert long_file.git("ls-files", "mine.txt") == ""


def test_line_ends_that_git_converts_are_no_edits(long_file: Project) -> None:
    long_file.write(".gitattributes", "*.txt text eol=crlf\n")
    long_file.git("add", "-A")
    long_file.git("commit", "-qm", "attributes")
    long_file.write("long.txt", LINES.replace("\n", "\r\n").replace("1\r", "edit\r", 1))
    long_file.run(
        "--ralph-commit=auto", executor=long_file.shell("sed -i 's/^20\\r/fixed\\r/' long.txt")
    )

    assert long_file.git("show", "HEAD:long.txt") == LINES.replace("20\n", "fixed\n").strip()
    assert b"edit\r\n" in (long_file.root / "long.txt").read_bytes()


def test_moved_and_removed_files_of_an_executor(long_file: Project) -> None:
    long_file.write("old.txt", "content\n")
    long_file.write("gone.txt", "content\n")
    long_file.git("add", "-A")
    long_file.git("commit", "-qm", "more files")
    body = f"{FIX_LAST_LINE}; git mv old.txt moved.txt; git rm -q gone.txt"
    long_file.run("--ralph-commit=auto", executor=long_file.shell(body))

    changed = long_file.git("show", "--format=", "--name-status", "--no-renames", "HEAD")
    assert {"A\tmoved.txt", "D\told.txt", "D\tgone.txt"} <= {*changed.splitlines()}
    assert long_file.git("status", "--porcelain", "*.txt") == ""


@pytest.mark.parametrize("guard", ["report", "off"])
def test_what_an_executor_committed_and_took_back(long_file: Project, guard: str) -> None:
    long_file.write("mine.txt", "of the user\n")
    long_file.git("add", "-A")
    long_file.git("commit", "-qm", "more files")
    long_file.write("mine.txt", "edited by the user\n")
    body = f"""\
        echo debug > debug.txt; echo debug > other.txt; git add debug.txt other.txt
        sed -i s/^1$/debug/ long.txt; git commit -qm agent debug.txt other.txt long.txt
        sed -i s/^debug$/1/ long.txt; rm debug.txt; echo more >> other.txt; {FIX_LAST_LINE}
    """
    result = long_file.run(
        "--ralph-commit=auto", f"--ralph-guard={guard}", executor=long_file.shell(body)
    )

    assert result.ret == 0
    assert subjects(long_file)[1] == "agent"
    assert long_file.git("ls-files", "*.txt").split() == ["long.txt", "mine.txt", "other.txt"]
    assert long_file.git("show", "HEAD:long.txt") == LINES.replace("20\n", "fixed\n").strip()
    assert long_file.git("show", "HEAD:other.txt") == "debug\nmore"
    assert long_file.git("status", "--porcelain", "*.txt").split() == ["M", "mine.txt"]


def test_siblings_commit_their_own_files_only(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 [P] One
          - **Verify**: `grep -q fixed one.txt`
          - **Commit**: feat: one

        - [ ] 1.2 [P] Two
          - **Verify**: `grep -q fixed two.txt`
          - **Commit**: feat: two
    """)
    project.write(".gitignore", "calls.txt\nprompt.*\nexecutor.sh\n.ralph/\n")
    project.repository()
    # The first waits a while for the second to begin, and the second for the first to be committed.
    executor = project.shell("""\
        if [ $task = 1.1 ]; then
            for _ in 1 2 3 4 5; do [ -e two-helper.txt ] || sleep 0.1; done
            echo fixed > one.txt; echo helper > one-helper.txt
        else
            echo helper > two-helper.txt
            for _ in 1 2 3 4 5; do git log -1 --format=%s | grep -q one || sleep 0.1; done
            echo fixed > two.txt
        fi
    """)
    result = project.run("--ralph-execute", "--ralph-commit=auto", executor=executor)

    assert result.ret == 0
    # No commit is made while an executor is at work, which would be blamed for it.
    result.stdout.no_fnmatch_line("*moved main*")
    for name in ("one", "two"):
        commit = project.git("log", "--format=%H", f"--grep=feat: {name}")
        files = project.git("show", "--format=", "--name-only", commit).split()
        assert {file for file in files if file.endswith(".txt")} == {
            f"{name}.txt",
            f"{name}-helper.txt",
        }


def test_work_of_a_sibling_before_a_kill(project: Project) -> None:
    """Without commits, executors of siblings work at once, and a later run may commit."""
    project.spec("""\
        - [ ] 1.1 [P] One
          - **Files**: `one.txt`
          - **Verify**: `grep -q fixed one.txt && test -e go`
          - **Commit**: feat: one

        - [ ] 1.2 [P] Two
          - **Files**: `two.txt`
          - **Verify**: `grep -q fixed two.txt`
          - **Commit**: feat: two
    """)
    project.write("one.txt", "broken\n")
    project.write(".gitignore", "calls.txt\nprompt.*\nexecutor.sh\n.ralph/\ngo\nsecond\n")
    project.repository()
    # Both are at work at once, until the first one is asked again.
    executor = project.shell("""\
        [ $task = 1.1.2 ] && touch second && sleep 60
        [ $task = 1.2.1 ] && echo fixed > two.txt && sleep 60
        while ! [ -e two.txt ]; do sleep 0.1; done
        echo fixed > one.txt
    """)
    arguments = ("--ralph-recovery", "--ralph-executor", executor, "--ralph-jobs=2")
    process = start(project.root, *arguments, "specs/demo")
    wait_for((project.root / "second").exists)
    process.kill()
    process.communicate()
    project.write("go", "")

    project.run("--ralph-commit=auto")

    commit = project.git("log", "--format=%H", "--grep=feat: one")
    files = project.git("show", "--name-only", "--format=", commit, "--", "*.txt")
    assert files == "one.txt"


def test_work_after_a_regression_is_committed(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 Write one
          - **Files**: `words.txt`
          - **Verify**: `grep -q one words.txt`
        - [ ] 1.2 Write two
          - **Files**: `words.txt`
          - **Verify**: `grep -q two words.txt`
    """)
    project.write("words.txt", "zero\n")
    project.write(".gitignore", "calls.txt\nprompt.*\n")
    project.repository()
    executor = project.shell("""\
        case $task in
        1.1.1) echo one > words.txt;;
        1.2.1) echo two > words.txt;;
        1.1.2) echo one >> words.txt;;
        esac
    """)
    result = project.run("--ralph-commit=auto", executor=executor)

    assert result.ret == 0
    assert project.git("show", "HEAD:words.txt") == "two\none"
    assert "[x] 1.1.2" in project.git("show", "HEAD:specs/demo/tasks.md")
    assert len(subjects(project)) == 4


def test_a_commit_has_no_work_for_another_spec_of_that_name(project: Project) -> None:
    project.spec("# Tasks\n\n- [ ] 1.1 One\n  - **Verify**: `grep -q fixed a.txt`\n")
    project.write(
        "other/demo/tasks.md", "# Tasks\n\n- [ ] 1.1 One\n  - **Verify**: `grep -q fixed b.txt`\n"
    )
    project.write("a.txt", "broken\n")
    project.write("b.txt", "broken\n")
    project.write(".gitignore", "calls.txt\nprompt.*\n.ralph/\n")
    body = """\
        case $RALPH_SPEC_PATH in
            */other/demo) echo wrong > b.txt ;;
            *) echo fixed > a.txt ;;
        esac
    """
    executor = project.shell(body)
    project.repository()
    options = ("--ralph-commit=auto", "--ralph-keep-going", "--ralph-max-fixes=1")
    project.run(*options, "other/demo", executor=executor)

    committed = project.git("show", "--name-only", "--format=", "HEAD").split()
    assert "a.txt" in committed
    assert "b.txt" not in committed


@pytest.mark.parametrize("awaits_approval", [False, True])
def test_what_is_only_verified_is_not_committed(repository: Project, awaits_approval: bool) -> None:
    repository.write("new.txt", "fixed\n")
    if awaits_approval:
        repository.state_path.write_text('{"awaitingApproval": true}')
        result = repository.run("--ralph-commit=auto", "--ralph-rollback")
    else:
        result = repository.verify("--ralph-commit=auto", "--ralph-rollback")

    assert result.ret == 0
    assert repository.git("log", "--format=%s") == "the beginning"
    assert repository.git("for-each-ref", "refs/ralph") == ""
