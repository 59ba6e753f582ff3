"""What executors change is listed; tests, checks and the plan itself are guarded."""

from __future__ import annotations

import shutil
from fnmatch import fnmatch
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from pytest_ralph.files import backups_directory

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

SPEC = """\
    # Tasks

    - [ ] 1.3 Add parser
      - **Files**: `parser.txt`
      - **Done when**: The parser is there
      - **Verify**: `grep -q fixed parser.txt tests/test_parser.txt`
"""


@pytest.fixture(params=["git", "no git"])
def either(project: Project, request: pytest.FixtureRequest) -> Project:
    """A project with a test, inside and outside of git."""
    project.spec(SPEC)
    project.write("parser.txt", "broken\n")
    project.write("tests/test_parser.txt", "expects 1\n")
    if request.param == "git":
        project.repository()
    return project


@pytest.fixture
def repository(project: Project) -> Project:
    """The same in git, where what a scripted executor notes is ignored, and so never undone."""
    project.spec(SPEC)
    project.write("parser.txt", "broken\n")
    project.write("tests/test_parser.txt", "expects 1\n")
    project.write(".gitignore", "calls.txt\nprompt.*\n.ralph/\n")
    project.repository()
    return project


def junit_changed(project: Project) -> list[str]:
    root = ElementTree.parse(project.root / "out.xml").getroot()
    for element in root.iter("property"):
        if element.get("name") == "ralph.changed":
            return (element.get("value") or "").split(",")
    return []


def test_changed_files_are_listed_in_junit(either: Project) -> None:
    executor = either.shell("echo fixed > parser.txt; mkdir src; echo > src/new.py")
    result = either.run("--junitxml=out.xml", executor=executor)

    assert result.ret == 0
    assert "src/new.py" in junit_changed(either)
    assert "parser.txt" in junit_changed(either)
    assert "specs/demo/tasks.md" not in junit_changed(either)


def test_changed_test_is_reported(either: Project) -> None:
    result = either.run(executor=either.shell("echo fixed > tests/test_parser.txt"))

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1.3.1 changed tests: tests/test_parser.txt*"])


def test_refused_fix_is_undone_and_fails(either: Project) -> None:
    executor = either.shell("echo fixed > tests/test_parser.txt; echo more > new.txt")
    result = either.run("--ralph-guard=refuse", "--ralph-max-fixes=1", executor=executor)

    assert result.ret == 1
    assert (either.root / "tests/test_parser.txt").read_text() == "expects 1\n"
    assert not (either.root / "new.txt").exists()
    assert not either.boxes["1.3"]


def test_what_cannot_be_undone_is_kept(repository: Project) -> None:
    repository.write(".git/info/exclude", "*.log\n")
    repository.write("tests/test_parser.txt", "edited by the user\n")
    # An ignored file keeps the directory from being removed.
    executor = repository.shell("""\
        cd tests && rm test_parser.txt && mkdir test_parser.txt && touch test_parser.txt/x.log
    """)
    result = repository.run("--ralph-guard=refuse", "--ralph-max-fixes=1", executor=executor)

    result.stdout.fnmatch_lines(["*could not be undone: tests/test_parser.txt*"])
    copies = backups_directory(repository.root).rglob("*.saved")
    assert "edited by the user\n" in [copy.read_text() for copy in copies]


def test_fix_after_a_refused_one(repository: Project) -> None:
    executor = repository.shell("""\
        if [ $call = 1 ]; then
            echo fixed > tests/test_parser.txt; echo 'Approach: bend the test'
        else
            echo fixed > parser.txt
        fi
    """)
    result = repository.run("--ralph-guard=refuse", executor=executor)

    assert result.ret == 0
    assert repository.calls == ["1.3.1", "1.3.2"]
    assert "Fix: refused" not in repository.tasks.read_text()
    prompt = repository.prompt(2)
    refusal = "refused and undone: 1.3.1 changed tests: tests/test_parser.txt"
    assert f"- 1.3.1: bend the test → {refusal}\n" in prompt
    result.stdout.fnmatch_lines(["*1.3.1 changed tests: tests/test_parser.txt (undone)*"])


