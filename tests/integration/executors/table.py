"""The table of docs/executors.md, which the tests with real agents fill cell by cell.

A run of some agents or scenarios replaces only their cells.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import FileLock

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PAGE = Path(__file__).resolve().parents[3] / "docs" / "executors.md"
BEGIN = "<!-- results of the agents: begin -->\n"
END = "<!-- results of the agents: end -->\n"
WRONG = "✗"

Cells = dict[tuple[str, str], str]


def read_cells(page: Path = PAGE) -> Cells:
    """Return the cells of the table by row and agent."""
    text = page.read_text(encoding="utf-8")
    table = text.partition(BEGIN)[2].partition(END)[0]
    lines = [split_row(line) for line in table.splitlines() if line.startswith("| ")]
    if not lines:
        return {}
    agents = lines[0][1:]
    cells = {}
    for row, *values in lines[1:]:
        for agent, value in zip(agents, values, strict=True):
            cells[row, agent] = value
    return cells


def split_row(line: str) -> list[str]:
    """Return the cells of one line of the table."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def write_cell(
    row: str, agent: str, value: str, *, rows: Sequence[str], agents: Sequence[str]
) -> None:
    """Put one cell into the table, whose other cells stay as they are."""
    with FileLock(PAGE.with_suffix(".lock")):
        cells = read_cells()
        cells[row, agent] = value
        before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        assert begin, "the page has no place for the table"
        after = rest.partition(END)[2]
        table = "".join(table_lines(cells, rows, agents))
        PAGE.write_text(f"{before}{begin}\n{table}\n{END}{after}", encoding="utf-8")
    PAGE.with_suffix(".lock").unlink(missing_ok=True)


def table_lines(cells: Cells, rows: Sequence[str], agents: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"| | {' | '.join(agents)} |\n"
    yield "|" + "---|" * (len(agents) + 1) + "\n"
    for row in rows:
        values = [cells.get((row, agent), "") for agent in agents]
        yield f"| {row} | {' | '.join(values)} |\n"
