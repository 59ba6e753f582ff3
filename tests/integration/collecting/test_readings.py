"""`--co` and `-v` show how each Verify field is read, and fix tasks belong to their originals."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from tests.conftest import SpecMaker

COUNTED = "- [ ] 1.3 Add failure parser\n  - **Verify**: `grep -c def src.py` returns at least 2\n"


def test_collect_only_shows_title_and_reading(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(COUNTED)

    result = pytester.runpytest("--ralph", "--co", "specs")

    result.stdout.fnmatch_lines(["*<Task 1.3 Add failure parser: grep -c def src.py, stdout >= 2>"])


def test_verbose_runs_show_the_reading(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(COUNTED)

    result = pytester.runpytest("--ralph", "-v", "specs")

    result.stdout.fnmatch_lines(
        ["specs/*/tasks.md:1: 1.3 Add failure parser: grep -c def src.py, stdout >= 2"]
    )


def test_a_fix_with_the_same_verify_is_no_item(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(
        "- [ ] 1.3 Original\n  - **Verify**: `true`\n"
        "- [ ] 1.3.1 [FIX 1.3] Fix: same\n  - **Verify**: `true`\n"
        "- [ ] 1.3.2 [FIX 1.3] Fix: other\n  - **Verify**: `test 1 = 1`\n"
    )

    result = pytester.runpytest("--ralph", "--co", "-q", "specs")

    names = [line.partition("::")[2] for line in result.outlines if "::" in line]
    assert names == ["1.3", "1.3.2"]


def test_specs_are_found_beside_testpaths(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(COUNTED.replace("`grep -c def src.py` returns at least 2", "`true`"))
    pytester.makeini("[pytest]\ntestpaths = tests\n")
    pytester.mkdir("tests").joinpath("test_a.py").write_text("def test_a(): pass")

    result = pytester.runpytest("--ralph")

    result.assert_outcomes(passed=2)
