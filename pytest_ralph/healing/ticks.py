"""The tasks that a run ticked after it had changed files, kept so that an undo can reopen them.

They are in the directory of the run for copies of changed files, one JSON object per line.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.files import append_json, read_json_lines
from pytest_ralph.spec.task import Task
from pytest_ralph.verify.model import Verify

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.healing.services import Services
    from pytest_ralph.healing.spec_files import SpecFiles

LIST_NAME = "ticks"


class Tick(NamedTuple):
    """A task that was ticked, as it was before.

    spec_path: The path of its tasks.md, relative to the root directory of the project.
    owner: The name under which changes made for the task are recorded.
    """

    spec_path: str
    owner: str
    task: Task


def record_tick(services: Services, spec_files: SpecFiles, task: Task) -> None:
    """Record a task that has passed, if it was open before and its run has changed files.

    It may rest on these changes, even if they were made for another task. A fix is left out: that
    it was carried out stays true after an undo.
    """
    if task.checked or task.fix_for or not services.backups.is_dir():
        return
    # Imported here: a run that changes no file does not need it.
    from pytest_ralph.fixing.change_log import has_changes

    if not has_changes(services.backups):
        return
    owner = spec_files.record_name(task)
    spec_path = os.path.relpath(spec_files.spec.path, services.root)
    # Masked: this must not become a second place of a secret that the plan holds.
    title = services.mask(task.title)
    verify = services.mask(task.verify.text)
    # Without the record the task only stays ticked, which is no reason to fail it now.
    with contextlib.suppress(OSError):
        append_json(services.backups / LIST_NAME, [spec_path, owner, task.name, title, verify])


def read_ticks(directory: Path) -> list[Tick]:
    """Return the ticks that the run with this directory recorded, oldest first."""
    ticks = []
    for spec_path, owner, name, title, verify in read_json_lines(directory / LIST_NAME):
        ticks.append(Tick(spec_path, owner, Task(name, title, verify=Verify(text=verify))))
    return ticks
