"""The failing tests of a JUnit report. A report is evidence, never the verdict.

A report that cannot be read is one more fact and no error of ours: it may be huge, hostile, cut
off, or hold bytes that no XML parser accepts.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.failure.test_runs.failed_test import FailedTest
from pytest_ralph.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from junitparser import TestCase

    from pytest_ralph.failure.project import Project

LARGEST = 8_000_000
DEEPEST = 50
LONGEST_ATTRIBUTE = 200_000
# Characters and references that XML forbids; node's reporter writes raw escape codes.
FORBIDDEN = re.compile(
    r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
    r"|&#(?:x0*(?:[0-8bcefBCEF]|1[0-9a-fA-F])|0*(?:[0-8]|1[124-9]|2\d|3[01]));"
)
ELEMENT = re.compile(rf"<(/?)test(?:suites?|case)\b[^<>]{{0,{LONGEST_ATTRIBUTE}}}?(/?)>")
ERROR_LINE = re.compile(r"^E {2,}(\S.*)$", re.MULTILINE)


def read_reports(reports: Iterable[Path | str], project: Project) -> Sequence[FailedTest]:
    """Return the failing tests of all reports that can be read."""
    return tuple(test for report in reports for test in _read_report(Path(report), project))


def _read_report(path: Path, project: Project) -> Sequence[FailedTest]:
    source = _safe_source(path)
    if source is None:
        return ()
    try:
        return tuple(_failed_tests(source, project))
    except Exception:
        # junitparser raises errors of several libraries, depending on what is installed.
        return ()


def _safe_source(path: Path) -> str | None:
    """Return the text of a report if it is safe to parse."""
    try:
        if path.stat().st_size > LARGEST:
            return None
        text = read_regular(path).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        return None
    if _is_too_deep(text) or _has_huge_attribute(text):
        return None
    return FORBIDDEN.sub("", text)


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


def _has_huge_attribute(text: str) -> bool:
    """Return whether something is longer than any message: a parser takes seconds for it."""
    longest = max(map(len, text.split("<")), default=0)
    return longest > 4 * LONGEST_ATTRIBUTE


def _failed_tests(source: str, project: Project) -> Iterator[FailedTest]:
    from junitparser import Error, Failure, JUnitXml

    report = JUnitXml.fromstring(source.encode("utf-8"))
    for case in _cases(report):
        for result in case.result:
            if isinstance(result, (Error, Failure)):
                message = str(result.message or "")
                text = str(result.text or "")
                yield _failed_test(case, message, text, project)
                break


def _cases(report: Iterable[object]) -> Iterator[TestCase]:
    """Yield all cases of a report, whether its root is one suite or several."""
    from junitparser import TestCase, TestSuite

    for child in report:
        if isinstance(child, TestSuite):
            # Iterating over a suite also gives the cases of its inner suites.
            yield from child
        elif isinstance(child, TestCase):
            yield child


def _failed_test(case: TestCase, message: str, text: str, project: Project) -> FailedTest:
    could_not_load = message == "collection failure" or not case.name
    marked = ERROR_LINE.search(text)
    if marked and (could_not_load or not message):
        error = marked[1].strip()
    else:
        lines = (line.strip() for line in f"{message}\n{text}".splitlines())
        error = next(filter(None, lines), "")
    return FailedTest(_name(case, project), error, named=not could_not_load)


def _name(case: TestCase, project: Project) -> str:
    """Return a pytest node id if the class is a file of the project, else the name alone."""
    name = str(case.name or "")
    parts = str(case.classname or "").split(".")
    for length in range(len(parts), 0, -1):
        file = "/".join(parts[:length]) + ".py"
        if file in project.files:
            return "::".join([file, *parts[length:], name])
    return name
