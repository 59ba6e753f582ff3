from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ralph import classify
from pytest_ralph.failure.project import Project
from pytest_ralph.failure.test_runs.junit import read_reports

if TYPE_CHECKING:
    from pytest_ralph.failure.test_runs import FailedTest

CASE = (
    '<testcase classname="{where}" name="{name}"><failure message="{message}">text</failure>'
    "</testcase>"
)


def read(tmp_path: Path, xml: str | bytes) -> list[FailedTest]:
    report = tmp_path / "report.xml"
    report.write_bytes(xml if isinstance(xml, bytes) else xml.encode())
    return list(read_reports([report], Project(tmp_path)))


def suite(*cases: str) -> str:
    return f'<testsuites><testsuite name="s">{"".join(cases)}</testsuite></testsuites>'


def test_failures_and_errors_are_read_passes_and_skips_are_not(tmp_path: Path) -> None:
    xml = suite(
        CASE.format(where="m", name="bad", message="assert 1 == 2"),
        '<testcase classname="m" name="worse"><error message="boom">text</error></testcase>',
        '<testcase classname="m" name="fine"/>',
        '<testcase classname="m" name="later"><skipped message="later"/></testcase>',
    )
    assert [(one.name, one.error) for one in read(tmp_path, xml)] == [
        ("bad", "assert 1 == 2"),
        ("worse", "boom"),
    ]


def test_a_failure_wins_over_a_skip_of_the_same_case(tmp_path: Path) -> None:
    xml = suite(
        '<testcase name="a"><skipped message="s"/><failure message="f">t</failure></testcase>'
    )
    assert [one.error for one in read(tmp_path, xml)] == ["f"]


def test_a_test_of_the_project_is_named_as_pytest_prints_it(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_cart.py").touch()
    xml = suite(CASE.format(where="tests.test_cart.TestTotal", name="test_sum", message="m"))
    assert [one.name for one in read(tmp_path, xml)] == ["tests/test_cart.py::TestTotal::test_sum"]


@pytest.mark.parametrize(
    "xml",
    [
        '<testsuite name="s">{case}</testsuite>',
        (
            '<testsuites><testsuite name="s"><testsuite name="t">{case}</testsuite></testsuite>'
            "</testsuites>"
        ),
        (
            '<?xml version="1.0" encoding="utf-8"?>\n'
            '<testsuites><testsuite name="s">{case}</testsuite></testsuites>'
        ),
    ],
)
def test_any_nesting_of_suites_is_read(xml: str, tmp_path: Path) -> None:
    assert len(read(tmp_path, xml.format(case=CASE.format(where="m", name="n", message="x")))) == 1


def test_raw_control_bytes_that_no_parser_takes_are_stripped(tmp_path: Path) -> None:
    xml = suite(CASE.format(where="m", name="n", message="\x1b[31mred\x1b[0m &#27; \x00")).encode()
    assert len(read(tmp_path, xml)) == 1


def test_a_file_that_could_not_be_collected_is_no_failing_test(tmp_path: Path) -> None:
    text = "ImportError while importing\nE   ModuleNotFoundError: No module named 'boto_nope'"
    xml = suite(
        '<testcase classname="" name="test_s3">'
        f'<error message="collection failure">{text}</error></testcase>'
    )
    (tmp_path / "junit.xml").write_text(xml)
    failure = classify("", 2, "pytest -q", junit=tmp_path / "junit.xml", root=tmp_path)
    assert (failure.kind, failure.missing, failure.failed_tests) == (
        "dependency_missing",
        "boto_nope",
        (),
    )


BOMB = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><testsuite>&c;</testsuite>'
)
STEAL = (
    '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><testsuite><testcase name="&f;"/>'
    "</testsuite>"
)


@pytest.mark.parametrize(
    "xml",
    [
        "",
        "not xml",
        "<testsuite><testcase>",
        BOMB,
        STEAL,
        "<testsuite>" * 5_000,
        "<testsuite>" * 3_000 + "</testsuite>" * 3_000,
        "<a>" * 50_000,
        f'<testsuite name="{"x" * 2_000_000}"/>',
        b"\xff\xfe\x00\x01",
        "<html><body>404</body></html>",
    ],
)
def test_a_report_that_cannot_be_read_is_one_more_fact_and_no_error(
    xml: str | bytes, tmp_path: Path
) -> None:
    assert read(tmp_path, xml) == []


