"""JUnit: the failing tests of a report that a test runner wrote. Evidence, never the verdict.

A report that cannot be read is one more fact and no error of ours: it may be huge, a bomb, cut off, or hold bytes that
no XML parser takes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.failure.test_runs.failing import Failing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from junitparser import TestCase

    from pytest_ralph.failure.project import Project

LARGEST = 8_000_000
DEEPEST = 50
MOST_FAILING = 500
LONGEST_ATTRIBUTE = 200_000
CONTROL = re.compile(
    r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|&#(?:x0*(?:[0-8bcefBCEF]|1[0-9a-fA-F])|0*(?:[0-8]|1[124-9]|2\d|3[01]));"
)
NESTING = re.compile(rf"<(/?)test(?:suites?|case)\b[^<>]{{0,{LONGEST_ATTRIBUTE}}}?(/?)>")
ERROR_LINE = re.compile(r"^E {2,}(\S.*)$", re.MULTILINE)


def read_reports(reports: Iterable[Path | str], project: Project) -> Sequence[Failing]:
    return tuple(failing for report in reports for failing in _read(Path(report), project))


def _read(path: Path, project: Project) -> Iterator[Failing]:
    source = _source(path)
    if source is None:
        return
    try:
        yield from _failing(source, project)
    except Exception:
        return


def _source(path: Path) -> str | None:
    """The text of a report that is safe to parse."""
    try:
        if path.stat().st_size > LARGEST:
            return None
        text = path.read_bytes().decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
    if "<!DOCTYPE" in text or "<!ENTITY" in text or _is_hostile(text):
        return None
    return CONTROL.sub("", text)


def _is_hostile(text: str) -> bool:
    """Nested deeper than any runner nests, or an attribute longer than any message: both cost a parser dearly."""
    depth = 0
    for match in NESTING.finditer(text):
        depth += -1 if match[1] else 0 if match[2] else 1
        if depth > DEEPEST:
            return True
    return max(map(len, text.split("<")), default=0) > 4 * LONGEST_ATTRIBUTE


def _failing(source: str, project: Project) -> Iterator[Failing]:
    from junitparser import Error, Failure, JUnitXml

    xml = JUnitXml.fromstring(source.encode("utf-8"))
    for case in _cases(xml):
        wrong = [result for result in case.result if isinstance(result, (Error, Failure))]
        if wrong:
            yield _case(case, str(wrong[0].message or ""), str(wrong[0].text or ""), project)


def _cases(xml: Iterable[object]) -> Iterator[TestCase]:
    """All cases of a report, whether its root is one suite or many; a suite gives those of its inner suites too."""
    from junitparser import TestCase, TestSuite

    for child in xml:
        if isinstance(child, TestSuite):
            yield from child
        elif isinstance(child, TestCase):
            yield child


def _case(case: TestCase, message: str, text: str, project: Project) -> Failing:
    marked = ERROR_LINE.search(text)
    first = next(
        (line.strip() for line in (message + "\n" + text).splitlines() if line.strip()), ""
    )
    loads = message == "collection failure" or not case.name
    error = marked[1].strip() if marked and (loads or not message) else first
    return Failing(_name(case, project), error, named=not loads)


def _name(case: TestCase, project: Project) -> str:
    """As the runner prints it: a pytest node id where the class is a file of the project, else class and name."""
    name, where = str(case.name or ""), str(case.classname or "")
    parts = where.split(".") if where else []
    for length in range(len(parts), 0, -1):
        file = "/".join(parts[:length]) + ".py"
        if file in project.files:
            return "::".join([file, *parts[length:], name])
    return name
