"""Small facts about Markdown source that several readers share: code spans, here documents, indentation."""

from __future__ import annotations

import re

from pytest_ralph.text.regex import regex

BACKTICK = regex(r"(?<!\\)`")
QUOTE = regex(r'(?<!\\)"')
_HERE_DOCUMENT = regex(r"<<-?\s*[\"']?([A-Za-z_]\w*)[\"']?")


def dedent(text: str) -> str:
    """The text with the indentation of its first continuation line taken off all of them."""
    if "\n" not in text:
        return text.strip()
    first, _, rest = text.partition("\n")
    lines = rest.expandtabs(4).split("\n") if "\t" in rest else rest.split("\n")
    indent = next((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), 0)
    return "\n".join(
        [first, *(line[min(indent, len(line) - len(line.lstrip(" "))) :] for line in lines)]
    )


def is_open(line: str) -> bool:
    """Whether a code span and a quotation in it go on after this line."""
    return len(BACKTICK.findall(line)) % 2 == 1 and len(QUOTE.findall(line)) % 2 == 1


def closing_backtick(source: str) -> re.Match[str] | None:
    """What closes the code span that `source` starts with; backticks in a here document do not."""
    word = heredoc_delimiter(source.partition("\n")[0])
    ended = re.search(rf"\n[ \t]*{word}\b", source) if word else None
    return BACKTICK.search(source, ended.end() if ended else 1)


def heredoc_delimiter(line: str) -> str:
    """The word that ends the here document which a line begins, if it does."""
    here = _HERE_DOCUMENT.search(line)
    return here[1] if here else ""
