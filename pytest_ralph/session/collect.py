"""Collection: which files are specs, and in which order their tasks run."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.files import SPECS_NAME, TASKS_NAME
from pytest_ralph.session.discovery import (
    SpecIdentity,
    argument_path,
    find_below,
    find_specs,
    identity_of,
    is_markdown,
    look_in_specs,
    with_known_paths,
)
from pytest_ralph.session.header import lines_about_specs, missing_executors, mode_line
from pytest_ralph.session.items import SpecFile, TaskItem, task_items
from pytest_ralph.session.specs import similar_ini_key
from pytest_ralph.spec.current_spec import current_spec

if TYPE_CHECKING:
    import warnings
    from collections.abc import Generator

    from pytest_ralph.session.header import SelectedTasks
    from pytest_ralph.session.run import Run


def asks_for_ralph(config: pytest.Config) -> bool:
    """Return whether the command line, as opposed to the ini file, asks for a ralph run."""
    option = config.option
    return bool(option.ralph or option.ralph_recovery or option.ralph_execute)


class SpecCollection:
    """Collects specs, orders their tasks, and checks the specs before the first task runs."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._errors_in_specs = 0
        self._errors_elsewhere = 0
        # The directory of smart-ralph's current spec, if that is what is run.
        self._current: Path | None = None
        # The path under which each spec is collected.
        self._collected: dict[SpecIdentity, Path] = {}
        # The files with items and their directories, also if all items were deselected later.
        self._with_items: set[Path] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Also look in `specs/` if neither the command line nor `testpaths` leads to a spec.

        With a ralph option but no path on the command line, smart-ralph's current spec is run.
        """
        config = session.config
        if config.args_source is pytest.Config.ArgsSource.ARGS:
            config.args[:] = with_known_paths(config)
            return
        current = current_spec(config.invocation_params.dir)
        if current is not None and asks_for_ralph(config):
            config.args[:] = [os.path.relpath(current, config.invocation_params.dir)]
            self._current = current
            return
        look_in_specs(config)

    def pytest_report_header(self) -> list[str]:
        lines = [mode_line(self.run)]
        if self._current is not None:
            lines.append(f"ralph: current spec {self.run.specs.relative(self._current)}")
        return [*lines, *missing_executors(self.run)]

    def pytest_report_collectionfinish(self, items: list[pytest.Item]) -> list[str]:
        selected: dict[Path, SelectedTasks] = {}
        for item in items:
            if isinstance(item, TaskItem):
                _, tasks = selected.setdefault(item.path, (item.parent.spec, []))
                tasks.append(item.task)
        return lines_about_specs(self.run, selected.values())

    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        """Add to pytest's warning of an unknown ini key which key may be meant."""
        text = str(warning_message.message).strip()
        key = text.removeprefix("Unknown config option: ")
        if self.run.worker or key == text or not key.startswith("ralph"):
            return
        similar = similar_ini_key(key)
        if similar:
            self.run.messages.note(f"unknown ini key {key} (did you mean {similar}?)")

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> SpecFile | None:
        is_named = is_markdown(file_path.name) and parent.session.isinitpath(file_path)
        if not is_named and file_path.name != TASKS_NAME:
            return None
        known_path = self._known_path(parent.config, file_path)
        if known_path == file_path:
            return SpecFile.of(parent, file_path, self.run)
        if not self.run.worker:
            path = self.run.specs.relative(file_path)
            same = self.run.specs.relative(known_path)
            self.run.messages.note(f"{path} is the same file as {same}: it runs once")
        return None

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Add specs that pytest passes over because they are pipes, devices or sockets.

        Their collection fails with a message that says so.
        """
        report = yield
        if isinstance(collector, pytest.Directory) and report.passed:
            file = collector.path / TASKS_NAME
            if file.exists() and not file.is_file() and not file.is_dir():
                report.result = [*report.result, SpecFile.of(collector, file, self.run)]
        return report

    def _known_path(self, config: pytest.Config, path: Path) -> Path:
        """Return the path under which the spec at `path` is collected."""
        identity = identity_of(path)
        if identity not in self._collected:
            self._collected[identity] = path
            if Path(os.path.realpath(path)) != path:
                # pytest also follows links; the spec itself may be collected later.
                self._collected.update((identity_of(one), one) for one in find_specs(config))
        return self._collected[identity]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._restore_order(session.items)
        self._report_missing_specs(session)

    def _restore_order(self, items: list[pytest.Item]) -> None:
        """Put the tasks of each spec into the order of its plan.

        Other plugins may have shuffled the items. The positions that a spec has stay its own.
        """
        positions: dict[SpecFile, list[int]] = defaultdict(list)
        for position, item in enumerate(items):
            if isinstance(item, TaskItem):
                positions[item.parent].append(position)

        for spec_file, own_positions in positions.items():
            order = self.run.specs.plan(spec_file.spec).order
            rank = {task.name: number for number, task in enumerate(order)}
            own_items = [items[position] for position in own_positions]
            own_items.sort(key=lambda item: rank[item.name])
            for position, item in zip(own_positions, own_items, strict=True):
                items[position] = item

    def _report_missing_specs(self, session: pytest.Session) -> None:
        """Report arguments in which no spec was found, since pytest does not."""
        if session.testsfailed:
            return
        if session.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
            self._report_hidden_specs(session)
            return
        if session.config.getoption("lf", False):
            # pytest does not even collect files in which nothing failed.
            return
        is_without_path = session.config.args_source is not pytest.Config.ArgsSource.ARGS
        must_find_spec = is_without_path and asks_for_ralph(session.config)
        for argument in session.config.args:
            path = argument_path(session.config, argument)
            if must_find_spec or path not in self._with_items:
                self._report_without_spec(session.config, argument, path)

    def _report_without_spec(self, config: pytest.Config, argument: str, path: Path) -> None:
        """Report a directory without any spec, and refuse a file that cannot be one."""
        if path.is_dir():
            if not any(find_below(config, path)):
                self.run.messages.note(f"no {TASKS_NAME} in {argument}")
        elif path.is_file() and not is_markdown(path.name) and path.suffix.lower() != ".py":
            raise pytest.UsageError(f"{argument} is not a spec (expected a Markdown file)")

    def _report_hidden_specs(self, session: pytest.Session) -> None:
        """Name the specs outside `testpaths` if there is none below it."""
        config = session.config
        if any(find_specs(config)):
            return
        looked_in = ", ".join(config.args)
        # A link may lead to a large directory, which pytest was not asked to search.
        elsewhere = next(find_below(config, config.rootpath, follow_links=False), None)
        if elsewhere is None:
            self.run.messages.note(f"no {TASKS_NAME} below {looked_in} (testpaths) or {SPECS_NAME}")
            return
        directory = self.run.specs.relative(elsewhere.parent)
        self.run.messages.note(
            f"no {TASKS_NAME} below {looked_in} (testpaths), but one in {directory}: "
            f"run pytest --ralph {directory}"
        )

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.failed:
            if report.result and isinstance(report.result[0], pytest.Item):
                path = report.result[0].path
                self._with_items.update((path, *path.parents))
            return
        if is_markdown(report.nodeid):
            self._errors_in_specs += 1
        else:
            self._errors_elsewhere += 1

    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Check the specs before anything runs. In an xdist run the controller does that."""
        if self._errors_in_specs and not self._errors_elsewhere:
            # One spec that cannot be used does not keep the others from running.
            session.config.option.continue_on_collection_errors = True
        if session.config.option.collectonly:
            return
        items = task_items(session)
        if not self.run.worker:
            specs = {item.path: item.parent.spec for item in items}
            self.run.preflight.check(specs.values())
        for item in items:
            self.run.groups.select(item.path, item.task)
