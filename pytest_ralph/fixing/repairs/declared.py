"""What a project declares to need, read from its manifests. Nothing is run or imported."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ralph.text.toml import parse_toml

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_FILE = 2_000_000
DEEPEST_INCLUDE = 5
INCLUDED_FILE = re.compile(r"(?:-r|--requirement)[ =]?\s*(\S+)")
COMMENT = re.compile(r"(?:^|\s)#.*")
REQUIREMENT_NAME = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)")


def read_text(path: Path) -> str:
    """Return the text of a file, or an empty text if it cannot be read."""
    try:
        return path.read_bytes()[:LARGEST_FILE].decode("utf-8-sig", "replace")
    except OSError:
        return ""


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, or an empty one."""
    try:
        return mapping(json.loads(read_text(path) or "{}"))
    except (ValueError, RecursionError):
        return {}


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file, or an empty dict."""
    try:
        return parse_toml(read_text(path))
    except (ValueError, RecursionError):
        return {}


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file, or an empty one."""
    text = read_text(path)
    if not text:
        return {}
    # Imported here: few projects need it.
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return mapping(YAML(typ="safe", pure=True).load(text))
    except (YAMLError, ValueError, RecursionError):
        return {}


def mapping(value: object) -> dict[str, Any]:
    """Return `value` if it is a mapping, otherwise an empty one."""
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
    data = read_toml(directory / "pyproject.toml")
    project = mapping(data.get("project"))
    extras = mapping(project.get("optional-dependencies"))
    groups = mapping(data.get("dependency-groups"))
    poetry = mapping(mapping(data.get("tool")).get("poetry"))
    poetry_groups = mapping(poetry.get("group"))

    declared: dict[RequirementGroup, object] = {
        RequirementGroup("project"): project.get("dependencies"),
        RequirementGroup("project", poetry=True): poetry.get("dependencies"),
    }
    for name, listed in extras.items():
        declared[RequirementGroup("extra", name)] = listed
    for name, listed in groups.items():
        declared[RequirementGroup("group", name)] = listed
    for name, group in poetry_groups.items():
        listed = mapping(group).get("dependencies")
        declared[RequirementGroup("group", name, poetry=True)] = listed
    return {group: _requirements(listed) for group, listed in declared.items()}


def _requirements(listed: object) -> list[str]:
    """Return what a list asks for, or the names in a table of Poetry."""
    return list(listed) if isinstance(listed, dict) else strings(listed)


# JavaScript


def package_json(path: Path) -> set[str]:
    """Return the packages that a package.json declares."""
    data = read_json(path)
    names: set[str] = set()
    for table in ("dependencies", "devDependencies", "optionalDependencies"):
        names.update(mapping(data.get(table)))
    return names
