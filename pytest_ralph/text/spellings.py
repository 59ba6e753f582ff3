"""A secret as programs print it: as it is, quoted, and encoded, once or several times.

Quoting leaves letters and digits alone. So each other character is looked for in every way in
which it may be written, whatever the others look like: JSON inside of HTML is found as well.
"""

from __future__ import annotations

import binascii
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_RUN = re.compile(r"[A-Za-z0-9]{3,}")
# Backslashes are doubled by each further level of quoting.
_SLASHES = r"\\{1,8}"
_NAMED = {'"': "quot", "&": "amp", "'": "apos", "<": "lt", ">": "gt", " ": "nbsp"}
_ESCAPED = {"\n": "n", "\r": "r", "\t": "t"}
_QUOTED = {"'": r"''|'\\''|'\"'\"'", '"': '""', " ": r"\+"}


class Spelling(NamedTuple):
    """What to look for: a pattern, and plain text without which it is not worth trying."""

    anchor: str
    pattern: str


def spellings_of(value: str) -> Iterator[Spelling]:
    """Yield what a value is found by."""
    longest_run = max(_RUN.findall(value), key=len, default="")
    pattern = "".join(map(_character, value))
    yield Spelling(longest_run, pattern)

    encoded = value.encode("utf-8", "surrogateescape")
    in_hex = encoded.hex()
    for plain in {*_in_base64(encoded), in_hex, in_hex.upper()}:
        yield Spelling(plain, re.escape(plain))


def _character(character: str) -> str:
    """Return the pattern of a character in any spelling."""
    if character.isascii() and character.isalnum():
        return character
    code = ord(character)
    data = character.encode("utf-8", "surrogateescape")
    # Quotes and other punctuation may have backslashes in front; a backslash may be several.
    plain = rf"\\{{0,8}}{re.escape(character)}"
    if character == "\\":
        plain = _SLASHES
    in_url = "".join(f"%(?:25)*{byte:02x}" for byte in data)
    in_bytes = "".join(rf"{_SLASHES}(?:x{byte:02x}|{byte:03o})" for byte in data)
    name = _NAMED.get(character, "#")
    spelled = [
        plain,
        in_url,
        rf"{_SLASHES}(?:u\{{0*{code:x}\}}|u{code:04x}|U{code:08x}|x{code:02x})",
        in_bytes,
        rf"\\{{0,8}}&(?:amp;)*(?:#0*{code}|#x0*{code:x}|{name});",
    ]
    if code > 0xFFFF:
        first, second = _surrogates(code)
        spelled.append(rf"{_SLASHES}u{first:04x}{_SLASHES}u{second:04x}")
    if character in _ESCAPED:
        spelled.append(f"{_SLASHES}{_ESCAPED[character]}")
    if character in _QUOTED:
        spelled.insert(0, _QUOTED[character])
    return f"(?i:{'|'.join(spelled)})"


def _surrogates(code: int) -> tuple[int, int]:
    """Return the two halves as which JSON writes a character beyond the first 65,536."""
    high, low = divmod(code - 0x10000, 0x400)
    return 0xD800 + high, 0xDC00 + low


def _in_base64(value: bytes) -> Iterator[str]:
    """Yield a value in base64, as it is inside a longer text that is encoded as a whole.

    Three bytes are four characters, so that there are three ways. The characters at both ends that
    also depend on what surrounds the value are left out.
    """
    for shift, start in enumerate((0, 2, 3)):
        encoded = binascii.b2a_base64(b"\0" * shift + value, newline=False).decode()
        whole = encoded[start : (shift + len(value)) * 8 // 6]
        yield whole
        yield whole.replace("+", "-").replace("/", "_")
        yield whole.replace("/", "\\/")
