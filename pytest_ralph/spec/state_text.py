"""A state as the text of its file. Of a large one, only entries that changed are made into text again."""

from __future__ import annotations

import json
import marshal
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_INDENT = 2
# Of its format: later ones write the same value in more than one way.
_WITHOUT_REFERENCES = 2


class _Piece(NamedTuple):
    value: Any
    # The value to the letter: `==` tells neither 0 from false nor one order of keys from another.
    exact: bytes
    # `"key": value`, as it stands in its object.
    text: str


class StateText:
    """JSON as `json.dumps(…, indent=2)` writes it, which takes its time: it is not the part that is written in C."""

    def __init__(self) -> None:
        self._fields: dict[str, _Piece] = {}
        # The entries of a field that is an object: those are what a state has many of.
        self._entries: dict[str, dict[str, _Piece]] = {}

    def written(self, data: Mapping[str, Any]) -> bytes:
        self._fields = {key: self._field(key, value) for key, value in data.items()}
        text = _object(self._fields.values(), 0) + "\n"
        try:
            return text.encode()
        except UnicodeEncodeError:
            # A lone surrogate has no UTF-8 form; as an escape it is kept.
            return (json.dumps(data, indent=_INDENT) + "\n").encode()

    def copy(self) -> dict[str, Any]:
        """What was written last, which nobody else changes."""
        return {key: piece.value for key, piece in self._fields.items()}

    def _field(self, key: str, value: Any) -> _Piece:
        if not isinstance(value, dict):
            return _again(self._fields.get(key), key, value, _INDENT)
        known = self._entries.get(key, {})
        pieces = {
            name: _again(known.get(name), name, entry, 2 * _INDENT) for name, entry in value.items()
        }
        self._entries[key] = pieces
        text = f"{_key(key)}: {_object(pieces.values(), _INDENT)}"
        return _Piece({name: piece.value for name, piece in pieces.items()}, b"", text)


def _again(known: _Piece | None, key: str, value: Any, depth: int) -> _Piece:
    exact = marshal.dumps(value, _WITHOUT_REFERENCES)
    if known is not None and known.exact == exact:
        return known
    text = json.dumps(value, indent=_INDENT, ensure_ascii=False)
    return _Piece(deepcopy(value), exact, f"{_key(key)}: " + text.replace("\n", "\n" + " " * depth))


def _key(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)


def _object(pieces: Collection[_Piece], depth: int) -> str:
    if not pieces:
        return "{}"
    inner = "\n" + " " * (depth + _INDENT)
    return "{" + inner + f",{inner}".join(piece.text for piece in pieces) + "\n" + " " * depth + "}"
