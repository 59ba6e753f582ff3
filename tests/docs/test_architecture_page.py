"""The page on the architecture: the packages, which may import which, and the way of a task."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docs.literal import DOCS, ROOT
from tests.docs.tables import code, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = ROOT / "pytest_ralph"
TOP = "top level"
PACKAGES = [
    (code(cells[0]) or [cells[0]])[0].rstrip("/")
    for cells in rows(DOCS / "architecture.md", "package")
]
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
KNOW_PYTEST = ("report", "session", TOP)
PYTEST = ("pytest", "_pytest", "xdist")


def package_of(module: Path) -> str:
    """The package a module is in; a module at the top level may have a row of its own."""
    if len(module.parts) > 1:
        return module.parts[0]
    return module.name if module.name in PACKAGES else TOP


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
    """Return what a module imports from packages below its own."""
    place = PACKAGES.index(package_of(module))
    needed = (path for name in imported(module) if (path := file_of(name)))
    return [
        str(path)
        for path in needed
        if package_of(path) in PACKAGES and PACKAGES.index(package_of(path)) > place
    ]


def test_every_package_is_on_the_page() -> None:
    assert {package_of(module) for module in MODULES} == set(PACKAGES)


def test_packages_import_only_from_those_above() -> None:
    # __init__.py holds what users import, from every package.
    found = {str(module): below(module) for module in MODULES if module.name != "__init__.py"}

    assert {module: names for module, names in found.items() if names} == {}


def test_only_the_outer_packages_know_pytest() -> None:
    others = (module for module in MODULES if package_of(module) not in KNOW_PYTEST)
    found = [
        (str(module), name)
        for module in others
        for name in imported(module)
        if name.split(".")[0] in PYTEST
    ]

    assert found == []


def test_every_module_starts_with_a_docstring() -> None:
    first = {
        module: (PACKAGE / module).read_text(encoding="utf-8").splitlines()[0] for module in MODULES
    }

    assert [
        module for module, line in first.items() if not line.startswith('"""') or len(line) < 20
    ] == []


def test_no_two_classes_have_the_same_name() -> None:
    names = [
        node.name
        for module in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]

    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_the_modules_to_begin_with_exist() -> None:
    named = [
        (cells[0], name)
        for cells in rows(DOCS / "architecture.md", "package")
        for name in code(cells[3])
    ]
    homes = {
        name: PACKAGE if name == TOP else PACKAGE / code(name)[0].rstrip("/") for name, _ in named
    }

    assert [module for name, module in named if not (homes[name] / module).exists()] == []


@pytest.mark.skipif(sys.version_info < (3, 11), reason="frames have no qualified names")
def test_tasks_take_the_way_on_the_page() -> None:
    script = ROOT / "scripts" / "trace_task.py"
    ended = subprocess.run(
        [sys.executable, script, "--calls"], capture_output=True, text=True, check=True
    )
    _, passing, healed = re.split(
        r"^(?:passing|healed) task: .*$", ended.stdout, flags=re.MULTILINE
    )

    assert_called_in_order(on_page("passing task"), passing.split())
    assert_called_in_order(on_page("healed task"), healed.split())


def on_page(heading: str) -> list[str]:
    return [code(cells[0])[0] for cells in rows(DOCS / "architecture.md", heading)]


def assert_called_in_order(named: list[str], called: list[str]) -> None:
    assert [name for name in named if name not in called] == []
    assert named == sorted(named, key=called.index)
