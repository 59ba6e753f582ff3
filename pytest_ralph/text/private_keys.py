"""Mask private keys in PEM format, also where they are quoted, shown as a diff or cut off."""

from __future__ import annotations

import re

from pytest_ralph.text.regex import regex

# What stands in place of a secret.
MASK = "***"
KEY_BEGIN = "-----BEGIN "
_PRIVATE_KEY = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
# From the first line of a key up to its last one, or to the next key or the end of the text.
_KEY = regex(
    rf"(?P<begin>-----BEGIN {_PRIVATE_KEY})"
    rf"(?P<secret>(?:[^-]+|-(?!----(?:BEGIN|END) {_PRIVATE_KEY}))*)"
    r"(?P<end>-----END )?"
)
# A line of a key, or one of its headers, perhaps in a diff, a quotation or a traceback.
_KEY_LINE = regex(
    r"[^\w/=]{0,20}"
    r"(?:[A-Za-z0-9+/=]{1,120}|(?:Proc-Type|DEK-Info|Comment|Version|Hash)\s*:.*)[^\w/=]{0,20}"
    # A line of full length behind its number, its file or the time.
    r"|.{0,150}[^A-Za-z0-9+/=][A-Za-z0-9+/=]{60,120}[^\w/=]{0,20}"
    # An empty line.
    r"|"
)
_LONGEST_KEY_LINE = 300
# A key in a string literal, with its line ends escaped.
_ESCAPED_KEY = regex(r"(?:[A-Za-z0-9+/=]|\\[nr])+")
# RSA keys of 16,384 bits have 270 lines.
_MOST_KEY_LINES = 400


def mask_private_keys(text: str) -> str:
    """Mask what stands between the first and the last line of a private key.

    The last line may be missing, because the output was cut off.
    """
    return _KEY.sub(_with_mask, text)


def _with_mask(key: re.Match[str]) -> str:
    """Mask a private key up to its last line, or as far as its lines look like those of one."""
    secret = key["secret"]
    if key["end"]:
        return f"{key['begin']}{_masked_key(secret)}{key['end']}"
    end = _end_of_key(secret)
    return f"{key['begin']}{_masked_key(secret[:end])}{secret[end:]}"


def _masked_key(secret: str) -> str:
    """Return the mask with the line ends around it, and what precedes the last line of the key."""
    if not secret.strip():
        return secret
    masked = MASK
    if secret.startswith(("\n", "\r\n")):
        masked = f"\n{MASK}"
    _, line_break, last_line = secret.rpartition("\n")
    if line_break and not re.search(r"\w", last_line):
        masked += f"\n{last_line}"
    return masked


def _end_of_key(text: str) -> int:
    """Return where the lines end that look like those of a key."""
    on_one_line = _ESCAPED_KEY.match(text)
    position = on_one_line.end() if on_one_line else 0
    lines = text[position:].split("\n", _MOST_KEY_LINES)
    for line in lines[:_MOST_KEY_LINES]:
        content = line[:_LONGEST_KEY_LINE].strip()
        if _KEY_LINE.fullmatch(content) is None:
            break
        position += len(line) + 1
    return min(position, len(text))


def open_key(text: str) -> int:
    """Return where the private key begins that does not end in `text`; -1 if there is none."""
    last = None
    for key in _KEY.finditer(text):
        last = key
    if last is None or last["end"]:
        return -1
    return last.start()
