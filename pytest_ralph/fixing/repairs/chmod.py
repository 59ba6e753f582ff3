"""Room fixing: the repair `chmod`: a script of the project that may not be executed may be executed afterwards."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ralph.fixing.repairs.base import Repair, RepairResult, Scene, save
from pytest_ralph.fixing.repairs.indirection import steps

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_ralph.running.runner import Runner

_CANNOT_EXECUTE = 126
_REFUSED = re.compile(r"(?i)denied|cannot execute|EACCES")
# `sh: ./x: Permission denied`, `zsh: permission denied: ./x`, `Permission denied: './x'`, `spawn ./x EACCES`.
_NAMED = re.compile(
    r"""(?ix)
      (?P<before> [^\s:'"]{1,500} ) ['"]?:\ (?:permission\ denied|cannot\ execute)
    | permission\ denied:?\ ['"]? (?P<after> [^'"\s]{1,500} )
    | spawn\ (?P<spawned> \S{1,500} )\ EACCES
    """
)
_LONGEST_LINE = 2000


@dataclass(frozen=True)
class ChmodRepair(Repair):
    def apply(self, runner: Runner, root: Path, backup: Path) -> RepairResult:  # noqa: ARG002  # needs no process
        script = root / self.files[0]
        save(backup, root, [script])
        mode = script.stat().st_mode & 0o7777
        try:
            script.chmod(_executable(mode))
        except OSError as error:
            return RepairResult(False, f"cannot make {self.files[0]} executable: {error.strerror}")
        undo = shlex.join(["chmod", f"{mode:o}", self.files[0]])
        return RepairResult(True, f"made {self.files[0]} executable", undo, self.files)


def _executable(mode: int) -> int:
    """Executable for those who may read it."""
    return mode | (mode & 0o444) >> 2 | 0o100


def find(scene: Scene) -> Repair | None:
    failure = scene.failure
    if failure.kind != "permission_denied" and failure.exit_code != _CANNOT_EXECUTE:
        return None
    script = next(iter(_scripts(scene)), None)
    if script is None:
        return None
    name = script.relative_to(scene.root).as_posix()
    return ChmodRepair(
        "chmod", shlex.join(["chmod", "+x", name]), f"{name} is not executable", (name,)
    )


def _scripts(scene: Scene) -> Iterator[Path]:
    """Files of the project that were to be executed and cannot be: called by the command, or named as refused."""
    for step in steps(scene.command, scene.root, scene.directory):
        # Without a slash a shell looks in PATH, not here.
        if (
            "/" in step.program
            and (script := _own_script(scene, step.program, step.directory)) is not None
        ):
            yield script
    for name in (*scene.failure.files, *_refused(scene.failure.raw_output)):
        script = _own_script(scene, name, scene.directory)
        # What was merely named must at least be something that can be executed.
        if script is not None and _is_program(script):
            yield script


def _is_program(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(4).startswith((b"#!", b"\x7fELF"))


def _refused(output: str) -> Iterator[str]:
    lines = (
        line for line in output.splitlines() if len(line) <= _LONGEST_LINE and _REFUSED.search(line)
    )
    return (
        name for line in lines for match in _NAMED.finditer(line) for name in match.groups() if name
    )


def _own_script(scene: Scene, name: str, directory: Path) -> Path | None:
    script = scene.own_file(name, directory)
    return (
        script
        if script is not None and not os.access(script, os.X_OK) and os.access(script, os.R_OK)
        else None
    )
