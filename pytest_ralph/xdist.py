"""Many workers: a spec is never split over them, and a worker that takes over knows what was before it.

The controller finds the specs, locks them, and hands every worker a copy of each document as it was at the start:
a worker that replaces a dead one must collect the same tasks in the same order, whatever tasks.md says by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from pytest_ralph.session import Run

WORKER_INPUT = "ralph"


class SpecScheduling(LoadScopeScheduling):
    """A spec is one scope. Everything else spreads as the chosen `--dist` mode would have it."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        if path.endswith(".md"):
            return path
        mode = self.config.getvalue("dist")
        if mode == "loadfile":
            return path
        if mode == "loadscope":
            return nodeid.rpartition("::")[0]
        if mode == "loadgroup" and "@" in nodeid.rpartition("::")[2]:
            return nodeid.rpartition("@")[2]
        return nodeid


class Distribution:
    """Registered where pytest-xdist is; does nothing on its own unless workers are used."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
        return None if config.getvalue("dist") in ("no", "each") else SpecScheduling(config, log)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[WORKER_INPUT] = self._handed

    @property
    def _handed(self) -> dict[str, Any]:
        return {"run": self.run.id, "specs": self.run.snapshots}
