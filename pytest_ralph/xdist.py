"""Many workers: a spec is never split over them, and a worker that takes over knows what was before it.

The controller finds the specs, locks them, and hands every worker a copy of each document as it was at the start:
a worker that replaces a dead one must collect the same tasks in the same order, whatever tasks.md says by then.
"""

from __future__ import annotations

import fnmatch
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from pytest_ralph.items import SPEC_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def find_specs(config: pytest.Config) -> Iterator[Path]:
    """Every tasks.md below the given paths, and every other markdown file given by name."""
    for argument in config.args:
        path = Path(config.invocation_params.dir, argument.partition("::")[0])
        if path.is_file() and path.suffix.lower() == ".md":
            yield path
        elif path.is_dir():
            yield from _below(path, config.getini("norecursedirs"))


def _below(top: Path, skipped: list[str]) -> Iterator[Path]:
    for directory, names, files in os.walk(top):
        names[:] = sorted(name for name in names if not any(fnmatch.fnmatch(name, pattern) for pattern in skipped))
        if SPEC_NAME in files:
            yield Path(directory, SPEC_NAME)


class Ledger:
    """What became of each task in this run, for a worker that takes over a spec in the middle.

    One line is one write in append mode: it is there when the worker is killed the moment after.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def failed(self) -> list[str]:
        """Tasks that failed, or that were begun by a worker that never came to their end."""
        told: dict[str, str] = {}
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                name, outcome = json.loads(line)
                told[name] = outcome
        return [name for name, outcome in told.items() if outcome in ("begun", "failed", "regression")]

    def begun(self, name: str) -> None:
        self._append(name, "begun")

    def ended(self, name: str, outcome: str) -> None:
        self._append(name, outcome)

    def _append(self, name: str, outcome: str) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, (json.dumps([name, outcome]) + "\n").encode())
        finally:
            os.close(descriptor)
