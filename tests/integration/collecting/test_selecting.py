"""Tasks are chosen as tests are: by keyword, by mark, by node id."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

SPEC = """
    # Tasks

    ## Phase 1: Make It Work (POC)

    - [ ] 1.1 [P] Add the price-parser
      - **Verify**: `true`
    - [ ] 1.2 [P] Draw the Basket
      - **Verify**: `true`
    - [ ] 1.3 [VERIFY] Quality checkpoint
      - **Verify**: `true`

    ## Phase 2: Refactoring

    - [ ] 2.1 Split the parser
      - **Verify**: `true`
    - [ ] 2.1.1 [FIX 2.1] Fix: it broke
      - **Verify**: `test 1 = 1`
"""


@pytest.fixture(autouse=True)
def _two_specs(make_spec: SpecMaker) -> None:
    make_spec(SPEC, name="shop")
    make_spec("- [ ] 1.1 Pay\n  - **Verify**: `true`\n", name="billing")


def chosen(pytester: pytest.Pytester, *args: str) -> list[str]:
    result = pytester.runpytest("--ralph", "--strict-markers", "--co", "-q", *args, "specs")
    assert result.ret in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    return [
        line.removeprefix("specs/").replace("/tasks.md::", " ")
        for line in result.outlines
        if "::" in line
    ]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("basket", ["shop 1.2"]),
        ("parser", ["shop 1.1", "shop 2.1"]),
        ("price-parser", ["shop 1.1"]),
        ("refactoring", ["shop 2.1", "shop 2.1.1"]),
        ("POC and not parser", ["shop 1.2", "shop 1.3"]),
        ("phase-2", ["shop 2.1", "shop 2.1.1"]),
        ("billing", ["billing 1.1"]),
        ("shop and 1.3", ["shop 1.3"]),
        ("ralph_fix", ["shop 2.1.1"]),
        ("unheard-of", []),
    ],
)
def test_by_the_words_of_title_phase_and_spec(
    pytester: pytest.Pytester, expression: str, expected: list[str]
) -> None:
    assert chosen(pytester, "-k", expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("ralph_parallel", ["shop 1.1", "shop 1.2"]),
        ("ralph_verify", ["shop 1.3"]),
        ("ralph_fix", ["shop 2.1.1"]),
        ("ralph and not ralph_parallel", ["billing 1.1", "shop 1.3", "shop 2.1", "shop 2.1.1"]),
        ("not ralph", []),
    ],
)
def test_by_mark(pytester: pytest.Pytester, expression: str, expected: list[str]) -> None:
    assert chosen(pytester, "-m", expression) == expected


def test_by_node_id_several_at_once(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(
        "--ralph", "-v", "specs/shop/tasks.md::2.1", "specs/billing/tasks.md::1.1"
    )
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["specs/shop/tasks.md::2.1 PASSED*", "specs/billing/tasks.md::1.1 PASSED*"]
    )


def test_an_id_that_is_not_there_is_a_usage_error(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--ralph", "specs/shop/tasks.md::9.9")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: not found: *specs/shop/tasks.md::9.9"])


def test_deselected_tasks_are_counted_as_such(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(
        "--ralph", "-k", "basket", "--deselect", "specs/shop/tasks.md::1.3", "specs"
    )
    result.assert_outcomes(passed=1, deselected=5)


def test_the_marks_are_listed(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--markers")
    for name in ("ralph", "ralph_parallel", "ralph_verify", "ralph_fix"):
        result.stdout.fnmatch_lines([f"@pytest.mark.{name}: *"])
