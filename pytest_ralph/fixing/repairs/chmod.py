"""The repair `chmod`: make a script of the project executable."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from pytest_ralph.fixing.repairs.base import Repair
from pytest_ralph.fixing.repairs.own_files import as_argument
from pytest_ralph.shell.statuses import NOT_EXECUTABLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_ralph.fixing.repairs.context import RepairContext

# `sh: ./x: Permission denied`, `zsh: permission denied: ./x`, `Permission denied: './x'`,
# `spawn ./x EACCES`.
DENIED_FILE = re.compile(
    r"""(?ix)
      (?P<before> [^\s:'"]{1,500} ) ['"]?:\ (?:permission\ denied|cannot\ execute)
    | permission\ denied:?\ ['"]? (?P<after> [^'"\s]{1,500} )
    | spawn\ (?P<spawned> \S{1,500} )\ EACCES
    """
)


def find(context: RepairContext) -> Repair | None:
    """Return the repair if the command failed because a script is not executable."""
    failure = context.failure
    if failure.kind != "permission_denied" and failure.exit_code != NOT_EXECUTABLE:
        return None
    script = next(_scripts(context), None)
    if script is None:
        return None
    name = context.relative(script)
    argv = ("chmod", "+x", as_argument(script, context.root))
    return Repair(
        name="chmod",
        reason=f"{name} is not executable",
        files=(name,),
        argv=argv,
        directory=context.root,
    )


def _scripts(context: RepairContext) -> Iterator[Path]:
    """Yield scripts that the command calls or the output names, and that are not executable."""
    for step in context.steps:
        # Without a slash the shell looks the program up on PATH, not in the project.
        if "/" in step.program:
            called = context.own_files([step.program], step.directory)
            yield from filter(_is_not_executable, called)

    named = context.own_files([*context.failure.files, *context.names_in_output(DENIED_FILE)])
    for file in filter(_is_not_executable, named):
        # A file that is only named must look like a program.
        if _is_program(file):
            yield file


def _is_not_executable(script: Path) -> bool:
    return os.access(script, os.R_OK) and not os.access(script, os.X_OK)


def _is_program(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(4).startswith((b"#!", b"\x7fELF"))
