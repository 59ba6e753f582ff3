"""Which Python a command uses."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph.fixing.repairs.context import RepairContext

PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
SHEBANG = re.compile(r"#!\s*(\S*python[\d.]*)\s|#!/bin/sh\n'''exec' \"?([^\"\n]*?python[\d.]*)\"? ")


def find_interpreter(context: RepairContext) -> Path | None:
    """Return the interpreter that the command uses.

    It is the one that the command names, the one of the script it calls, or the first on PATH.
    """
    search_path = context.search_path
    for step in context.steps:
        if step.activated:
            search_path = os.pathsep.join([str(step.activated), context.search_path])
        for word in (*step.launcher, step.program):
            python = _python_behind(word, step.directory, search_path)
            if python is not None:
                return python
    for name in ("python", "python3"):
        first = shutil.which(name, path=search_path)
        if first is not None:
            return Path(first)
    return None


def _python_behind(word: str, directory: Path, search_path: str) -> Path | None:
    """Return the interpreter that `word` names, or that runs the script `word` names."""
    if "/" in word:
        word = str(directory / word)
    found = shutil.which(word, path=search_path)
    if found is None:
        return None
    # Not resolved: the python of a virtual environment is a link to one outside.
    program = Path(os.path.abspath(found))  # noqa: PTH100
    if PYTHON.fullmatch(program.name):
        return program

    try:
        with program.open("rb") as file:
            first_lines = file.read(1000).decode("utf-8", "replace")
    except OSError:
        return None
    shebang = SHEBANG.match(first_lines)
    if shebang is None:
        return None
    python = Path(shebang[1] or shebang[2])
    return python if python.is_file() else None


def environment_of(python: Path) -> Path | None:
    """Return the virtual environment that `python` belongs to."""
    directory = python.parent.parent
    return directory if (directory / "pyvenv.cfg").is_file() else None
