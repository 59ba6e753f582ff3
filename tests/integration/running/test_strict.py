"""`ralph_strict`: what was not understood is not passed on exit status alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from tests.conftest import SpecMaker

SPEC = """
    # Tasks

    - [ ] 1.1 Draw it
      - **Verify**: `sh draw.sh` and the button glows softly

    - [ ] 1.2 Build it
      - **Verify**: `true`
"""


def test_unread_words_make_a_task_manual(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(SPEC)
    pytester.makefile(".sh", draw="echo drawn")
    pytester.makeini("[pytest]\nralph_strict = true\n")
    result = pytester.runpytest("--ralph", "-v", "-rs", "specs")
    result.stdout.fnmatch_lines(
        [
            "*::1.1 MANUAL (manual: not checked: *",
            "*::1.2 PASSED *",
            "SKIPPED * manual: not checked: the button glows softly",
        ]
    )


def test_the_report_names_what_was_not_checked(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(SPEC)
    pytester.makefile(".sh", draw="echo drawn")
    pytester.runpytest("--ralph", "--ralph-report=report.html", "specs").assert_outcomes(passed=2)
    page = (pytester.path / "report.html").read_text("utf-8")
    assert "passes on exit status only; not checked: the button glows softly" in page


def test_without_the_setting_it_passes(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(SPEC)
    pytester.makefile(".sh", draw="echo drawn")
    pytester.runpytest("--ralph", "specs").assert_outcomes(passed=2)