@pytest.mark.parametrize("recovery", [True, False])
def test_refused_execution_is_carried_out_again(repository: Project, recovery: bool) -> None:
    run = repository.run if recovery else repository.verify
    executor = repository.shell("""\
        [ $call = 1 ] && echo fixed > tests/test_parser.txt || echo fixed > parser.txt
    """)
    result = run("--ralph-guard=refuse", "--ralph-execute", executor=executor)

    assert result.ret == 0
    assert len(repository.calls) == 2
    assert "Fix: refused" not in repository.tasks.read_text()
    assert "refused and undone: 1.3 changed tests: tests/test_parser.txt" in repository.prompt(2)


def test_every_fix_is_refused(repository: Project) -> None:
    executor = repository.shell("echo fixed > tests/test_parser.txt")
    result = repository.run("--ralph-guard=refuse", executor=executor)

    assert result.ret == 1
    assert repository.calls == ["1.3.1", "1.3.2", "1.3.3"]
    result.stdout.fnmatch_lines(
        ["*ERROR: Max fix attempts (3) reached for task 1.3", "*Fix attempts: 1.3.1, 1.3.2, 1.3.3"]
    )


def test_guard_can_be_turned_off(either: Project) -> None:
    executor = either.shell("echo fixed > tests/test_parser.txt")
    result = either.run("--ralph-guard=off", executor=executor)

    assert result.ret == 0
    result.stdout.no_fnmatch_line("*changed tests*")


def test_check_configuration_is_reported(either: Project) -> None:
    executor = either.shell("echo fixed > parser.txt; echo '[pytest]' > pytest.ini")
    result = either.run(executor=executor)

    result.stdout.fnmatch_lines(["*1.3.1 changed check configuration: pytest.ini*"])


HONEST_RULE = "check:\n\tgrep -q fixed parser.txt\n"
# Verify, the check that it runs, its text, and the file that the executor writes.
CHEATS = [
    ("sh check.sh", "check.sh", "grep -q fixed parser.txt\n", "check.sh"),
    (
        "cd web && sh ./scripts/verify.sh",
        "web/scripts/verify.sh",
        "grep -q fixed ../parser.txt\n",
        "web/scripts/verify.sh",
    ),
    ("make check", "Makefile", HONEST_RULE, "Makefile"),
    # make reads this file first.
    ("make check", "Makefile", HONEST_RULE, "GNUmakefile"),
]


@pytest.mark.parametrize(("verify", "check", "honest", "written"), CHEATS)
@pytest.mark.parametrize("mode", ["report", "refuse"])
def test_changed_check_of_verify(
    project: Project, verify: str, check: str, honest: str, written: str, mode: str
) -> None:
    if verify.startswith("make") and shutil.which("make") is None:
        pytest.skip("make is not installed")
    project.spec(SPEC.replace("grep -q fixed parser.txt tests/test_parser.txt", verify))
    project.write("parser.txt", "broken\n")
    project.write(check, honest)
    project.write("cheat.txt", "check:\n\ttrue\n" if verify.startswith("make") else "true\n")
    result = project.run(
        f"--ralph-guard={mode}",
        "--ralph-max-fixes=1",
        executor=project.shell(f"cp cheat.txt {written}"),
    )

    assert result.ret == (1 if mode == "refuse" else 0)
    file = project.root / written
    is_cheat = file.exists() and "true" in file.read_text()
    assert is_cheat is (mode == "report")
    result.stdout.fnmatch_lines([f"*1.3.1 changed check configuration: {written}*"])


