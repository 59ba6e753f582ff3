"""Room fixing: how a Python project installs what it declares, into the interpreter the failing command uses."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.fixing.repairs import declared, names
from pytest_ralph.fixing.repairs.indirection import Step, steps

if TYPE_CHECKING:
    from pytest_ralph.fixing.repairs.base import Scene

# They make environments of their own, out of reach of an installer called from outside.
_OWN_ENVIRONMENTS = frozenset(
    {"tox", "nox", "pre-commit", "hatch", "docker", "docker-compose", "podman", "pipx", "uvx"}
)
_NAME = re.compile(r"(?:python|pypy)[\d.]*")
_QUIET = ("--disable-pip-version-check", "--no-input")
# Of what can stand at the start of a declared requirement; nothing that pip could read as an option.
_REQUIREMENT = re.compile(r"[A-Za-z0-9][^\x00-\x1f]*")


@dataclass(frozen=True)
class Installation:
    """The installing command, the file that declares what is missing, and variables to set."""

    argv: tuple[str, ...]
    manifest: str
    env: tuple[tuple[str, str], ...] = ()


def python_install(scene: Scene, directory: Path, missing: str) -> Installation | None:
    """How to install `missing`; None if nothing in `directory` declares it."""
    wanted = names.python_distributions(missing)
    calls = steps(scene.command, scene.root, scene.directory)
    manager = next((step.launcher[0] for step in calls if {*step.launcher[:1]} & {*_MANAGERS}), "")
    if any(_OWN_ENVIRONMENTS & {step.name, *step.launcher[:1]} for step in calls):
        return None
    python = _interpreter(scene, calls)
    managed = _by_manager(directory, wanted, manager, python)
    if managed is not None or manager or python is None:
        return managed
    return _by_pip(scene, directory, wanted, python)


def _interpreter(scene: Scene, calls: tuple[Step, ...]) -> Path | None:
    """The interpreter that the command uses: the one it names, the one behind its program, or the first on PATH."""
    for step in calls:
        path = os.pathsep.join(
            [
                *([str(step.activated)] if step.activated else []),
                scene.environ.get("PATH", os.defpath),
            ]
        )
        for word in (*step.launcher, step.program):
            if (found := _python_behind(word, step.directory, path)) is not None:
                return found
    activated = [str(step.activated) for step in calls if step.activated]
    path = os.pathsep.join([*activated, scene.environ.get("PATH", os.defpath)])
    first = shutil.which("python", path=path) or shutil.which("python3", path=path)
    return Path(first) if first else None


def _python_behind(word: str, directory: Path, path: str) -> Path | None:
    found = shutil.which(str(directory / word) if "/" in word else word, path=path)
    if found is None:
        return None
    # Not resolved: the python of a virtual environment is a link to one outside.
    program = Path(os.path.abspath(found))  # noqa: PTH100
    return program if _NAME.fullmatch(program.name) else _shebang(program)


def _shebang(program: Path) -> Path | None:
    try:
        with program.open("rb") as file:
            head = file.read(1000).decode("utf-8", "replace")
    except OSError:
        return None
    match = re.match(
        r"#!\s*(\S*python[\d.]*)\s|#!/bin/sh\n'''exec' \"?([^\"\n]*?python[\d.]*)\"? ", head
    )
    named = Path(match[1] or match[2]) if match else None
    return named if named is not None and named.is_file() else None


def _environment(python: Path | None) -> Path | None:
    """The virtual environment `python` belongs to."""
    home = python.parent.parent if python is not None else None
    return home if home is not None and (home / "pyvenv.cfg").is_file() else None


_MANAGERS = {
    "uv": ("uv.lock", ("uv", "sync", "--inexact"), {"extra": "--extra", "group": "--group"}),
    "poetry": (
        "poetry.lock",
        ("poetry", "install", "--no-interaction"),
        {"extra": "--extras", "group": "--with"},
    ),
    "pdm": ("pdm.lock", ("pdm", "install"), {"extra": "-G", "group": "-G"}),
    "pipenv": ("Pipfile.lock", ("pipenv", "sync", "--dev"), {}),
}
# Installed without being asked for.
_DEFAULT_GROUP = "dev"


def _by_manager(
    directory: Path, wanted: set[str], manager: str, python: Path | None
) -> Installation | None:
    """By the manager that launched the command, or whose lock file and environment it uses."""
    environment = _environment(python)
    for name, (lock, argv, options) in _MANAGERS.items():
        locked = (directory / lock).is_file()
        if not (manager == name or (not manager and locked and environment == directory / ".venv")):
            continue
        if name == "pipenv":
            found = not wanted.isdisjoint(declared.pipfile(directory / "Pipfile"))
            return (
                Installation(argv if locked else ("pipenv", "install", "--dev"), "Pipfile")
                if found
                else None
            )
        group = _group_of(wanted, declared.python_groups(directory))
        if group is not None:
            chosen = (
                (options[group.kind], group.name) if group.name not in ("", _DEFAULT_GROUP) else ()
            )
            env = (("VIRTUAL_ENV", str(environment)),) if environment and name == "poetry" else ()
            return Installation((*argv, *chosen), group.manifest, env)
    return None


def _group_of(wanted: set[str], groups: dict[declared.Group, list[str]]) -> declared.Group | None:
    for group, requirements in groups.items():
        if wanted.intersection(
            declared.requirement_name(requirement) for requirement in requirements
        ):
            return group
    return None


def _by_pip(scene: Scene, directory: Path, wanted: set[str], python: Path) -> Installation | None:
    installer = _pip(scene, python)
    if installer is None:
        return None
    for file in declared.requirements_files(directory):
        if wanted.intersection(
            declared.requirement_name(line) for line in declared.requirements_of(file)
        ):
            name = file.relative_to(directory).as_posix()
            return Installation((*installer, "-r", name), name)
    groups = declared.python_groups(directory)
    group = _group_of(
        wanted, {group: listed for group, listed in groups.items() if not group.poetry}
    )
    if group is None:
        return None
    requirements = [text for text in groups[group] if _REQUIREMENT.fullmatch(text.strip())]
    return Installation((*installer, *requirements), group.manifest)


def _pip(scene: Scene, python: Path) -> tuple[str, ...] | None:
    """pip of the interpreter; where its environment was made without one, uv's."""
    environment = _environment(python)
    if environment is None or any(environment.glob("lib/python*/site-packages/pip")):
        return (str(python), "-m", "pip", "install", *_QUIET)
    if shutil.which("uv", path=scene.environ.get("PATH", os.defpath)):
        return ("uv", "pip", "install", "--python", str(python))
    return None
