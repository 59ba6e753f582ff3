"""SharedPasses: what passed in the workers of a run, and what each of them changed.

A fix must not break a task that has passed in another worker, which may be done with it by now. So
whoever changes a file verifies again what passed in other workers and may need that file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from pytest_ralph.files import append_json, read_json_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path


class SharedEvent(NamedTuple):
    """A task that passed, or whose files were changed, in one of the workers.

    spec_path: The path of its spec in the project.
    files: The files that the task names, or those that were changed.
    """

    kind: Literal["passed", "changed"]
    worker: str
    spec_path: str
    name: str
    files: list[str]

    def needs(self, changed: Collection[str]) -> bool:
        """Whether changed files may matter to the task: its own, or any if it names none."""
        return not self.files or not set(self.files).isdisjoint(changed)


class SharedPasses:
    """A list of events, one JSON array per line, in a file that all workers share."""

    def __init__(self, file: Path, worker: str) -> None:
        self._file = file
        self._worker = worker

    @property
    def position(self) -> int:
        """The end of the list: where events of the future begin."""
        try:
            return self._file.stat().st_size
        except OSError:
            return 0

    def passed(self, spec_path: str, name: str, files: Collection[str]) -> None:
        """Add a task that passed, and the files it names."""
        self._append(SharedEvent("passed", self._worker, spec_path, name, [*files]))

    def changed(self, spec_path: str, name: str, files: Collection[str]) -> None:
        """Add files that were changed for a task."""
        self._append(SharedEvent("changed", self._worker, spec_path, name, [*files]))

    def affected(self, changed: Collection[str]) -> list[SharedEvent]:
        """Return the tasks that passed in other workers and may need the changed files."""
        found: dict[tuple[str, str], SharedEvent] = {}
        for event in self._events_of_others(0):
            if event.kind == "passed" and event.needs(changed):
                found[event.spec_path, event.name] = event
        return list(found.values())

    def is_changed_since(self, position: int, files: Collection[str]) -> bool:
        """Whether other workers changed some of the files, or any if there are none."""
        if self.position == position:
            return False
        for event in self._events_of_others(position):
            if event.kind == "changed" and (not files or event.needs(files)):
                return True
        return False

    def _append(self, event: SharedEvent) -> None:
        append_json(self._file, event)

    def _events_of_others(self, position: int) -> Iterator[SharedEvent]:
        for fields in read_json_lines(self._file, position):
            event = SharedEvent(*fields)
            if event.worker != self._worker:
                yield event