def test_check_of_another_task(project: Project) -> None:
    project.spec(SPEC + "\n    - [ ] 1.4 Other\n      - **Verify**: `sh check.sh`\n")
    project.write("parser.txt", "broken\n")
    project.write("tests/test_parser.txt", "expects 1\n")
    project.write("check.sh", "false\n")
    executor = project.shell("echo fixed > parser.txt; echo true > check.sh")
    result = project.run("--ralph-guard=refuse", "--ralph-max-fixes=1", executor=executor)

    assert result.ret == 1
    assert (project.root / "check.sh").read_text() == "false\n"
    result.stdout.fnmatch_lines(["*1.3.1 changed check configuration: check.sh*"])


@pytest.mark.parametrize("files", ["`parser.txt`, `./check.sh`", "`parser.txt`"])
def test_check_that_the_task_writes(project: Project, files: str) -> None:
    """The task names the script, or the script is new."""
    spec = SPEC.replace("grep -q fixed parser.txt tests/test_parser.txt", "sh check.sh")
    project.spec(spec.replace("`parser.txt`", files))
    if "check.sh" in files:
        project.write("check.sh", "exit 1\n")
    executor = project.shell("echo true > check.sh")
    result = project.run("--ralph-guard=refuse", executor=executor)

    assert result.ret == 0
    result.stdout.no_fnmatch_line("*changed check configuration*")


def test_new_tests_are_welcome(either: Project) -> None:
    executor = either.shell("echo fixed > parser.txt; echo > tests/test_more.py")
    result = either.run("--ralph-guard=refuse", executor=executor)

    assert result.ret == 0
    assert (either.root / "tests/test_more.py").exists()


def test_edited_verify_is_undone_and_reported(either: Project) -> None:
    before = either.tasks.read_text()
    executor = either.shell("sed -i 's/grep -q fixed/true/' specs/demo/tasks.md")
    result = either.run("--ralph-max-fixes=1", executor=executor)

    assert result.ret == 1
    assert "`grep -q fixed parser.txt" in either.tasks.read_text()
    assert "`true" not in either.tasks.read_text()
    assert before.splitlines()[2] in either.tasks.read_text()
    result.stdout.fnmatch_lines(["*1.3.1 changed Verify of 1.3* in tasks.md: undone*"])


def test_ticks_of_an_executor_are_undone(either: Project) -> None:
    """Also those of tasks that the run does not reach, and of fixes of fixes."""
    either.tasks.write_text(
        either.tasks.read_text() + "\n- [ ] 1.4 By hand\n  - **Verify**: Manual: look at it\n"
    )
    body = """\
        echo $call > parser.txt
        sed -i 's/\\[ \\]/[x]/' specs/demo/tasks.md
        [ $call != 1 ] || { echo "Task 1.3.1: It FAILED"; echo "- Error: no idea"; exit 1; }
    """
    result = either.run("-x", "--ralph-max-fixes=2", executor=either.shell(body))

    assert result.ret == 1
    assert "1.3.1.1" in either.boxes
    assert not any(either.boxes.values())
    result.stdout.no_fnmatch_line("*edited tasks.md*")


@pytest.mark.parametrize(
    ("command", "finding"),
    [
        ("git checkout -q -b other", "1.3.1 switched from main to other"),
        (
            "git checkout -q -b other; git commit -qam mine",
            "1.3.1 created branches: other at commit *",
        ),
        ("git commit -qam mine", "1.3.1 moved main from *"),
        ("git stash -q; echo fixed > parser.txt", "1.3.1 changed the stash"),
        ("git branch new; git branch newer", "1.3.1 created branches: new, newer"),
        ("git branch -D topic", "1.3.1 deleted branch topic, which was at *"),
        (
            "git branch -f topic $(git commit-tree HEAD^{tree} -m more)",
            "1.3.1 moved topic from * to *",
        ),
    ],
)
def test_moved_branches_are_reported(project: Project, command: str, finding: str) -> None:
    project.spec(SPEC)
    project.write("parser.txt", "broken\n")
    project.repository()
    project.git("branch", "topic")
    executor = project.shell(f"echo fixed > parser.txt; {command}")
    result = project.run("--junitxml=out.xml", executor=executor)

    result.stdout.fnmatch_lines([f"*{finding}*"])
    in_junit = [entry.replace(";", ",") for entry in junit_changed(project)]
    assert any(fnmatch(entry, finding) for entry in in_junit)


