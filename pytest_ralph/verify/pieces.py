"""The Pieces of a Verify field: passages of prose with the code spans in them, and fenced scripts."""

from __future__ import annotations

import re
from itertools import groupby
from operator import attrgetter
from textwrap import dedent as dedent_all
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyromark

from pytest_ralph.text.markdown import closing_backtick, dedent, is_open
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

# Stands for an escaped backtick while CommonMark, which knows no escapes in code, reads the field.
_ESCAPED = "\ue000"
_QUOTE_MARK = regex(r"\n([ \t]*)>")
_BREAKS = frozenset(("Item", "Paragraph", "Heading"))


class Piece(NamedTuple):
    """A run of prose, or what stands between two backticks."""

    kind: Literal["prose", "code"]
    text: str


class Passage(NamedTuple):
    """One paragraph or list item."""

    pieces: tuple[Piece, ...]
    # Whether it is an item of a list; a passage before a list may speak for all of them.
    listed: bool = False

    @property
    def has_code(self) -> bool:
        return any(piece.kind == "code" for piece in self.pieces)

    @property
    def prose(self) -> str:
        return " ".join(
            "".join(p.text if p.kind == "prose" else f"`{p.text}`" for p in self.pieces).split()
        )


class Script(NamedTuple):
    """One fenced block, dedented."""

    text: str
    language: str


def read_pieces(text: str) -> tuple[Passage | Script, ...]:
    """The passages and scripts of a field's text, in order."""
    source = dedent(text).strip("\n").strip()
    if long_span := _long_span(source):
        return (long_span,)
    source = _QUOTE_MARK.sub(r"\n\1\\>", source.replace("\\`", _ESCAPED))
    return tuple(_Collector(source).collect())


def _long_span(source: str) -> Passage | None:
    """A field that starts with a code span over many lines, some of which CommonMark takes for blocks."""
    first, newline, _ = source.partition("\n")
    if not newline or not source.startswith("`") or source.startswith("``") or not is_open(first):
        return None
    end = closing_backtick(source)
    return end and Passage(
        (Piece("code", source[1 : end.start()]), Piece("prose", source[end.end() :]))
    )


class _Collector:
    """Walks the events of the parser and gathers pieces."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.data = source.encode()
        self.pieces: list[Piece] = []
        self.items = 0
        self.language: str | None = None
        self.script: list[str] = []

    def collect(self) -> Iterator[Passage | Script]:
        event: Any
        for event, span in pyromark.events_with_range(self.source):
            if isinstance(event, str):
                self._prose(" ")
            elif "Start" in event:
                yield from self._start(event["Start"])
            elif "End" in event:
                yield from self._end(event["End"])
            elif "Code" in event:
                self.pieces.append(Piece("code", self._raw(span["start"], span["end"])))
            else:
                self._text(next(iter(event.values())))
        yield from self._flush()

    def _start(self, tag: Any) -> Iterator[Passage | Script]:
        name = tag if isinstance(tag, str) else next(iter(tag))
        if name in _BREAKS or name == "CodeBlock":
            yield from self._flush()
        if name == "Item":
            self.items += 1
        elif name == "CodeBlock":
            block = tag["CodeBlock"]
            self.language = block["Fenced"] if isinstance(block, dict) else ""

    def _end(self, tag: Any) -> Iterator[Passage | Script]:
        name = tag if isinstance(tag, str) else next(iter(tag))
        if name in _BREAKS:
            yield from self._flush()
        if name == "Item":
            self.items -= 1
        elif name == "CodeBlock":
            script = dedent_all("".join(self.script)).strip("\n").replace(_ESCAPED, "\\`")
            yield Script(script, (self.language or "").split(" ", 1)[0].strip("{}.").lower())
            self.language, self.script = None, []

    def _text(self, text: str) -> None:
        if self.language is not None:
            self.script.append(text)
        else:
            self._prose(text)

    def _prose(self, text: str) -> None:
        self.pieces.append(Piece("prose", text.replace(_ESCAPED, "`")))

    def _flush(self) -> Iterator[Passage]:
        if self.pieces:
            yield Passage(tuple(_mended(_merged(self.pieces))), self.items > 0)
            self.pieces = []

    def _raw(self, begin: int, end: int) -> str:
        """A span as written, line breaks included: a command that goes on after `\\` needs them."""
        raw = self.data[begin:end].decode()
        text = raw.strip("`")
        if raw.startswith("``") and text.startswith(" ") and text.endswith(" "):
            text = text[1:-1]
        return dedent(text).replace(_ESCAPED, "\\`")


def _merged(pieces: list[Piece]) -> list[Piece]:
    """Neighbouring prose as one piece."""
    merged: list[Piece] = []
    for kind, group in groupby(pieces, key=attrgetter("kind")):
        same = list(group)
        merged += (
            [Piece("prose", "".join(piece.text for piece in same))] if kind == "prose" else same
        )
    return merged


def _mended(pieces: list[Piece]) -> Iterator[Piece]:
    """A command that itself holds backticks falls into several spans: put together what its quotes hold together."""
    at = 0
    while at < len(pieces):
        piece = pieces[at]
        if piece.kind == "code" and _is_unbalanced(piece.text):
            for end in range(at + 2, min(at + 9, len(pieces)), 2):
                if pieces[end].kind != "code":
                    break
                whole = "".join(
                    p.text if p.kind == "prose" else f"`{p.text}`" for p in pieces[at : end + 1]
                )[1:-1]
                if not _is_unbalanced(whole):
                    piece, at = Piece("code", whole), end
                    break
        yield piece
        at += 1


def _is_unbalanced(text: str) -> bool:
    """Whether a quotation is still open at the end of `text`, as a shell reads it."""
    rest = re.sub(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"", "", text)
    return '"' in rest or rest.count("'") % 2 == 1
