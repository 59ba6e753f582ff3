"""The tables of a Verify field, read as a list: one item for each row with a command."""

from __future__ import annotations

import re
from typing import NamedTuple

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.commands import Likeness, is_only_words, likeness
from pytest_ralph.verify.vocabulary import any_of

_RULER = r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*"
_TABLE = regex(
    rf"^(?P<head>[^\n]*\|[^\n]*)\n(?=[^\n]*\|){_RULER}(?P<rows>(?:\n[^\n]*\|[^\n]*)+)",
    re.MULTILINE,
)
# A cell ends at a bar outside backticks.
_CELL = regex(r"(?:`[^`]*`|\\\||[^|`])*")
_COMMAND_COLUMN = any_of("command column", r"\W*", r"\W*")
_RESULT_COLUMN = any_of("result column", r"\W*", r"\b.*")
_HAS_LETTER = regex(r"[^\W\d_]")


class _Columns(NamedTuple):
    """Which columns of a table hold the commands and what is expected of them."""

    command: int
    # -1 stands for none: rows get an empty cell at their end.
    result: int = -1


def with_lists_for_tables(text: str) -> str:
    """Return a field with a list in place of each table that has a column of commands."""
    return _TABLE.sub(_as_list, text) if "|" in text else text


def _as_list(table: re.Match[str]) -> str:
    columns = _columns(_cells(table["head"]))
    if columns is None:
        return table[0]
    rows = table["rows"].strip("\n").split("\n")
    items = [_item(_cells(row), columns) or row for row in rows]
    return "\n".join(["", *items])


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    cells: list[str] = []
    start = 0
    while start <= len(inner):
        cell = _CELL.match(inner, start)
        end = cell.end() if cell else len(inner)
        cells.append(inner[start:end].strip().replace("\\|", "|"))
        start = end + 1
    return cells


def _columns(heads: list[str]) -> _Columns | None:
    commands = [index for index, head in enumerate(heads) if _COMMAND_COLUMN.fullmatch(head)]
    results = [index for index, head in enumerate(heads) if _RESULT_COLUMN.fullmatch(head)]
    if not commands:
        return None
    return _Columns(commands[-1], *results[-1:])


def _item(cells: list[str], columns: _Columns) -> str:
    """Return a row as an item: `- Tests: `npm test` → 12 passed`; empty if it has no command."""
    cells += [""] * (1 + max(columns) - len(cells))
    cells.append("")
    command = cells[columns.command]
    result = cells[columns.result]
    line = command.strip("`")
    if likeness(line) is Likeness.SURE and not is_only_words(line):
        command = f"`{line}`"
    elif not result:
        return ""
    name = ", ".join(filter(_HAS_LETTER.search, cells[: columns.command]))
    item = f"{name}: {command}" if name else command
    return f"- {item} → {result}" if result else f"- {item}"
