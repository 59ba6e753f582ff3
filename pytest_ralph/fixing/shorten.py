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
    """Return at most `limit` bytes of an output: its beginning, its error and its end.

    What is before the error and what is after it is shortened separately, so that the lines on both
    sides of the error are shown, too.
    """
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
    shown = [_left_out(file) for file in files]
    room = limit - sum(map(size, shown))
    for number in sorted(range(len(files)), key=lambda number: size(files[number])):
        room -= size(files[number]) - size(shown[number])
        if room < 0:
            break
        shown[number] = files[number]
    return shortened("".join(shown), limit)


def _left_out(file: str) -> str:
    """Return what stands for one file of a diff: its heading, and how many lines are left out."""
    heading, *lines = file.removesuffix("\n").split("\n")
    return f"{heading}\n{gap_line(len(lines))}\n"


def split_diff(diff: str) -> list[str]:
    """Return the parts of a unified diff, one for each file."""
    return [part for part in re.split(r"(?m)^(?=diff --git )", diff) if part]


def shortened(text: str, limit: int) -> str:
    """Return at most `limit` bytes of `text`: a third from its beginning, the rest from its end."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    longest_note = f"\n{gap_line(len(data), 'bytes')}\n"
    kept = limit - size(longest_note)
    if kept <= 0:
        return ""
    at_the_beginning = kept // 3
    at_the_end = kept - at_the_beginning
    head = data[:at_the_beginning].decode("utf-8", "ignore")
    tail = data[-at_the_end:].decode("utf-8", "ignore")

    # Cut between lines, unless a line is so long that little would remain.
    end_of_line = head.rfind("\n", -LINE_LIMIT) + 1
    if end_of_line:
        head = head[:end_of_line]
    start_of_line = tail.find("\n", 0, LINE_LIMIT) + 1
    tail = tail[start_of_line:]

    note = gap_line(len(data) - size(head) - size(tail), "bytes")
    separator = "" if not head or head.endswith("\n") else "\n"
    return f"{head}{separator}{note}\n{tail}"


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
