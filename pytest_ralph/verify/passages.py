"""The passages of a Verify field: its paragraphs, list items and fenced scripts."""

from __future__ import annotations

import re
from textwrap import dedent as dedent_all
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyromark

from pytest_ralph.text.markdown import closing_backtick, dedent, heredoc_delimiter, is_open
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.commands import QUOTED
from pytest_ralph.verify.tables import with_lists_for_tables
from pytest_ralph.verify.translate import in_english

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Stands for an escaped backtick while CommonMark, which has no escapes in code, reads the field.
_ESCAPED = "\ue000"
_QUOTE_MARK = regex(r"\n([ \t]*)>")
_BLOCKS = frozenset(("Item", "Paragraph", "Heading", "CodeBlock"))
# Where a line of a code span ends outside quotes and without a backslash.
_LINE_BREAK = regex(rf"{QUOTED}|\\.|(?P<break>[ \t]*\n[ \t]*)", re.DOTALL)
_QUOTED = regex(rf"\\.|{QUOTED}")


class Piece(NamedTuple):
    """A run of prose, or what stands between two backticks."""

    kind: Literal["prose", "code"]
    text: str


class Passage(NamedTuple):
    """One paragraph or list item."""

    pieces: tuple[Piece, ...]
    # Whether it is an item of a list. A passage before a list may speak for all of its items.
    listed: bool = False

    @property
    def has_code(self) -> bool:
        return any(piece.kind == "code" for piece in self.pieces)

    @property
    def prose(self) -> str:
        """The passage on one line, with backticks around code."""
        return " ".join(prose(self.pieces).split())

    @property
    def lead(self) -> str:
        """The prose that the passage starts with, in English."""
        first = self.pieces[0]
        return in_english(first.text) if first.kind == "prose" else ""


class Script(NamedTuple):
    """One fenced block, dedented."""

    text: str
    language: str


def prose(pieces: Sequence[Piece]) -> str:
    """Return pieces as they were written, with backticks around code."""
    parts: list[str] = []
    for piece in pieces:
        if piece.kind == "prose":
            parts.append(piece.text)
        else:
            parts.append(f"`{piece.text}`")
    return "".join(parts)


def read_passages(text: str) -> tuple[Passage | Script, ...]:
    """Return the passages and scripts of a field's text, in order."""
    source = dedent(text).strip("\n").strip()
    long_span = _long_span(source)
    if long_span is not None:
        return (long_span,)
    source = with_lists_for_tables(source)
    source = _QUOTE_MARK.sub(r"\n\1\\>", source.replace("\\`", _ESCAPED))
    return tuple(_Collector(source).collect())


def _long_span(source: str) -> Passage | None:
    """Return a field that starts with a code span over lines which CommonMark takes for blocks."""
    first, _, _ = source.partition("\n")
    if not source.startswith("`") or not is_open(first):
        return None
    end = closing_backtick(source)
    if end is None:
        return None
    code = Piece("code", source[1 : end.start()])
    return Passage((code, Piece("prose", source[end.end() :])))


class _Collector:
    """Walks the events of the Markdown parser and gathers passages and scripts."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.data = source.encode()
        self.pieces: list[Piece] = []
        # How many list items are open.
        self.items = 0
        # The language of the code block that is open, if one is, and its lines so far.
        self.language: str | None = None
        self.script: list[str] = []

    def collect(self) -> Iterator[Passage | Script]:
        event: Any
        for event, span in pyromark.events_with_range(self.source):
            if isinstance(event, str):
                # A line break or a rule.
                self._add_prose(" ")
            elif "Start" in event:
                yield from self._start(event["Start"])
            elif "End" in event:
                yield from self._end(event["End"])
            elif "Code" in event:
                code = self._code(span["start"], span["end"])
                self.pieces.append(Piece("code", code))
            else:
                self._add_text(next(iter(event.values())))
        yield from self._flush()

    def _start(self, tag: Any) -> Iterator[Passage]:
        name = _tag_name(tag)
        if name in _BLOCKS:
            yield from self._flush()
        if name == "Item":
            self.items += 1
        elif name == "CodeBlock":
            block = tag["CodeBlock"]
            self.language = block["Fenced"] if isinstance(block, dict) else ""

    def _end(self, tag: Any) -> Iterator[Passage | Script]:
        name = _tag_name(tag)
        if name in _BLOCKS:
            yield from self._flush()
        if name == "Item":
            self.items -= 1
        elif name == "CodeBlock":
            yield self._close_script()

    def _close_script(self) -> Script:
        text = dedent_all("".join(self.script)).strip("\n")
        text = text.replace(_ESCAPED, "\\`")
        language, _, _ = (self.language or "").partition(" ")
        language = language.strip("{}.").lower()
        self.language = None
        self.script = []
        return Script(text, language)

    def _add_text(self, text: str) -> None:
        if self.language is None:
            self._add_prose(text)
        else:
            self.script.append(text)

    def _add_prose(self, text: str) -> None:
        text = text.replace(_ESCAPED, "`")
        if self.pieces and self.pieces[-1].kind == "prose":
            text = self.pieces.pop().text + text
        self.pieces.append(Piece("prose", text))

    def _flush(self) -> Iterator[Passage]:
        if self.pieces:
            pieces = _rejoin_split_commands(self.pieces)
            yield Passage(tuple(pieces), self.items > 0)
            self.pieces = []

    def _code(self, begin: int, end: int) -> str:
        """Return a code span as it was written.

        The parser turns line breaks into spaces; a command that goes on after a backslash, or in
        quotes, needs them.
        """
        raw = self.data[begin:end].decode()
        text = raw.strip("`")
        is_padded = text.startswith(" ") and text.endswith(" ")
        if is_padded and raw.startswith("``"):
            text = text[1:-1]
        text = _join_lines(dedent(text))
        return text.replace(_ESCAPED, "\\`")


def _tag_name(tag: Any) -> str:
    return tag if isinstance(tag, str) else next(iter(tag))


def _join_lines(text: str) -> str:
    """Return a span that only the width of the page broke as one line."""
    if heredoc_delimiter(text):
        return text
    return _LINE_BREAK.sub(lambda match: " " if match["break"] else match[0], text)


def _rejoin_split_commands(pieces: list[Piece]) -> Iterator[Piece]:
    """Put a command together again that holds backticks itself and so fell into several spans.

    A quotation that is open at the end of a span shows that it goes on.
    """
    start = 0
    while start < len(pieces):
        end = _end_of_command(pieces, start)
        if end is None:
            yield pieces[start]
            start += 1
        else:
            yield Piece("code", _inner_text(pieces[start:end]))
            start = end


def _end_of_command(pieces: list[Piece], start: int) -> int | None:
    """Return where the pieces of the command at `start` end, or None if it is whole."""
    first = pieces[start]
    if first.kind == "prose" or not _has_open_quote(first.text):
        return None
    for end in range(start + 3, min(start + 10, len(pieces) + 1), 2):
        if pieces[end - 1].kind == "prose":
            continue
        if not _has_open_quote(_inner_text(pieces[start:end])):
            return end
    return None


def _inner_text(pieces: Sequence[Piece]) -> str:
    """Return what stands between the first and the last backtick."""
    return prose(pieces)[1:-1]


def _has_open_quote(text: str) -> bool:
    """Whether a shell would still wait for a closing quote at the end of `text`."""
    rest = _QUOTED.sub("", text)
    return '"' in rest or rest.count("'") % 2 == 1
