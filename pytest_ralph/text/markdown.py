"""Facts about Markdown source that several readers share: code spans, fences, indents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

# The bullet or the number of a list item.
LIST_MARKER = r"(?:[-*+]|\d{1,9}[.)])"
BACKTICK = regex(r"(?<!\\)`")
QUOTE = regex(r'(?<!\\)"')
_HERE_DOCUMENT = regex(r"<<-?\s*[\"']?([A-Za-z_]\w*)[\"']?")


def dedent(text: str) -> str:
    """Remove the indentation of the first continuation line from all continuation lines.

    The first line of `text` follows a list marker or a field name, so it has no indentation.
    """
    if "\n" not in text:
        return text.strip()

    first, _, rest = text.partition("\n")
    lines = rest.expandtabs(4).split("\n")
    indent = 0
    for line in lines:
        if line.strip():
            indent = _indentation(line)
            break

    dedented = [line[min(indent, _indentation(line)) :] for line in lines]
    return "\n".join([first, *dedented])


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def is_open(line: str) -> bool:
    """Return whether a code span and a quotation inside it continue after this line."""
    backticks = BACKTICK.findall(line)
    quotes = QUOTE.findall(line)
    return len(backticks) % 2 == 1 and len(quotes) % 2 == 1


def closing_backtick(source: str) -> re.Match[str] | None:
    """Find the backtick that closes the code span at the start of `source`.

    Backticks in a here document belong to the command and do not close the span.
    """
    first_line = source.partition("\n")[0]
    delimiter = heredoc_delimiter(first_line)
    if delimiter:
        end = re.search(rf"\n[ \t]*{delimiter}\b", source)
        if end:
            return BACKTICK.search(source, end.end())
    return BACKTICK.search(source, 1)


def heredoc_delimiter(line: str) -> str:
    """Return the delimiter of the here document that this line opens, or an empty string."""
    opening = _HERE_DOCUMENT.search(line)
    return opening[1] if opening else ""


def closing_fence(lines: Sequence[str], start: int, fence: str) -> int | None:
    """Find the line, from `start` on, that closes a fence opened with the characters `fence`."""
    for number in range(start, len(lines)):
        line = lines[number].strip()
        if line.startswith(fence) and not line.strip(fence[0]):
            return number
    return None
