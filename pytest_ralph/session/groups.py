"""Which of the selected items of a run are siblings in a [P] group, and run at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytest_ralph.healing.spec_run import SpecRun
    from pytest_ralph.results import TaskResult
    from pytest_ralph.session.parallel import Group
    from pytest_ralph.spec.task import Task


class Around(NamedTuple):
    """What a group asks of the run it belongs to."""

    # How many more failures end the run (-x, --maxfail); None where none do.
    tolerance: Callable[[], int | None]
    # Tells the user what goes on, now.
    show: Callable[[Sequence[str]], None]


class Groups:
    """Which of the selected items run together; a group starts when its first item's turn comes."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._selected: dict[tuple[Path, str], Task] = {}
        self._open: dict[tuple[Path, str], Group] = {}
        self._groups: list[Group] = []

    def select(self, spec_path: Path, task: Task) -> None:
        self._selected[spec_path, task.name] = task

    def perform(self, work: SpecRun, task: Task) -> TaskResult:
        path = work.spec_files.spec.path
        group = self._open.pop((path, task.name), None) or self._start(work, task, path)
        return group.result(task) if group else work.perform(task)

    def _start(self, work: SpecRun, task: Task, path: Path) -> Group | None:
        if work.services.settings.jobs < 2 or (path, task.name) not in self._selected:
            return None
        siblings = [
            one for one in work.spec_files.plan.group_of(task) if (path, one.name) in self._selected
        ]
        if len(siblings) < 2:
            return None
        from pytest_ralph.session.parallel import Group

        for one in siblings:
            # Asked for a second time (--reruns), a task runs alone.
            del self._selected[path, one.name]
        group = Group(work, siblings, self._around)
        self._groups.append(group)
        self._open.update({(path, one.name): group for one in siblings if one.name != task.name})
        return group

    def stop(self) -> None:
        for group in self._groups:
            group.stop()

    def close(self) -> None:
        for group in self._groups:
            group.close()
