"""Failing tests of a pytest run: its summary gives the names, its `E` lines give the errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.lines import indent_of, matching, numbers_of
from pytest_ralph.failure.test_runs.failed_test import FailedTest
from pytest_ralph.failure.test_runs.quotes import Quote, first_quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_ralph.failure.output import CommandOutput

# A parameter in brackets may be anything, also what ends a name elsewhere.
SUMMARY = re.compile(
    r"^(?:(?:\[[^]]*\] )?(?:\([^)]*\) )?(?=SUBFAIL))?"
    r"(?:FAILED|ERROR|SUBFAIL(?:ED)?(?P<subtest>(?:\[.*?\]|[^\s\[]*)(?: \([^)]*\))?)) "
    r"(?:[^\w\s./\\]+ +)?"
    r"(?P<name>(?:[^\s:]|:(?!:))+(?:::[^\[]*?(?:(?<! )\[.*?\]){0,2})?)"
    r"(?:(?: \[[^]]*\])? \([^)]*\))?(?: - (?P<error>.*))?$"
)
# How `-v` reports a test that has ended, alone or in a worker.
ENDED = re.compile(
    r"^(?=\[gw\d+\] \[ *\d+%\] (?:FAILED|ERROR) |.* (?:FAILED|ERROR)(?: +\[ *\d+%\])?$)"
    r"(?:\[gw\d+\] \[ *\d+%\] \w+ )?(?P<name>[\w./\\-]+\.\w+::.*?)"
    r"(?P<subtest>)(?P<error>)(?: (?:FAILED|ERROR)(?: +\[ *\d+%\])?)?\s*$"
)
TITLE = re.compile(
    r"^_+ (?!_)(?:ERROR (?:at (?:setup|teardown) of|collecting) |\[doctest\] )?(.+?) _+$"
)
HEADING = re.compile(r"^=+ short test summary info =+$")
FAILURES = re.compile(r"^=+ FAILURES =+$")
END_OF_BLOCK = re.compile(r"^=+ .* ?=+$|^-{5,} Captured")
PATH = re.compile(r"^(?=.*[./\\])[\w./\\-]+$")
# A script that prints a summary like that of pytest may name its tests without their file.
BARE_TEST = re.compile(r"FAILED \w+ - ")
MARKED = re.compile(r"^E {2,}\S")
# What stands before an error: a mark, or with `--tb=line` its place.
ERROR_START = re.compile(r"^(?:E(?= {2,}\S)|\S+:\d+: (?!in ))")
# Lines of a block that say where, or how it came about, but not what.
FRAME = re.compile(
    r"^\s|^\S+:\d+: |^\[gw\d+\]|^>|^file \S+, line \d+|^_ _|^ImportError while importing|^Hint:"
    r"|^Traceback:|^\d{3}(?: |$)|^\d+\. Test Case ID: "
)
EXCEPTION = re.compile(r"[\w.]+(?:Error|Exception|Failed|Warning|Exit|Interrupt)\b")
# An exception of a package that says nothing more: what led to it stands elsewhere.
NO_MESSAGE = re.compile(r"^(?:\w+\.){2,}\w+$")
EXCEPTION_GROUP = re.compile(r"^\s*\| ((?:[\w.]*\.)?\w+Group: .*)$")
CHAINED = re.compile(
    r"The above exception was the direct cause|During handling of the above exception"
)
# What a plugin says about a test that it ran in a process of its own.
PLACED_ERROR = re.compile(r"^\S+:\d+: (?!in )(\S+ \S.*)$")
NOT_BLANK = re.compile(r".")


def read(output: CommandOutput) -> Iterator[FailedTest]:
    """Yield the tests of the summary, or without one (`-r N`) those that have a titled block."""
    errors = _errors_by_title(output.lines)
    tests = list(_summarised(output, errors))
    if tests:
        yield from tests
    elif any(map(FAILURES.match, output.lines)):
        for title, (at, error) in errors.items():
            yield FailedTest(title, error, at)


def _summarised(output: CommandOutput, errors: Mapping[str, Quote]) -> Iterator[FailedTest]:
    """Yield the tests of the summary, each with the error of its block."""
    rows = dict(_rows(output.lines))
    block_errors = [_error_of(row, errors) for row in rows.values()]
    if not any(block_errors) and len(rows) == len(errors):
        # A plugin may give its blocks titles of its own.
        block_errors = list(errors.values())

    for (number, row), block_error in zip(rows.items(), block_errors, strict=True):
        error = block_error or _whole_error(output.lines, row)
        if error is None:
            error = Quote(number, row.string.strip())
        name = row["name"].strip()
        yield FailedTest(name, error.text, error.line, _is_test(row))


def _rows(lines: Sequence[str]) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the rows that name a test or a file, numbered: those of the summary if there is one."""
    is_summarised = False
    heading = next(iter(numbers_of(HEADING.match, lines)), -1)
    for number, match in matching(SUMMARY.match, lines):
        # Above the heading stands what the tests printed.
        if number > heading and (_is_test(match) or PATH.match(match["name"].strip())):
            is_summarised = True
            yield number, match
    if not is_summarised:
        yield from matching(ENDED.match, lines)


