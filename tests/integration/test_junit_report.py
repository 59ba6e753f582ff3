"""The JUnit file of a real run: one testcase a task, whatever it took."""

from __future__ import annotations

from textwrap import dedent
from xml.etree import ElementTree as ET

import pytest

SPEC = """
    # Tasks

    - [ ] 1.1 Nothing to do
      - **Verify**: `true`

    - [ ] 1.2 Needs a file
      - **Verify**: `test -e made`

    - [ ] 1.3 Never works
      - **Verify**: `echo "assert 1 == 2" && false`

    - [ ] 1.4 Look at it
      - **Verify**: Manual: look at the page
"""


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_attempts_and_properties_are_on_the_one_testcase_of_a_task(
    pytester: pytest.Pytester, workers: str
) -> None:
    directory = pytester.path / "specs" / "shop"
    directory.mkdir(parents=True)
    (directory / "tasks.md").write_text(dedent(SPEC))
    pytester.runpytest_subprocess(
        *(
            "--ralph-recovery",
            "--ralph-keep-going",
            "--ralph-executor",
            "touch made",
            "--ralph-max-fixes",
            "2",
        ),
        *("specs", "--junitxml=result.xml", workers),
    )
    cases = {
        str(case.get("name")).split()[0]: case
        for case in ET.parse(pytester.path / "result.xml").iter("testcase")
    }
    assert list(cases) == ["1.1", "1.2", "1.3", "1.4"]
    told = {
        name: {p.get("name"): p.get("value") for p in case.iter("property")}
        for name, case in cases.items()
    }
    assert [told[name]["ralph.outcome"] for name in cases] == [
        "passed",
        "recovered",
        "failed",
        "manual",
    ]
    assert told["1.2"]["ralph.spec"] == "shop"
    assert told["1.2"]["ralph.title"] == "Needs a file"
    assert (told["1.2"]["ralph.attempts"], told["1.2"]["ralph.fixes"]) == ("2", "1.2.1")
    assert {"ralph.failure.kind", "ralph.failure.type", "ralph.failure.category"} <= {*told["1.3"]}
    tags = {
        name: [child.tag for child in case if child.tag != "properties"]
        for name, case in cases.items()
    }
    attempts = int(told["1.3"]["ralph.attempts"] or 0)
    assert tags == {
        "1.1": [],
        "1.2": ["flakyFailure"],
        "1.3": ["failure"] + ["rerunFailure"] * (attempts - 1),
        "1.4": ["skipped"],
    }
    assert attempts > 1
