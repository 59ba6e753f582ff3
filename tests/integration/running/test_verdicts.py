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


# Built here, so that no scanner takes it for a key.
KEY = "AKIA" + "Z7" * 8


@pytest.mark.parametrize(
    ("field", "passes"),
    [
        (f"`cat said.txt` does not contain `{KEY}`", False),
        (f"`cat said.txt` outputs `{KEY}`", True),
        ("`cat said.txt` does not contain `very-secret-value`", False),
        ("`cat said.txt` prints 15 lines", True),
        (f'`cat said.txt >&2`\n  - **Expect**: stderr not contains "{KEY}"', False),
        ("`cat said.txt`\n  - **Expect**: stdout matches /^AKIA[A-Z0-9]{16}$/", True),
        ("`printenv API_TOKEN` outputs `very-secret-value`", True),
    ],
)
def test_expectations_see_secrets_that_nobody_is_shown(
    pytester: pytest.Pytester,
    make_spec: SpecMaker,
    monkeypatch: pytest.MonkeyPatch,
    field: str,
    passes: bool,
) -> None:
    monkeypatch.setenv("API_TOKEN", "very-secret-value")
    pem = "\n".join(("-----BEGIN PRIVATE KEY-----", *["A" * 64] * 10, "-----END PRIVATE KEY-----"))
    said = pytester.path / "said.txt"
    said.write_text(f"{KEY}\n{pem}\nvery-secret-value\nthe end\n")
    tasks = make_spec(f"- [ ] 1.1 Look\n  - **Verify**: {field}\n")
    result = pytester.runpytest(
        "--ralph-recovery", "-vv", "--junitxml=junit.xml", "--ralph-report=report.html", "specs"
    )

    assert result.ret == (0 if passes else 1)
    written = [file for file in pytester.path.rglob("*") if file.is_file()]
    assert len(written) > 6
    for file in {*written} - {said, tasks}:
        # The fix task has the Verify of its original, which the plan holds anyway.
        content = file.read_bytes()
        assert KEY.encode() not in content, file
        assert b"very-secret-value" not in content, file
    assert KEY not in result.stdout.str()
    assert "very-secret-value" not in result.stdout.str()
