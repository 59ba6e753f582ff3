"""The text of a state file.

`json.dumps(…, indent=2)` is slow because the indenting encoder is not written in C. A state with
thousands of entries is saved after every task, so only the entries that changed are encoded again.
"""

from __future__ import annotations

import json
import marshal
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_INDENT = 2
# Later versions of the format write the same value in more than one way.
_MARSHAL_VERSION = 2


class _Member(NamedTuple):
    """One member of a JSON object, with its text `"key": value`."""

    value: Any
    # Distinguishes what `==` does not: 0 from false, and one order of keys from another.
    exact: bytes
    text: str


class StateText:
    """Encodes a state as `json.dumps(…, indent=2)` does, reusing the text of the last time."""

    def __init__(self) -> None:
        self._fields: dict[str, _Member] = {}
        # The members of those fields that are objects: a state has many of these.
        self._entries: dict[str, dict[str, _Member]] = {}

    def written(self, data: Mapping[str, Any]) -> bytes:
        """Return the content of the state file for `data`."""
        self._fields = {key: self._field(key, value) for key, value in data.items()}
        text = _object(self._fields.values(), 0) + "\n"
        try:
            return text.encode()
        except UnicodeEncodeError:
            # A lone surrogate has no UTF-8 form; as an escape it is kept.
            return (json.dumps(data, indent=_INDENT) + "\n").encode()

    def copy(self) -> dict[str, Any]:
        """Return a copy of what was written last."""
        return {key: member.value for key, member in self._fields.items()}

    def _field(self, key: str, value: Any) -> _Member:
        if not isinstance(value, dict):
            return _member(self._fields.get(key), key, value, _INDENT)
        known = self._entries.get(key, {})
        members = {}
        copy = {}
        for name, entry in value.items():
            member = _member(known.get(name), name, entry, 2 * _INDENT)
            members[name] = member
            copy[name] = member.value
        self._entries[key] = members
        text = _object(members.values(), _INDENT)
        return _Member(copy, b"", f"{_key(key)}: {text}")


def _member(known: _Member | None, key: str, value: Any, depth: int) -> _Member:
    """Return the member, `known` itself if its value did not change."""
    exact = marshal.dumps(value, _MARSHAL_VERSION)
    if known is not None and known.exact == exact:
        return known
    text = json.dumps(value, indent=_INDENT, ensure_ascii=False)
    indented = text.replace("\n", "\n" + " " * depth)
    return _Member(deepcopy(value), exact, f"{_key(key)}: {indented}")


def _key(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)


def _object(members: Collection[_Member], depth: int) -> str:
    if not members:
        return "{}"
    inner = "\n" + " " * (depth + _INDENT)
    content = f",{inner}".join(member.text for member in members)
    return "{" + inner + content + "\n" + " " * depth + "}"
