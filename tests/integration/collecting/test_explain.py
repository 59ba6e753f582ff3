"""`--ralph-explain` shows how tasks are read and runs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from tests.conftest import SpecMaker

SPEC = """
    # Tasks

    - [ ] 1.1 Count functions
      - **Do**: Write three functions
      - **Verify**: `touch ran; grep -c def src.py` returns at least 2 and the code is elegant

    - [ ] 1.2 Publish
      - **Verify**: `npm publish`

    - [ ] 1.3 Look
      - **Verify**: Manual: look at it
"""


def test_each_task_is_explained_and_nothing_runs(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(SPEC)
    result = pytester.runpytest("--ralph-explain", "specs")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "specs/demo/tasks.md::1.1  Count functions",
            "  check 1: touch ran; grep -c def src.py",
            "    expects stdout >= 2",
            "  not checked: *elegant*",
            "  if it fails: the failure is reported and nothing is changed *",
            "  prompt for an executor:",
            "*Write three functions*",
            "specs/demo/tasks.md::1.2  Publish",
            "  not run: changes something outside: npm publish",
            "specs/demo/tasks.md::1.3  Look",
            "  not run: manual: *look at it*",
            "*= 3 explained in *",
        ]
    )
    result.stdout.fnmatch_lines(["ralph: explain only, nothing runs"])
    assert "UNKNOWN" not in result.stdout.str()
    assert not (pytester.path / "ran").exists()


def test_only_selected_tasks_are_explained(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(SPEC)
    result = pytester.runpytest("--ralph-explain", "--ralph-recovery", "specs/demo/tasks.md::1.1")
    result.stdout.fnmatch_lines(["  if it fails: built-in repairs *"])
    result.stdout.no_fnmatch_line("*::1.2*")


def test_an_invalid_plan_beside_changes_nothing(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(SPEC)
    make_spec("# Tasks\n\n- [ ] 1.1 One\n  - **Depends on**: 9.9\n", name="broken")
    result = pytester.runpytest("--ralph-explain", "specs")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "specs/demo/tasks.md::1.1  Count functions",
            "*ERROR collecting specs/broken/tasks.md*",
            "*= 3 explained, 1 error in *",
        ]
    )
    assert not (pytester.path / "ran").exists()


def test_what_a_run_would_do_is_explained(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(
        """
        - [ ] 1.1 Own executor
          - **Verify**: `test -f a.txt`
          - **Executor**: `sh own.sh`

        - [ ] 1.2 Unfinished command
          - **Verify**: `if test -f a.txt; then`
        """
    )
    options = ("--ralph-recovery", "--ralph-executor", "sh other.sh")
    for script in ("own.sh", "other.sh"):
        pytester.path.joinpath(script).touch()

    result = pytester.runpytest("--ralph-explain", *options, "specs")

    result.stdout.fnmatch_lines(
        [
            "  if it fails: built-in repairs (*), then at most 3 fix tasks for sh own.sh;*",
            "  not run: fails as invalid: the shell cannot parse it: *",
        ]
    )


def test_a_task_that_a_run_skips_is_not_explained_as_run(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(
        """
        - [x] 1.1 [RED] Write a failing test
          - **Verify**: `false`

        - [x] 1.2 Done before
          - **Verify**: `true`
        """
    )

    result = pytester.runpytest("--ralph-explain", "--ralph-pending", "specs")

    result.stdout.fnmatch_lines(["*::1.1 *", "  not run: already complete*"])
    result.stdout.fnmatch_lines(["*::1.2 *", "  not run: already complete"])
    result = pytester.runpytest("--ralph-explain", "specs")
    result.stdout.fnmatch_lines(["  not run: already complete: a [[]RED[]] task *"])
    result.stdout.fnmatch_lines(["*::1.2 *", "*", "*", "  if it fails: *"])


def test_repairs_that_are_not_allowed_are_not_promised(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(SPEC)
    pytester.path.joinpath("agent.sh").touch()
    options = ("--ralph-recovery", "--ralph-repair=none")

    result = pytester.runpytest("--ralph-explain", *options, "--ralph-executor=sh agent.sh")
    result.stdout.fnmatch_lines(["  if it fails: at most 3 fix tasks for sh agent.sh;*"])

    result = pytester.runpytest("--ralph-explain", *options)
    result.stdout.fnmatch_lines(["  if it fails: it is reported"])

    options = ("--ralph-recovery", "--ralph-executor=none")
    result = pytester.runpytest("--ralph-explain", *options)
    result.stdout.fnmatch_lines(["  if it fails: it is reported"])


def test_an_unparsable_verify_is_not_executed(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="if test -f a.txt; then")
    result = pytester.runpytest("--ralph-execute", "--ralph-executor", "touch ran", "specs")
    result.assert_outcomes(failed=1)
    assert not (pytester.path / "ran").exists()


def test_secrets_in_a_plan_are_masked(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    token = "ghp_" + "0123456789abcdefghij" * 2
    make_spec(f"- [ ] 1.1 Use {token}\n  - **Verify**: `echo {token}` prints `{token}`\n")
    result = pytester.runpytest("--ralph-explain", "specs")

    assert token not in result.stdout.str()
    result.stdout.fnmatch_lines(["*1.1  Use [*][*][*]", "  check 1: echo [*][*][*]"])
