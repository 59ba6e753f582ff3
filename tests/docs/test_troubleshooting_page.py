"""Every message on the page is one of the program's; every fatal message is on the page."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from tests.docs.literal import DOCS, ROOT
from tests.docs.tables import code, rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = DOCS / "troubleshooting.md"
SOURCES = sorted((ROOT / "pytest_ralph").rglob("*.py"))
QUOTED = [code(cells[0])[0] for cells in rows(PAGE, "message")]
# Their messages reach a person only inside another one, or are for programmers.
INNER = ("ValueError", "AttributeError", "TypeError", "CollectError", "FrontMatterError")


def template(node: ast.AST) -> str:
    """A text of the source, with `…` for what is put into it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"\{[^{}]*\}", "…", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            template(part) if isinstance(part, ast.Constant) else "…" for part in node.values
        )
    return ""


def texts() -> Iterator[str]:
    for source in SOURCES:
        yield from filter(
            None, map(template, ast.walk(ast.parse(source.read_text(encoding="utf-8"))))
        )


def pieces(message: str) -> list[str]:
    return [piece for piece in re.split("[…`]", message) if piece.strip(" :,.()[]-")]


def says(text: str, message: str) -> bool:
    return bool(re.search(".*".join(map(re.escape, pieces(message))), text, re.DOTALL))


TEXTS = list(texts())


@pytest.mark.parametrize("message", QUOTED)
def test_a_message_on_the_page_is_one_of_the_program(message: str) -> None:
    assert any(says(text, message) for text in TEXTS)


def raised(source: Path) -> Iterator[str]:
    """What is raised to end a run or a task, and what begins with `ERROR: `."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        text = template(node)
        if text.startswith("ERROR: ") and isinstance(node, ast.JoinedStr):
            yield text
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", "") or getattr(node.func, "attr", "")
            if name.endswith("Error") and name not in INNER:
                yield from (text for argument in node.args if pieces(text := template(argument)))


def test_every_message_that_ends_something_is_on_the_page() -> None:
    told = [message for source in SOURCES for message in raised(source)]
    page = " ".join(QUOTED)

    assert len(told) > 20
    assert [message for message in told if max(pieces(message), key=len).strip() not in page] == []
