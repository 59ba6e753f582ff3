"""What a Verify field means and what makes its verdict sound, in real runs."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker


class Case(NamedTuple):
    """A Verify field, and how its task ends: an outcome, or a kind of failure (`*`: any)."""

    field: str
    ends: str
    expect: str = ""


PASSED = "passed"
MANUAL = "manual"
OUTSIDE = "changes something outside"

READING = (
    # One code span, a bare command line, or a fenced block: exit 0 passes.
    Case("`test -f notes.txt`", PASSED),
    Case("test -f notes.txt", PASSED),
    Case("\n    ```bash\n    cd sub\n    test -f inner.txt\n    ```", PASSED),
    Case("`test -f missing.txt`", "task_incomplete"),
    # Several code spans: all of them, in order.
    Case("`echo one > order.txt` and `grep -q one order.txt`", PASSED),
    Case("`true`, `true` AND `test -f missing.txt`", "task_incomplete"),
    Case("`true` && `test -f missing.txt`", "task_incomplete"),
    Case("\n    - `true`\n    - `test -f missing.txt`", "task_incomplete"),
    # A span, then an expectation on exit status or stdout.
    Case("`sh -c 'exit 1'` returns 1", PASSED),
    Case("`sh -c 'exit 3'` exits 3", PASSED),
    Case("`true` exits 0", PASSED),
    Case("`wc -l < notes.txt` is at least 2", PASSED),
    Case("`wc -l < notes.txt` >= 9", "task_incomplete"),
    Case("`cat empty.txt` outputs nothing", PASSED),
    Case("`cat notes.txt` outputs nothing", "task_incomplete"),
    # Words that no machine can check: the command, exit 0.
    Case("`true` and the page looks lovely", PASSED),
    # One of two is enough.
    Case("`test -f missing.txt` or `test -f notes.txt`", PASSED),
    Case("`test -f missing.txt` or `test -f lost.txt`", "task_incomplete"),
    # For a person: manual, other prose, a condition, a placeholder.
    Case("Manual: look at the page", MANUAL),
    Case("The page looks right", MANUAL),
    Case("`false` if a simulator is available", MANUAL),
    Case("`cat <name>.txt`", MANUAL),
    Case("`cat … | head`", MANUAL),
    # In doubt less is asked: words that restrict, commands that are only mentioned.
    Case("`cat notes.txt` prints nothing in quiet mode", PASSED),
    Case("`true` passes. This replaces the old `false --all`", PASSED),
    Case("`false` exits 1 on warnings", MANUAL),
)

EXPECT_FIELD = (
    Case("`sh -c 'exit 2'`", PASSED, "exit 2"),
    Case("`echo 3` prints 9", PASSED, "stdout == 3"),
    Case("`echo 3`", "task_incomplete", "stdout == 4"),
    Case("`echo 3`", PASSED, "stdout >= 2"),
    Case("`echo one two`", PASSED, 'stdout contains "one"; stdout not contains "three"'),
    Case("`echo one two`", "task_incomplete", 'stdout not contains "two"'),
    Case("`true`", PASSED, "stdout empty"),
    Case("`echo total: 12`", PASSED, r"stdout matches /total: \d+/"),
    Case("`touch made.txt`", PASSED, "exit 0; file made.txt exists"),
    Case("`true`", "task_incomplete", "file unmade.txt exists"),
    Case("`cat notes.txt`", "task_incomplete", "file unmade.txt exists"),
    Case("`true`", "invalid_task", "stdout is lovely"),
)

SOUND = (
    # Not found, in any stage of a pipeline.
    Case("`nosuchtool --list` outputs nothing", "command_not_found"),
    Case("`nosuchtool src | wc -l` returns 0", "command_not_found"),
    Case("`./missing.sh` does not print `ERROR`", "task_incomplete"),
    Case("`./plain.sh` prints nothing", "permission_denied"),
    Case("`nosuchtool 2>/dev/null | tail -5`", "command_not_found"),
    Case("`./missing.sh 2>/dev/null | tail -5`", "task_incomplete"),
    Case("`./plain.sh 2>/dev/null | wc -l` returns 0", "permission_denied"),
    Case("`sh -c 'kill -SEGV $$' | wc -l` returns 0", "crash"),
    Case("`sh -c 'kill -SEGV $$' | tail -5`", "crash"),
    Case("`cat missing.txt | wc -l` returns 0", "*"),
    # Killed by a signal; a shell syntax error; an uncaught exception.
    Case("`sh -c 'kill -9 $$'` outputs nothing", "crash"),
    Case("`if true; then echo x` outputs nothing", "invalid_task"),
    Case("`bash -c 'if then'` outputs nothing", "build_error"),
    Case("`sh broken.sh` outputs nothing", "build_error"),
    Case("`sh broken.sh | wc -l` returns 0", "build_error"),
    Case("`python3 -c 'raise ValueError(1)'` prints nothing", "crash"),
    # The error status of a search tool.
    Case("`grep -rn TODO no/such/dir` outputs nothing", "task_incomplete"),
    Case("`diff notes.txt missing.txt` outputs nothing", "*"),
    Case("`git -C sub log nosuchbranch` returns nothing", "*"),
    Case("`find no/such/dir -name '*.orig'` outputs nothing", "*"),
    Case("`find no/such/dir -name '*.orig' | wc -l` returns 0", "*"),
    Case("`find sub -name '*.orig'` outputs nothing", PASSED),
    Case("`! grep -q TODO missing.txt`", "*"),
    Case("`! grep -q TODO notes.txt && ! grep -q TODO missing.txt`", "*"),
    Case("`test -f notes.txt && ! grep -q TODO missing.txt`", "*"),
    Case("`! grep -q TODO notes.txt`", PASSED),
    Case('`test -z "$(cat missing.txt)"`', "*"),
    Case('`test -z "$(cat empty.txt)"`', PASSED),
    Case("`grep -q TODO missing.py` returns non-zero", "task_incomplete"),
    Case("`grep x missing.txt` fails", "task_incomplete"),
    Case("`grep x notes.txt` fails", PASSED),
    Case("`sh -c 'exit 2'` fails", PASSED),
    Case("`ls missing.txt` returns non-zero", PASSED),
    # In a list of commands too, unless another one takes over.
    Case("`nosuchtool; echo done` prints done", "command_not_found"),
    Case("`nosuchtool || echo none` prints none", PASSED),
    Case("`command -v nosuchtool | wc -l` returns 0", PASSED),
    # Unless the field names that very exit status.
    Case("`grep -rn TODO no/such/dir` exits 2", PASSED),
    Case("`nosuchtool` exits 127", PASSED),
    # A count of 0 that exits with 1, and other neighbours.
    Case("`grep -c TODO notes.txt` returns 0", PASSED),
    Case("`grep TODO notes.txt` outputs nothing", PASSED),
    Case("`grep TODO notes.txt | wc -l` returns 0", PASSED),
    # No test ran.
    Case("`sh no_tests.sh`", "task_incomplete"),
    Case("`sh no_tests.sh` reports 0 tests", PASSED),
    # Changes something outside this machine.
    Case("`git push origin main`", OUTSIDE),
    Case("`npm publish`", OUTSIDE),
    Case("`kubectl apply -f app.yml`", OUTSIDE),
    Case("`gh pr merge 3`", OUTSIDE),
    Case("`gh release create v1`", OUTSIDE),
)


def run_cases(
    pytester: pytest.Pytester, make_spec: SpecMaker, cases: tuple[Case, ...], *options: str
) -> list[str]:
    """Run one task for each case and return how each ended."""
    lines = ["# Tasks", ""]
    for number, case in enumerate(cases, start=1):
        lines += [f"- [ ] 1.{number} Case", f"  - **Verify**: {case.field}"]
        if case.expect:
            lines.append(f"  - **Expect**: {case.expect}")
        lines.append("")
    make_spec("\n".join(lines))
    (pytester.path / "notes.txt").write_text("one\ntwo\nthree\n")
    (pytester.path / "empty.txt").touch()
    (pytester.path / "broken.sh").write_text("if then\n")
    (pytester.path / "plain.sh").write_text("echo\n")
    (pytester.path / "no_tests.sh").write_text("echo 'Ran 0 tests in 0.000s'; echo; echo OK\n")
    pytester.mkdir("sub").joinpath("inner.txt").touch()
    pytester.runpytest("--ralph", "specs", "--junitxml=junit.xml", *options)
    return [_ending(case) for case in ET.parse(pytester.path / "junit.xml").iter("testcase")]


def _ending(case: ET.Element) -> str:
    values = {one.get("name"): one.get("value") or "" for one in case.iter("property")}
    skipped = case.find("skipped")
    if skipped is not None:
        return (skipped.get("message") or "").partition(":")[0]
    return values.get("ralph.failure.kind") or values["ralph.outcome"]


@pytest.mark.parametrize("cases", [READING, EXPECT_FIELD, SOUND], ids=["read", "expect", "sound"])
def test_each_field_ends_as_stated(
    pytester: pytest.Pytester, make_spec: SpecMaker, cases: tuple[Case, ...]
) -> None:
    endings = run_cases(pytester, make_spec, cases)
    wrong = []
    for case, ending in zip(cases, endings, strict=True):
        as_stated = ending == case.ends or (case.ends == "*" and ending != PASSED)
        if not as_stated:
            wrong.append((case.field, case.expect, case.ends, ending))
    assert not wrong, "\n".join(map(str, wrong))


def test_the_file_that_is_not_there_is_named(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec("- [ ] 1.1 a\n  - **Verify**: `ls specs`\n  - **Expect**: file nofile.txt exists\n")
    result = pytester.runpytest("--ralph", "specs")
    result.stdout.fnmatch_lines(["FAILED *::1.1 - *: file nofile.txt does not exist"])


def test_a_time_limit_beats_an_expectation(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    cases = (Case("`sleep 60` outputs nothing", "timeout"),)
    assert run_cases(pytester, make_spec, cases, "--ralph-timeout=0.2") == ["timeout"]


def test_what_is_allowed_outside_is_run(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    npm = pytester.mkdir("bin") / "npm"
    npm.write_text("#!/bin/sh\ntouch published\n")
    npm.chmod(0o755)
    cases = (Case("`bin/npm publish`", PASSED),)
    assert run_cases(pytester, make_spec, cases, "--ralph-allow=remote") == [PASSED]
    assert (pytester.path / "published").exists()


def test_commands_run_as_the_contract_says(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LC_ALL", raising=False)
    bin_directory = Path(sys.executable).parent
    cases = (
        Case(f"`test \"${{PATH%%:*}}\" = '{bin_directory}'`", PASSED),
        Case('`test "$LC_MESSAGES" = C`', PASSED),
        Case("`test -f notes.txt`", PASSED),
        Case("`cat` outputs nothing", PASSED),
        Case('`test "$RALPH_SPEC $RALPH_TASK_ID $RALPH_ATTEMPT" = "demo 1.5 1"`', PASSED),
        Case('`test -f "$RALPH_SPEC_PATH/tasks.md"`', PASSED),
    )
    endings = run_cases(pytester, make_spec, cases)
    assert endings == [case.ends for case in cases]
