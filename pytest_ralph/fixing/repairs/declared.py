"""Room fixing: what a project itself declares to need, read from its own manifests; nothing is run or imported."""

from __future__ import annotations

import ast
import configparser
import json
import re
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_LARGEST = 2_000_000
_DEEPEST = 5
_ARCHIVE = re.compile(
    r"(?:\S*/)?([A-Za-z]\w*(?:[-.][A-Za-z]\w*)*)-\d\S*\.(?:whl|zip|tar\.\w+|tgz)$"
)
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)")


def read_text(path: Path) -> str:
    try:
        return path.read_bytes()[:_LARGEST].decode("utf-8-sig", "replace")
    except OSError:
        return ""


def read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_text(path) or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def read_toml(path: Path) -> dict[str, Any]:
    parser = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        found: dict[str, Any] = parser.loads(read_text(path))
    except (ValueError, RecursionError):
        return {}
    return found


# Python


def distribution(name: str) -> str:
    """A Python distribution's name in its one normal form."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement_name(requirement: str) -> str:
    match = _REQUIREMENT.match(requirement)
    return distribution(match[1]) if match else ""


def requirements_files(directory: Path) -> list[Path]:
    """requirements.txt and its kin, the plain one first."""
    found = [*directory.glob("*requirements*.txt"), *directory.glob("requirements/*.txt")]
    return sorted(
        (path for path in found if path.is_file()),
        key=lambda path: (path.name != "requirements.txt", str(path)),
    )


def requirements_of(path: Path, depth: int = 0) -> list[str]:
    """The requirement lines of a requirements file, those of files it includes too."""
    found: list[str] = []
    for written in read_text(path).replace("\\\n", " ").splitlines():
        line = re.sub(r"(?:^|\s)#.*", "", written).strip()
        if included := re.match(r"(?:-r|--requirement)[ =]?\s*(\S+)", line):
            found += (
                requirements_of(path.parent / included[1], depth + 1) if depth < _DEEPEST else []
            )
        elif named := re.search(r"#egg=([\w.-]+)", line) or _ARCHIVE.match(line):
            found.append(named[1])
        elif line and not line.startswith(("-", ".", "/")):
            found.append(line)
    return found


class Group(NamedTuple):
    """Where requirements are declared. `kind` is `project`, `extra` or `group`; Poetry's own tables hold only names."""

    manifest: str
    kind: str
    name: str = ""
    poetry: bool = False


def python_groups(directory: Path) -> dict[Group, list[str]]:
    """The requirement strings a project's manifests declare, by group."""
    groups = {
        **_pyproject(directory / "pyproject.toml"),
        **_setup_cfg(directory / "setup.cfg"),
        **_setup_py(directory / "setup.py"),
    }
    return {group: listed for group, listed in groups.items() if listed}


def _pyproject(path: Path) -> dict[Group, list[str]]:
    data = read_toml(path)
    project, tool = _dict(data.get("project")), _dict(data.get("tool"))
    poetry, file = _dict(tool.get("poetry")), path.name
    groups = {Group(file, "project"): _strings(project.get("dependencies"))}
    for kind, table in (
        ("extra", project.get("optional-dependencies")),
        ("group", data.get("dependency-groups")),
        ("group", _dict(tool.get("pdm")).get("dev-dependencies")),
    ):
        groups |= {
            Group(file, kind, name): _strings(listed) for name, listed in _dict(table).items()
        }
    groups[Group(file, "group", "dev")] = [
        *groups.get(Group(file, "group", "dev"), []),
        *_strings(_dict(tool.get("uv")).get("dev-dependencies")),
    ]
    groups[Group(file, "project", poetry=True)] = list(_dict(poetry.get("dependencies")))
    groups[Group(file, "group", "dev", poetry=True)] = list(_dict(poetry.get("dev-dependencies")))
    for name, group in _dict(poetry.get("group")).items():
        groups[Group(file, "group", name, poetry=True)] = list(
            _dict(_dict(group).get("dependencies"))
        )
    return groups


