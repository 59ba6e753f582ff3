"""From paths to items: which files are specs, and in which order their tasks run."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.discovery import SPEC_NAME, find_below
from pytest_ralph.items import SpecFile, TaskItem

if TYPE_CHECKING:
    from pytest_ralph.session import Run


class Collecting:
    """Registered for a run with `--ralph`."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> SpecFile | None:
        named = file_path.suffix.lower() == ".md" and parent.session.isinitpath(file_path)
        return SpecFile.of(parent, file_path, self.run) if named or file_path.name == SPEC_NAME else None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """A directory that was named for its spec and has none: say so, as pytest says nothing."""
        found = {parent for item in session.items for parent in item.path.parents}
        for argument in session.config.args:
            path = Path(session.config.invocation_params.dir, argument)
            if path.is_dir() and path not in found and not any(find_below(session.config, path)):
                self.run.note(f"no {SPEC_NAME} in {argument}")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Where a task depends on a later one, the later one goes first; all else stays where it is."""
        ordered: list[pytest.Item] = []
        for parent, together in groupby(items, key=lambda item: item.parent if isinstance(item, TaskItem) else None):
            batch = list(together)
            if isinstance(parent, SpecFile):
                place = {task.name: at for at, task in enumerate(self.run.plan(parent.spec).order)}
                if [place[item.name] for item in batch] != sorted(place[item.name] for item in batch):
                    batch.sort(key=lambda item: place[item.name])
            ordered += batch
        items[:] = ordered

    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Before anything runs: hold the specs, and refuse a plan that cannot be carried out."""
        if session.config.option.collectonly:
            return
        tasks = [item for item in session.items if isinstance(item, TaskItem)]
        if not self.run.handed:
            self.run.holding.hold({item.path: item.parent.spec for item in tasks}.values())
        for item in tasks:
            self.run.groups.select(item.path, item.task)
