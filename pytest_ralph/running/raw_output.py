"""The output of a command as it was printed, compared with expectations while it is read.

Logs hold masked output, and only the beginning and the end of a long one. Expectations are about
what was printed, all of it. It is compared block by block, so that memory stays flat.
"""

from __future__ import annotations

import codecs
import io
import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from pytest_ralph.running.expectations import (
    COMPARED,
    compare,
    count_of_lines,
    counts,
    holds,
    is_equal,
    text_pattern,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ralph.verify.model import Expect

# A line longer than a block is searched in windows that overlap by this much.
OVERLAP = 64 * 1024
BLOCK = 1024 * 1024
# So close to the end of a block that ends inside a line, what follows may change a match: a `7` may
# become a `7.5`.
UNDECIDED = 16
KEPT = COMPARED // 2


class Reader(ABC):
    """Takes the output in blocks that end with a line, and says whether an expectation is met."""

    @abstractmethod
    def read(self, block: str, *, continues: bool) -> None:
        """Take the next block.

        A line that is longer than a block comes in several; `continues` says that a block ends
        inside a line, and then the next one begins with the end of this one.
        """

    @abstractmethod
    def is_met(self) -> bool:
        """Return whether what was read meets the expectation."""

    def found(self) -> str:
        """Return what was found, in words; empty if the output itself says it."""
        return ""


class RawOutput:
    """One stream of a command, with the expectations about it.

    `number_is_last`: an expected number is printed on the last line, below other output.
    """

    def __init__(self, expects: Iterable[Expect], *, number_is_last: bool = False) -> None:
        self._number_is_last = number_is_last
        self._readers: dict[Expect, Reader] = {}
        for expect in expects:
            reader = make_reader(expect)
            if reader is not None:
                self._readers[expect] = reader
        utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._decoder = io.IncrementalNewlineDecoder(utf8, translate=True)
        self._pending = ""
        # The beginning and the end of the text, for comparisons with a value, which is short.
        self._start = ""
        self._end = ""

    def write(self, chunk: bytes) -> None:
        """Take the next bytes that the command printed."""
        self._pending += self._decoder.decode(chunk)
        if len(self._pending) < BLOCK:
            return
        cut = self._pending.rfind("\n") + 1
        if cut:
            self._read(self._pending[:cut])
            self._pending = self._pending[cut:]
        else:
            # The block ends inside a line; the next one repeats the end of this.
            self._read(self._pending, continues=True)
            self._pending = self._pending[-OVERLAP:]

    def close(self) -> None:
        """Compare what is left, at the end of the output."""
        self._pending += self._decoder.decode(b"", final=True)
        if self._pending:
            self._read(self._pending)

    def _read(self, block: str, *, continues: bool = False) -> None:
        """Hand a block to the readers, and keep the beginning and the end of the text."""
        for reader in self._readers.values():
            reader.read(block, continues=continues)
        if not self._start:
            self._start = block[:KEPT]
            block = block[KEPT:]
        self._end = (self._end + block)[-KEPT:]

    def meets(self, expect: Expect) -> bool:
        """Return whether the output meets one of the expectations."""
        if expect in self._readers:
            return self._readers[expect].is_met()
        text = self._start + self._end
        wants_number = isinstance(expect.value, (int, float))
        if wants_number and self._number_is_last:
            text = text.rstrip().rpartition("\n")[2]
        return holds(expect, text)

    def found(self, expect: Expect) -> str:
        """Return what was found, in words; empty if the output itself says it."""
        if expect not in self._readers:
            return ""
        return self._readers[expect].found()


def make_reader(expect: Expect) -> Reader | None:
    """Return the reader for an expectation about lines; None for one about the whole text."""
    if expect.op in ("contains", "not_contains"):
        return Found(contained_pattern(expect.value), wanted=expect.op == "contains")
    if expect.op == "matches":
        return Found(str(expect.value), wanted=True)
    if expect.op.startswith("lines"):
        return LineCount(expect.op, expect.value)
    if expect.op == "each_line==":
        return EachLine(expect.value)
    if expect.op.startswith("sum"):
        return Sum(expect.op, expect.value)
    return None


def contained_pattern(value: object) -> str:
    """Return a regular expression for a number as a whole, or for a text."""
    if isinstance(value, (int, float)):
        return rf"(?<![\d.]){re.escape(str(value))}(?!\.?\d)"
    return text_pattern(str(value))


class Found(Reader):
    """Whether a pattern is found in a line of the output."""

    def __init__(self, pattern: str, *, wanted: bool) -> None:
        self._wanted = wanted
        self._found = False
        # Whether the next block begins inside a line.
        self._goes_on = False
        try:
            self._pattern = re.compile(pattern, re.MULTILINE)
        except re.error:
            self._pattern = re.compile(re.escape(pattern))

    def read(self, block: str, *, continues: bool) -> None:
        goes_on = self._goes_on
        self._goes_on = continues
        # Most blocks do not hold it at all, and a match in the block may span lines.
        if self._found or not self._pattern.search(block):
            return
        first, *others = block.split("\n")
        if self._is_in(first, goes_on=goes_on, continues=continues):
            self._found = True
        else:
            self._found = any(map(self._pattern.search, others))

    def _is_in(self, line: str, *, goes_on: bool, continues: bool) -> bool:
        """Return whether the pattern is found in a line, or in the part of it in one block.

        Both ends of the part overlap with other parts, in which what is there is decided.
        """
        start = 1 if goes_on else 0
        match = self._pattern.search(line, start)
        if match is None:
            return False
        if not continues or match.end() <= len(line) - UNDECIDED:
            return True
        return match.start() < len(line) - OVERLAP

    def is_met(self) -> bool:
        return self._found == self._wanted


class LineCount(Reader):
    """Whether the number of lines that are not blank is as expected."""

    def __init__(self, op: str, value: object) -> None:
        self._op = op.removeprefix("lines")
        self._value = value
        self._count = 0
        # Whether the line that goes on in the next block is not blank so far.
        self._is_filled = False

    def read(self, block: str, *, continues: bool) -> None:
        if continues:
            # It is part of one line.
            self._is_filled = self._is_filled or bool(block.strip())
            return
        rest_of_line = block.partition("\n")[0]
        if self._is_filled and not rest_of_line.strip():
            self._count += 1
        self._is_filled = False
        self._count += len(_filled(block))

    def is_met(self) -> bool:
        return compare(self._op, self._count, self._value)

    def found(self) -> str:
        return count_of_lines(self._count)


def _filled(block: str) -> list[str]:
    """Return the lines of a block that are not blank."""
    return [line for line in block.split("\n") if line.strip()]


class EachLine(Reader):
    """Whether every line, or what follows its last colon, is the value."""

    def __init__(self, value: object) -> None:
        self._value = value
        self._met = True
        self._seen = False

    def read(self, block: str, *, continues: bool) -> None:
        filled = _filled(block)
        if not self._met or not filled:
            return
        self._seen = True
        # No value is as long as a block.
        self._met = not continues and all(map(self._is_value, filled))

    def _is_value(self, line: str) -> bool:
        if is_equal(self._value, line):
            return True
        return is_equal(self._value, line.rpartition(":")[2])

    def is_met(self) -> bool:
        return self._seen and self._met


class Sum(Reader):
    """Whether the counts at the ends of the lines add up as expected."""

    def __init__(self, op: str, value: object) -> None:
        self._op = op.removeprefix("sum")
        self._value = value
        self._counts: list[float] = []

    def read(self, block: str, *, continues: bool) -> None:
        # The count stands at the end of the line.
        if not continues:
            self._counts += counts(block.split("\n"))

    def is_met(self) -> bool:
        return bool(self._counts) and compare(self._op, sum(self._counts), self._value)

    def found(self) -> str:
        if not self._counts:
            return ""
        return f"{sum(self._counts):g}"