def _setup_cfg(path: Path) -> dict[Group, list[str]]:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(read_text(path))
    except configparser.Error:
        return {}
    groups = {Group(path.name, "project"): parser.get("options", "install_requires", fallback="")}
    if parser.has_section("options.extras_require"):
        groups |= {
            Group(path.name, "extra", name): text
            for name, text in parser.items("options.extras_require")
        }
    return {
        group: [line.strip() for line in text.splitlines() if line.strip()]
        for group, text in groups.items()
    }


def _setup_py(path: Path) -> dict[Group, list[str]]:
    """The literal lists of a call of `setup()`; what is computed cannot be known without running it."""
    try:
        tree = ast.parse(read_text(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) == "setup"
    ]
    groups: dict[Group, list[str]] = {}
    for keyword in (keyword for call in calls for keyword in call.keywords):
        value = _literal(keyword.value)
        if keyword.arg == "install_requires":
            groups[Group(path.name, "project")] = _strings(value)
        elif keyword.arg == "extras_require":
            groups |= {
                Group(path.name, "extra", str(name)): _strings(listed)
                for name, listed in _dict(value).items()
            }
    return groups


def _called(node: ast.Call) -> str:
    return str(getattr(node.func, "id", getattr(node.func, "attr", "")))


def _literal(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        return None


def pipfile(path: Path) -> set[str]:
    data = read_toml(path)
    return {
        distribution(name) for key in ("packages", "dev-packages") for name in _dict(data.get(key))
    }


# Other languages: the names a manifest declares


def package_json(path: Path) -> set[str]:
    data = read_json(path)
    keys = ("dependencies", "devDependencies", "optionalDependencies")
    return {name for key in keys for name in _dict(data.get(key))}


def composer_json(path: Path) -> set[str]:
    data = read_json(path)
    return {
        name.lower()
        for key in ("require", "require-dev")
        for name in _dict(data.get(key))
        if "/" in name
    }


def cargo_toml(path: Path) -> set[str]:
    data = read_toml(path)
    tables = [data, *_dict(data.get("target")).values(), _dict(data.get("workspace"))]
    keys = ("dependencies", "dev-dependencies", "build-dependencies")
    return {
        name.replace("-", "_")
        for table in tables
        for key in keys
        for name in _dict(_dict(table).get(key))
    }


def _listed_by(pattern: str, path: Path) -> set[str]:
    return {match for match in re.findall(pattern, read_text(path), re.MULTILINE) if match}


def go_mod(path: Path) -> set[str]:
    return _listed_by(r"^\s*(?:require\s+)?([\w.-]+\.[\w-]+/\S+)\s+v\d", path)


def gemfile(path: Path) -> set[str]:
    return _listed_by(
        r"^\s*(?:gem|\w+\.add_(?:development_|runtime_)?dependency)[\s(]+['\"]([\w.-]+)['\"]", path
    )


def mix_exs(path: Path) -> set[str]:
    return _listed_by(r"\{\s*:(\w+)\s*,", path)


def cpanfile(path: Path) -> set[str]:
    return _listed_by(r"^\s*(?:requires|recommends|test_requires)\s*\(?['\"]([\w:]+)['\"]", path)


def project_file(path: Path) -> set[str]:
    """PackageReference elements of .NET."""
    return {
        name.lower() for name in _listed_by(r"<PackageReference\s[^>]*?Include=\"([\w.-]+)\"", path)
    }


def pubspec(path: Path) -> set[str]:
    """Names directly below `dependencies:` and `dev_dependencies:`."""
    blocks = re.findall(
        r"^(?:dev_)?dependencies:[ \t]*\n((?:[ \t]+.*\n|[ \t]*#.*\n|\s*\n)*)",
        read_text(path) + "\n",
        re.MULTILINE,
    )
    return {name for block in blocks for name in re.findall(r"^ {2}(\w+):", block, re.MULTILINE)}


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _strings(value: object) -> list[str]:
    return list(_only_strings(value)) if isinstance(value, (list, tuple)) else []


def _only_strings(values: Iterable[object]) -> Iterator[str]:
    return (value for value in values if isinstance(value, str))
