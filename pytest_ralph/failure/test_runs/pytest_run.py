"""Failing tests of a pytest run: its summary gives the names, its E lines give the errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.test_runs.failing import Failing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.output import CommandOutput

# What stands in the brackets of a parameter may be anything, also what ends a name elsewhere.
SUMMARY = re.compile(
    r"^(?:FAILED|ERROR|SUBFAILED(?P<sub>\S*(?: \([^)]*\))?)) (?P<name>(?:[^\s:]|:(?!:))+(?:::[^\[]+?(?:\[.*?\])?)?)"
    r"(?: - (?P<error>.*))?$"
)
TITLE = re.compile(
    r"^_{2,} (?:ERROR (?:at (?:setup|teardown) of|collecting) |\[doctest\] )?(.+?) _{2,}$"
)
HEADER = re.compile(r"^=+ FAILURES =+$")
ERROR_LINE = re.compile(r"^(INTERNALERROR> |E {2,})(.*)$")
# Lines of a block that say where, or how it came about, but not what.
FRAME = re.compile(
    r"^\s|^\S+:\d+: |^\[gw\d+\]|^>|^file \S+, line \d+|^_ _|^ImportError while importing|^Hint:"
    r"|^Traceback:|^\d{3}(?: |$)"
)
GROUP = re.compile(r"^\s*\| ((?:[\w.]*\.)?\w+Group: .*)$")
CRASHED = re.compile(r"^worker '\w+' crashed while running '(.+)'$")
CHAINED = re.compile(
    r"The above exception was the direct cause|During handling of the above exception"
)


def read(transcript: CommandOutput) -> Iterator[Failing]:
    errors = dict(_errors(transcript.lines)) | dict(_of_dead_workers(transcript))
    summed_up = False
    for number, line in enumerate(transcript.lines):
        match = SUMMARY.match(line)
        if match and _is_pytest_name(name := match["name"].strip()):
            subtest = f"{_tail(name)} {match['sub']}" if match["sub"] else ""
            at, error = (
                errors.get(subtest)
                or errors.get(name)
                or errors.get(_tail(name))
                or (number, line.strip())
            )
            summed_up = True
            yield Failing(name, error, at, "::" in name)
    if not summed_up and any(HEADER.match(line) for line in transcript.lines):
        yield from (Failing(title, error, at) for title, (at, error) in errors.items())


def internal_error(transcript: CommandOutput) -> Failing | None:
    """The exception of an INTERNALERROR, which pytest prints instead of a summary."""
    lines = [
        (n, line) for n, line in enumerate(transcript.lines) if line.startswith("INTERNALERROR> ")
    ]
    for number, line in reversed(lines):
        if re.match(r"INTERNALERROR> [\w.]+(?:Error|Exception|Exit|Interrupt|Warning)?\b.*", line):
            return Failing("", line, number, named=False)
    return None


def _of_dead_workers(transcript: CommandOutput) -> Iterator[tuple[str, tuple[int, str]]]:
    """xdist writes of a worker that died below the title of the file, not of the test."""
    for number in transcript.index.get("crashed", ()):
        if match := CRASHED.match(transcript.lines[number]):
            yield match[1], (number, transcript.lines[number].strip())


def _is_pytest_name(name: str) -> bool:
    return "::" in name or bool(re.match(r"^[\w./\\-]+(?:\.\w+)?$", name))


def _tail(name: str) -> str:
    """`tests/test_a.py::TestX::test_y` is titled `TestX.test_y`, a file by its path."""
    return ".".join(name.split("::")[1:]) if "::" in name else name


def _errors(lines: Sequence[str]) -> Iterator[tuple[str, tuple[int, str]]]:
    """For each titled block its error: the least indented E line, of the last exception in a chain."""
    title, block = "", list[tuple[int, str]]()
    for number, line in enumerate([*lines, "= end ="]):
        if match := TITLE.match(line):
            yield from _of_block(title, block)
            title, block = match[1], []
        elif title and re.match(r"^=+ .* ?=+$|^-{5,} Captured", line):
            yield from _of_block(title, block)
            title, block = "", []
        elif title:
            block.append((number, line))


def _of_block(
    title: str, block: Sequence[tuple[int, str]]
) -> Iterator[tuple[str, tuple[int, str]]]:
    if not title:
        return
    chained = [i for i, (_, line) in enumerate(block) if CHAINED.search(line)]
    last = block[chained[-1] :] if chained else block
    marked = [
        (number, match[2], len(match[1]))
        for number, line in last
        if (match := ERROR_LINE.match(line))
    ]
    if marked:
        least = (
            min(indent for _, text, indent in marked if text.strip())
            if any(t.strip() for _, t, _ in marked)
            else 0
        )
        yield (
            title,
            next(
                (number, text.strip())
                for number, text, indent in marked
                if indent == least and text.strip()
            ),
        )
        return
    plain = [
        (number, line.strip()) for number, line in last if line.strip() and not _is_frame(line)
    ]
    native = [
        one
        for one in plain
        if re.match(r"[\w.]+(?:Error|Exception|Failed|Warning|Exit|Interrupt)\b", one[1])
    ]
    if groups := [(number, match[1]) for number, line in last if (match := GROUP.match(line))]:
        yield title, groups[0]
    elif plain:
        yield title, native[-1] if plain[0][1].startswith("Traceback") and native else plain[0]


def _is_frame(line: str) -> bool:
    return bool(FRAME.match(line))
