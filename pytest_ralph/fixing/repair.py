"""Find the built-in repair for a failure. Finding one changes nothing and starts no process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pytest_ralph.fixing.repairs import autofix, chmod, install, opt_in
from pytest_ralph.fixing.repairs.base import Repair, RepairContext, RepairResult, undo

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from pytest_ralph.failure.failure import Failure

__all__ = ["OPT_IN_REPAIRS", "REPAIRS", "Repair", "RepairResult", "find_repair", "undo"]

REPAIRS = ("format", "lint", "chmod", "install")
# These choose new versions or download a lot, so that a person has to ask for them.
OPT_IN_REPAIRS = ("lock", "playwright")


def find_repair(
    failure: Failure,
    root: Path,
    allowed: Collection[str] = REPAIRS,
    command: str = "",
    *,
    directory: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Repair | None:
    """Return the repair for `failure`, or None.

    `command` is the Verify command that failed and `directory` is where it ran. Equal repairs do
    the same, so one that did not help need not be tried again.
    """
    root = root.resolve()
    directory = root if directory is None else (root / directory).resolve()
    if not directory.is_relative_to(root):
        return None

    context = RepairContext(
        failure=failure,
        root=root,
        command=command or failure.command,
        directory=directory,
        environ=os.environ if environ is None else environ,
    )
    repair: Repair | None = None
    if "chmod" in allowed:
        repair = chmod.find(context)
    if repair is None and "lock" in allowed:
        repair = opt_in.find_lock(context)
    if repair is None and "playwright" in allowed:
        repair = opt_in.find_playwright(context)
    if repair is None:
        repair = autofix.find(context, allowed)
    if repair is None and "install" in allowed:
        repair = install.find(context)
    return repair