def _is_test(row: re.Match[str]) -> bool:
    return "::" in row["name"] or BARE_TEST.match(row.string) is not None


def _error_of(row: re.Match[str], errors: Mapping[str, Quote]) -> Quote | None:
    """Return the error of a test: `test_a.py::TestX::test_y` has the title `TestX.test_y`."""
    file, *names = row["name"].strip().split("::")
    title = ".".join(names) or file
    # A function inside another function has only its own name as title.
    own_name = names[-1] if names else file
    for candidate in (f"{title} {row['subtest']}", title, own_name):
        if candidate in errors:
            return errors[candidate]
    return None


def _whole_error(lines: Sequence[str], row: re.Match[str]) -> Quote | None:
    """Return the line that the summary shortens to the width of the terminal."""
    shortened = row["error"] or ""
    if not shortened.endswith("..."):
        return None
    beginning = shortened.removesuffix("...")
    for number, line in enumerate(lines):
        text = ERROR_START.sub("", line).strip()
        if text.startswith(beginning):
            return Quote(number, text)
    return None


def _errors_by_title(lines: Sequence[str]) -> dict[str, Quote]:
    """Return the error of each titled block that has one."""
    errors: dict[str, Quote] = {}
    for title, block in _titled_blocks(lines).items():
        error = _error_of_block(block)
        if error is not None:
            errors[title] = error
    return errors


def _titled_blocks(lines: Sequence[str]) -> dict[str, list[Quote]]:
    blocks: dict[str, list[Quote]] = {}
    block: list[Quote] | None = None
    for number, line in enumerate(lines):
        # Most lines are no rulers: look at their beginning before matching a pattern.
        is_ruler = line.startswith(("_", "=", "-"))
        title = TITLE.match(line) if is_ruler else None
        if title:
            block = blocks[title[1]] = []
        elif is_ruler and END_OF_BLOCK.match(line):
            block = None
        elif block is not None:
            block.append(Quote(number, line))
    return blocks


def _error_of_block(block: Sequence[Quote]) -> Quote | None:
    """Return the error of a titled block, of the last exception if several are chained."""
    block = _last_exception(block)
    marked = [line for line in block if MARKED.match(line.text)]
    if not marked:
        return first_quote(block, [EXCEPTION_GROUP]) or _plain_error(block)

    least_indented = min(marked, key=lambda line: indent_of(line.text[1:]))
    error = least_indented.text[1:].strip()
    if NO_MESSAGE.match(error):
        error = ""
    return Quote(least_indented.line, error)


def _last_exception(block: Sequence[Quote]) -> Sequence[Quote]:
    """Return the lines below the last that says that one exception led to another."""
    start = 0
    for next_position, line in enumerate(block, start=1):
        if CHAINED.search(line.text):
            start = next_position
    return block[start:]


def _plain_error(block: Sequence[Quote]) -> Quote | None:
    """Return the error of a block without `E` lines (`--tb=native`, doctest, unittest)."""
    plain = [line for line in block if not FRAME.match(line.text)]
    if any(line.text.startswith("Traceback") for line in plain):
        raised = first_quote(plain[::-1], [EXCEPTION])
        if raised:
            return raised
    return first_quote(plain, [NOT_BLANK]) or first_quote(block, [PLACED_ERROR])