@pytest.mark.parametrize(
    "command",
    [
        "git commit -qam mine",
        "git commit -q --amend -am mine",
        "git checkout -q -b other; git commit -qam mine",
        "git checkout -q --detach; git branch -qD main",
        "git add -A",
    ],
)
def test_commits_of_a_refused_fix_are_moved_back(repository: Project, command: str) -> None:
    executor = repository.shell(f"echo fixed > tests/test_parser.txt; {command}")
    head = repository.git("rev-parse", "HEAD")
    repository.write("staged.txt", "staged\n")
    repository.git("add", "staged.txt")
    repository.write("staged.txt", "edited\n")
    result = repository.run("--ralph-guard=refuse", "--ralph-max-fixes=1", executor=executor)

    assert result.ret == 1
    assert repository.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert repository.git("rev-parse", "HEAD") == head
    status = repository.git("status", "--porcelain", "staged.txt", "tests", "parser.txt")
    assert status == "AM staged.txt"
    assert (repository.root / "staged.txt").read_text() == "edited\n"
    kept = repository.git("for-each-ref", "--format=%(refname)", "refs/ralph")
    if "commit" in command and "checkout" not in command:
        assert kept == "refs/ralph/demo/1.3.1/refused-1"
        assert repository.git("show", f"{kept}:tests/test_parser.txt") == "fixed"
        result.stdout.fnmatch_lines(
            [f"*1.3.1 main is back where it was; the commits are kept under {kept}*"]
        )


def test_an_edited_plan_without_copies_is_put_back(repository: Project) -> None:
    other = repository.write("specs/other/tasks.md", "- [ ] 1.1 Other\n  - **Verify**: `false`\n")
    edit = "sed -i s/false/true/ specs/other/tasks.md; rm -rf .ralph"
    result = repository.run(executor=repository.shell(f"{edit}; echo fixed > parser.txt"))

    assert result.ret == 0
    assert "`false`" in other.read_text()
    result.stdout.fnmatch_lines(["*changed Verify of 1.1 in specs/other/tasks.md: undone*"])


def test_a_fix_that_removes_specs_is_refused(repository: Project) -> None:
    repository.write("specs/other/tasks.md", "- [ ] 1.1 Other\n  - **Verify**: `true`\n")
    executor = repository.shell("[ $call = 1 ] && rm -rf specs; echo fixed > parser.txt")
    result = repository.run("--ralph-guard=refuse", executor=executor)

    assert result.ret == 0
    assert len(repository.calls) == 2
    removed = [f"*1.3.1 removed {plan}: undone" for plan in ("tasks.md", "specs/other/tasks.md")]
    result.stdout.fnmatch_lines(removed)
    assert (repository.root / "specs/other/tasks.md").exists()


# Several executors at once


SIBLINGS = """\
    - [ ] 1.1 [P] One
      - **Files**: `one.txt`
      - **Verify**: `cmp one.txt tests/test_one.txt`
      - **Commit**: feat: one

    - [ ] 1.2 [P] Two
      - **Files**: `two.txt`
      - **Verify**: `grep -q good two.txt`
      - **Commit**: feat: two
"""


@pytest.fixture
def siblings(project: Project) -> Project:
    project.spec(SIBLINGS)
    for name in ("one.txt", "two.txt"):
        project.write(name, "bad\n")
    project.write("tests/test_one.txt", "good\n")
    project.write(".gitignore", "calls.txt\nprompt.*\n.ralph/\n")
    return project


def test_own_ticks_stay_while_an_executor_works(siblings: Project) -> None:
    executor = siblings.shell("""\
        [ $task != 1.2.1 ] || { echo good > two.txt; exit 0; }
        until grep -q '\\[x\\] 1.2 ' specs/demo/tasks.md; do sleep 0.02; done
        sed -i 's/\\[ \\] 1.1 /[x] 1.1 /' specs/demo/tasks.md
    """)
    siblings.run("--ralph-jobs=2", "--ralph-max-fixes=1", executor=executor)

    assert siblings.boxes == {"1.1": False, "1.1.1": False, "1.2": True, "1.2.1": True}


