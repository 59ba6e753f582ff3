"""A task passes only if its Verify command did what the field takes for granted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker


def outcome(pytester: pytest.Pytester, make_spec: SpecMaker, verify: str, *options: str) -> str:
    make_spec(f"""
        # Tasks

        - [ ] 1.1 Do it
          - **Verify**: {verify}
    """)
    result = pytester.runpytest("--ralph", "specs", "--junitxml=junit.xml", *options)
    return "passed" if result.ret == 0 else (pytester.path / "junit.xml").read_text("utf-8")


@pytest.mark.parametrize(
    ("verify", "kind"),
    [
        ("`nosuchtool --list` outputs nothing", "command_not_found"),
        ("`grep -rn TODO no/such/dir` outputs nothing", "task_incomplete"),
        ("`./missing.sh` does not print `ERROR`", "task_incomplete"),
        ("`python3 -c 'raise ValueError(1)'` prints nothing", "crash"),
        ("`git log nosuchbranch` returns nothing", ""),
        ("`nosuchtool src | wc -l` returns 0", "command_not_found"),
        ("`nosuchtool src 2>/dev/null | wc -l` returns 0", "command_not_found"),
        ("`sh -c 'kill -9 $$'` outputs nothing", "crash"),
    ],
)
def test_a_command_that_never_ran_fails(
    pytester: pytest.Pytester, make_spec: SpecMaker, verify: str, kind: str
) -> None:
    report = outcome(pytester, make_spec, verify)
    assert f'name="ralph.failure.kind" value="{kind}' in report


@pytest.mark.parametrize(
    "verify",
    [
        "`grep -c TODO notes.txt` returns 0",
        "`grep TODO notes.txt` outputs nothing",
        "`grep -rn TODO no/such/dir` exits 2",
        "`command -v nosuchtool` outputs nothing",
    ],
)
def test_a_command_that_ran_still_passes(
    pytester: pytest.Pytester, make_spec: SpecMaker, verify: str
) -> None:
    (pytester.path / "notes.txt").write_text("done\n")
    assert outcome(pytester, make_spec, verify) == "passed"


def test_a_run_without_tests_fails(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    pytester.makefile(".sh", run_tests="echo 'Ran 0 tests in 0.000s'; echo; echo OK")
    report = outcome(pytester, make_spec, "`sh run_tests.sh`")
    assert 'name="ralph.failure.kind" value="task_incomplete"' in report
    assert "no test ran: Ran 0 tests in 0.000s" in report


def test_a_field_may_expect_no_test(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    pytester.makefile(".sh", run_tests="echo 'Ran 0 tests in 0.000s'; echo; echo OK")
    assert outcome(pytester, make_spec, "`sh run_tests.sh` reports 0 tests") == "passed"


def test_a_verify_that_no_shell_parses_is_invalid(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    options = ("--ralph-recovery", "--ralph-rollback", "--ralph-executor", "touch asked")
    report = outcome(pytester, make_spec, "`if true; then echo x`", *options)
    assert 'name="ralph.failure.kind" value="invalid_task"' in report
    assert "syntax error" in report
    assert not (pytester.path / "asked").exists()
    assert "[FIX" not in (pytester.path / "specs/demo/tasks.md").read_text("utf-8")
