"""Repairs that must be asked for: `lock` updates a lock file, `playwright` downloads browsers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.fixing.repairs import declared
from pytest_ralph.fixing.repairs.base import Repair
from pytest_ralph.fixing.repairs.own_files import own_file

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.fixing.repairs.context import RepairContext


class LockFile(NamedTuple):
    """A lock file, a pattern for how its manager says that it is stale, and how to update it.

    `others` are files beside it that the update changes as well.
    """

    name: str
    is_stale: str
    argv: tuple[str, ...]
    others: tuple[str, ...] = ()


LOCK_FILES = (
    LockFile(
        "uv.lock",
        r"(?i)lockfile at `?uv\.lock`? needs to be updated",
        ("uv", "lock"),
    ),
    LockFile(
        "poetry.lock",
        r"changed significantly since poetry\.lock|poetry\.lock is not up to date",
        ("poetry", "lock", "--no-interaction"),
    ),
    LockFile(
        "package-lock.json",
        r"`npm ci` can only install packages when your package\.json and package-lock",
        ("npm", "install", "--package-lock-only", "--no-audit", "--no-fund"),
    ),
    LockFile(
        "pnpm-lock.yaml",
        r"ERR_PNPM_OUTDATED_LOCKFILE",
        ("pnpm", "install", "--lockfile-only"),
    ),
    LockFile(
        "yarn.lock",
        r"Your lockfile needs to be updated, but yarn was run with",
        ("yarn", "install", "--ignore-scripts"),
    ),
    # Since version 2. In CI it forbids the update unless told otherwise.
    LockFile(
        "yarn.lock",
        r"\bYN0028\b",
        ("yarn", "install", "--mode=update-lockfile", "--no-immutable"),
    ),
    LockFile(
        "Cargo.lock",
        r"Cargo\.lock needs to be updated but --locked|cannot update the lock file",
        ("cargo", "update", "--workspace"),
    ),
    LockFile(
        "go.mod",
        r"updates to go\.(?:mod|sum) needed|missing go\.sum entry",
        ("go", "mod", "tidy"),
        others=("go.sum",),
    ),
    LockFile(
        "composer.lock",
        r"lock file is not up to date with the latest changes in composer\.json",
        ("composer", "update", "--lock", "--no-interaction"),
    ),
)
MISSING_BROWSER = re.compile(
    r"Executable doesn't exist at .{0,300}"
    r"|Please run the following command to download new browsers"
)


def find_lock(context: RepairContext) -> Repair | None:
    """Return how to update the lock file that the failed command found to be out of date."""
    for lock in LOCK_FILES:
        if not re.search(lock.is_stale, context.failure.raw_output):
            continue
        if not context.has_program(lock.argv[0]):
            continue
        for directory in context.directories:
            file = own_file(context.root, directory / lock.name)
            if file is not None:
                return _update(context, lock, file, directory)
    return None


def _update(context: RepairContext, lock: LockFile, file: Path, directory: Path) -> Repair:
    name = context.relative(file)
    others = [context.relative(directory / other) for other in lock.others]
    return Repair(
        name="lock",
        reason=f"{name} does not match its manifest",
        files=(name, *others),
        argv=lock.argv,
        directory=directory,
        done="updated",
        remains="the lock file has new versions",
    )


def find_playwright(context: RepairContext) -> Repair | None:
    """Return the download of the browsers that Playwright lacks."""
    output = context.failure.raw_output
    if "playwright" not in output.lower() or not MISSING_BROWSER.search(output):
        return None
    argv: tuple[str, ...] = ("playwright", "install")
    directory = context.root
    for place in context.directories:
        packages = declared.package_json(place / "package.json")
        if any("playwright" in name for name in packages):
            argv = ("npx", "--no-install", *argv)
            directory = place
            break
    if not context.has_program(argv[0]):
        return None
    return Repair(
        name="playwright",
        reason="a Playwright browser is missing",
        argv=argv,
        directory=directory,
        done="installed",
        remains="browsers stay installed",
    )
