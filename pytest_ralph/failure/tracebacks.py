"""Tracebacks: the line that ends a Python traceback is an exception, whatever its class is called."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ralph.failure.output import CommandOutput

START = re.compile(
    r"^(?P<indent>[\s|+]*)(?:Exception Group )?Traceback \(most recent call last\):$"
)
EXCEPTION = re.compile(r"^[\s|]*(?P<error>[A-Za-z_][\w.]*(?::.*)?)$")
TCL_TRACE = "    while executing"
ASSERTION = re.compile(r"^(?:[\w.]+\.)?AssertionError\b")


def exceptions(transcript: CommandOutput) -> Iterator[Finding]:
    yield from _ended_by_tcl(transcript)
    if not transcript.has("traceback"):
        return
    depth: int | None = None
    for number, line in enumerate(transcript.lines):
        if match := START.match(line):
            depth = len(match["indent"])
        elif depth is not None and line.strip() and len(line) - len(line.lstrip(" |+")) <= depth:
            depth = None
            if match := EXCEPTION.match(line):
                yield Finding(
                    "assertion" if ASSERTION.match(match["error"]) else "exception",
                    match["error"],
                    number,
                )


def _ended_by_tcl(transcript: CommandOutput) -> Iterator[Finding]:
    """Tcl says first what went wrong, and below it where."""
    lines = transcript.lines
    for number in transcript.index.get("executing", ()):
        if number and lines[number] == TCL_TRACE:
            yield Finding("crash", lines[number - 1].strip(), number - 1)
