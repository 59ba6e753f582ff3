"""From paths to items: which files are specs, and in which order their tasks run."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.files import TASKS_NAME
from pytest_ralph.session.discovery import find_below
from pytest_ralph.session.items import SpecFile, TaskItem

if TYPE_CHECKING:
    from pytest_ralph.session.run import Run


class Collecting:
    """Registered for a run with `--ralph`."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> SpecFile | None:
        named = file_path.suffix.lower() == ".md" and parent.session.isinitpath(file_path)
        return (
            SpecFile.of(parent, file_path, self.run)
            if named or file_path.name == TASKS_NAME
            else None
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._put_in_order(session.items)
        self._say_what_is_missing(session)

    def _put_in_order(self, items: list[pytest.Item]) -> None:
        """The tasks of a spec in its own order, whatever others made of it; each place stays with its spec."""
        places: dict[SpecFile, list[int]] = defaultdict(list)
        for place, item in enumerate(items):
            if isinstance(item, TaskItem):
                places[item.parent].append(place)
        for parent, mine in places.items():
            rank = {
                task.name: number for number, task in enumerate(self.run.plan(parent.spec).order)
            }
            ordered = sorted((items[place] for place in mine), key=lambda item: rank[item.name])
            for place, item in zip(mine, ordered, strict=True):
                items[place] = item

    def _say_what_is_missing(self, session: pytest.Session) -> None:
        """What was named for its spec and has none: say so, as pytest says nothing."""
        files = dict.fromkeys(item.path for item in session.items)
        found = {path for file in files for path in (file, *file.parents)}
        for argument in session.config.args:
            path = Path(session.config.invocation_params.dir, argument)
            if path in found or session.testsfailed:
                continue
            if path.is_dir() and not any(find_below(session.config, path)):
                self.run.note(f"no {TASKS_NAME} in {argument}")
            elif path.is_file() and path.suffix.lower() not in (".md", ".py"):
                raise pytest.UsageError(
                    f"{argument} is no spec: that is a {TASKS_NAME} or another markdown file"
                )

    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Before anything runs: hold the specs, and refuse a plan that cannot be carried out."""
        if session.config.option.collectonly:
            return
        tasks = [item for item in session.items if isinstance(item, TaskItem)]
        if not self.run.handed:
            self.run.holding.hold({item.path: item.parent.spec for item in tasks}.values())
        for item in tasks:
            self.run.groups.select(item.path, item.task)
