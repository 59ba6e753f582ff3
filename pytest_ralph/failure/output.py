"""CommandOutput: a command's output as clean lines, bounded whatever its size, with an index of its words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Of an output longer than all three together: so much of its beginning, of its end, and of alarms in between.
HEAD = 16_000
TAIL = 24_000
MIDDLE = 16_000
LINE = 1_200
HITS = 30

ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[PX^_][^\x1b]{0,2000}\x1b\\|[ -/]*[0-~])"
)
# Control characters, zero-width and bidirectional marks, lone surrogates: nothing a person would quote.
UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
SURROGATES = re.compile(r"[\ud800-\udfff]+")
BLANKS = re.compile(r"\n{5,}")
# The left side of a box drawn around a whole message.
BOX = re.compile(r"^(?:│ ?|[╷╵]$)")
# What the builder of an image puts before every line of a step.
STEP = re.compile(r"^#\d+ \d+\.\d+ ")
# What those who run others put before every line: the time, `web-1  | `, `web:build: `, `[web] `.
LABEL = re.compile(
    r"(?:(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,}Z)"
    r"|(?P<name>[A-Za-z][\w.-]*[-_]\d+ +\||[a-z@][\w@/-]*:[a-z][\w:-]*:"
    r"|\[(?!(?:error|fatal|warn|warning|notice|info|hint|debug|trace)\])(?:[a-z][\w:@/.-]*|\d)\]))(?: |$)"
)
FEWEST_LABELS = 3
WORD = re.compile(r"\w+")
# Names of exceptions are also found by what they end with, as `*error`.
ENDINGS = ("error", "exception", "warning", "exit", "interrupt")
# What a line in the middle of a very long output must contain to be kept.
ALARMS = (
    "rror",
    "RROR",
    "FAIL",
    "fail",
    "atal",
    "panic",
    "xception",
    "not ok",
    "ot found",
    "annot ",
    "efused",
    "enied",
    "No such",
    "raceback",
    "✕",
    "✖",
    "✗",
    "×",
)


class CommandOutput:
    """The lines of an output. `index[word]` gives the numbers of the lines that contain a (lower-case) word."""

    def __init__(self, output: str) -> None:
        self.lines: Sequence[str] = _unlabelled(
            tuple(_clean_lines(BLANKS.sub("\n\n", _digest(output))))
        )

    @cached_property
    def index(self) -> Mapping[str, Sequence[int]]:
        index: defaultdict[str, list[int]] = defaultdict(list)
        for number, line in enumerate(self.lines):
            for word in set(WORD.findall(line.lower())):
                index[word].append(number)
        for word in [word for word in index if word.endswith(ENDINGS)]:
            ending = next(ending for ending in ENDINGS if word.endswith(ending))
            if word != ending:
                index[f"*{ending}"].extend(index[word])
        return index

    def has(self, *words: str) -> bool:
        return any(word in self.index for word in words)

    @cached_property
    def text(self) -> str:
        return "\n".join(self.lines)


def _unlabelled(lines: Sequence[str]) -> Sequence[str]:
    """The lines without the label that several of them bear."""
    labels = [LABEL.match(line) for line in lines]
    count = Counter(match["name"] for match in labels if match)
    common = {name for name, times in count.items() if times >= FEWEST_LABELS}
    if not common:
        return lines
    return tuple(
        line[match.end() :] if match and match["name"] in common else line
        for line, match in zip(lines, labels, strict=True)
    )


def clean(text: str) -> str:
    """Text as a terminal would leave it: no escape codes, no overwritten progress bars, no control characters."""
    return "\n".join(_clean_lines(text))


def _digest(text: str) -> str:
    """Head and tail whole, and of the middle the first lines that sound an alarm. Linear in the length of the text."""
    if len(text) <= HEAD + MIDDLE + TAIL:
        return text
    begin, end = _line_end(text, HEAD), _line_end(text, len(text) - TAIL)
    spans = sorted(span for alarm in ALARMS for span in _alarmed(text, alarm, begin, end))
    kept, size, covered = [text[:begin]], 0, begin
    for first, stop in spans:
        start = max(first, covered)
        if start < stop and size < MIDDLE:
            kept.append(text[start:stop])
            size, covered = size + stop - start, stop
    return "\n".join([*kept, text[end:]])


def _line_end(text: str, position: int) -> int:
    """The end of the line at a position, if it is near."""
    found = text.find("\n", position, position + LINE)
    return found if found >= 0 else position


def _alarmed(text: str, alarm: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The first lines between start and end that contain the alarm, each with a little of what follows."""
    for _ in range(HITS):
        found = text.find(alarm, start, end)
        if found < 0:
            return
        first = max(text.rfind("\n", max(0, found - LINE), found) + 1, found - LINE)
        start = min(_line_end(text, found + LINE // 2), end)
        yield first, start


def _clean_lines(text: str) -> Iterator[str]:
    if "\x1b" in text:
        text = ESCAPES.sub("", text)
    text = SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))
    for line in text.split("\n"):
        yield _clean_line(line)


def _clean_line(line: str) -> str:
    if len(line) > LINE:
        line = line[: LINE - 200] + " … " + line[-200:]
    if "\r" in line:
        line = next((part for part in reversed(line.split("\r")) if part.strip()), "")
    if not line.isprintable():
        line = UNPRINTABLE.sub("", line)
    return BOX.sub("", STEP.sub("", line.rstrip()))
