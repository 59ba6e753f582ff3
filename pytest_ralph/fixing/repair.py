"""Room fixing: which built-in repair, if any, fits a Failure. Finding one changes nothing and starts no process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pytest_ralph.fixing.repairs import autofix as tidy
from pytest_ralph.fixing.repairs import chmod, install
from pytest_ralph.fixing.repairs.base import Repair, RepairResult, Scene, undo

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from pytest_ralph.failure.failure import Failure

__all__ = ["REPAIRS", "Repair", "RepairResult", "find_repair", "undo"]

REPAIRS = ("format", "lint", "chmod", "install")


def find_repair(
    failure: Failure,
    root: Path,
    allowed: Collection[str] = REPAIRS,
    command: str = "",
    *,
    directory: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Repair | None:
    """The repair for `failure`, or None.

    `command` is the Verify command that failed, `directory` where it ran. Two repairs that are equal do the same:
    one that did not help need not be made again.
    """
    root = root.resolve()
    scene = Scene(
        failure,
        root,
        command or failure.command,
        root if directory is None else (root / directory).resolve(),
        os.environ if environ is None else environ,
    )
    if not scene.directory.is_relative_to(root):
        return None
    if "chmod" in allowed and (repair := chmod.find(scene)) is not None:
        return repair
    if (repair := tidy.find(scene, allowed)) is not None:
        return repair
    return install.find(scene) if "install" in allowed else None
