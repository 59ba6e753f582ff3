"""The output of a command as clean lines, bounded whatever its size, with an index of its words."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_ralph.failure.locales import in_english
from pytest_ralph.failure.sampling import LONGEST_LINE, sample
from pytest_ralph.failure.unwrap import unwrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

LONGEST_ENDING = 200

ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"
    r"|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)"
    r"|[PX^_][^\x1b]{0,2000}\x1b\\"
    r"|[ -/]*[0-~])"
)
# The cursor goes back to the start of the line, as a carriage return does.
FIRST_COLUMN = re.compile(r"\x1b\[1?G")
# Control characters, zero-width and bidirectional marks.
UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
SURROGATES = re.compile(r"[\ud800-\udfff]+")
MANY_BLANK_LINES = "\n" * 5
BLANK_LINES = re.compile(r"\n{5,}")
WORD = re.compile(r"\w+")
# Exceptions are also indexed by what their names end with, as `*error`.
CLASS_ENDING = re.compile(r"(?<=\w)(?:error|exception|warning|exit|interrupt)$")


class CommandOutput:
    """The lines of an output.

    `lines` are the lines as printed, without escape codes and without the prefixes that a runner
    of other commands puts before them. `english` are the same lines with the usual messages of
    other languages translated: read these, quote the others.
    """

    def __init__(self, output: str) -> None:
        if MANY_BLANK_LINES in output:
            output = BLANK_LINES.sub("\n\n", output)
        printed = list(_clean_lines(sample(output)))
        self.lines: Sequence[str] = unwrap(printed)
        self.english: Sequence[str] = in_english(self.lines)

    @cached_property
    def index(self) -> Mapping[str, Sequence[int]]:
        """The numbers of the lines that contain a lower-case word, or `*error` and the like."""
        index: defaultdict[str, list[int]] = defaultdict(list)
        for number, line in enumerate(self.english):
            words = set(WORD.findall(line.lower()))
            endings = filter(None, map(CLASS_ENDING.search, words))
            for word in words | {f"*{ending[0]}" for ending in endings}:
                index[word].append(number)
        return index

    def has(self, *words: str) -> bool:
        """Return whether any of the lower-case words occurs."""
        return not self.index.keys().isdisjoint(words)

    def numbers_of(self, words: Iterable[str]) -> Sequence[int]:
        """Return the numbers of the lines that contain any of the lower-case words, in order."""
        found: set[int] = set()
        for word in words:
            found.update(self.index.get(word, ()))
        return sorted(found)

    @cached_property
    def text(self) -> str:
        return "\n".join(self.lines)


def clean(text: str) -> str:
    """Return text as a terminal shows it, without escape codes and overwritten bars."""
    return "\n".join(_clean_lines(text))


def _clean_lines(text: str) -> Iterator[str]:
    if "\x1b" in text:
        text = FIRST_COLUMN.sub("\r", text)
        text = ESCAPES.sub("", text)
    text = text.replace("\r\n", "\n")
    text = SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)
    for printed in text.split("\n"):
        line = _last_overwrite(printed) if "\r" in printed else printed
        if len(line) <= LONGEST_LINE:
            yield _clean_line(line)
        else:
            # Of a very long line the end may say what its beginning only lists.
            yield _clean_line(line[: LONGEST_LINE - LONGEST_ENDING]) + " …"
            yield "… " + _clean_line(line[-LONGEST_ENDING:])


def _clean_line(line: str) -> str:
    if not line.isprintable():
        line = UNPRINTABLE.sub("", line)
    return line.rstrip()


def _last_overwrite(line: str) -> str:
    """Return what a terminal shows of a line that was overwritten from its start."""
    for part in reversed(line.split("\r")):
        if part.strip():
            return part
    return ""
