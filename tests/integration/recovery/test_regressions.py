"""A task that passed is verified again when a later fix changed its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

SPEC = """\
    - [ ] 1.1 Write one
      - **Files**: `words.txt`
      - **Verify**: `echo run >> runs.log; grep -q one words.txt`

    - [ ] 1.2 Write two
      - **Files**: `words.txt`
      - **Verify**: `grep -q two words.txt`
"""


@pytest.fixture
def words(project: Project) -> Project:
    project.spec(SPEC)
    project.write("words.txt", "one\n")
    return project


def test_a_broken_task_is_recovered(words: Project) -> None:
    fixes = "case $task in 1.2.1) echo two > words.txt;; 1.1.1) echo one >> words.txt;; esac"
    result = words.run(executor=words.shell(fixes))

    assert result.ret == 0
    assert words.calls == ["1.2.1", "1.1.1"]
    assert (words.root / "words.txt").read_text() == "two\none\n"
    assert "ALL_TASKS_COMPLETE" in result.stdout.str()


def test_the_culprit_is_named(words: Project) -> None:
    result = words.run(executor=words.shell("echo two > words.txt"))

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1.1 no longer passes since 1.2 changed *words.txt*"])
    assert "ALL_TASKS_COMPLETE" not in result.stdout.str()


def test_fixes_that_exclude_each_other(words: Project) -> None:
    fixes = "case $task in 1.2.1) echo two > words.txt;; *) echo one > words.txt;; esac"
    result = words.run(executor=words.shell(fixes))

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1.2 and 1.1 do not pass together*"])


def test_a_task_with_other_files_is_left_alone(words: Project) -> None:
    words.spec(SPEC.replace("`words.txt`", "`README.md`", 1))
    words.run(executor=words.shell("echo two >> words.txt"))

    assert (words.root / "runs.log").read_text() == "run\n"


def test_without_files_anything_may_matter(words: Project) -> None:
    words.spec(SPEC.replace("      - **Files**: `words.txt`\n", "", 1))
    result = words.run(executor=words.shell("echo two > words.txt"))

    assert result.ret == 1


def test_a_sibling_that_was_broken_is_recovered(words: Project) -> None:
    words.spec("""\
        - [ ] 1.1 [P] Write two
          - **Verify**: `grep -q two words.txt`
        - [ ] 1.2 [P] Write one
          - **Verify**: `grep -q one words.txt`
    """)
    fixes = "case $task in 1.1.1) echo two > words.txt;; 1.2.1) echo one >> words.txt;; esac"
    result = words.run("--ralph-jobs", "2", executor=words.shell(fixes))

    assert result.ret == 0
    assert words.calls == ["1.1.1", "1.2.1"]
    assert (words.root / "words.txt").read_text() == "two\none\n"


def test_a_task_of_another_spec_is_recovered(words: Project) -> None:
    one, two = SPEC.split("\n\n")
    words.spec(one)
    words.write("specs/later/tasks.md", two)
    fixes = "case $task in 1.2.1) echo two > words.txt;; 1.1.1) echo one >> words.txt;; esac"
    result = words.pytester.runpytest(
        "--ralph-recovery", "--ralph-executor", words.shell(fixes), "specs"
    )

    assert result.ret == 0
    assert words.calls == ["1.2.1", "1.1.1"]
    assert (words.root / "words.txt").read_text() == "two\none\n"


def test_the_other_spec_is_named(words: Project) -> None:
    one, two = SPEC.split("\n\n")
    words.spec(one)
    words.write("specs/later/tasks.md", two)
    executor = words.shell("echo two > words.txt")
    result = words.pytester.runpytest("--ralph-recovery", "--ralph-executor", executor, "specs")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*demo 1.1 no longer passes since 1.2 changed *words.txt*"])


def test_executing_without_recovery_reports_it(words: Project) -> None:
    words.spec("""\
        - [ ] 1.1 Fill
          - **Verify**: `test -s words.txt`
        - [ ] 1.2 Empty
          - **Verify**: `! test -s words.txt`
    """)
    executor = words.shell("[ $task = 1.1 ] && echo x > words.txt || : > words.txt")
    result = words.verify("--ralph-execute", executor=executor)

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1.1 no longer passes since 1.2 changed *words.txt*"])


def test_a_directory_stands_for_its_files(words: Project) -> None:
    words.spec(SPEC.replace("`words.txt`", "`src/`", 1).replace("one words.txt", "one src/a.txt"))
    words.write("src/a.txt", "one\n")
    result = words.run(executor=words.shell("echo two > words.txt; echo > src/a.txt"))

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1.1 no longer passes since 1.2 changed *"])


def test_a_fix_that_breaks_a_third_task(words: Project) -> None:
    words.spec("""\
        - [ ] 1.1 Zero
          - **Files**: `zero.txt`
          - **Verify**: `grep -q zero zero.txt`
        - [ ] 1.2 One
          - **Files**: `words.txt`
          - **Verify**: `grep -q one words.txt`
        - [ ] 1.3 Two
          - **Files**: `words.txt`
          - **Verify**: `grep -q two words.txt`
    """)
    words.write("zero.txt", "zero\n")
    fixes = words.shell("""\
        case $task in
            1.3.1) echo two > words.txt;;
            1.2.1) echo one >> words.txt; echo > zero.txt;;
            1.1.1) echo zero > zero.txt;;
        esac
    """)
    result = words.run(executor=fixes)

    assert result.ret == 0
    assert words.calls == ["1.3.1", "1.2.1", "1.1.1"]


@pytest.mark.slow
def test_a_task_in_another_worker_is_verified_again(words: Project) -> None:
    """The fix of the second spec waits until the first spec has passed."""
    words.spec("""\
        - [ ] 1.1 Write one
          - **Files**: `words.txt`
          - **Verify**: `grep -q one words.txt && touch passed.txt`
    """)
    words.write(
        "specs/later/tasks.md",
        """\
        - [ ] 1.2 Write two
          - **Files**: `words.txt`
          - **Verify**: `grep -q two words.txt`
        """,
    )
    executor = words.shell("until [ -e passed.txt ]; do sleep 0.1; done; echo two > words.txt")
    result = words.pytester.runpytest(
        "--ralph-recovery", "--ralph-executor", executor, "-n2", "specs"
    )

    assert result.ret == 1
    result.stdout.fnmatch_lines(["ralph: demo 1.1 no longer passes since later 1.2 changed *"])
    assert "ALL_TASKS_COMPLETE: demo" not in result.stdout.str()
