"""Mistakes a new user makes: each message says what is wrong and what to do."""

from __future__ import annotations

import os
import sys
from pathlib import Path
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
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    lines = result.outlines + result.errlines
    (line,) = [line for line in lines if line.startswith("ERROR: ")]
    assert line.startswith(f"ERROR: State file missing or corrupt at {state} (it is corrupt: ")
    assert "line 1 column 2" in line
    assert line.endswith("Repair or delete it, or add --ralph-fresh to move it aside.")
    assert state.read_text() == "{bad"


def test_file_in_place_of_our_directory_is_named(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="false")
    (pytester.path / ".ralph").touch()
    result = pytester.runpytest("--ralph-recovery", "specs")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: .ralph is a file: recovery needs a directory *"])


def test_missing_executor_script_is_rejected_at_start(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="false")
    result = pytester.runpytest("--ralph-recovery", "--ralph-executor", "./nope.sh -v", "specs")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --ralph-executor: no such file: ./nope.sh"])


def test_executor_named_like_a_file_gets_a_hint(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="false")
    (pytester.path / "agent.sh").write_text("#!/bin/sh\n")
    result = pytester.runpytest("--ralph-recovery", "--ralph-executor", "agent.sh", "specs")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *; write ./agent.sh to run the file in the project root"])


def test_executor_script_must_be_executable(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="false")
    (pytester.path / "agent.sh").write_text("#!/bin/sh\n")
    result = pytester.runpytest("--ralph-recovery", "--ralph-executor", "./agent.sh", "specs")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *./agent.sh is not executable (chmod +x ./agent.sh)"])


@pytest.fixture
def project_beside_agent(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in the working directory, and an executor in a directory beside it."""
    agent = pytester.path / "agents" / "agent.sh"
    agent.parent.mkdir()
    agent.write_text("#!/bin/sh\ntouch done.txt\n")
    agent.chmod(0o755)
    spec = pytester.path / "project" / "specs" / "a" / "tasks.md"
    spec.parent.mkdir(parents=True)
    spec.write_text("- [ ] 1.1 Make it\n  - **Verify**: `test -e done.txt`\n")
    monkeypatch.chdir(pytester.path / "project")
    return agent


def test_path_of_executor_must_not_move_root(
    pytester: pytest.Pytester, project_beside_agent: Path
) -> None:
    agent = str(project_beside_agent)
    result = pytester.runpytest_inprocess("--ralph-recovery", "specs", "--ralph-executor", agent)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: *write --ralph-executor={agent}, with an equals sign"])


@pytest.mark.parametrize("program", [[sys.executable, "-m", "pytest"], ["pytest"]])
def test_path_of_executor_does_not_move_root(
    pytester: pytest.Pytester,
    project_beside_agent: Path,
    program: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scripts = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", scripts, prepend=os.pathsep)
    agent = str(project_beside_agent)
    options = ["--ralph-recovery", "specs", "--ralph-executor", agent]
    result = pytester.run(*program, *options)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines([f"rootdir: {Path.cwd()}", "specs/a/tasks.md*", "*1 recovered*"])
    assert Path("done.txt").exists()


def test_path_in_environment_does_not_move_root(
    pytester: pytest.Pytester, project_beside_agent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", f"--ralph-executor {project_beside_agent}")
    result = pytester.run(sys.executable, "-m", "pytest", "--ralph-recovery", "specs")
    assert result.ret == pytest.ExitCode.OK
    assert Path("done.txt").exists()


@pytest.mark.parametrize("way", ["equals sign", "ini file", "root directory"])
def test_executor_beside_project_works(
    pytester: pytest.Pytester, project_beside_agent: Path, way: str
) -> None:
    arguments = ["--ralph-executor", str(project_beside_agent)]
    if way == "equals sign":
        arguments = ["=".join(arguments)]
    elif way == "ini file":
        Path("pytest.ini").write_text("[pytest]\n")
    else:
        arguments.append("--rootdir=.")
    result = pytester.runpytest("--ralph-recovery", "specs", *arguments)
    assert result.ret == pytest.ExitCode.OK
    assert Path("done.txt").exists()


def test_verify_only_does_not_need_executor(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="true")
    pytester.runpytest("--ralph", "--ralph-executor", "./nope.sh", "specs").assert_outcomes(
        passed=1
    )


def test_option_without_a_mode_is_named(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(t1_1="true")
    result = pytester.runpytest("--ralph-executor=claude", "specs")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(
        [
            "ralph: --ralph-executor has no effect without --ralph, --ralph-recovery or "
            "--ralph-execute"
        ]
    )
    pytester.runpytest("specs").stdout.no_fnmatch_line("*ralph:*")
    result = pytester.runpytest("--ralph-recovery", "--no-ralph-recovery", "specs")
    result.stdout.fnmatch_lines(["ralph: off, because --no-ralph-recovery comes last *"])


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


def test_misspelt_field_is_a_warning(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec("""
        - [ ] 1.1 Typo
          - **Verfy**: `test -d .`
        - [ ] 1.2 Another
          - **Verify**: `test -d .`
          - **Expct**: exit 2
    """)
    result = pytester.runpytest("--ralph", "-Wdefault", "specs")
    result.stdout.fnmatch_lines(
        [
            "*tasks.md:3: *1.1: unknown field `Verfy`: did you mean `Verify`[?]",
            "*tasks.md:6: *1.2: unknown field `Expct`: did you mean `Expect`[?]",
        ]
    )
    result.assert_outcomes(passed=1, skipped=1, warnings=2)


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


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("ralph_excutor", "ralph_executor"),
        ("ralph_executer", "ralph_execute or ralph_executor"),
        ("ralph_timelimit", "ralph_timeout"),
    ],
)
def test_unknown_ini_key_suggests_similar_one(
    pytester: pytest.Pytester, make_spec: SpecMaker, key: str, meant: str
) -> None:
    make_spec(t1_1="true")
    pytester.makeini(f"[pytest]\n{key} = claude\n")
    result = pytester.runpytest("--ralph", "-q", "specs")
    result.stdout.fnmatch_lines([f"ralph: unknown ini key {key} (did you mean {meant}[?])"])


def test_missing_spec_is_named_beside_tests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(): pass")
    result = pytester.runpytest("--ralph")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"ralph: no tasks.md in {pytester.path}"])


def test_parent_directory_with_tests_needs_no_spec(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile("def test_it(): pass")
    monkeypatch.chdir(pytester.mkdir("below"))
    result = pytester.runpytest("--ralph", "..")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("ralph: no tasks.md in ..")


def test_testpaths_that_hide_specs_are_named(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ntestpaths = checks\n")
    pytester.mkdir("checks").joinpath("test_it.py").write_text("def test_it(): pass")
    (pytester.mkdir("plans") / "tasks.md").write_text("- [ ] 1.1 Do it\n  - **Verify**: `true`\n")
    result = pytester.runpytest("--ralph")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["ralph: no tasks.md below checks (testpaths), but one in plans: run pytest --ralph plans"]
    )
    result.stdout.no_fnmatch_line("ralph: no tasks.md in checks")
