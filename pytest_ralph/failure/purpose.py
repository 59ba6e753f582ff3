"""What a command is for: the role of its program, or what the name of its script or target says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph.shell.command import Stage

PYTEST = frozenset({"pytest", "py.test"})
# Beginnings of words in the names of scripts and targets, the most telling first: `check:types`,
# `test-lint.sh`.
WORDS_OF_ROLE = {
    "types": r"type-?check|types(?![a-z])",
    "lint": r"lint|audit",
    "format": r"format|fmt",
    "test": r"(?:unit)?(?:test|spec(?:s|_|-|$)|smoke|e2e)",
    # Before `build`: `check_bundle.py` looks at what was built.
    "check": r"check|verify|validate|compare|bench|preflight",
    "build": r"build|compile|bundle",
}
# What it means if nothing else is known than that a command of this purpose failed.
VERDICT_OF_ROLE = {
    "test": "test",
    "lint": "lint",
    "types": "types",
    "format": "format",
    "build": "build",
    "check": "absent",
    "data": "absent",
}
SCRIPT = re.compile(r"[\w./-]+\.\w+")


def purpose(stage: Stage) -> str:
    """Return the role of a command; that of a script or orchestrator is what its name says.

    A script that checks something is a test of the project, and so is an unknown target.
    """
    named = named_role(stage)
    if named == "check":
        return "test"
    if named:
        return named
    if _runs_target(stage) and stage.plain_arguments:
        return "test"
    return stage.role


def named_role(stage: Stage) -> str:
    """Return the role that the name of a script or target states; empty for other commands."""
    name = _name(stage).lower()
    for role, words in WORDS_OF_ROLE.items():
        if re.search(rf"(?<![a-z])(?:{words})", name):
            return role
    return ""


def _name(stage: Stage) -> str:
    """Return the name of the script, or the target, that a command runs."""
    if stage.is_orchestrator and stage.role in {"build", "run"}:
        return " ".join(stage.plain_arguments)
    if stage.role == "":
        return stage.program
    if stage.role == "run" and stage.plain_arguments:
        script = stage.plain_arguments[0]
        if SCRIPT.fullmatch(script):
            return script.rpartition("/")[2]
    return ""


def _runs_target(stage: Stage) -> bool:
    """Return whether a command builds the targets that it names, as `make` does."""
    return stage.is_orchestrator and stage.role == "build"
