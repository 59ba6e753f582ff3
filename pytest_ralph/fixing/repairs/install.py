"""The repair `install`: install what the project declares but lacks, with its own installer.

The missing name only selects a manifest. What is installed is what that manifest declares, and
never anything else.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from pytest_ralph.fixing.repairs import declared, names
from pytest_ralph.fixing.repairs.base import Repair
from pytest_ralph.fixing.repairs.own_files import own_file
from pytest_ralph.fixing.repairs.python import MANAGERS, Installation, python_install

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.fixing.repairs.context import RepairContext

KINDS = frozenset({"dependency_missing", "command_not_found"})
LONGEST_NAME = 200

JAVASCRIPT_TOOL = re.compile(r"\b(?:npm|npx|node|pnpm|yarn|bunx?|tsc|jest|vitest)\b")
MISSING_AUTOLOAD = re.compile(
    r"(?:[Ff]ailed opening required|require\w*\().{0,300}vendor/autoload\.php"
)
COMPOSER_INSTALL = Installation(("composer", "install", "--no-interaction"), "composer.json")


def find(context: RepairContext) -> Repair | None:
    """Return the installation of what is missing, if a manifest of the project declares it."""
    if MISSING_AUTOLOAD.search(context.failure.raw_output):
        return _composer_install(context)
    if context.failure.kind not in KINDS:
        return None
    missing = (context.failure.missing or "").strip()
    if not missing or len(missing) > LONGEST_NAME:
        return None

    # A name may be declared in more than one ecosystem.
    finders = [python_install, _node_install]
    if JAVASCRIPT_TOOL.search(context.command):
        finders.reverse()
    for directory in context.directories:
        for find_installation in finders:
            installation = find_installation(context, directory, missing)
            if installation is None:
                continue
            if context.has_program(installation.argv[0]):
                return _repair(context, directory, missing, installation)
    return None


def _composer_install(context: RepairContext) -> Repair | None:
    if not context.has_program("composer"):
        return None
    for directory in context.directories:
        if (directory / "composer.json").is_file():
            return _repair(context, directory, "vendor/autoload.php", COMPOSER_INSTALL)
    return None


def _repair(
    context: RepairContext, directory: Path, missing: str, installation: Installation
) -> Repair:
    manifest = context.relative(directory / installation.manifest)
    home = installation.directory or directory
    locks = []
    for name in LOCK_FILES:
        lock = own_file(context.root, home / name)
        if lock is None and not os.path.lexists(home / name):
            # Some installers create their lock file.
            lock = home / name
        if lock is not None:
            locks.append(context.relative(lock))
    return Repair(
        name="install",
        reason=f"{missing} is declared in {manifest}",
        files=tuple(locks),
        argv=installation.argv,
        directory=home,
        done="installed",
        remains="packages stay installed",
    )


# Lock file → the command that installs by it without changing it.
NODE_INSTALLERS = {
    "pnpm-lock.yaml": ("pnpm", "install", "--frozen-lockfile"),
    "bun.lock": ("bun", "install", "--frozen-lockfile"),
    "bun.lockb": ("bun", "install", "--frozen-lockfile"),
    "yarn.lock": ("yarn", "install", "--frozen-lockfile", "--non-interactive"),
    "package-lock.json": ("npm", "install", "--no-save", "--no-audit", "--no-fund"),
    "npm-shrinkwrap.json": ("npm", "install", "--no-save", "--no-audit", "--no-fund"),
}
MODERN_YARN = ("yarn", "install", "--immutable")

# Files that installers change although they should not.
LOCK_FILES = (
    *NODE_INSTALLERS,
    "package.json",
    *(manager.lock for manager in MANAGERS.values()),
    "composer.lock",
)

# Package manager → the command that installs without a lock file.
NODE_MANAGERS = {
    "pnpm": ("pnpm", "install", "--no-lockfile"),
    "yarn": ("yarn", "install"),
    "bun": ("bun", "install", "--no-save"),
}
NPM = ("npm", "install", "--no-package-lock", "--no-audit", "--no-fund")


def _node_install(context: RepairContext, directory: Path, missing: str) -> Installation | None:
    packages = declared.package_json(directory / "package.json")
    if names.node_packages(missing).isdisjoint(packages):
        return None

    # A lock file above belongs to a workspace, whose root is where to install.
    for home in (directory, *directory.parents):
        if not home.is_relative_to(context.root):
            break
        argv = _node_installer(home)
        if argv is not None:
            return Installation(argv, "package.json", directory=home)

    manifest = declared.read_table(directory / "package.json")
    manager = str(manifest.get("packageManager", "")).partition("@")[0]
    return Installation(NODE_MANAGERS.get(manager, NPM), "package.json")


def _node_installer(directory: Path) -> tuple[str, ...] | None:
    """Return the command that installs by the lock file in a directory, None if there is none."""
    for lock, argv in NODE_INSTALLERS.items():
        if not (directory / lock).is_file():
            continue
        if lock == "yarn.lock" and (directory / ".yarnrc.yml").is_file():
            return MODERN_YARN
        return argv
    return None
