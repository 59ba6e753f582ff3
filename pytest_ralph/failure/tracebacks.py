"""The exceptions that end tracebacks, whatever their classes are called."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.finding import Finding
from pytest_ralph.failure.lines import numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.output import CommandOutput

START = re.compile(
    r"^(?P<indent>[\s|+]*)(?:Exception Group )?Traceback \(most recent call last\):$"
)
EXCEPTION = re.compile(r"^[\s|]*(?P<error>[A-Za-z_][\w.]*(?::.*)?)$")
# The words behind it are values that were compared.
ASSERTION = re.compile(r"^(?:[\w.]+\.)?AssertionError\b")
NODE_VERSION = re.compile(r"^Node\.js v\d")
NODE_FRAME = re.compile(r"^\s+at ")


def exceptions(output: CommandOutput) -> Iterator[Finding]:
    """Yield a finding for every exception that ended a traceback of Python or Node."""
    yield from _node_errors(output.lines)
    if output.has("traceback"):
        yield from _python_errors(output.lines)


def _python_errors(lines: Sequence[str]) -> Iterator[Finding]:
    """Python prints the exception below its frames, which are indented deeper than the title."""
    title_indent: int | None = None
    for number, line in enumerate(lines):
        title = START.match(line)
        if title:
            title_indent = len(title["indent"])
            continue
        indent = len(line) - len(line.lstrip(" |+"))
        if title_indent is None or indent > title_indent or not line.strip():
            continue
        title_indent = None
        match = EXCEPTION.match(line)
        if match:
            verdict = "assertion" if ASSERTION.match(match["error"]) else "exception"
            yield Finding(verdict, match["error"], number)


def _node_errors(lines: Sequence[str]) -> Iterator[Finding]:
    """Node prints an uncaught error above its frames, and its own version at the end."""
    if not any(map(NODE_VERSION.match, lines[-3:])):
        return
    for number in numbers_of(NODE_FRAME.match, lines[1:]):
        error = lines[number]
        if error.startswith("Error: "):
            yield Finding("exception", error, number)
