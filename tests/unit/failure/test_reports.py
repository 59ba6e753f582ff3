"""Reports for machines and wrappings of other runners are read like text."""

from __future__ import annotations

import json

import pytest

from pytest_ralph import classify
from pytest_ralph.failure.unwrap import unwrap
from pytest_ralph.shell.command import Command

JSON_REPORT = {
    "success": False,
    "testResults": [
        {
            "name": "/project/cart.test.js",
            "status": "failed",
            "assertionResults": [
                {
                    "fullName": "cart uses the quantity",
                    "status": "failed",
                    "failureMessages": ["AssertionError: expected 2 to be 6\n    at cart.js:3"],
                },
                {"fullName": "cart is empty", "status": "passed", "failureMessages": []},
            ],
        }
    ],
}
XML_REPORT = """\
<testsuite name="cart" tests="2" failures="1">
<testcase classname="cart" name="uses &quot;the&quot; quantity"><failure>Expected values:

2 !== 6
</failure></testcase>
<testcase classname="cart" name="is empty"/>
</testsuite>
"""
TEAMCITY = (
    "##teamcity[testStarted name='cart.total']\n"
    "##teamcity[testFailed name='cart.total' message='expected |[6|], got |[2|]|nsee below']\n"
)


@pytest.mark.parametrize("printed", [json.dumps(JSON_REPORT), json.dumps(JSON_REPORT, indent=2)])
def test_a_printed_json_report_names_the_tests(printed: str) -> None:
    failure = classify(f"building\n{printed}\n", 1, "npx vitest run --reporter=json")
    assert failure.failed_tests == ("cart uses the quantity",)
    assert failure.error == "AssertionError: expected 2 to be 6"
    assert failure.kind == "test_failure"


def test_a_printed_xml_report_names_the_tests() -> None:
    failure = classify(XML_REPORT, 1, "npx mocha --reporter xunit")
    assert failure.failed_tests == ('uses "the" quantity',)
    assert failure.error == "Expected values: 2 !== 6"


def test_teamcity_messages_name_the_tests() -> None:
    failure = classify(TEAMCITY, 1, "npx mocha --reporter teamcity")
    assert failure.failed_tests == ("cart.total",)
    assert failure.error == "expected [6], got [2]"


def test_labels_of_packages_are_taken_off() -> None:
    lines = ["cart: > cart@1.0.0 test", "cart: boom", "error: stays", "util: > echo", "util: ok"]
    assert unwrap(lines) == ["> cart@1.0.0 test", "boom", "error: stays", "> echo", "ok"]


def test_a_logged_traceback_is_no_cause() -> None:
    output = (
        "2026-01-02 10:00:00,1 [main] WARNING no news today\n"
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/x.py", line 1, in get\n'
        "socket.gaierror: [Errno -2] Name or service not known\n"
        "a.tf:1: S001 bucket is public\n"
    )
    failure = classify(output, 1, "some-linter a.tf")
    assert (failure.kind, failure.error) == ("lint_error", "a.tf:1: S001 bucket is public")


@pytest.mark.parametrize(
    ("command", "role"),
    [
        ("nosuchtool check src", "lint"),
        ("nosuchtool --check a.py", "lint"),
        ("nosuchtool fmt", "format"),
        ("nosuchtool test", "test"),
        ("nosuchtool build", "build"),
        ("nosuchtool a.py", ""),
        ("python check", "run"),
    ],
)
def test_arguments_suggest_what_a_tool_is_for(command: str, role: str) -> None:
    assert Command.parse(command).stages[0].role == role


def test_a_traceback_at_the_start_is_not_logged_by_a_warning_at_the_end() -> None:
    output = """\
Traceback (most recent call last):
  File "app.py", line 3, in <module>
ValueError: bad total
rows written: 3
2024-01-01 12:00:00 WARNING shutting down
"""
    failure = classify(output.rstrip(), 1, "python app.py")
    assert (failure.kind, failure.error) == ("crash", "ValueError: bad total")


def test_npm_says_that_a_test_failed_but_not_why() -> None:
    output = "value 3 should be 4\nnpm ERR! Test failed.  See above for more details.\n"
    assert classify(output, 1, "npm test").error == "value 3 should be 4"
