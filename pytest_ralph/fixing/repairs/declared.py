"""What a project declares to need, read from its manifests. Nothing is run or imported."""

from __future__ import annotations

import configparser
import json
import re
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_FILE = 2_000_000
DEEPEST_INCLUDE = 5
INCLUDED_FILE = re.compile(r"(?:-r|--requirement)[ =]?\s*(\S+)")
COMMENT = re.compile(r"(?:^|\s)#.*")
GEM = re.compile(
    r"^\s*(?:gem|\w+\.add_(?:development_|runtime_)?dependency)[\s(]+['\"]([\w.-]+)['\"]",
    re.MULTILINE,
)
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
    parser = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        tables: dict[str, Any] = parser.loads(read_text(path))
    except (ValueError, RecursionError):
        return {}
    return tables


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
    """Where requirements are declared: `kind` is `project`, `extra` or `group`.

    The tables of Poetry hold names without versions, which is why pip cannot install from them.
    """

    manifest: str
    kind: str
    name: str = ""
    poetry: bool = False


def python_groups(directory: Path) -> dict[RequirementGroup, list[str]]:
    """Return the requirements that the manifests of a Python project declare, by group."""
    groups = {
        **_pyproject(directory / "pyproject.toml"),
        **_setup_cfg(directory / "setup.cfg"),
    }
    return {group: requirements for group, requirements in groups.items() if requirements}


def _pyproject(path: Path) -> dict[RequirementGroup, list[str]]:
    data = read_toml(path)
    file = path.name
    project = mapping(data.get("project"))
    poetry = mapping(mapping(data.get("tool")).get("poetry"))
    declared: dict[RequirementGroup, object] = {
        RequirementGroup(file, "project"): project.get("dependencies"),
        RequirementGroup(file, "project", poetry=True): poetry.get("dependencies"),
        RequirementGroup(file, "group", "dev", poetry=True): poetry.get("dev-dependencies"),
    }
    for name, listed in mapping(project.get("optional-dependencies")).items():
        declared[RequirementGroup(file, "extra", name)] = listed
    for name, listed in mapping(data.get("dependency-groups")).items():
        declared[RequirementGroup(file, "group", name)] = listed
    for name, group in mapping(poetry.get("group")).items():
        listed = mapping(group).get("dependencies")
        declared[RequirementGroup(file, "group", name, poetry=True)] = listed
    return {group: _requirements(listed) for group, listed in declared.items()}


def _requirements(listed: object) -> list[str]:
    """Return what a list asks for, or the names in a table of Poetry."""
    return list(listed) if isinstance(listed, dict) else strings(listed)


def _setup_cfg(path: Path) -> dict[RequirementGroup, list[str]]:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(read_text(path))
    except configparser.Error:
        return {}

    texts = {
        RequirementGroup(path.name, "project"): parser.get(
            "options", "install_requires", fallback=""
        )
    }
    if parser.has_section("options.extras_require"):
        for name, text in parser.items("options.extras_require"):
            texts[RequirementGroup(path.name, "extra", name)] = text
    return {group: _lines(text) for group, text in texts.items()}


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


# Other languages: the names that a manifest declares


def package_json(path: Path) -> set[str]:
    """Return the packages that a package.json declares."""
    data = read_json(path)
    return _keys(data, "dependencies", "devDependencies", "optionalDependencies")


def composer_json(path: Path) -> set[str]:
    """Return the packages that a composer.json declares, without platform packages."""
    names = _keys(read_json(path), "require", "require-dev")
    return {name.lower() for name in names if "/" in name}


def gemfile(path: Path) -> set[str]:
    """Return the gems that a Gemfile or gemspec declares."""
    return set(GEM.findall(read_text(path)))


def _keys(table: object, *names: str) -> set[str]:
    """Return the keys of the subtables `names`."""
    keys: set[str] = set()
    for name in names:
        keys.update(mapping(mapping(table).get(name)))
    return keys
