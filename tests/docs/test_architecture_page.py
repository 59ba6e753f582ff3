"""The page on the architecture says how the code is laid out: its rooms, and who may import whom."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

from tests.docs.literal import DOCS, ROOT
from tests.docs.tables import code, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = ROOT / "pytest_ralph"
TOP = "top level"
ROOMS = [
    (code(cells[0]) or [cells[0]])[0].rstrip("/")
    for cells in rows(DOCS / "architecture.md", "package")
]
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
KNOW_PYTEST = ("report", "session", TOP)
PYTEST = ("pytest", "_pytest", "xdist")


def room_of(module: Path) -> str:
    """The package a module is in; a module at the top level may have a row of its own."""
    if len(module.parts) > 1:
        return module.parts[0]
    return module.name if module.name in ROOMS else TOP


def imported(module: Path) -> Iterator[str]:
    """Dotted names of what a module imports, at any place in it."""
    for node in ast.walk(ast.parse((PACKAGE / module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def file_of(dotted: str) -> Path | None:
    """The module of ours that a dotted name leads into."""
    package, *parts = dotted.split(".")
    if package != "pytest_ralph":
        return None
    candidates = (Path(*parts[:length]).with_suffix(".py") for length in range(len(parts), 0, -1))
    return next(
        (path for path in candidates if (PACKAGE / path).is_file()), Path(*parts[:1], "__init__.py")
    )


def below(module: Path) -> list[str]:
    """What a module imports from rooms below its own."""
    place = ROOMS.index(room_of(module))
    needed = (path for name in imported(module) if (path := file_of(name)))
    return [
        str(path)
        for path in needed
        if room_of(path) in ROOMS and ROOMS.index(room_of(path)) > place
    ]


def test_every_room_is_on_the_page() -> None:
    assert {room_of(module) for module in MODULES} == set(ROOMS)


def test_a_room_imports_only_from_rooms_above_it() -> None:
    # What users import stands before the door, and leads everywhere.
    found = {str(module): below(module) for module in MODULES if module.name != "__init__.py"}

    assert {module: names for module, names in found.items() if names} == {}


def test_only_the_outer_packages_know_pytest() -> None:
    others = (module for module in MODULES if room_of(module) not in KNOW_PYTEST)
    found = [
        (str(module), name)
        for module in others
        for name in imported(module)
        if name.split(".")[0] in PYTEST
    ]

    assert found == []


def test_every_module_says_in_its_first_line_what_it_is() -> None:
    first = {
        module: (PACKAGE / module).read_text(encoding="utf-8").splitlines()[0] for module in MODULES
    }

    assert [
        module for module, line in first.items() if not line.startswith('"""') or len(line) < 20
    ] == []


def test_what_the_page_tells_to_begin_with_is_there() -> None:
    named = [
        (cells[0], name)
        for cells in rows(DOCS / "architecture.md", "package")
        for name in code(cells[3])
    ]
    homes = {
        room: PACKAGE if room == TOP else PACKAGE / code(room)[0].rstrip("/") for room, _ in named
    }

    assert [name for room, name in named if not (homes[room] / name).exists()] == []