def test_a_report_that_is_not_there_or_too_large_is_left_alone(tmp_path: Path) -> None:
    large = tmp_path / "large.xml"
    with large.open("wb") as file:
        file.truncate(50_000_000)
    pipe = tmp_path / "pipe.xml"
    os.mkfifo(pipe)
    reports = [tmp_path / "gone.xml", large, tmp_path, pipe, Path("/dev/zero")]
    assert read_reports(reports, Project(None)) == ()


def test_a_green_report_does_not_hide_a_failed_run(tmp_path: Path) -> None:
    (tmp_path / "junit.xml").write_text(suite('<testcase name="fine"/>'))
    output = "FAIL Required test coverage of 90% not reached. Total coverage: 60.00%"
    failure = classify(output, 1, "pytest --cov", junit=tmp_path / "junit.xml")
    assert (failure.kind, failure.failed_tests) == ("test_failure", ())


def test_a_report_speaks_where_the_output_does_not(tmp_path: Path) -> None:
    (tmp_path / "junit.xml").write_text(
        suite(CASE.format(where="m", name="adds", message="expected 5"))
    )
    failure = classify("", 1, "run-tests", junit=tmp_path / "junit.xml")
    assert (failure.kind, failure.failed_tests, failure.error) == (
        "test_failure",
        ("adds",),
        "expected 5",
    )


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ('<failure message="m">text</failure>', "m"),
        ("<failure>first line\nsecond</failure>", "first line"),
        ('<failure type="x"/>', ""),
        ("<failure>text\nE   assert 1 == 2\n</failure>", "assert 1 == 2"),
    ],
)
def test_an_error_is_the_message_or_else_the_text(result: str, error: str, tmp_path: Path) -> None:
    xml = suite(f'<testcase classname="m" name="n">{result}</testcase>')
    assert [(one.name, one.error) for one in read(tmp_path, xml)] == [("n", error)]


PYTEST_TEXT = (
    "    def test_a():\n>       add(1)\n\ntests/test_a.py:7: \n_ _ _ _\n\n    def add(one):\n"
    ">       assert one == 2\nE       assert 1 == 2\n\nsrc/calc.py:3: AssertionError"
)


@pytest.mark.parametrize(
    ("attributes", "text", "files", "line"),
    [
        ("", PYTEST_TEXT, ("tests/test_a.py", "src/calc.py"), 3),
        (
            "",
            "at TestContext (file:///home/me/tests/a.test.js:5:10)",
            ("/home/me/tests/a.test.js",),
            5,
        ),
        ("", "at a.CalcTest.adds(CalcTest.java:12)\nat b.C.d(C.java:40)", ("CalcTest.java",), 12),
        ('file="tests/test_a.py" line="9"', "no place", ("tests/test_a.py",), 9),
        ('file="tests/test_a.py" line="0"', "no place", ("tests/test_a.py",), None),
        ("", "/usr/lib/python3/json.py:4: ValueError", (), None),
    ],
)
def test_a_report_names_files_and_the_line(
    attributes: str, text: str, files: tuple[str, ...], line: int | None, tmp_path: Path
) -> None:
    for name in ("tests/test_a.py", "tests/a.test.js", "src/calc.py", "src/a/CalcTest.java"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    result = f'<failure message="assert 1 == 2">{text.replace(">", "&gt;")}</failure>'
    case = f'<testcase classname="m" name="{{name}}" {attributes}>{result}</testcase>'
    report = tmp_path / "junit.xml"

    report.write_text(suite(case.format(name="one")))
    failure = classify("", 1, "run-tests", junit=report, root=tmp_path)
    assert (failure.files, failure.line) == (files, line)

    report.write_text(suite(case.format(name="one"), case.format(name="two")))
    failure = classify("", 1, "run-tests", junit=report, root=tmp_path)
    assert (failure.files, failure.line) == (files, None)


def test_many_cases_beside_each_other_are_no_deep_nesting(tmp_path: Path) -> None:
    cases = [CASE.format(where="m", name=f"n{number}", message="x") for number in range(500)]
    assert len(read(tmp_path, suite(*cases))) == 500
