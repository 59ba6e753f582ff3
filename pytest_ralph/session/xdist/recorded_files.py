"""Changes of a spec's files on another machine, recorded there and repeated in the project.

Not the files are sent but what was done to them: a box ticked, a fix task inserted. Repeating that
keeps what the user wrote into the same files meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ralph.failure.failure import Failure
from pytest_ralph.healing.modification import Modification, ModificationError
from pytest_ralph.healing.spec_files import SpecFiles
from pytest_ralph.spec.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
