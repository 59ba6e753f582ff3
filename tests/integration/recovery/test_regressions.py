"""A task that passed is verified again when a later fix changed its files."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

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
    result = words.run("--junitxml=junit.xml", executor=words.shell(fixes))

    assert result.ret == 0
    assert words.calls == ["1.2.1", "1.1.1"]
    assert (words.root / "words.txt").read_text() == "two\none\n"
    result.assert_outcomes(passed=0)
    result.stdout.fnmatch_lines(
        [
            "RECOVERED demo 1.1 Write one",
            "*1.1.1 Fix: *",
            "RECOVERED demo 1.2 Write two",
            "*1.1 no longer passes since 1.2 changed *words.txt: recovered by 1.1.1",
            "ALL_TASKS_COMPLETE*",
            "*2 recovered*",
        ]
    )
    assert junit_properties(words, "ralph.fixes") == ["1.1.1", "1.2.1"]
    assert junit_properties(words, "ralph.outcome") == ["recovered", "recovered"]
    assert junit_properties(words, "ralph.attempts") == ["3", "2"]


def junit_properties(project: Project, name: str) -> list[str | None]:
    tree = ElementTree.parse(project.root / "junit.xml")
    return [one.get("value") for one in tree.iterfind(f".//property[@name='{name}']")]


def test_the_culprit_is_named(words: Project) -> None:
    executor = words.shell("echo two > words.txt")
    result = words.run("--junitxml", "junit.xml", executor=executor)

    assert result.ret == 1
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*1.1 no longer passes since 1.2 changed *"])
    assert "ALL_TASKS_COMPLETE" not in result.stdout.str()
    assert (words.boxes["1.1"], words.boxes["1.2"]) == (False, True)
    progress = (words.root / "specs/demo/.progress.md").read_text()
    assert "[x] 1.1 " not in progress
    assert "[x] 1.2 " in progress
    cases = list(ElementTree.parse(words.root / "junit.xml").iter("testcase"))
    assert [case.find("failure") is not None for case in cases] == [True, False]
    assert all(float(case.attrib["time"]) >= 0 for case in cases)


def test_work_that_ends_in_an_error_is_followed_up(words: Project) -> None:
    executor = words.shell("""\
        echo three > words.txt
        cd specs/demo && rm .ralph-state.json && mkdir .ralph-state.json
    """)
    result = words.run(executor=executor)

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*given up: *State file missing or corrupt*"])
    result.stdout.fnmatch_lines(["1.1 no longer passes since 1.2 changed *words.txt"])


@pytest.mark.parametrize("files", ["words.txt", "."])
def test_a_broken_task_fails_although_its_spec_was_removed(words: Project, files: str) -> None:
    """Nothing can be written about it, but what it fails for is known."""
    words.spec(SPEC.replace("`words.txt`", f"`{files}`"))
    executor = words.shell("rm -r specs; echo two > words.txt")
    result = words.run("--ralph-guard=off", executor=executor)

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1.1 no longer passes since*1.2 changed *", "*2 failed*"])


def test_a_broken_task_stops_the_run_with_x(words: Project) -> None:
    words.spec(f"{SPEC}\n    - [ ] 1.3 Last\n      - **Verify**: `touch last`\n")
    result = words.run("-x", "--ralph-keep-going", executor=words.shell("echo two > words.txt"))

    assert result.ret == 1
    assert not (words.root / "last").exists()


def test_fixes_that_exclude_each_other(words: Project) -> None:
    fixes = "case $task in 1.2.*) echo two > words.txt;; *) echo one > words.txt;; esac"
    result = words.run(executor=words.shell(fixes))

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1.1 and 1.2 do not pass together*"])

    result = words.run("--ralph-executor=none")

    result.stdout.no_fnmatch_line("*continuing where*")
    assert words.calls == ["1.2.1", "1.1.1", "1.2.2"]


def test_a_task_with_other_files_is_left_alone(words: Project) -> None:
    words.spec(SPEC.replace("`words.txt`", "`README.md`", 1))
    words.run(executor=words.shell("echo two >> words.txt"))

    assert (words.root / "runs.log").read_text() == "run\n"


def test_a_flaky_task_is_not_blamed_on_a_fix(words: Project) -> None:
    # Fails the second time, which is after the fix of 1.2.
    words.write(
        "check.sh",
        "echo run >> runs.log; [ $(wc -l < runs.log) != 2 ] || { echo 'E assert 1 == 2'; exit 1; }",
    )
    words.spec(SPEC.replace("echo run >> runs.log; grep -q one words.txt", "sh check.sh"))
    result = words.run("-v", executor=words.shell("echo two >> words.txt"))

    assert result.ret == 0
    result.stdout.no_fnmatch_line("*no longer passes*")
    result.stdout.fnmatch_lines(
        ["  failed once after 1.2 changed *, then passed with nothing changed"]
    )


def test_a_culprit_is_named_once(words: Project) -> None:
    """Task 1.1 names no file, so it is verified again at the end of the run."""
    words.spec(SPEC.replace("      - **Files**: `words.txt`\n", "", 1))
    result = words.run(executor=words.shell("echo $task > words.txt"))

    line = "demo 1.1 no longer passes since demo 1.2 changed calls.txt, prompt.1, words.txt"
    assert line in result.outlines


def test_verbose_names_what_was_verified_again(words: Project) -> None:
    result = words.run("-v", executor=words.shell("echo two >> words.txt"))
    line = "  1.2: verified again because of its changes, and still passing: 1.1"
    assert line in result.stdout.lines


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


def test_work_that_a_sibling_reverted_is_recovered(words: Project) -> None:
    words.spec("""\
        - [ ] 1.1 [P] Write two
          - **Files**: `words.txt`
          - **Verify**: `grep -q two words.txt`
        - [ ] 1.2 [P] Write three
          - **Files**: `three.txt`
          - **Verify**: `grep -q three three.txt`
    """)
    fixes = """\
        case $task in
        1.1.1)
            : > started
            until grep -q 'x. 1.2' specs/demo/tasks.md; do sleep 0.02; done
            rm three.txt; echo two > words.txt;;
        *)
            until test -e started; do sleep 0.02; done
            echo three > three.txt;;
        esac
    """
    result = words.run("--ralph-jobs", "2", executor=words.shell(fixes))

    assert result.ret == 0
    assert (words.root / "three.txt").read_text() == "three\n"
    assert sorted(words.calls) == ["1.1.1", "1.2.1", "1.2.2"]


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


def test_the_specs_of_both_tasks_are_named(words: Project) -> None:
    one, two = SPEC.split("\n\n")
    words.spec(one)
    words.write("specs/later/tasks.md", two)
    executor = words.shell("echo two > words.txt")
    result = words.pytester.runpytest("--ralph-recovery", "--ralph-executor", executor, "specs")

    assert result.ret == 1
    line = "demo 1.1 no longer passes since later 1.2 changed *words.txt*"
    result.stdout.fnmatch_lines([line])


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
    result.stdout.fnmatch_lines(
        ["FAILED demo 1.1 *", "ralph: demo 1.1 no longer passes since later 1.2 changed *"]
    )
    assert "ALL_TASKS_COMPLETE: demo" not in result.stdout.str()
    assert words.boxes["1.1"] is False


@pytest.mark.slow
def test_the_controller_recovers_a_broken_task(words: Project) -> None:
    """No Files field says that the first spec needs words.txt, but its fix has changed it."""
    words.write("words.txt", "zero\n")
    words.spec("""\
        - [ ] 1.1 Write one
          - **Files**: `one.txt`
          - **Verify**: `grep -q one words.txt && touch passed.txt`
    """)
    words.write(
        "specs/later/tasks.md",
        """\
        - [ ] 1.2 Write two
          - **Files**: `two.txt`
          - **Verify**: `grep -q two words.txt`
        """,
    )
    executor = words.shell("""\
        case $task in
            1.2.1) until [ -e passed.txt ]; do sleep 0.1; done; echo two > words.txt;;
            *) echo one >> words.txt;;
        esac
    """)
    result = words.pytester.runpytest(
        "--ralph-recovery", "--ralph-executor", executor, "-n2", "--ralph-fresh", "specs"
    )

    assert result.ret == 0
    assert sorted(words.calls) == ["1.1.1", "1.1.2", "1.2.1"]
    result.stdout.fnmatch_lines(
        [
            "RECOVERED demo 1.1 Write one",
            "ralph: demo 1.1 no longer passes since later 1.2 changed *: recovered by 1.1.2",
        ]
    )
    assert words.boxes == {"1.1": True, "1.1.1": True, "1.1.2": True}
    assert (words.root / "words.txt").read_text() == "two\none\n"


COUNTED = """\
    - [ ] 1.1 Look
      - **Verify**: `echo run >> runs.log; test ! -e broken`