def test_siblings_are_refused_one_by_one(siblings: Project) -> None:
    executor = siblings.shell("""\
        case $task in
            1.1.1) echo bad > tests/test_one.txt;;
            1.1.2) echo good > one.txt;;
            1.2.1) echo good > two.txt;;
        esac
    """)
    siblings.repository()
    options = ("--ralph-guard=refuse", "--ralph-commit=auto", "--ralph-jobs=2")
    result = siblings.run(*options, executor=executor)

    assert result.ret == 0
    assert sorted(siblings.calls) == ["1.1.1", "1.1.2", "1.2.1"]
    assert (siblings.root / "tests/test_one.txt").read_text() == "good\n"
    assert "tests/test_one.txt" not in siblings.git("log", "--format=", "--name-only", "HEAD~2..")


def test_siblings_edit_the_plan_in_vain(siblings: Project) -> None:
    executor = siblings.shell("""\
        echo good > one.txt; echo good > two.txt
        sed -i 's/grep -q good/true/' specs/demo/tasks.md
    """)
    result = siblings.run("--ralph-jobs=2", executor=executor)

    assert result.ret == 0
    text = siblings.tasks.read_text()
    assert "`true" not in text
    assert "[FIX 1.1]" in text
    assert "[FIX 1.2]" in text
    result.stdout.fnmatch_lines(["*changed Verify of 1.2* in tasks.md: undone*"])


def test_a_sibling_passes_while_the_spec_is_gone(siblings: Project) -> None:
    siblings.write("specs/demo/.progress.md", "## Learnings\n\n- Mind the gap\n")
    executor = siblings.shell("""\
        case $task in
            1.1.1) rm -rf specs
                until grep -q '\\[x\\] 1.2 ' specs/demo/tasks.md; do sleep 0.02; done
                rm -rf specs; echo good > one.txt;;
            1.2.1) while test -e specs; do sleep 0.02; done; echo good > two.txt;;
        esac
    """)
    result = siblings.run("--ralph-jobs=2", executor=executor)

    assert result.ret == 0
    assert siblings.boxes == {"1.1": True, "1.1.1": True, "1.2": True, "1.2.1": True}
    assert "Mind the gap" in siblings.progress
    assert "- [x] 1.2 Two" in siblings.progress
    result.stdout.fnmatch_lines(["*1.1.1 removed tasks.md: undone*"])


@pytest.mark.parametrize("recovery", [True, False])
def test_a_failing_task_is_not_left_ticked(either: Project, recovery: bool) -> None:
    run = either.run if recovery else either.verify
    ticks = either.shell("sed -i 's/\\[ \\]/[x]/' specs/demo/tasks.md; echo TASK_COMPLETE")
    result = run("--ralph-execute", "--ralph-max-fixes=1", executor=ticks)

    assert result.ret == 1
    assert either.boxes["1.3"] is False


def test_an_edit_before_a_kill_is_reported(repository: Project) -> None:
    repository.write(
        "conftest.py", "import os, pathlib; pathlib.Path('pid').write_text(str(os.getpid()))\n"
    )
    cheat = "sed -i 's/grep -q fixed/true/' specs/demo/tasks.md; kill -9 $(cat pid)"
    repository.pytester.runpytest_subprocess(
        "--ralph-recovery", f"--ralph-executor={cheat}", "specs/demo"
    )
    result = repository.run(executor="true")

    changed = "Verify of 1.3, * changed while an executor was running, in a run that was killed"
    result.stdout.fnmatch_lines(
        [f"ralph: demo: {changed}: compare tasks.md with .git/*/demo-before-kill.saved"]
    )
    [kept] = backups_directory(repository.root).glob("*/demo-before-kill.saved")
    assert "grep -q fixed" in kept.read_text()
