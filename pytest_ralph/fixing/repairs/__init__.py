"""The built-in repairs, one module each. Finding one changes nothing and starts no process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pytest_ralph.fixing.repairs import autofix, chmod, install, opt_in
from pytest_ralph.fixing.repairs.context import RepairContext

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.fixing.repairs.base import Repair

REPAIRS = ("format", "lint", "chmod", "install")
# These choose new versions or download a lot, so that a person has to ask for them.
OPT_IN_REPAIRS = ("lock", "playwright")
# In the order in which they are tried.
FINDERS = (
    chmod.find,
    opt_in.find_lock,
    opt_in.find_playwright,
    autofix.find,
    install.find,
)


def find_repair(
    failure: Failure,
    root: Path,
    allowed: Collection[str] = REPAIRS,
    *,
    environ: Mapping[str, str] | None = None,
) -> Repair | None:
    """Return the repair for `failure`, or None.

    Equal repairs do the same, so one that did not help need not be tried again.
    """
    environ = os.environ if environ is None else environ
    context = RepairContext(failure, root.resolve(), environ, allowed)
    for find in FINDERS:
        repair = find(context)
        if repair is not None:
            return repair
    return None
