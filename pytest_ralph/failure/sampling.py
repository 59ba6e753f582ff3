"""Shorten a very long output to what can matter: its head, its tail and unusual lines in between.

A build prints thousands of lines of the same shape and one that differs. The middle is therefore
sampled by the shape of its lines, rare shapes first. Time is linear in the length of the text, and
memory is bounded: of a huge middle only evenly spaced windows and lines with an alarm are read.
"""

from __future__ import annotations

from collections import Counter
from itertools import accumulate, chain
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.text.bounded import gap_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

# A text up to this size is kept whole.
LARGEST_WHOLE = 30_000
# Of a larger one, this many characters of each part are kept.
HEAD = 6_000
MIDDLE = 6_000
TAIL = 10_000
# Reading takes time for each line, so each part is also limited to this many of them.
MOST_LINES = 250
LONGEST_LINE = 1_200
# A middle up to this size is read whole, a larger one in windows.
LARGEST_MIDDLE = 2_000_000
WINDOWS = 32
WINDOW = LARGEST_MIDDLE // WINDOWS
# The shape of a line is its beginning without digits.
SHAPE = 24
# Lines of a shape that occurs more often are not unusual.
MOST_OF_A_SHAPE = 20
# About as many lines of the rarest shapes are compared more closely: only a few of them fit.
MOST_CANDIDATES = 1_000
DIGITS = b"0123456789"
# The places of each alarming word that are considered.
HITS_PER_ALARM = 30
ALARMS = (
    "rror", "RROR", "FAIL", "fail", "atal", "panic", "xception", "not ok", "ot found", "annot ",
    "efused", "enied", "No such", "raceback", "✕", "✖", "✗", "×",
)  # fmt: skip


def sample(text: str) -> str:
    """Return `text`, or its head, unusual lines of its middle and its tail if it is very long."""
    if len(text) <= LARGEST_WHOLE:
        return text
    begin = _end_of_head(text)
    end = _start_of_tail(text)

    spans: list[tuple[int, int]] = []
    size = 0
    for start, stop in _by_importance(text, begin, end):
        if size > MIDDLE or len(spans) == MOST_LINES:
            break
        spans.append((start, stop))
        size += stop - start

    kept = [text[:begin]]
    covered = begin
    for start, stop in [*sorted(spans), (end, len(text))]:
        if stop <= covered:
            continue
        left_out = text.count("\n", covered + 1, start)
        if left_out:
            kept.append(gap_line(left_out))
        kept.append(text[max(start, covered) : stop])
        covered = stop
    return "\n".join(kept)


def _end_of_head(text: str) -> int:
    lines = text[:HEAD].split("\n", MOST_LINES)
    if len(lines) > MOST_LINES:
        return HEAD - len(lines[-1])
    return _line_end(text, HEAD)


def _start_of_tail(text: str) -> int:
    lines = text[-TAIL:].rsplit("\n", MOST_LINES)
    if len(lines) > MOST_LINES:
        return len(text) - TAIL + len(lines[0])
    return _line_end(text, len(text) - TAIL)


class _Line(NamedTuple):
    """A line of the text, cut if it is very long."""

    start: int
    stop: int
    shape: bytes


def _by_importance(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the unusual lines of the middle as spans of `text`, the rarest shapes first."""
    if end - begin > LARGEST_MIDDLE:
        for alarm in ALARMS:
            yield from _lines_with(text, alarm, begin, end)
    windows = [(start, text[start:stop]) for start, stop in _windows(begin, end)]
    shapes = [_shapes(chunk) for _, chunk in windows]
    count = Counter(chain.from_iterable(shapes))
    wanted = _rarest(count)
    lines: list[_Line] = []
    for (start, chunk), shapes_of_chunk in zip(windows, shapes, strict=True):
        if not wanted.isdisjoint(shapes_of_chunk):
            lines += _lines_of_shapes(wanted, chunk, start, shapes_of_chunk)

    lines.sort(key=lambda line: count[line.shape])
    others: list[tuple[int, int]] = []
    for line in lines:
        if _has_alarm(text[line.start : line.stop]):
            yield _with_neighbours(text, line.start, line.stop)
        else:
            others.append((line.start, line.stop))
    yield from others


def _rarest(count: Counter[bytes]) -> set[bytes]:
    """Return the rarest shapes, as many as have enough lines to choose from."""
    rarest = set()
    lines = 0
    for shape, times in sorted(count.items(), key=itemgetter(1)):
        if times > MOST_OF_A_SHAPE or lines >= MOST_CANDIDATES:
            break
        rarest.add(shape)
        lines += times
    return rarest


def _has_alarm(line: str) -> bool:
    return any(alarm in line for alarm in ALARMS)


def _lines_of_shapes(
    wanted: Collection[bytes], chunk: str, start: int, shapes: Sequence[bytes]
) -> Iterator[_Line]:
    """Yield the lines of these shapes in a chunk that begins at `start` of the text."""
    sizes = [len(line) for line in chunk.split("\n")]
    ends = list(accumulate(sizes))
    for number, shape in enumerate(shapes):
        if shape in wanted:
            # Each line before has a line break, too.
            end = start + ends[number] + number
            line_start = end - sizes[number]
            yield _Line(line_start, min(end, line_start + LONGEST_LINE), shape)


def _with_neighbours(text: str, start: int, stop: int) -> tuple[int, int]:
    """Return a line with those before and after it, as far as they are of usual length."""
    before = text.rfind("\n", max(0, start - LONGEST_LINE), max(0, start - 1))
    if before >= 0:
        start = before + 1
    after = text.find("\n", stop + 1, stop + LONGEST_LINE)
    if after >= 0:
        stop = after
    return start, stop


def _shapes(chunk: str) -> list[bytes]:
    """Return the shape of every line: its beginning without digits."""
    data = chunk.encode("utf-8", "surrogatepass").translate(None, DIGITS)
    return [line[:SHAPE] for line in data.split(b"\n")]


def _windows(begin: int, end: int) -> Iterator[tuple[int, int]]:
    if end - begin <= LARGEST_MIDDLE:
        yield begin, end
        return
    step = (end - begin) // WINDOWS
    for number in range(WINDOWS):
        start = begin + number * step
        yield start, start + WINDOW


def _lines_with(text: str, alarm: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the first lines that contain an alarm, each with a little of what follows."""
    for _ in range(HITS_PER_ALARM):
        found = text.find(alarm, start, end)
        if found < 0:
            return
        earliest = max(0, found - LONGEST_LINE)
        line_start = text.rfind("\n", earliest, found) + 1
        start = _line_end(text, found + LONGEST_LINE // 2)
        yield max(line_start, earliest), min(start, end)


def _line_end(text: str, position: int) -> int:
    """Return the end of the line at `position` if it is near, else `position` itself."""
    found = text.find("\n", position, position + LONGEST_LINE)
    return found if found >= 0 else position
