"""An invalid spec is a collection error of its own; everything else still runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

CYCLE = """\
    - [ ] 1.1 First
      - **Depends on**: 1.2
      - **Verify**: `true`
    - [ ] 1.2 Second
      - **Depends on**: 1.1
      - **Verify**: `true`
"""


def test_other_specs_and_tests_still_run(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(CYCLE, name="broken")
    make_spec("- [ ] 1.1 Works\n  - **Verify**: `true`\n", name="good")
    pytester.makepyfile(test_plain="def test_plain(): pass")

    result = pytester.runpytest("--ralph")

    result.assert_outcomes(passed=2, errors=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*specs/broken/tasks.md:1: circular dependency: 1.1 -> 1.2 -> 1.1"]
    )


def test_errors_of_plain_tests_still_stop(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(CYCLE, name="broken")
    pytester.makepyfile(test_plain="import nosuchmodule")

    result = pytester.runpytest("--ralph")

    assert result.ret == 2


def test_an_unreadable_spec_names_its_line(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(
        "---\nralph:\n  timeout: soon\n---\n- [ ] 1.1 A\n  - **Verify**: `true`\n", name="bad"
    )
    make_spec("- [ ] 1.1 Works\n  - **Verify**: `true`\n", name="good")

    result = pytester.runpytest("--ralph", "specs")

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*specs/bad/tasks.md:3: *timeout*"])


def test_a_missing_shell_is_its_specs_error(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    task = "- [ ] 1.1 A\n  - **Verify**: `true`\n"
    make_spec(f"---\nralph:\n  shell: nosuchshell\n---\n{task}", name="bad")
    make_spec(task, name="good")

    result = pytester.runpytest("--ralph", "specs")

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*specs/bad/tasks.md:3: *no such shell: nosuchshell"])


@pytest.mark.parametrize("argument", ["specs", "specs/pipe", "specs/pipe/tasks.md"])
def test_a_spec_that_is_a_pipe_is_refused(
    pytester: pytest.Pytester, make_spec: SpecMaker, argument: str
) -> None:
    make_spec("- [ ] 1.1 Works\n  - **Verify**: `true`\n", name="good")
    directory = pytester.mkdir("specs/pipe")
    os.mkfifo(directory / "tasks.md")

    result = pytester.runpytest("--ralph", argument)

    result.assert_outcomes(passed=1 if argument == "specs" else 0, errors=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["specs/pipe/tasks.md:1: cannot be read: not a regular file"])


@pytest.mark.parametrize(
    "text",
    [
        "---\nralph:\n  timeout: tr0ub4dor-7\n---\n- [ ] 1.1 A\n  - **Verify**: `true`\n",
        "---\nralph:\n  shell: tr0ub4dor-7\n---\n- [ ] 1.1 A\n  - **Verify**: `true`\n",
        "---\nralph:\n  tr0ub4dor-7: 1\n---\n- [ ] 1.1 A\n  - **Verify**: `true`\n",
    ],
)
def test_secrets_in_an_error_are_masked(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("SECRETKEY", "tr0ub4dor-7")
    make_spec(text)
    result = pytester.runpytest("--ralph", "--junitxml=junit.xml", "specs")

    result.stdout.fnmatch_lines(["specs/demo/tasks.md:3: *[*][*][*]*"])
    assert "tr0ub4dor-7" not in result.stdout.str()
    assert "tr0ub4dor-7" not in (pytester.path / "junit.xml").read_text()
