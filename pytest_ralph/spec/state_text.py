"""The content of a state file: JSON as `json.dumps(…, indent=2)` writes it, but encoded faster."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_INDENT = 2
# Made once: json.dumps makes an encoder for each call with other than the default options.
_indenting = json.JSONEncoder(indent=_INDENT, ensure_ascii=False)
_plain = json.JSONEncoder(ensure_ascii=False)


class StateText:
    """Encodes a state as `json.dumps(…, indent=2)` does, reusing the texts of its entries.

    The indenting encoder is not written in C, and a state with thousands of entries is saved after
    every task, so only the entries that changed are encoded again.
    """

    def __init__(self) -> None:
        # The texts of the entries of each field that is an object.
        self._entries: dict[str, dict[str, str]] = {}
        # The texts of the fields themselves, as long as no entry has changed.
        self._fields: dict[str, str] = {}

    def changed(self, field: str, name: str) -> None:
        """Note that an entry of a field may have changed since it was encoded."""
        self._entries.get(field, {}).pop(name, None)
        self._fields.pop(field, None)

    def encoded(self, data: Mapping[str, Any]) -> bytes:
        """Return the content of the state file for `data`."""
        members = []
        for field, value in data.items():
            if isinstance(value, dict):
                text = self._encoded_entries(field, value)
            else:
                text = _indented(value, _INDENT)
            members.append(f"{_plain.encode(field)}: {text}")
        try:
            return (_object(members, 0) + "\n").encode()
        except UnicodeEncodeError:
            # A lone surrogate has no UTF-8 form; as an escape it is kept.
            return (json.dumps(data, indent=_INDENT) + "\n").encode()

    def _encoded_entries(self, field: str, entries: Mapping[str, Any]) -> str:
        """Encode an object of entries; only those that changed since the last time are encoded."""
        known = self._entries.setdefault(field, {})
        is_complete = len(known) == len(entries)
        if is_complete and field in self._fields:
            return self._fields[field]

        for name in entries.keys() - known.keys():
            text = _indented(entries[name], 2 * _INDENT)
            known[name] = f"{_plain.encode(name)}: {text}"
        members = [known[name] for name in entries]
        self._fields[field] = _object(members, _INDENT)
        return self._fields[field]


def _indented(value: Any, depth: int) -> str:
    if not isinstance(value, dict | list):
        return _plain.encode(value)
    return _indenting.encode(value).replace("\n", "\n" + " " * depth)


def _object(members: Collection[str], depth: int) -> str:
    """Return a JSON object with these members, one on each line."""
    if not members:
        return "{}"
    inner = "\n" + " " * (depth + _INDENT)
    content = f",{inner}".join(members)
    return "{" + inner + content + "\n" + " " * depth + "}"
