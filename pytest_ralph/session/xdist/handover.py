"""What the controller of a pytest-xdist run gives to each worker before it starts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest

    from pytest_ralph.session.run import Run

KEY = "ralph"


class Handover(NamedTuple):
    """What a worker knows of the run that it belongs to.

    specs: The text of each spec as it was at the start, by its path in the project. A worker that
        replaces a dead one must collect the same tasks in the same order, whatever tasks.md
        contains by then.
    every_spec: Whether each worker runs every spec (`--dist=each`). xdist does not tell workers.
    project: The name of the project's directory, which xdist gives to a copy of it, too.
    """

    run_id: str
    worker_id: str
    specs: Mapping[str, str]
    every_spec: bool
    project: str

    @classmethod
    def received(cls, config: pytest.Config) -> Handover | None:
        """Return what this worker was given; None in a controller and without workers."""
        given: dict[str, Any] = getattr(config, "workerinput", {})
        if KEY not in given:
            return None
        data = given[KEY]
        return cls(
            data["run"], given["workerid"], data["specs"], data["every_spec"], data["project"]
        )

    def find_project(self, root: Path) -> Path:
        """Return the root of the project.

        pytest takes the directory around a copy without an ini file for the root.
        """
        copy = root / self.project
        is_around = any((copy / spec).exists() for spec in self.specs)
        is_root = any((root / spec).exists() for spec in self.specs)
        return copy if is_around and not is_root else root


def send(node: Any, run: Run, *, every_spec: bool) -> None:
    """Add the data for a worker to what xdist sends it at its start."""
    node.workerinput[KEY] = {
        "run": run.id,
        "project": run.root.name,
        # A worker may run on another version of Python: see `plugin._fix_import_path`.
        "python": sys.implementation.cache_tag,
        "specs": dict(run.specs.snapshots),
        "every_spec": every_spec,
    }
