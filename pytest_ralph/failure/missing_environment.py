"""Tell a failure of the project from an environment that was never set up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.shell.command import Command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_ralph.failure.failure import Failure

ABSENT_KINDS = frozenset({"command_not_found", "dependency_missing"})
NODE_PROGRAMS = frozenset("bun bunx node npm npx pnpm pnpx tsx yarn".split())
# How to install the packages of a Node project, by its lock file.
NODE_INSTALLERS = {
    "pnpm-lock.yaml": "pnpm install",
    "yarn.lock": "yarn install",
    "bun.lock": "bun install",
    "bun.lockb": "bun install",
    "package-lock.json": "npm ci",
}
# How the note begins that a run writes about it.
SET_UP_FIRST = "set up the project first: "
PYTHON_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")


def missing_environment(failure: Failure, root: Path) -> str | None:
    """Return what must be set up before commands can run, if its absence caused the failure."""
    for directory in _directories(failure, root):
        if _lacks_node_modules(failure, directory, root):
            missing = f"{_shown(directory, root)}node_modules is missing"
            return f"{SET_UP_FIRST}run `{_installer(directory)}` ({missing})"
    if _lacks_own_package(failure, root):
        missing = f"{failure.missing} is not installed in this Python"
        return f"{SET_UP_FIRST}run `pip install -e .` ({missing})"
    return None


def _directories(failure: Failure, root: Path) -> Iterator[Path]:
    """Yield the directories in which Node tools of the failed command ran."""
    for stage in Command.parse(failure.command).stages:
        if stage.directory is None:
            continue
        launchers = [launcher.split()[0] for launcher in stage.launchers]
        uses_node = not NODE_PROGRAMS.isdisjoint([stage.program, *launchers])
        if uses_node or stage.program == failure.missing:
            yield root / stage.directory


def _lacks_node_modules(failure: Failure, directory: Path, root: Path) -> bool:
    """Whether packages are declared but not installed, here or above."""
    if failure.kind not in ABSENT_KINDS or not (directory / "package.json").is_file():
        return False
    for place in (directory, *directory.parents):
        if (place / "node_modules").is_dir():
            return False
        if place == root:
            break
    return True


def _installer(directory: Path) -> str:
    for name, command in NODE_INSTALLERS.items():
        if (directory / name).is_file():
            return command
    return "npm install"


def _lacks_own_package(failure: Failure, root: Path) -> bool:
    """Whether the missing module is a package below `src/`, where only an installation finds it."""
    if not failure.missing or "ModuleNotFoundError" not in failure.error:
        return False
    package = failure.missing.partition(".")[0]
    if not (root / "src" / package).is_dir():
        return False
    return any((root / name).is_file() for name in PYTHON_PROJECT_FILES)


def _shown(directory: Path, root: Path) -> str:
    if directory == root:
        return ""
    return f"{directory.relative_to(root).as_posix()}/"
