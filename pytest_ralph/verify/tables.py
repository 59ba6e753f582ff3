"""The tables of a Verify field, read as a list: one item for each row with a command."""

from __future__ import annotations

from typing import NamedTuple

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.commands import Likeness, is_only_words, likeness
from pytest_ralph.verify.vocabulary import any_of

_RULER = regex(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
# A cell ends at a bar outside backticks.
_CELL = regex(r"(?:`[^`]*`|\\\||[^|`])*")
_COMMAND_COLUMN = any_of("command column", r"\W*", r"\W*")
_RESULT_COLUMN = any_of("result column", r"\W*", r"\b.*")
_HAS_LETTER = regex(r"[^\W\d_]")


class _Columns(NamedTuple):
    """Which columns of a table hold the commands and what is expected of them."""

    command: int
    result: int | None


def with_lists_for_tables(text: str) -> str:
    """Return a field with a list in place of each table that has a column of commands."""
    if "|" not in text:
        return text
    lines = text.split("\n")
    kept: list[str] = []
    columns: _Columns | None = None
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if "|" not in line:
            columns = None
        if columns is None and _starts_table(line, following):
            columns = _columns(_cells(line))
            if columns:
                kept.append("")
                continue
        if columns is None:
            kept.append(line)
        elif not _RULER.fullmatch(line):
            kept.append(_item(_cells(line), columns) or line)
    return "\n".join(kept)


def _starts_table(line: str, following: str) -> bool:
    return "|" in line and "|" in following and _RULER.fullmatch(following) is not None


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
    command: int | None = None
    result: int | None = None
    for index, head in enumerate(heads):
        if _COMMAND_COLUMN.fullmatch(head):
            command = index
        elif _RESULT_COLUMN.fullmatch(head):
            result = index
    return None if command is None else _Columns(command, result)


def _item(cells: list[str], columns: _Columns) -> str:
    """Return a row as an item: `- Tests: `npm test` → 12 passed`; empty if it has no command."""
    cells += [""] * (columns.command + 1 - len(cells))
    command = cells[columns.command]
    is_command = likeness(command.strip("`")) is Likeness.SURE
    if is_command and "`" not in command and not is_only_words(command):
        command = f"`{command}`"
    result = ""
    if columns.result is not None and columns.result < len(cells):
        result = cells[columns.result]
    if not is_command and not result:
        return ""
    name = ", ".join(filter(_HAS_LETTER.search, cells[: columns.command]))
    lead = f"{name}: " if name and columns.result != 0 else ""
    return f"- {lead}{command} → {result}" if result else f"- {lead}{command}"
