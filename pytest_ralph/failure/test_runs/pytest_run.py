"""Failing tests of a pytest run: its summary gives the names, its `E` lines give the errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.failure.test_runs.failed_test import FailedTest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_ralph.failure.output import CommandOutput

# A parameter in brackets may be anything, also what ends a name elsewhere.
SUMMARY = re.compile(
    r"^(?:FAILED|ERROR|SUBFAILED(?P<subtest>\S*(?: \([^)]*\))?)) "
    r"(?P<name>(?:[^\s:]|:(?!:))+(?:::[^\[]*?(?:\[.*?\]){0,2})?)(?: - (?P<error>.*))?$"
)
TITLE = re.compile(
    r"^_{2,} (?:ERROR (?:at (?:setup|teardown) of|collecting) |\[doctest\] )?(.+?) _{2,}$"
)
FAILURES = re.compile(r"^=+ FAILURES =+$")
END_OF_BLOCK = re.compile(r"^=+ .* ?=+$|^-{5,} Captured")
PATH = re.compile(r"^[\w./\\-]+(?:\.\w+)?$")
ERROR_LINE = re.compile(r"^(?P<indent>E {2,})(?P<text>.*)$")
# Lines of a block that say where, or how it came about, but not what.
FRAME = re.compile(
    r"^\s|^\S+:\d+: |^\[gw\d+\]|^>|^file \S+, line \d+|^_ _|^ImportError while importing|^Hint:"
    r"|^Traceback:|^\d{3}(?: |$)"
)
EXCEPTION = re.compile(r"[\w.]+(?:Error|Exception|Failed|Warning|Exit|Interrupt)\b")
EXCEPTION_GROUP = re.compile(r"^\s*\| ((?:[\w.]*\.)?\w+Group: .*)$")
CHAINED = re.compile(
    r"The above exception was the direct cause|During handling of the above exception"
)
WORKER_CRASHED = re.compile(r"^worker '\w+' crashed while running '(.+)'$")
# What a plugin says about a test that it ran in a process of its own.
PLACED_ERROR = re.compile(r"^\S+:\d+: (?!in )(?P<text>\S+ \S.*)$")
SHORTENED = "..."
TRACEBACK = "Traceback"
INTERNAL = "INTERNALERROR> "
INTERNAL_EXCEPTION = re.compile(
    r"INTERNALERROR> [\w.]+(?:Error|Exception|Exit|Interrupt|Warning)?\b.*"
)


class NumberedLine(NamedTuple):
    """A line of the output, or the error in it, with its number."""

    number: int
    text: str


def read(output: CommandOutput) -> Iterator[FailedTest]:
    """Yield the tests of the summary, or without one (`-r N`) those that have a titled block."""
    errors = _errors_by_title(output.lines)
    errors.update(_crashes(output))
    has_summary = False
    for number, line in enumerate(output.lines):
        match = SUMMARY.match(line)
        if match is None:
            continue
        name = match["name"].strip()
        is_test = "::" in name
        if not is_test and not PATH.match(name):
            continue
        has_summary = True
        shown = NumberedLine(number, line.strip())
        block_error = _error_of(name, match["subtest"], errors)
        at, error = block_error or _whole_error(output.lines, match["error"]) or shown
        yield FailedTest(name, error, at, is_test)
    if errors and not has_summary and any(FAILURES.match(line) for line in output.lines):
        for title, (at, error) in errors.items():
            yield FailedTest(title, error, at)


def internal_error(output: CommandOutput) -> FailedTest | None:
    """Return the exception of an INTERNALERROR, which pytest prints instead of a summary."""
    for number in range(len(output.lines) - 1, -1, -1):
        line = output.lines[number]
        if line.startswith(INTERNAL) and INTERNAL_EXCEPTION.match(line):
            return FailedTest("", line, number, named=False)
    return None


def _error_of(
    name: str, subtest: str | None, errors: Mapping[str, NumberedLine]
) -> NumberedLine | None:
    """Return the error of a test: `test_a.py::TestX::test_y` has the title `TestX.test_y`."""
    title = name
    if "::" in name:
        title = ".".join(name.split("::")[1:])
    if subtest and f"{title} {subtest}" in errors:
        return errors[f"{title} {subtest}"]
    # A function inside another function has only its own name as title.
    own_name = name.rsplit("::", 1)[-1]
    return errors.get(name) or errors.get(title) or errors.get(own_name)


def _whole_error(lines: Sequence[str], shortened: str | None) -> NumberedLine | None:
    """Return the line that the summary shortens to the width of the terminal."""
    if not shortened or not shortened.endswith(SHORTENED):
        return None
    beginning = shortened.removesuffix(SHORTENED)
    for number, line in enumerate(lines):
        text = line.strip()
        if text.startswith(beginning):
            return NumberedLine(number, text)
    return None


def _crashes(output: CommandOutput) -> Iterator[tuple[str, NumberedLine]]:
    """xdist reports a worker that died below the title of the file, not of the test."""
    for number in output.index.get("crashed", ()):
        line = output.lines[number]
        match = WORKER_CRASHED.match(line)
        if match:
            yield match[1], NumberedLine(number, line.strip())


def _errors_by_title(lines: Sequence[str]) -> dict[str, NumberedLine]:
    errors: dict[str, NumberedLine] = {}
    title = ""
    block: list[NumberedLine] = []

    def finish_block() -> None:
        error = _error_of_block(block)
        if title and error is not None:
            errors[title] = error

    for number, line in enumerate(lines):
        # Most lines are no rulers: look at their beginning before matching a pattern.
        is_ruler = line.startswith(("_", "=", "-"))
        match = TITLE.match(line) if is_ruler else None
        if match or (is_ruler and END_OF_BLOCK.match(line)):
            finish_block()
            title = match[1] if match else ""
            block = []
        elif title:
            block.append(NumberedLine(number, line))
    finish_block()
    return errors


def _error_of_block(block: Sequence[NumberedLine]) -> NumberedLine | None:
    """Return the error of a titled block, of the last exception if several are chained."""
    start = 0
    for position, line in enumerate(block):
        if CHAINED.search(line.text):
            start = position
    block = block[start:]
    return _least_indented(block) or _error_group(block) or _plain_error(block)


def _least_indented(block: Sequence[NumberedLine]) -> NumberedLine | None:
    """Return the first of the `E` lines with the least indent."""
    best: NumberedLine | None = None
    least = 0
    for number, line in block:
        match = ERROR_LINE.match(line)
        if match is None or not match["text"].strip():
            continue
        indent = len(match["indent"])
        if best is None or indent < least:
            best = NumberedLine(number, match["text"].strip())
            least = indent
    return best


def _error_group(block: Sequence[NumberedLine]) -> NumberedLine | None:
    for number, line in block:
        match = EXCEPTION_GROUP.match(line)
        if match:
            return NumberedLine(number, match[1])
    return None


def _plain_error(block: Sequence[NumberedLine]) -> NumberedLine | None:
    """Return the error of a block without `E` lines (`--tb=native`, doctest, unittest)."""
    plain = [
        NumberedLine(number, line.strip())
        for number, line in block
        if line.strip() and not FRAME.match(line)
    ]
    if not plain:
        return _placed_error(block)
    if any(line.text.startswith(TRACEBACK) for line in plain):
        raised = [line for line in plain if EXCEPTION.match(line.text)]
        if raised:
            return raised[-1]
    return plain[0]


def _placed_error(block: Sequence[NumberedLine]) -> NumberedLine | None:
    for number, line in block:
        match = PLACED_ERROR.match(line)
        if match:
            return NumberedLine(number, match["text"])
    return None
