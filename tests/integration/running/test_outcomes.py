"""How each task ends: passed, failed, or skipped with the reason a person can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

SPEC = """
    # Tasks

    - [ ] 1.1 Passes
      - **Verify**: `true`

    - [ ] 1.2 Fails
      - **Verify**: `false`

    - [ ] 1.3 Look at it
      - **Verify**: Manual: the page looks right

    - [ ] 1.4 Read it
      - **Verify**: Read `notes.md` and confirm that every point is covered

    - [ ] 1.5 Says nothing
      - **Do**: Something

    - [x] 1.6 Was done and is
      - **Verify**: `true`
"""


def test_each_outcome_is_shown_by_word_and_reason(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(SPEC)
    result = pytester.runpytest("--ralph", "-v", "-rs", "specs")
    expected = {"passed": 2, "failed": 1, "skipped": 1, "manual": 2}
    assert result.parseoutcomes() == expected
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "specs/demo/tasks.md::1.1 PASSED*",
            "specs/demo/tasks.md::1.2 FAILED*",
            "specs/demo/tasks.md::1.3 MANUAL (manual: the page looks right)*",
            "specs/demo/tasks.md::1.4 MANUAL (manual: Read*",
            "specs/demo/tasks.md::1.5 SKIPPED (no Verify field)*",
            "specs/demo/tasks.md::1.6 PASSED*",
            "SKIPPED [[]1[]] specs/demo/tasks.md:10: manual: the page looks right",
            (
                "SKIPPED [[]1[]] specs/demo/tasks.md:13: manual: Read `notes.md` and confirm that "
                "every point is covered"
            ),
            "SKIPPED [[]1[]] specs/demo/tasks.md:16: no Verify field",
        ]
    )


def test_what_is_checked_off_is_left_alone_when_only_the_rest_is_wanted(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(SPEC)
    result = pytester.runpytest("--ralph", "--ralph-pending", "-v", "specs")
    expected = {"passed": 1, "failed": 1, "skipped": 2, "manual": 2}
    assert result.parseoutcomes() == expected
    result.stdout.fnmatch_lines(["specs/demo/tasks.md::1.6 SKIPPED (already complete)*"])


def test_all_passed_or_skipped_is_success(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(SPEC.replace("`false`", "`true`"))
    assert pytester.runpytest("--ralph", "specs").ret == pytest.ExitCode.OK


def test_a_task_that_was_complete_and_fails_is_called_a_regression(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    spec = make_spec("- [x] 1.1 Was done\n  - **Verify**: `cat gone.txt`\n")
    before = spec.read_bytes()
    result = pytester.runpytest("--ralph", "specs")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "regression: *gone.txt*",
            "  it was checked off as complete but fails now",
            "FAILED specs/demo/tasks.md::1.1 - regression: *",
        ]
    )
    assert spec.read_bytes() == before


@pytest.mark.parametrize(
    ("verify", "passes"),
    [
        ("`test -e nowhere` or `test -d specs`", True),
        ("`test -d specs` or `touch second`", True),
        ("`test -e nowhere` or `test -e gone`", False),
        ("`true` AND `true`", True),
        ("`true` && `false`", False),
        ("`echo 3` returns 3", True),
        ("`echo 3` returns at least 4", False),
        ("`exit 3` exits 3", True),
        ("`false` returns non-zero", True),
        ("`true` returns non-zero", False),
        ("`true` outputs nothing", True),
        ("`echo x` outputs nothing", False),
        ('`echo hello world` shows "hello"', True),
        ("`grep -c something /dev/null` returns 0", True),
    ],
)
def test_a_verify_field_is_read_as_it_is_meant(
    pytester: pytest.Pytester, make_spec: SpecMaker, verify: str, passes: bool
) -> None:
    make_spec(f"- [ ] 1.1 It\n  - **Verify**: {verify}\n")
    outcome = {"passed": 1} if passes else {"failed": 1}
    pytester.runpytest("--ralph", "specs").assert_outcomes(**outcome)
    assert not (pytester.path / "second").exists()


def test_a_fenced_block_is_one_script(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec("""
        - [ ] 1.1 Script
          - **Verify**:
            ```bash
            word=hello
            cat > made.txt <<'EOF'
            - [ ] 9.9 not a task
            EOF
            grep -q "9.9" made.txt && echo $word
            ```
    """)
    result = pytester.runpytest("--ralph", "-v", "specs")
    result.assert_outcomes(passed=1)
    assert (pytester.path / "made.txt").read_text() == "- [ ] 9.9 not a task\n"


@pytest.mark.parametrize(
    ("option", "outcome"), [("--ralph", "PASSED"), ("--ralph-recovery", "BLOCKED (blocked by 1.3)")]
)
def test_a_fix_with_a_verify_of_its_own(
    pytester: pytest.Pytester, make_spec: SpecMaker, option: str, outcome: str
) -> None:
    make_spec("""
        - [ ] 1.3 Broken
          - **Verify**: `false`
        - [ ] 1.3.1 [FIX 1.3] Fix: it
          - **Verify**: `true`
    """)
    result = pytester.runpytest(option, "-v", "specs")
    result.stdout.fnmatch_lines([f"specs/demo/tasks.md::1.3.1 {outcome}*"])


def test_only_what_says_so_depends_on_a_task_that_failed(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec("""
        - [ ] 1.1 Broken
          - **Verify**: `false`
        - [ ] 1.2 After it
          - **Depends on**: 1.1
          - **Verify**: `true`
        - [ ] 1.3 On its own
          - **Verify**: `true`
    """)
    result = pytester.runpytest("--ralph", "-v", "specs")
    assert result.parseoutcomes() == {"failed": 1, "blocked": 1, "passed": 1}
    result.stdout.fnmatch_lines(["specs/demo/tasks.md::1.2 BLOCKED (blocked by 1.1)*"])


def test_a_plain_run_writes_nothing_into_the_spec(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    spec = make_spec(SPEC)
    before = spec.read_bytes()
    pytester.runpytest("--ralph", "specs")
    assert spec.read_bytes() == before
    assert [path.name for path in spec.parent.iterdir()] == ["tasks.md"]
    assert (pytester.path / ".ralph" / ".gitignore").read_text().strip() == "*"
