"""Find and mask private keys in text, also keys that are cut off."""

from __future__ import annotations

import bisect
import re

from pytest_ralph.text.regex import regex

# What stands in place of a secret.
MASK = "***"
KEY_BEGIN = "-----BEGIN "
_BEGIN = regex(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = regex(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
# A line of a key, or one of its headers, perhaps in a diff, a quotation or a traceback.
_KEY_LINE = regex(
    r"[^\w/=]{0,20}"
    r"(?:[A-Za-z0-9+/=]{1,120}|(?:Proc-Type|DEK-Info|Comment|Version|Hash)\s*:.*)[^\w/=]{0,20}"
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
    begins = [*_BEGIN.finditer(text)]
    ends = [match.start() for match in _END.finditer(text)]
    parts = []
    position = 0
    for number, begin in enumerate(begins):
        limit = begins[number + 1].start() if number + 1 < len(begins) else len(text)
        next_end = bisect.bisect(ends, begin.end() - 1)
        if next_end < len(ends) and ends[next_end] <= limit:
            stop = ends[next_end]
        else:
            stop = _end_of_key(text, begin.end(), limit)
        parts.append(text[position : begin.end()])
        parts.append(_masked_key(text[begin.end() : stop]))
        position = stop
    return "".join([*parts, text[position:]])


def _masked_key(secret: str) -> str:
    """Return the mask with the line ends around it, and what precedes the last line of the key."""
    if not secret.strip():
        return secret
    first = "\n" if secret.startswith(("\n", "\r\n")) else ""
    last_line = secret.rpartition("\n")[2]
    last = f"\n{last_line}" if "\n" in secret and not re.search(r"\w", last_line) else ""
    return f"{first}{MASK}{last}"


def _end_of_key(text: str, start: int, limit: int) -> int:
    """Return where the lines end that look like those of a key."""
    on_one_line = _ESCAPED_KEY.match(text, start, limit)
    position = on_one_line.end() if on_one_line else start
    for _ in range(_MOST_KEY_LINES):
        line_end = text.find("\n", position, limit) + 1 or limit
        line = text[position : min(line_end, position + _LONGEST_KEY_LINE)].strip()
        if line_end == position or (line and _KEY_LINE.fullmatch(line) is None):
            break
        position = line_end
    return position


def open_key(text: str) -> int:
    """Return where the private key begins that does not end in `text`; -1 if there is none."""
    last = -1
    for begin in _BEGIN.finditer(text):
        last = begin.start()
    if last < 0 or _END.search(text, last) is not None:
        return -1
    return last
