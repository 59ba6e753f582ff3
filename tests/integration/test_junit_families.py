"""The JUnit file of a run that only verifies, in both families pytest writes."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

SPEC = """
    # Tasks

    - [ ] 1.1 Passes
      - **Verify**: `echo a word on the way`

    - [x] 1.2 Was done <and> fails & "how"
      - **Verify**: `printf 'ERROR: \\033[31mbroken <tag> \\001\\n'; exit 3`

    - [ ] 1.3 Look
      - **Verify**: Manual: look at the page

    - [ ] 1.3 Again
      - **Verify**: `true`

    - [ ] 1.4 After it
      - **Depends on**: 1.2
      - **Verify**: `true`
"""


@pytest.fixture(params=["xunit1", "xunit2"])
def cases(
    request: pytest.FixtureRequest, pytester: pytest.Pytester, make_spec: SpecMaker
) -> list[ET.Element]:
    make_spec(SPEC, name="shop")
    family = f"junit_family={request.param}"
    result = pytester.runpytest(
        "--ralph", "specs", "--junitxml=out.xml", "-o", family, "-W", "always"
    )
    assert result.parseoutcomes() == {
        "passed": 2,
        "failed": 1,
        "manual": 1,
        "blocked": 1,
        "warnings": 1,
    }
    suite = ET.parse(pytester.path / "out.xml").getroot().find("testsuite")
    assert suite is not None
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5",
        "failures": "1",
        "errors": "0",
        "skipped": "2",
    }
    if request.param == "xunit1":
        assert [case.get("file") for case in suite] == ["specs/shop/tasks.md"] * 5
        assert [case.get("line") for case in suite] == ["3", "6", "9", "12", "15"]
    return list(suite)


def told(case: ET.Element) -> dict[str | None, str | None]:
    return {one.get("name"): one.get("value") for one in case.iter("property")}


def test_one_testcase_a_task_with_what_became_of_it(cases: list[ET.Element]) -> None:
    assert [str(case.get("name")).split()[0] for case in cases] == [
        "1.1",
        "1.2",
        "1.3",
        "1.3~2",
        "1.4",
    ]
    assert {case.get("classname") for case in cases} == {"specs.shop.tasks.md"}
    assert [told(case)["ralph.outcome"] for case in cases] == [
        "passed",
        "regression",
        "manual",
        "passed",
        "blocked",
    ]
    assert [told(case)["ralph.attempts"] for case in cases] == ["1", "1", "0", "1", "0"]
    assert all(
        told(case)["ralph.spec"] == "shop" and told(case)["ralph.fixes"] == "" for case in cases
    )
    assert [told(case)["ralph.task"] for case in cases] == ["1.1", "1.2", "1.3", "1.3", "1.4"]
    assert told(cases[1])["ralph.title"] == 'Was done <and> fails & "how"'


def test_a_failure_has_its_kind_its_error_and_its_text(cases: list[ET.Element]) -> None:
    (failure,) = cases[1].findall("failure")
    assert failure.get("message") == "ERROR: broken <tag>"
    assert failure.get("type") == told(cases[1])["ralph.failure.kind"]
    assert "exited with 3" in (failure.text or "")
    assert "\x1b" not in (failure.text or "")
    assert not cases[1].findall("rerunFailure")
    assert not any(name and name.startswith("ralph.failure") for name in told(cases[0]))


def test_what_was_skipped_says_why(cases: list[ET.Element]) -> None:
    messages = [one.get("message") for case in cases for one in case.findall("skipped")]
    assert messages == ["manual: look at the page", "blocked by 1.2"]


def test_junitparser_reads_it(cases: list[ET.Element], pytester: pytest.Pytester) -> None:
    from junitparser import JUnitXml
    from junitparser.xunit2 import JUnitXml as SurefireXml

    for reader in (JUnitXml, SurefireXml):
        found = reader.fromfile(str(pytester.path / "out.xml"))
        assert [case.name for suite in found for case in suite] == [
            case.get("name") for case in cases
        ]
