"""What the controller gives each worker of pytest-xdist at its start."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_ralph.session.run import Run

# In what xdist sends to a worker at its start, and in what the worker sends at its end.
KEY = "ralph"


class WorkerInput(NamedTuple):
    """What a worker knows of the run that it belongs to: our part of xdist's `workerinput`.

    It travels as a dictionary.

    specs: The text of each spec as it was at the start, by its path in the project. A worker that
        replaces a dead one must collect the same tasks in the same order, whatever tasks.md
        contains by then.
    every_spec: Whether each worker runs every spec (`--dist=each`). xdist does not tell workers.
    project: The name of the project's directory, which xdist gives to a copy of it, too.
    controller: The process id of the controller.
    python: The controller's version of Python: see `plugin._fix_import_path`.
    """

    run_id: str
    worker_id: str
    specs: Mapping[str, str]
    every_spec: bool
    project: str
    controller: int
    python: str | None

    @classmethod
    def of_run(cls, node: Any, run: Run) -> WorkerInput:
        """Return what the controller of a run gives the worker of an xdist node."""
        return cls(
            run_id=run.id,
            worker_id=node.gateway.id,
            specs=dict(run.specs.snapshots),
            every_spec=run.config.getvalue("dist") == "each",
            project=run.root.name,
            controller=os.getpid(),
            python=sys.implementation.cache_tag,
        )

    def find_project(self, root: Path) -> Path:
        """Return the root of the project.

        pytest takes the directory around a copy without an ini file for the root.
        """
        for directory in (root, root / self.project):
            if any((directory / spec).exists() for spec in self.specs):
                return directory
        return root
