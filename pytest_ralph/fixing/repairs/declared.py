"""What a project declares to need, read from its manifests. Nothing is run or imported."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ralph.files import read_regular
from pytest_ralph.text.toml import parse_toml

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LARGEST_FILE = 2_000_000
DEEPEST_INCLUDE = 5
INCLUDED_FILE = re.compile(r"(?:-r|--requirement)[ =]?\s*(\S+)")
COMMENT = re.compile(r"(?:^|\s)#.*")
REQUIREMENT_NAME = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)")


def read_text(path: Path) -> str:
    """Return the text of a file, or an empty text if it cannot be read."""
    try:
        return read_regular(path)[:LARGEST_FILE].decode("utf-8-sig", "replace")
    except OSError:
        return ""


def _parse_yaml(text: str) -> object:
    # Imported here: few projects need it.
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise ValueError(str(error)) from error


PARSERS: dict[str, Callable[[str], object]] = {
    ".json": json.loads,
    ".toml": parse_toml,
    ".yaml": _parse_yaml,
    ".yml": _parse_yaml,
}


def read_table(path: Path, *keys: str) -> dict[str, Any]:
    """Return the table of a file to which `keys` lead; empty if the file has none."""
    text = read_text(path)
    if not text:
        return {}
    try:
        return table_at(PARSERS[path.suffix](text), *keys)
    except (ValueError, RecursionError):
        return {}


def table_at(value: object, *keys: str) -> dict[str, Any]:
    """Return the table to which `keys` lead in a value; empty if there is none."""
    for key in keys:
        value = table_at(value).get(key)
    return value if isinstance(value, dict) else {}


def strings(value: object) -> list[str]:
    """Return the texts in a list, or one text as a list."""
    values = value if isinstance(value, list) else [value]
    return [text for text in values if isinstance(text, str)]


# Python


def normalized(name: str) -> str:
    """Return the name of a Python distribution in its normal form."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement_name(requirement: str) -> str:
    """Return the name of the distribution that a requirement asks for."""
    match = REQUIREMENT_NAME.match(requirement)
    return normalized(match[1]) if match else ""


def requirements_files(directory: Path) -> list[Path]:
    """Return requirements.txt and similar files, the plain one first."""
    found = [*directory.glob("*requirements*.txt"), *directory.glob("requirements/*.txt")]
    files = [path for path in found if path.is_file()]
    return sorted(files, key=lambda path: (path.name != "requirements.txt", str(path)))


def requirements_of(path: Path, depth: int = 0) -> list[str]:
    """Return the requirements in a requirements file and in the files that it includes."""
    requirements: list[str] = []
    if depth > DEEPEST_INCLUDE:
        return requirements

    for raw_line in read_text(path).replace("\\\n", " ").splitlines():
        line = COMMENT.sub("", raw_line).strip()
        included = INCLUDED_FILE.match(line)
        if included:
            requirements += requirements_of(path.parent / included[1], depth + 1)
        elif line and not line.startswith(("-", ".", "/")):
            requirements.append(line)
    return requirements


class RequirementGroup(NamedTuple):
    """Where pyproject.toml declares requirements: `kind` is `project`, `extra` or `group`.

    The tables of Poetry hold names without versions, which is why pip cannot install from them.
    """

    kind: str
    name: str = ""
    poetry: bool = False


def python_groups(directory: Path) -> dict[RequirementGroup, list[str]]:
    """Return the requirements that the pyproject.toml in a directory declares, by group."""
    tables = read_table(directory / "pyproject.toml")
    project = table_at(tables, "project")
    poetry = table_at(tables, "tool", "poetry")
    declared: dict[RequirementGroup, object] = {
        RequirementGroup("project"): project.get("dependencies"),
        RequirementGroup("project", poetry=True): poetry.get("dependencies"),
    }
    for name, listed in table_at(project, "optional-dependencies").items():
        declared[RequirementGroup("extra", name)] = listed
    for name, listed in table_at(tables, "dependency-groups").items():
        declared[RequirementGroup("group", name)] = listed
    for name, group in table_at(poetry, "group").items():
        listed = table_at(group, "dependencies")
        declared[RequirementGroup("group", name, poetry=True)] = listed
    return {group: _requirements(listed) for group, listed in declared.items()}


def project_name(directory: Path) -> str:
    """Return the normal form of the name that pyproject.toml gives the project; may be empty."""
    name = read_table(directory / "pyproject.toml", "project").get("name")
    return normalized(name) if isinstance(name, str) else ""


def _requirements(listed: object) -> list[str]:
    """Return what a list asks for, or the names in a table of Poetry."""
    return list(listed) if isinstance(listed, dict) else strings(listed)


# JavaScript


def package_json(path: Path) -> set[str]:
    """Return the packages that a package.json declares."""
    manifest = read_table(path)
    names: set[str] = set()
    for table in ("dependencies", "devDependencies", "optionalDependencies"):
        names.update(table_at(manifest, table))
    return names
