"""Tables of a page, cell by cell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CELL = re.compile(r"(?<!\\)\|")
CODE = re.compile(r"(`+) ?(.*?) ?\1(?!`)")


def rows(page: Path, first: str) -> Iterator[list[str]]:
    """The rows of all tables whose first column has this heading."""
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().replace("\\|", "|") for cell in CELL.split(line)[1:-1]]
        if cells and cells[0] == first:
            inside = True
        elif not cells:
            inside = False
        elif inside and not cells[0].startswith("---"):
            yield cells


def code(cell: str) -> list[str]:
    """What stands in code spans."""
    return [match[1] for match in CODE.findall(cell)]
