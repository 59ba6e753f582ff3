"""Shorten texts for prompts to a number of bytes, with a line for what is left out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.text.bounded import gap_line

if TYPE_CHECKING:
    from collections.abc import Sequence

# Around a cut, so much of a text is given up to end with a whole line.
LINE_LIMIT = 500


def excerpt(text: str, error: str, limit: int) -> str:
    """Return at most `limit` bytes of an output, half of them around its error."""
    if size(text) <= limit or not error.strip() or error not in text:
        return shortened(text, limit)
    before, _, after = text.partition(error)
    for_error = limit // 4
    for_each_side = for_error + for_error // 2
    return (
        shortened(before, for_each_side)
        + shortened(error, for_error)
        + shortened(after, for_each_side)
    )


def shortened_diff(diff: str, limit: int) -> str:
    """Return as many whole files of a diff as fit into `limit` bytes, and name the others."""
    if size(diff) <= limit:
        return diff
    files = split_diff(diff)
    left = limit
    kept = set()
    for file in sorted(files, key=size):
        left -= size(file)
        if left < 0:
            break
        kept.add(file)

    shown = ""
    for file in files:
        if file in kept:
            shown += file
        else:
            first_line = file.partition("\n")[0]
            lines = file.count("\n")
            shown += f"{first_line}\n{gap_line(lines)}\n"
    return shortened(shown, limit)


def split_diff(diff: str) -> list[str]:
    """Return the parts of a unified diff, one for each file."""
    return [f"diff --git {part}" for part in re.split(r"(?m)^diff --git ", diff) if part]


def shortened(text: str, limit: int) -> str:
    """Return at most `limit` bytes of `text`: a third from its beginning, the rest from its end."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    note = f"\n{gap_line(len(data) - limit, 'bytes')}\n"
    kept = limit - len(note.encode()) - 8
    if kept <= 0:
        return ""
    at_the_beginning = kept // 3
    at_the_end = kept - at_the_beginning
    head = data[:at_the_beginning].decode("utf-8", "ignore")
    tail = data[-at_the_end:].decode("utf-8", "ignore")

    # Cut between lines, unless a line is so long that little would remain.
    end_of_line = head.rfind("\n", -LINE_LIMIT)
    if end_of_line >= 0:
        head = head[:end_of_line]
    start_of_line = tail.find("\n", 0, LINE_LIMIT) + 1
    return head + note + tail[start_of_line:]


def last_lines(lines: Sequence[str], limit: int) -> list[str]:
    """Return as many of the last lines as fit into `limit` bytes of a list."""
    kept: list[str] = []
    for line in reversed(lines):
        limit -= size(line) + len("- \n")
        if limit < 0:
            break
        kept.append(line)
    kept.reverse()
    return kept


def size(text: str) -> int:
    """Return how many bytes a text takes in UTF-8."""
    return len(text.encode("utf-8", "replace"))
