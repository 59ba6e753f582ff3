"""How a Python project installs what it declares, into the interpreter of the failing command."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ralph.fixing.repairs import declared, names
from pytest_ralph.fixing.repairs.interpreter import environment_of, find_interpreter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pytest_ralph.fixing.repairs.context import RepairContext

# These make environments of their own, which an installer called from outside does not reach.
OWN_ENVIRONMENTS = frozenset(
    {"tox", "nox", "pre-commit", "hatch", "docker", "docker-compose", "podman", "pipx", "uvx"}
)
PIP_OPTIONS = ("--disable-pip-version-check", "--no-input")
# A declared requirement that pip cannot read as an option.
REQUIREMENT = re.compile(r"[A-Za-z0-9][^\x00-\x1f]*")

PYPROJECT = "pyproject.toml"
# All managers install this group by default.
DEFAULT_GROUP = "dev"


@dataclass(frozen=True)
class Installation:
    """The command that installs, and the manifest that declares what is missing.

    `directory` is where to run the command if that is not the directory of the manifest.
    """

    argv: tuple[str, ...]
    manifest: str
    directory: Path | None = None


@dataclass(frozen=True)
class Manager:
    """A package manager of Python: its lock file, how it installs, and how it selects groups."""

    lock: str
    argv: tuple[str, ...]
    # By the kind of the group.
    options: Mapping[str, str]


MANAGERS = {
    "uv": Manager("uv.lock", ("uv", "sync", "--inexact"), {"extra": "--extra", "group": "--group"}),
    "poetry": Manager(
        "poetry.lock",
        ("poetry", "install", "--no-interaction"),
        {"extra": "--extras", "group": "--with"},
    ),
    "pdm": Manager("pdm.lock", ("pdm", "install"), {"extra": "-G", "group": "-G"}),
}


def python_install(context: RepairContext, directory: Path, missing: str) -> Installation | None:
    """Return how to install `missing`, or None if no manifest in `directory` declares it."""
    programs = {step.name for step in context.steps}
    launchers = [step.launcher[0] for step in context.steps if step.launcher]
    if not OWN_ENVIRONMENTS.isdisjoint([*programs, *launchers]):
        return None

    for name in launchers:
        if name in MANAGERS:
            return _by_manager(MANAGERS[name], directory, missing)
    python = find_interpreter(context)
    if python is None:
        return None
    if environment_of(python) == directory / ".venv":
        for manager in MANAGERS.values():
            # The manager that made the environment has its lock file beside it.
            if (directory / manager.lock).is_file():
                return _by_manager(manager, directory, missing)
    pip = _pip(context, python)
    if pip is None:
        return None
    return _by_pip(pip, directory, missing)


def _by_manager(manager: Manager, directory: Path, missing: str) -> Installation | None:
    own_manifest = _own_manifest(directory, missing)
    if own_manifest:
        return Installation(manager.argv, own_manifest)
    for group, _ in _declaring_groups(directory, missing):
        if group.name in ("", DEFAULT_GROUP):
            return Installation(manager.argv, PYPROJECT)
        option = manager.options[group.kind]
        return Installation((*manager.argv, option, group.name), PYPROJECT)
    return None


def _by_pip(pip: tuple[str, ...], directory: Path, missing: str) -> Installation | None:
    own_manifest = _own_manifest(directory, missing)
    if own_manifest:
        return Installation((*pip, "-e", "."), own_manifest)
    wanted = names.python_distributions(missing)
    for file in declared.requirements_files(directory):
        if _declares(declared.requirements_of(file), wanted):
            name = file.relative_to(directory).as_posix()
            return Installation((*pip, "-r", name), name)

    own_name = declared.project_name(directory)
    for group, requirements in _declaring_groups(directory, missing):
        if group.poetry:
            continue
        # `project[extra]` means the project itself: an index may have another one of that name.
        others = [text for text in requirements if declared.requirement_name(text) != own_name]
        safe = [text for text in others if REQUIREMENT.fullmatch(text.strip())]
        return Installation((*pip, *safe), PYPROJECT)
    return None


def _declaring_groups(
    directory: Path, missing: str
) -> Iterator[tuple[declared.RequirementGroup, list[str]]]:
    """Yield the groups in pyproject.toml that declare what is missing, with all they declare."""
    wanted = names.python_distributions(missing)
    for group, requirements in declared.python_groups(directory).items():
        if _declares(requirements, wanted):
            yield group, requirements


def _own_manifest(directory: Path, missing: str) -> str:
    """Return the manifest that builds the missing package itself; empty if there is none.

    A missing module inside a package is not found by installing that package.
    """
    if not missing.isidentifier():
        return ""
    is_here = (directory / "src" / missing).is_dir() or (directory / missing).is_dir()
    if not is_here:
        return ""
    tables = declared.read_table(directory / PYPROJECT)
    if "project" in tables or "build-system" in tables:
        return PYPROJECT
    if (directory / "setup.py").is_file():
        return "setup.py"
    return ""


def _pip(context: RepairContext, python: Path) -> tuple[str, ...] | None:
    """Return the command of the interpreter's pip, or uv's if its environment has none."""
    environment = environment_of(python)
    has_pip = environment is None or any(environment.glob("lib/python*/site-packages/pip"))
    if has_pip:
        return (str(python), "-m", "pip", "install", *PIP_OPTIONS)
    if context.has_program("uv"):
        return ("uv", "pip", "install", "--python", str(python))
    return None


def _declares(requirements: list[str], wanted: set[str]) -> bool:
    return any(declared.requirement_name(text) in wanted for text in requirements)
