"""The exceptions that end tracebacks, whatever their classes are called."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.finding import Finding
from pytest_ralph.failure.lines import matching

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    yield from _node_errors(output)
    if not output.has("traceback"):
        return
    frame_indent: int | None = None
    for number, line in enumerate(output.lines):
        start = START.match(line)
        if start:
            frame_indent = len(start["indent"])
            continue
        if frame_indent is None or not line.strip():
            continue
        indent = len(line) - len(line.lstrip(" |+"))
        if indent > frame_indent:
            continue
        frame_indent = None
        match = EXCEPTION.match(line)
        if match:
            verdict = "assertion" if ASSERTION.match(match["error"]) else "exception"
            yield Finding(verdict, match["error"], number)


def _node_errors(output: CommandOutput) -> Iterator[Finding]:
    """Node prints an uncaught error above its frames, and its own version at the end."""
    if not any(NODE_VERSION.match(line) for line in output.lines[-3:]):
        return
    for number, _ in matching(NODE_FRAME.match, output.lines[1:]):
        error = output.lines[number]
        if error.startswith("Error: "):
            yield Finding("exception", error, number)
