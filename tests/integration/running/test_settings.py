"""Command line over front matter over ini file; a task's own time limit over all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

SLOW = "- [ ] 1.1 Slow\n  - **Verify**: `sleep 30`\n"


def timed_out_after(pytester: pytest.Pytester, *args: str) -> str:
    result = pytester.runpytest("--ralph", "specs", *args)
    result.assert_outcomes(failed=1)
    (line,) = (line for line in result.outlines if line.startswith("FAILED"))
    return line.partition("Timed out after ")[2]


def test_ini_file_front_matter_command_line_each_over_the_one_before(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    pytester.makeini("[pytest]\nralph_timeout = 0.1\n")
    spec = make_spec(SLOW)
    assert timed_out_after(pytester) == "0.1s"
    spec.write_text(f"---\nralph:\n  timeout: 0.2\n---\n{SLOW}")
    assert timed_out_after(pytester) == "0.2s"
    assert timed_out_after(pytester, "--ralph-timeout", "0.3") == "0.3s"


@pytest.mark.parametrize("field", ["0.1", "0.1s", "0.1 seconds", "100 ms"])
def test_a_task_has_its_own_time_limit(
    pytester: pytest.Pytester, make_spec: SpecMaker, field: str
) -> None:
    make_spec(f"{SLOW}  - **Timeout**: {field}\n")
    assert timed_out_after(pytester, "--ralph-timeout=20") == "0.1s"


def test_front_matter_holds_for_its_own_spec_only(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    done = "- [x] 1.1 Done\n  - **Verify**: `true`\n"
    make_spec(f"---\nralph:\n  pending: true\n---\n{done}", name="a")
    make_spec(done, name="b")
    pytester.runpytest("--ralph", "specs").assert_outcomes(passed=1, skipped=1)


def test_a_spec_may_ask_for_a_shell_of_its_own(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    shell = pytester.path / "my-shell"
    shell.write_text('#!/bin/sh\necho "$2" > asked\n')
    shell.chmod(0o755)
    task = "- [ ] 1.1 It\n  - **Verify**: `anything at all`\n"
    make_spec(f"---\nralph:\n  shell: {shell}\n---\n{task}")
    pytester.runpytest("--ralph", "specs").assert_outcomes(passed=1)
    assert (pytester.path / "asked").read_text() == "anything at all\n"


def test_the_shell_of_the_command_line_runs_every_command(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1='test -z "$BASH_VERSION"', t1_2="true")
    pytester.runpytest("--ralph", "--ralph-shell", "sh", "specs").assert_outcomes(passed=2)
    pytester.runpytest("--ralph", "--ralph-shell", "bash", "specs").assert_outcomes(
        passed=1, failed=1
    )


def test_a_spec_may_ask_for_an_executor_of_its_own(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    task = "- [ ] 1.1 It\n  - **Verify**: `test -e made`\n"
    make_spec(f"---\nralph:\n  executor: touch made\n  recovery: true\n---\n{task}", name="a")
    result = pytester.runpytest("--ralph-recovery", "specs", "-v")
    result.stdout.fnmatch_lines(["specs/a/tasks.md::1.1 RECOVERED*"])


def test_front_matter_turns_recovery_on_where_the_state_file_does_not(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    task = "- [ ] 1.1 It\n  - **Verify**: `test -e made`\n"
    make_spec(f"---\nralph:\n  executor: touch made\n  recovery: true\n---\n{task}", name="a")
    result = pytester.runpytest("--ralph", "-o", "ralph_recovery=state", "specs", "-v")
    result.stdout.fnmatch_lines(["specs/a/tasks.md::1.1 RECOVERED*"])


def test_a_spec_may_ask_for_no_recovery(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    task = "- [ ] 1.1 It\n  - **Verify**: `test -e made`\n"
    make_spec(f"---\nralph:\n  executor: touch made\n  recovery: false\n---\n{task}", name="a")
    result = pytester.runpytest("--ralph", "-o", "ralph_recovery=true", "specs", "-v")
    result.assert_outcomes(failed=1)
    assert not (pytester.path / "made").exists()


def test_what_only_a_whole_run_can_have_is_warned_about(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(
        "---\nralph:\n  timeout: 5\n  report: out.html\n---\n- [ ] 1.1 It\n  - **Verify**: `true`\n"
    )
    result = pytester.runpytest("--ralph", "specs", "-W", "always")
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(
        ["*specs/demo/tasks.md:4: RalphWarning: `report` applies to the whole run*"]
    )
    assert not (pytester.path / "out.html").exists()


def test_values_of_any_scalar_type_are_taken_from_toml(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(SLOW)
    table = "[tool.pytest]" if pytest.version_tuple >= (9, 2) else "[tool.pytest.ini_options]"
    (pytester.path / "pyproject.toml").write_text(
        f"{table}\nralph = true\nralph_recovery = false\nralph_pending = true\n"
        "ralph_jobs = 2\nralph_timeout = 0.1\n"
    )
    assert timed_out_after(pytester) == "0.1s"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            ["--ralph-timeout=soon"],
            "--ralph-timeout: expected a number of seconds above 0, got 'soon'",
        ),
        (["--ralph-timeout="], "--ralph-timeout: expected a number of seconds above 0, got ''"),
        (
            ["--ralph-max-fixes", "many"],
            "--ralph-max-fixes: expected a whole number, 0 or more, got 'many'",
        ),
        (["--ralph-jobs", "0"], "--ralph-jobs: expected a whole number, 1 or more, got '0'"),
        (
            ["--ralph-repair=paint"],
            "--ralph-repair: expected none or some of format, *, got 'paint'",
        ),
        (
            ["--ralph-commit=all"],
            "--ralph-commit: expected one of none, message-only, auto, got 'all'",
        ),
        (["--ralph-shell", "/no/such/shell"], "--ralph-shell: no such shell: /no/such/shell"),
        (["--ralph-execute"], "--ralph-execute needs an executor*"),
        (["--ralph-interactive"], "--ralph-interactive needs a terminal*"),
        (
            ["-o", "ralph_timeout=soon"],
            "ralph_timeout (ini file): expected a number of seconds above 0*",
        ),
        (["-o", "ralph_pending=maybe"], "ralph_pending (ini file): expected true or false*"),
        (["-o", "ralph_recovery=maybe"], "ralph_recovery*expected true, false or state*maybe*"),
    ],
)
def test_a_malformed_option_is_one_line_and_a_usage_error(
    pytester: pytest.Pytester, make_spec: SpecMaker, args: list[str], told: str
) -> None:
    make_spec(t1_1="touch ran")
    result = pytester.runpytest("--ralph", *args, "specs")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {told}"])
    assert len([line for line in result.errlines if line.strip()]) == 1
    assert not (pytester.path / "ran").exists()
    assert not (pytester.path / ".ralph").exists()


@pytest.mark.parametrize(
    "option",
    ["--ralph-timeout=tr0ub4dor-7", "-oralph_commit=tr0ub4dor-7", "--ralph-shell=tr0ub4dor-7"],
)
def test_a_secret_in_a_malformed_option_is_masked(
    pytester: pytest.Pytester,
    make_spec: SpecMaker,
    monkeypatch: pytest.MonkeyPatch,
    option: str,
) -> None:
    monkeypatch.setenv("SECRETKEY", "tr0ub4dor-7")
    make_spec(SLOW)
    result = pytester.runpytest("--ralph", option, "specs")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *[*][*][*]*"])
    assert "tr0ub4dor-7" not in result.stderr.str()


def test_an_unknown_form_of_an_option_is_a_usage_error_of_pytest(pytester: pytest.Pytester) -> None:
    for args in (["--ralph-lint=prose"], ["--ralph-nonsense"], ["--ralph-timeout"]):
        result = pytester.runpytest(*args)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.no_fnmatch_line("*Traceback*")


NATIVE = """
ralph = true
ralph_timeout = 30
ralph_max_cost = 1.5
ralph_strict = true
ralph_executor = ["claude", "codex"]
ralph_repair = ["format", "lint"]
ralph_remote = "deploy"
ralph_recovery = "state"
"""


@pytest.mark.skipif(pytest.version_tuple < (9, 0), reason="pytest 9 reads values of TOML as such")
@pytest.mark.parametrize(
    ("file", "table"),
    [("pytest.toml", "pytest"), (".pytest.toml", "pytest"), ("pyproject.toml", "tool.pytest")],
)
def test_values_of_toml_keep_their_types(
    pytester: pytest.Pytester, make_spec: SpecMaker, file: str, table: str
) -> None:
    make_spec(t1_1="test 1 = 1")
    (pytester.path / file).write_text(f"[{table}]{NATIVE}")
    pytester.runpytest("specs").assert_outcomes(passed=1)


def test_arrays_in_ini_options_are_lists(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(t1_1="test 1 = 1")
    pytester.makepyprojecttoml(f"[tool.pytest.ini_options]{NATIVE}")
    pytester.runpytest("specs").assert_outcomes(passed=1)


def test_a_misspelt_switch_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nralph = maybe\n")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: ralph (ini file): expected true or false, got 'maybe'"])