"""
CHANGING = """\
    - [ ] 1.{0} Write {0}
      - **Files**: `{0}.txt`
      - **Verify**: `test -e {0}.txt`
"""


def test_unknown_files_are_verified_at_the_end(words: Project) -> None:
    words.spec(COUNTED + "".join(CHANGING.format(number) for number in range(2, 10)))
    result = words.run(executor="touch ${RALPH_FIX_FOR#1.}.txt")

    assert result.ret == 0
    runs = (words.root / "runs.log").read_text().split()
    assert len(runs) == 2


def test_the_last_check_recovers_a_broken_task(words: Project) -> None:
    words.spec(COUNTED + "".join(CHANGING.format(number) for number in range(2, 4)))
    executor = """case $RALPH_FIX_FOR in
        1.1) rm broken;; 1.2) touch 2.txt;; 1.3) touch 3.txt broken;; esac"""
    result = words.run(executor=executor)

    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "RECOVERED demo 1.1 Look",
            "ALL_TASKS_COMPLETE: demo",
            "ralph: demo 1.1 no longer passes since demo 1.3 changed *: recovered by 1.1.1",
        ]
    )


def test_the_last_check_fails_the_run(words: Project) -> None:
    words.spec(COUNTED + "".join(CHANGING.format(number) for number in range(2, 4)))
    executor = "touch ${RALPH_FIX_FOR#1.}.txt; [ $RALPH_FIX_FOR = 1.2 ] || touch broken"
    result = words.run("--junitxml", "junit.xml", executor=executor)

    assert result.ret == 1
    result.assert_outcomes(failed=1)
    assert words.boxes["1.1"] is False
    assert "ALL_TASKS_COMPLETE" not in result.stdout.str()
    result.stdout.fnmatch_lines(
        ["FAILED demo 1.1 Look", "ralph: demo 1.1 no longer passes since *"]
    )
    suite = ElementTree.parse(words.root / "junit.xml").find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    broken, *others = suite
    assert broken.get("name") == "1.1 Look"
    assert broken.find("failure") is not None
    assert broken.find(".//property[@name='ralph.outcome'][@value='failed']") is not None
    assert [case.find("failure") for case in others] == [None, None]

    again = words.verify("--lf", "--co", "-q")
    assert [line for line in again.outlines if "::" in line] == ["specs/demo/tasks.md::1.1"]


def test_the_last_check_after_x_starts_no_executor(words: Project) -> None:
    words.spec(COUNTED + "".join(CHANGING.format(number) for number in range(2, 5)))
    executor = "test $RALPH_FIX_FOR = 1.2 && touch 2.txt broken"
    result = words.run("-x", executor=executor)

    assert result.ret == 1
    result.assert_outcomes(failed=2, passed=0)
    assert (words.boxes["1.1"], words.boxes["1.2"]) == (False, True)
    result.stdout.fnmatch_lines(["ralph: demo 1.1 no longer passes since demo 1.2 changed *"])
    assert "1.1.1" not in words.boxes


@pytest.mark.parametrize(
    "files", ["", "      - **Files**: `words.txt`\n"], ids=["no files", "files"]
)
def test_tasks_that_exclude_each_other_at_the_end(words: Project, files: str) -> None:
    words.spec(
        "    - [ ] 1.1 Write one\n      - **Verify**: `grep -q one words.txt`\n"
        f"    - [ ] 1.2 Write two\n{files}      - **Verify**: `grep -q two words.txt`\n"
    )
    executor = "case $RALPH_FIX_FOR in 1.1) echo one;; *) echo two;; esac > words.txt"
    result = words.run(executor=executor)

    assert result.ret == 1
    assert "ALL_TASKS_COMPLETE" not in result.stdout.str()
    assert (words.root / "words.txt").read_text() == "two\n"
    assert (words.boxes["1.1"], words.boxes["1.2"]) == (False, True)
    line = "demo 1.1 was recovered, and no longer passes since demo 1.2 changed words.txt"
    assert f"ralph: {line}" in result.outlines


def test_the_likely_culprit_is_named(words: Project) -> None:
    words.spec("""\
        - [ ] 1.1 Write one
          - **Verify**: `grep -q one words.txt`
        - [ ] 1.2 Write two
          - **Verify**: `test -e 2.txt`
        - [ ] 1.3 Write three
          - **Verify**: `test -e 3.txt`
    """)
    executor = """case $RALPH_FIX_FOR in
        1.2) touch 2.txt; rm words.txt;; 1.3) touch 3.txt;; esac"""
    result = words.run("--ralph-max-fixes=1", executor=executor)

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*demo 1.1 no longer passes since demo 1.2 changed *words.txt*"])
    result.stdout.no_fnmatch_line("*since*1.3 changed*")


def test_a_verify_command_that_breaks_a_task(words: Project) -> None:
    words.spec("""\
        - [ ] 1.1 Write one
          - **Files**: `words.txt`, `specs/demo/tasks.md`
          - **Verify**: `echo 1.1 >> runs.log; grep -q one words.txt`
        - [ ] 1.2 Look
          - **Files**: `README.md`
          - **Verify**: `echo 1.2 >> runs.log`
        - [ ] 1.3 Write two
          - **Files**: `two.txt`
          - **Verify**: `echo 1.3 >> runs.log; echo two | tee words.txt > two.txt`
    """)
    result = words.run(executor="none")

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "RALPH HALTED: Task 1.1 failed",
            "ralph: demo 1.1 no longer passes since demo 1.3 changed words.txt*",
        ]
    )
    assert "ALL_TASKS_COMPLETE" not in result.stdout.str()
    assert words.boxes["1.1"] is False
    runs = (words.root / "runs.log").read_text().split()
    assert runs == ["1.1", "1.2", "1.3", "1.1"], "only what may be broken runs again"


def test_a_verify_command_that_removes_a_file(words: Project) -> None:
    words.spec("""\
        - [ ] 1.1 Write one
          - **Files**: `words.txt`
          - **Verify**: `grep -q one words.txt`
        - [ ] 1.2 Clean up
          - **Files**: `README.md`
          - **Verify**: `rm words.txt`
    """)
    result = words.run(executor="none")

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["ralph: demo 1.1 no longer passes since demo 1.2 changed words.txt*"]
    )
    assert words.boxes["1.1"] is False


@pytest.mark.parametrize("change", ["echo two > words.txt", "rm words.txt"])
def test_a_verify_command_changes_a_tracked_file(words: Project, change: str) -> None:
    words.spec(f"""\
        - [ ] 1.1 Write one
          - **Verify**: `grep -q one words.txt`
        - [ ] 1.2 Write two
          - **Verify**: `{change}`
    """)
    words.repository()
    result = words.run(executor="none")

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["ralph: demo 1.1 no longer passes since demo 1.2 changed words.txt*"]
    )
    assert words.boxes["1.1"] is False


def test_a_task_keeps_the_environment_of_its_item(words: Project) -> None:
    words.spec(SPEC.replace("grep -q one words.txt", 'test "$ITEM$LATER" = 1.1'))
    words.write(
        "conftest.py",
        """\
        import os

        def pytest_runtest_setup(item):
            os.environ["ITEM"] = item.name
            if item.name == "1.2":
                os.environ["LATER"] = "yes"

        def pytest_runtest_teardown():
            del os.environ["ITEM"]
            os.environ.pop("LATER", None)
        """,
    )
    result = words.run(executor=words.shell("echo two > words.txt"))

    assert result.ret == 0
    assert words.calls == ["1.2.1"]
    runs = (words.root / "runs.log").read_text().split()
    assert runs == ["run", "run"]


@pytest.mark.parametrize("files", ["- **Files**: `src.py`", "- **Done when**: It fails"])
def test_a_red_task_is_not_meant_to_pass_again(project: Project, files: str) -> None:
    project.write("src.py", "done = 0\n")
    project.spec(f"""\
        - [ ] 1.1 [RED] Write a failing test
          {files}
          - **Verify**: `! grep -q 1 src.py`

        - [ ] 1.2 [GREEN] Make it pass
          - **Files**: `src.py`
          - **Verify**: `grep -q 1 src.py`
    """)
    executor = project.shell("[ $task = 1.2 ] && echo done = 1 > src.py; echo TASK_COMPLETE")
    result = project.run("--ralph-execute", executor=executor)

    result.assert_outcomes(passed=2)
    assert project.calls == ["1.1", "1.2"]
