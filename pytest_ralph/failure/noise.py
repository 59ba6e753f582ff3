"""Noise: lines of an output that are no statement about the failure, whatever words they contain."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ralph.failure.output import CommandOutput

NOISE = re.compile(
    r"""
    \s*(?:>\s*)?(?:\d+\s*)?[|│┃](?!\s(?:ERROR|WARNING)\b)                      # source shown below a diagnostic
    | \s*[\^~]+$
    | \s*(?:-+>|╭|╰|┌|└|→|❯)\s
    | ⎯{3}
    | \s+at\s+(?:async\s+)?[\w$.<>\[\]@#/ ]*\(?(?:node:|file:|/|\w+\.(?:java|kt|scala|js|ts)\b|<anonymous>|native)
    | \s*\.{3}\s\d+\s(?:more|common)
    | \+{1,3}\s\w                                          # a shell's trace
    | \s*(?:help|note|hint|tip|see|info|debug|trace|warn(?:ing)?)\s*[:=\]]\s(?!retrying)
    | \s*=\s(?:help|note)
    | [^\s:]+:\d+(?::\d+)?:\s(?:note|info|remark):
    | \[?(?:info|debug|trace)\]?[:\s]
    | [\[\d/.\- tT]{0,20}\d\d:\d\d:\d\d\S{0,12}\s+\[?(?:info|debug|trace|warn(?:ing)?)
    | \s*(?:✓|✔|√|ok\s\d|PASS\b|\[\s+OK)
    | \[notice\]
    | (?:\#\d+|\s>)\s\[[^]]+\]\s                               # the step of an image that is built
    | \s*\#\s(?:include|define|import)\b
    | (?:npm|yarn|pnpm)\s(?:warn|notice|(?:error|ERR!)\s(?:code|A\scomplete\slog|errno|syscall|path)\b)
    """,
    re.VERBOSE | re.IGNORECASE,
)
NONE_WRONG = re.compile(
    r"\b(?:0|no) (?:errors?|failures?|failed|problems?|issues?|vulnerabilit)", re.IGNORECASE
)
PASSED = re.compile(r"\bPASSED\s*(?:\[|$)")
# Below a line of source, the mark that points into it.
CARET = re.compile(r"^\s+\^+\s*$")
FRAME = re.compile(r'^\s+File "[^"]+", line \d+')


# What a program logged while it still ran.
LOGGED = re.compile(
    r"^(?:(?:ERROR|CRITICAL|WARNING):[\w.]*:|[\[\d/.\- tT]{0,20}\d\d:\d\d:\d\d\S{0,12}\s+\[?(?:error|critical)\b)",
    re.IGNORECASE,
)
TRACEBACK = "Traceback (most recent call last):"


def quiet_lines(transcript: CommandOutput) -> frozenset[int]:
    """Numbers of the lines that are noise: code shown by a tool, traces, hints, and what was ignored or passed."""
    ignored = max(
        (n for n, line in enumerate(transcript.lines) if line.endswith("(ignored)")), default=-1
    )
    return (
        frozenset(range(ignored + 1))
        | frozenset(_noise(transcript))
        | frozenset(_logged_before_death(transcript))
    )


def _logged_before_death(transcript: CommandOutput) -> Iterator[int]:
    """What was logged above the last traceback did not end the program; the traceback did."""
    lines = transcript.lines
    death = max((number for number, line in enumerate(lines) if line == TRACEBACK), default=0)
    yield from (number for number in range(death) if LOGGED.match(lines[number]))


def _noise(transcript: CommandOutput) -> Iterator[int]:
    depth: int | None = None
    lines = transcript.lines
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if FRAME.match(line):
            depth = indent
            yield number
        elif depth is not None and indent > depth:
            yield number
        else:
            depth = None
            pointed_at = number + 1 < len(lines) and CARET.match(lines[number + 1])
            if pointed_at or NOISE.match(line) or _says_all_is_well(line):
                yield number


def _says_all_is_well(line: str) -> bool:
    return (
        bool(NONE_WRONG.search(line))
        if ("0 " in line or "o " in line)
        else "PASSED" in line and bool(PASSED.search(line))
    )
