"""Mistakes a new user makes: each message says what is wrong and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker


def test_corrupt_state_names_reason_and_way_out(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    state = make_spec(t1_1="true").with_name(".ralph-state.json")
    state.write_text("{bad")
    result = pytester.runpytest("--ralph-recovery", "specs")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    line = next(line for line in result.errlines if line.startswith("ERROR: "))
    assert line.startswith(f"ERROR: State file missing or corrupt at {state} (it is corrupt: ")
    assert "line 1 column 2" in line
    assert line.endswith("Repair or delete it, or add --ralph-fresh to move it aside.")
    assert state.read_text() == "{bad"


def test_missing_executor_script_is_rejected_at_start(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="false")
    result = pytester.runpytest("--ralph-recovery", "--ralph-executor", "./nope.sh -v", "specs")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --ralph-executor: no such file: ./nope.sh"])


def test_executor_script_must_be_executable(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="false")
    (pytester.path / "agent.sh").write_text("#!/bin/sh\n")
    result = pytester.runpytest("--ralph-recovery", "--ralph-executor", "./agent.sh", "specs")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *./agent.sh is not executable (chmod +x ./agent.sh)"])


def test_verify_only_does_not_need_executor(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="true")
    pytester.runpytest("--ralph", "--ralph-executor", "./nope.sh", "specs").assert_outcomes(
        passed=1
    )


@pytest.mark.parametrize(
    ("argument", "choices"),
    [
        ("--ralph-lint=gitlab", "--ralph-lint or --ralph-lint=github"),
        ("--ralph-stats=xml", "--ralph-stats or --ralph-stats=json"),
    ],
)
def test_unknown_choice_lists_the_choices(
    pytester: pytest.Pytester, argument: str, choices: str
) -> None:
    result = pytester.runpytest_subprocess(argument)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {argument}: expected {choices}"])


def test_checkbox_without_id_is_explained(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec("""
        - [ ] 1.1 With an id
          - **Verify**: `test -d .`
        - [ ] Without one

        ## Checklist

        - [ ] A criterion, not a task
    """)
    result = pytester.runpytest("--ralph-lint", "specs")
    result.stdout.fnmatch_lines(
        [
            "specs/demo/tasks.md:4: warning: this checkbox is not a task: "
            "write `- [[] ] 1.1 Title`, or add a Verify field [[]not-a-task[]]",
            "1 spec, 0 errors, 1 warning",
        ],
        consecutive=True,
    )


def test_task_without_verify_is_explained(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec("- [ ] 1.1 Do it\n")
    result = pytester.runpytest("--ralph-lint", "specs")
    result.stdout.fnmatch_lines(
        ["*:1: warning: 1.1: no Verify field: add `- [*][*]Verify[*][*]:` with a command *"]
    )


def test_unknown_ini_key_suggests_similar_one(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="true")
    pytester.makeini("[pytest]\nralph_excutor = claude\n")
    result = pytester.runpytest("--ralph", "-q", "specs")
    result.stdout.fnmatch_lines(
        ["ralph: unknown ini key ralph_excutor (did you mean ralph_executor[?])"]
    )


def test_testpaths_that_hide_specs_are_named(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ntestpaths = checks\n")
    pytester.mkdir("checks").joinpath("test_it.py").write_text("def test_it(): pass")
    (pytester.mkdir("plans") / "tasks.md").write_text("- [ ] 1.1 Do it\n  - **Verify**: `true`\n")
    result = pytester.runpytest("--ralph")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["ralph: no tasks.md below checks (testpaths), but one in plans: run pytest --ralph plans"]
    )
