"""What is wrong with specs: for `--ralph-lint`, which runs nothing, and told at collection with `-v`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph.files import HISTORY_NAME
from pytest_ralph.healing.task_run import task_timeout
from pytest_ralph.session.discovery import find_specs
from pytest_ralph.session.items import WARNED, TaskItem
from pytest_ralph.session.setting_sources import front_matter_layer, ini_layer
from pytest_ralph.settings import RUN_WIDE, SettingError, read_settings
from pytest_ralph.spec.document import Spec, SpecError
from pytest_ralph.spec.lint import Finding, format_github, format_text, lint

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_ralph.session.run import Run
    from pytest_ralph.spec.task import Task

LIMITS_SHOWN = 8


def lint_specs(config: pytest.Config) -> int:
    """Write every finding; 1 if one is an error, 5 if there is no spec to look at."""
    from _pytest.config import (
        create_terminal_writer,
    )  # before a run begins, a config has no public way to a writer

    try:
        settings = read_settings(ini_layer(config))
    except SettingError as error:
        raise pytest.UsageError(str(error)) from None
    writer = create_terminal_writer(config)
    specs = list(find_specs(config))
    if not specs:
        writer.line(f"no tasks.md below {', '.join(config.args)}")
        return int(pytest.ExitCode.NO_TESTS_COLLECTED)
    github = config.getoption("ralph_lint") == "github"
    found = [(path, finding) for path in specs for finding in findings(path, settings.verify)]
    for path, finding in found:
        line = (format_github if github else format_text)(finding, shown_path(config, path))
        severe = finding.severity == "error"
        writer.line(line, red=severe and not github, yellow=not severe and not github)
    errors = sum(finding.severity == "error" for _, finding in found)
    writer.line(
        f"{_count(len(specs), 'spec')}, {_count(errors, 'error')}, {_count(len(found) - errors, 'warning')}"
    )
    return int(pytest.ExitCode.TESTS_FAILED if errors else pytest.ExitCode.OK)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def shown_path(config: pytest.Config, path: Path) -> str:
    return (
        path.relative_to(config.rootpath).as_posix()
        if path.is_relative_to(config.rootpath)
        else str(path)
    )


def findings(path: Path, verify: Mapping[str, str]) -> list[Finding]:
    """What is wrong with one spec, by line; a file that cannot be read is a finding too."""
    try:
        spec = Spec.load(path, verify=verify)
    except SpecError as error:
        return [Finding(error.line, "unreadable", error.message, "error")]
    return sorted([*_of_settings(spec), *lint(spec)])


def _of_settings(spec: Spec) -> Iterator[Finding]:
    for name in RUN_WIDE & spec.settings.keys():
        yield Finding(
            spec.setting_lines[name], "setting", f"`{name}` is for the whole run: not heeded here"
        )
    try:
        read_settings(front_matter_layer(spec, ""))
    except SettingError as error:
        _, line, message = str(error).split(":", 2)
        yield Finding(int(line), "setting", message.strip(), "error")


class Telling:
    """Registered with `-v`: what is wrong with the specs that were collected, and what the history says of them."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._told = False

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> list[str]:
        chosen: dict[Path, tuple[Spec, list[Task]]] = {}
        for item in items:
            if isinstance(item, TaskItem):
                chosen.setdefault(item.path, (item.parent.spec, []))[1].append(item.task)
        return [line for spec, tasks in chosen.values() for line in self.about(spec, tasks)]

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Workers have no terminal; the controller, which has one, collects nothing."""
        reporter = self.run.config.pluginmanager.getplugin("terminalreporter")
        if self._told or reporter is None:
            return
        self._told = True
        for line in self._by_id(ids):
            reporter.ensure_newline()
            reporter.write_line(line)

    def _by_id(self, ids: Iterable[str]) -> Iterator[str]:
        names: dict[str, set[str]] = {}
        for nodeid in ids:
            path, _, name = nodeid.partition("::")
            names.setdefault(path, set()).add(name)
        for path in names.keys() & self.run.snapshots.keys():
            spec = self.run.load(self.run.root / path)
            yield from self.about(spec, [task for task in spec.tasks if task.name in names[path]])

    def about(self, spec: Spec, tasks: Sequence[Task]) -> Iterator[str]:
        """What a person should know about these tasks of a spec before they run."""
        path = self.run.relative(spec.path)
        others = _lines(spec.tasks) - _lines(tasks)
        for finding in lint(spec, self.run.plan(spec).problems):
            # What is in the list is told as a warning already, with -v and without.
            if finding.code not in WARNED and finding.line not in others:
                yield format_text(finding, path)
        if (self.run.directory / HISTORY_NAME).exists():
            yield from self._risks(spec, path, {task.id for task in tasks})
            yield from self._time_limits(spec, path, tasks)

    def _risks(self, spec: Spec, path: str, chosen: Collection[str]) -> Iterator[str]:
        for risk in self.run.advisor.risks(spec.name):
            if risk.task in chosen and (task := spec.get(risk.task)):
                yield f"{path}:{task.line}: likely to fail: {risk.task}, {risk.chance}, mostly {risk.kind}"

    def _time_limits(self, spec: Spec, path: str, tasks: Iterable[Task]) -> Iterator[str]:
        """Those that would change something: too short by far, or so long that a hang costs dearly."""
        default = self.run.settings_of(spec).timeout
        better = []
        for task in tasks:
            limit = self.run.advisor.time_limit(spec.name, task.id)
            if limit and not limit.seconds <= task_timeout(task, default) <= 2 * limit.seconds:
                better.append(f"{task.id} {limit.seconds:g} s")
        if better:
            more = f" and {len(better) - LIMITS_SHOWN} more" if len(better) > LIMITS_SHOWN else ""
            yield f"{path}: time limits by how long they took before: {', '.join(better[:LIMITS_SHOWN])}{more}"


def _lines(tasks: Iterable[Task]) -> set[int]:
    return {line for task in tasks for line in range(task.line, task.end_line + 1)}
