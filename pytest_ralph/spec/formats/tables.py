"""Tasks written as rows of a Markdown table that has a column of ids and one of checks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.spec.fields import Field
from pytest_ralph.spec.labels import known_name
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_SEPARATOR = regex(r"\|?(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*:?-*:?")
# A pipe separates cells unless it is escaped or inside a code span.
_CELL = regex(r"(?:`[^`\n]*`|\\\||[^|`\n]|`)*")
_ID_COLUMNS = ("id", "#", "no", "no.", "nr", "task id", "task", "step")
_TITLE_COLUMNS = ("task", "title", "name", "description", "what", "action", "step")
_STATUS_COLUMNS = ("status", "done", "state")
_DONE = regex(r"✅|✔|☑|\[x\]|\b(?:done|complete|completed)\b", re.IGNORECASE)


class TableRow(NamedTuple):
    """One row that may be a task: `name` holds its id and title."""

    line: int
    table_end: int
    name: str
    checked: bool
    fields: tuple[Field, ...]


def find_table_rows(lines: Sequence[str], masked: Collection[int]) -> Iterator[TableRow]:
    """Yield the rows of tables that have a column for the id and one for the check."""
    for separator in _separators(lines, masked):
        header = [cell.lower().strip("*_ ") for cell in _cells(lines[separator - 1])]
        id_column = _id_column(header)
        if id_column is None or "Verify" not in map(known_name, header):
            continue
        end = separator + 1
        while end < len(lines) and "|" in lines[end]:
            end += 1
        for row in range(separator + 1, end):
            yield from _read_row(header, id_column, lines[row], row, end)


def _separators(lines: Sequence[str], masked: Collection[int]) -> Iterator[int]:
    """Yield each line that separates the header of a table, on the line above it, from its rows."""
    for number in range(1, len(lines)):
        if "|" not in lines[number - 1] or number in masked:
            continue
        if _SEPARATOR.fullmatch(lines[number].strip()):
            yield number


def _id_column(header: Sequence[str]) -> int | None:
    for name in _ID_COLUMNS:
        if name in header:
            return header.index(name)
    return None


def _read_row(
    header: Sequence[str], id_column: int, line: str, number: int, end: int
) -> Iterator[TableRow]:
    """Yield the task of a row, if the row has as many cells as the header."""
    cells = _cells(line)
    if len(cells) != len(header):
        return
    name = cells[id_column]
    checked = False
    fields = []

    for column, (title, text) in enumerate(zip(header, cells, strict=True)):
        if title in _STATUS_COLUMNS:
            checked = _DONE.search(text) is not None
        elif column != id_column and title in _TITLE_COLUMNS:
            name = f"{name} {text}"
        field = known_name(title)
        if title.startswith("expected"):
            field = "Expected"
        if field and text.strip("-–— "):
            fields.append(Field(field, title, text))
    yield TableRow(number, end, name, checked, tuple(fields))


def _cells(line: str) -> list[str]:
    """Split a row at its pipes."""
    row = line.strip().removeprefix("|")
    cells = []
    position = 0
    while position < len(row):
        match = _CELL.match(row, position)
        end = match.end() if match else position
        cells.append(row[position:end].replace("\\|", "|").strip())
        position = end + 1
    return cells
