"""The failing tests of a JUnit report. A report is evidence, never the verdict.

A report that cannot be read is one more fact and no error of ours: it may be huge, hostile, cut
off, or hold bytes that no XML parser accepts.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.failure.project import Project
from pytest_ralph.failure.test_runs.failed_test import FailedTest, first_line
from pytest_ralph.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from junitparser import JUnitXml, TestCase

    from pytest_ralph.failure.output import CommandOutput

LARGEST = 8_000_000
DEEPEST = 50
LONGEST_ATTRIBUTE = 200_000
LONGEST_DETAILS = 10_000
LONGEST_ELEMENT = 4 * LONGEST_ATTRIBUTE
# A whole report between other lines of an output.
PRINTED = re.compile(r"<(testsuites?)\b.*</\1>", re.DOTALL)
# Characters and references that XML forbids; node's reporter writes raw escape codes.
FORBIDDEN = re.compile(
    r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
    r"|&#(?:x0*(?:[0-8bcefBCEF]|1[0-9a-fA-F])|0*(?:[0-8]|1[124-9]|2\d|3[01]));"
)
ELEMENT = re.compile(rf"<(/?)test(?:suites?|case)\b[^<>]{{0,{LONGEST_ATTRIBUTE}}}?(/?)>")
ERROR_LINE = re.compile(r"^E {2,}(\S.*\S|\S)\s*$", re.MULTILINE)
# What pytest says of a file that it could not load.
NOT_LOADED = "collection failure"


def read_reports(reports: Iterable[Path | str], project: Project) -> Sequence[FailedTest]:
    """Return the failing tests of all reports that can be read."""
    tests: list[FailedTest] = []
    for report in reports:
        text = _text_of(Path(report))
        tests += _read_text(text, project)
    return tuple(tests)


def _text_of(report: Path) -> str:
    """Return the text of a report, empty if it is too large or cannot be read."""
    try:
        if report.stat().st_size > LARGEST:
            return ""
        return read_regular(report).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def read_printed(output: CommandOutput) -> Sequence[FailedTest]:
    """Return the failing tests of a report that stands in the output."""
    if not output.has("testcase") or "</testsuite" not in output.text:
        return ()
    printed = PRINTED.search(output.text)
    if not printed:
        return ()
    return _read_text(printed[0], Project(None))


def _read_text(text: str, project: Project) -> Sequence[FailedTest]:
    if not _is_safe(text):
        return ()
    try:
        return tuple(_failed_tests(FORBIDDEN.sub("", text), project))
    except Exception:
        # junitparser raises errors of several libraries, depending on what is installed.
        return ()


def _is_safe(text: str) -> bool:
    """Return whether a parser can read it in bounded time and memory."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        return False
    # Something longer than any message takes a parser seconds.
    longest = max(map(len, text.split("<")))
    return longest <= LONGEST_ELEMENT and not _is_too_deep(text)


def _is_too_deep(text: str) -> bool:
    """Return whether elements are nested deeper than any runner nests them."""
    depth = 0
    for match in ELEMENT.finditer(text):
        closes, is_empty = match.groups()
        if closes:
            depth -= 1
        elif not is_empty:
            depth += 1
        if depth > DEEPEST:
            return True
    return False


def _failed_tests(source: str, project: Project) -> Iterator[FailedTest]:
    from junitparser import Error, Failure, JUnitXml

    report = JUnitXml.fromstring(source.encode("utf-8"))
    for case in _cases(report):
        for result in case.result:
            if isinstance(result, (Error, Failure)):
                yield _failed_test(case, result.message or "", result.text or "", project)
                break


def _cases(report: JUnitXml) -> Iterator[TestCase]:
    """Yield all cases of a report, in the root itself and in suites."""
    from junitparser import TestCase

    for element in report._elem.iter("testcase"):  # noqa: SLF001 - it offers only those of suites
        case = TestCase()
        case._elem = element  # noqa: SLF001 - `fromelem` has no types
        yield case


def _failed_test(case: TestCase, message: str, text: str, project: Project) -> FailedTest:
    is_named = bool(case.name) and message != NOT_LOADED
    error = first_line(f"{message}\n{text}")
    if not is_named or not message:
        marked = ERROR_LINE.search(text)
        if marked:
            error = marked[1]
    name = _name(case, project)
    details = _details(case, text)
    return FailedTest(name, error, named=is_named, details=details)


def _details(case: TestCase, text: str) -> str:
    """Return the text of a case, then the place in its attributes, which is that of its start."""
    if len(text) > LONGEST_DETAILS:
        half = LONGEST_DETAILS // 2
        text = f"{text[:half]}\n{text[-half:]}"
    attributes = case._elem.attrib  # noqa: SLF001 - TestCase does not offer them
    place = attributes.get("file", "")
    line = attributes.get("line")
    if place and line:
        place = f"{place}:{line}"
    return f"{text}\n{place}"


def _name(case: TestCase, project: Project) -> str:
    """Return a pytest node id if the class is a file of the project, else the name alone."""
    name = str(case.name or "")
    parts = str(case.classname or "").split(".")
    for length in range(len(parts), 0, -1):
        file = "/".join(parts[:length]) + ".py"
        if file in project.files:
            inner_classes = parts[length:]
            return "::".join([file, *inner_classes, name])
    return name
