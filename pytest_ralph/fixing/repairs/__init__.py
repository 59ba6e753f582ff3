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

# What finds a repair, and the names of those that it finds, in the order in which they are tried.
FINDERS = {
    chmod.find: {"chmod"},
    opt_in.find_lock: {"lock"},
    opt_in.find_playwright: {"playwright"},
    autofix.find: {"format", "lint"},
    install.find: {"install"},
}


def find_repair(
    failure: Failure,
    root: Path,
    allowed: Collection[str],
    *,
    environ: Mapping[str, str] = os.environ,
) -> Repair | None:
    """Return the repair for `failure` if it has one of the names `allowed`, or None.

    Equal repairs do the same, so one that did not help need not be tried again.
    """
    context = RepairContext(failure, root.resolve(), environ, allowed)
    for find, found in FINDERS.items():
        if found.isdisjoint(allowed):
            continue
        repair = find(context)
        if repair is not None:
            return repair
    return None
