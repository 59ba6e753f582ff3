"""Steps of the form `Run: …` and `Expected: …`, as plans of superpowers have them.

A step is a command, behind `Run:` or in a fence, followed by what is expected of it. Plans
that drive the work by tests also run them where they have to fail; such steps are not checks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.spec.labels import NOTE, under_note
from pytest_ralph.text.markdown import LIST_MARKER, closing_fence, dedent
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BULLET = rf"[ \t]*(?:{LIST_MARKER}[ \t]+)?"
_RUN = regex(
    _BULLET
    + rf"\**Run(?P<how>(?:[ \t]+[^:`*(\n]{{1,40}})?{NOTE}?:?\**{NOTE}?):?\**[ \t]*"
    + r"(?P<command>`[^`\n]+`)?",
    re.IGNORECASE,
)
# `Run: make check`, without backticks.
_RUN_BARE = regex(
    _BULLET + rf"(?:\*\*)?Run{NOTE}?(?::\*\*|\*\*{NOTE}?:|:)[ \t]+(?P<command>[^`\s][^`\n]*)",
    re.IGNORECASE,
)
# `Run (no network needed):`, with the command on the line below.
_RUN_BELOW = regex(_BULLET + r"\**Run\b[^`\n]*:[*]*[ \t]*", re.IGNORECASE)
_ONLY_CODE = regex(r"[ \t]*(?P<command>`[^`\n]+`)[ \t]*")
_EXPECTED = regex(
    _BULLET
    + r"\**Expect(?:ed)?(?:[ \t]+(?:output|result|results))?"
    + rf"{NOTE}?:?\**{NOTE}?[ \t]*:\**[ \t]*(?P<text>.*)",
    re.IGNORECASE,
)
_EXPECTED_BOLD = regex(
    _BULLET + rf"\*\*Expected[^*()\n]{{0,20}}{NOTE}?:\*\*[ \t]*(?P<text>.*)", re.IGNORECASE
)
_FENCE = regex(r"[ \t]*(?P<fence>`{3,}|~{3,})(?P<language>[\w+-]*)[ \t]*$")
_SHELL_LANGUAGES = ("", "bash", "sh", "shell", "zsh", "console", "terminal")
# `FAIL with "…"`, `Tests fail because …`, `2 failed`; not `no errors`, `0 failures`.
_MUST_FAIL = regex(
    r"[\W_]*(?:(?:the|both|all|new|these|this|it|tests?|build|compile|compilation|type|command|"
    r"should|must|will|to|is|are|red|with|an?|[1-9]\d*)[\W_]+){0,6}"
    r"(?:fail\w*|errors?\b|(?:\w+Error|\w+Exception)\b|red\b)",
    re.IGNORECASE,
)


class RunStep(NamedTuple):
    """One command, mostly as Markdown code, and the words about its result."""

    command: str
    expected: str


def read_run_steps(lines: Sequence[str]) -> list[RunStep]:
    """Return the steps among the lines of a task that are expected to succeed, each once."""
    steps: dict[str, RunStep] = {}
    for step in _all_steps(lines):
        if not _MUST_FAIL.match(step.expected):
            steps.setdefault(step.command, step)
    return list(steps.values())


def _all_steps(lines: Sequence[str]) -> Iterator[RunStep]:
    """Yield each command that an expectation follows."""
    command = ""
    previous = ""
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        fence = _FENCE.match(line)
        if fence:
            end = closing_fence(lines, number, fence["fence"])
            if end is None:
                end = len(lines)
            command = ""
            if fence["language"].lower() in _SHELL_LANGUAGES:
                content = dedent("\n".join(["", *lines[number:end]])).strip("\n")
                command = _under_run(previous, f"\n```bash\n{content}\n```").lstrip("\n")
            number = end + 1
            continue

        expected = _EXPECTED_BOLD.match(line) or _EXPECTED.match(line)
        if expected:
            if command:
                yield RunStep(command, expected["text"].strip() or _next_line(lines, number))
            command = ""
            continue
        if line.strip():
            # Anything else between command and expectation separates them.
            command = _command(line, previous)
            previous = line


def _command(line: str, previous: str) -> str:
    """Return the command of a line `Run: …`, or of the line below `Run:`, or an empty string."""
    only_code = _ONLY_CODE.fullmatch(line)
    if only_code and _RUN_BELOW.fullmatch(previous):
        return _under_run(previous, only_code["command"])
    run = _RUN.match(line)
    if run is None:
        return ""
    if run["command"]:
        return _under_run(line, run["command"])
    bare = _RUN_BARE.fullmatch(line)
    return bare["command"].strip() if bare else ""


def _under_run(line: str, command: str) -> str:
    """Return a command with what a line such as `Run (in web):` says about it."""
    run = _RUN.match(line)
    how = run["how"].strip(" \t*:()") if run else ""
    return under_note(f"({how})", command)


def _next_line(lines: Sequence[str], start: int) -> str:
    """Return the first line of a text that begins below its label."""
    for line in lines[start:]:
        if line.strip():
            return line.strip()
    return ""
