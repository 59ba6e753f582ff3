"""What a worker on another machine sends home.

With the report of a task it sends the files that executors and repairs changed for the task, each
with the version before, the changes of tasks.md, state and progress, and the logs of the attempts.

Of the files of a spec it sends what was done to them: a box ticked, a fix task inserted. Repeating
that in the project keeps what the user wrote into the same files meanwhile.
"""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any

from pytest_ralph.failure.failure import Failure
from pytest_ralph.fixing.change_log import read_changes
from pytest_ralph.fixing.file_state import new_state, stored_state
from pytest_ralph.healing.guard import SEVERAL
from pytest_ralph.healing.modification import Modification, ModificationError
from pytest_ralph.healing.spec_files import SpecFiles
from pytest_ralph.spec.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytest_ralph.fixing.file_state import FileState
    from pytest_ralph.healing.spec_run import SpecRun
    from pytest_ralph.results import TaskResult
    from pytest_ralph.session.run import Run
    from pytest_ralph.spec.document import Spec

# The methods of SpecFiles that change files.
CHANGING = (
    "use_open_fix",
    "insert_fix",
    "insert_parts",
    "add_tasks",
    "remove_fix",
    "executed",
    "did_not_help",
    "attempt_failed",
    "passed",
    "tick",
    "untick",
    "take_back",
    "skipped",
    "gave_up",
)

# The name of a method and its arguments as plain data.
Operation = list[Any]


class RecordedSpecFiles(SpecFiles):
    """The files of a spec in a copy of the project. `operations` lists all changes of them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.operations: list[Operation] = []

    def take_operations(self) -> list[Operation]:
        """Return the changes since the last call."""
        with self.lock:
            taken = self.operations
            self.operations = []
        return taken


def _recorded(name: str) -> Callable[..., Any]:
    method = getattr(SpecFiles, name)

    def call(self: RecordedSpecFiles, *arguments: Any) -> Any:
        with self.lock:
            known = len(self.operations)
            result = method(self, *arguments)
            # Changes that the method made through others are repeated with it.
            del self.operations[known:]
            self.operations.append([name, *map(_packed, arguments)])
        return result

    return call


for _name in CHANGING:
    setattr(RecordedSpecFiles, _name, _recorded(_name))


def _packed(value: Any) -> Any:
    if isinstance(value, Task):
        return {"task": value.name}
    if isinstance(value, Failure):
        return {"kind": value.kind, "type": value.type, "error": value.error}
    if isinstance(value, Modification):
        return {"modification": [value.type, value.reason, list(value.blocks)]}
    if isinstance(value, dict):
        return {"blocks": dict(value)}
    return value


def repeat(spec_files: SpecFiles, collected: Spec, operations: Sequence[Operation]) -> None:
    """Repeat recorded changes. Those of tasks that the user removed meanwhile are left out.

    `collected` is the spec as it was at the start, whose tasks the methods expect.
    """
    for name, *packed in operations:
        if name not in CHANGING:
            continue
        try:
            arguments = [_unpacked(value, collected, spec_files.spec) for value in packed]
            getattr(spec_files, name)(*arguments)
        except (LookupError, ModificationError):
            continue


def _unpacked(value: Any, collected: Spec, current: Spec) -> Any:
    if not isinstance(value, dict):
        return value
    if "task" in value:
        # A fix task was not there at the start.
        return collected.get(value["task"]) or current[value["task"]]
    if "modification" in value:
        kind, reason, blocks = value["modification"]
        return Modification(kind, reason, tuple(blocks))
    if "blocks" in value:
        return value["blocks"]
    return Failure(**value)


# Larger files are not sent.
MAX_SIZE = 10 * 1024 * 1024
MAX_LOG_SIZE = 1024 * 1024

# The state of a file: content and mode. None stands for no file.
PackedState = list[Any] | None


def pack(state: FileState | None) -> PackedState:
    """Return the state of a file as plain data, without its times."""
    if state is None or not state.can_be_put_back:
        return None
    return [base64.b64encode(zlib.compress(state.content())).decode(), state.mode]


def unpack(packed: PackedState, directory: Path) -> FileState | None:
    """Return the state of a file that `pack` packed; its content is written to `directory`."""
    if packed is None:
        return None
    content, mode = packed
    return new_state(zlib.decompress(base64.b64decode(content)), mode, directory)


class Outbox:
    """Collects what the controller has not received yet."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._backups = run.backups
        # The tasks that were reported, and how many changes of each were sent.
        self._sent = {SEVERAL: 0}

    def collect(self, spec_run: SpecRun, result: TaskResult) -> dict[str, Any]:
        """Return what belongs to the result of a task; empty if nothing was written."""
        own = spec_run.spec_files.record_name(result)
        self._sent.setdefault(own, 0)
        work = {
            "files": self._changed_files(),
            "operations": self._operations(),
            "logs": self._logs(result) if result.changed or result.bad else [],
            "protected": self._protected(own),
        }
        return work if any(work.values()) else {}

    def _changed_files(self) -> list[list[Any]]:
        """Return the files that were changed for tasks which have been reported.

        Each is a list of its path in the project and both versions.
        Those for siblings in a [P] group are sent with the reports of the siblings.
        """
        root = self._run.root
        bases: dict[str, FileState | None] = {}
        for owner, count in self._sent.items():
            changes = read_changes(self._backups, owner)
            for change in changes[count:]:
                bases.setdefault(change.path, change.before)
            self._sent[owner] = len(changes)

        files = []
        for path, base in bases.items():
            now = stored_state(root, path)
            if now is not None and now.size > MAX_SIZE:
                self._run.messages.note(f"{path} is too large to be sent back")
                continue
            files.append([path, pack(base), pack(now)])
        return files

    def _operations(self) -> dict[str, Any]:
        """Return the changes of all specs: a regression may be one of another spec."""
        operations = {}
        for path, spec_run in self._run.spec_runs.items():
            assert isinstance(spec_run.spec_files, RecordedSpecFiles)
            taken = spec_run.spec_files.take_operations()
            if taken:
                operations[self._run.specs.relative(path)] = taken
        return operations

    def _logs(self, result: TaskResult) -> list[list[Any]]:
        root = self._run.root
        names: dict[str, None] = {}
        for attempt in result.attempts:
            names |= {attempt.log: None, attempt.transcript: None}
        names.pop("", None)
        logs = []
        for name in names:
            state = stored_state(root, name)
            if state is not None and state.size <= MAX_LOG_SIZE:
                logs.append([name, pack(state)])
        return logs

    def _protected(self, owner: str) -> list[str]:
        if not self._backups.is_dir():
            return []
        return sorted(self._run.resources.tree.protected.get(owner, ()))
