"""The spec that smart-ralph works on: `.current-spec` in the directory of its specs names it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.files import SPECS_NAME, TASKS_NAME, read_or_empty
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from pathlib import Path

CURRENT_NAME = ".current-spec"
SETTINGS_FILE = ".claude/ralph-specum.local.md"
# The first directory of `specs_dirs: ["./specs", "./packages/api/specs"]`.
SPECS_DIRECTORY = regex(r"^specs_dirs:[ \t]*\[[ \t]*[\"']?([^\"',\]\n]+)", re.MULTILINE)


def current_spec(root: Path) -> Path | None:
    """Return the directory of the current spec, or None if there is none inside the project."""
    specs = root / _specs_directory(root)
    name = read_or_empty(specs / CURRENT_NAME).strip()
    if not name:
        return None
    base = root if name.startswith(("./", "/")) else specs
    directory = (base / name).resolve()
    if not directory.is_relative_to(root.resolve()):
        return None
    return directory if (directory / TASKS_NAME).is_file() else None


def _specs_directory(root: Path) -> str:
    settings = read_or_empty(root / SETTINGS_FILE)
    configured = SPECS_DIRECTORY.search(settings)
    return configured[1].strip() if configured else SPECS_NAME
