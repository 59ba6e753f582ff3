"""The directory through which the processes of one run share data: controller and workers.

A worker on another machine does not find the controller's directory. It creates its own and
shares it with the workers on the same machine.
"""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING

from pytest_ralph.files import (
    RALPH_DIRECTORY,
    RUNS_NAME,
    FileLock,
    lasting_directory,
    spec_key,
)
from pytest_ralph.session.locks import TurnLock

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.healing.takeover_log import TakeoverLog
    from pytest_ralph.session.xdist.worker_input import WorkerInput

# The file that the controller locks as long as it lives, in the directory that it created.
CONTROLLER_NAME = "controller"
# Marks a directory in a project that had no `.ralph`.
NEW_NAME = "new"


class RunDirectory:
    """The shared directory of a run, as one of its processes sees it.

    with_controller: Whether the controller created the directory, so that its files are ours too.
    """

    def __init__(self, root: Path, run_id: str, worker: WorkerInput | None) -> None:
        self.path = lasting_directory(root, RUNS_NAME) / run_id
        self.with_controller = (self.path / CONTROLLER_NAME).exists()
        self._root = root
        self._worker = worker
        self._life: FileLock | None = None
        self._turn = TurnLock(self.path, "turn")
        self._has_turn = False

    @property
    def is_elsewhere(self) -> bool:
        """Whether this is a worker that has only a copy of the project."""
        return self._worker is not None and not self.with_controller

    def create(self) -> None:
        """Create the directory; the controller does before it starts a worker."""
        is_new = not (self._root / RALPH_DIRECTORY).exists()
        self.path.mkdir(parents=True, exist_ok=True)
        if self._worker is None:
            self._lock()
        elif is_new:
            (self.path / NEW_NAME).touch()

    def _lock(self) -> None:
        """Keep other runs from removing the directory."""
        file = self.path / CONTROLLER_NAME
        # It is there for each worker but the first, unless an executor removed it.
        if not file.exists():
            self._life = FileLock(file)
            self._life.acquire()

    def sweep(self) -> None:
        """Remove the directories of runs whose controller was killed."""
        for file in self.path.parent.glob(f"*/{CONTROLLER_NAME}"):
            # Not by a process id: the controller may run in another container.
            with contextlib.suppress(OSError), FileLock(file, timeout=0, required=True):
                shutil.rmtree(file.parent, ignore_errors=True)

    def remove(self) -> None:
        """Remove the directory with everything in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._life is not None:
            self._life.release()
            self._life = None

    @property
    def budget(self) -> Path:
        """The file in which all workers count executor runs."""
        return self.path / "budget"

    @property
    def outages(self) -> Path:
        """The file in which all workers note the executors that are not used any more."""
        return self.path / "outages"

    def takeover_log(self, spec_path: Path) -> TakeoverLog:
        """Return what has become of the tasks of a spec in this run."""
        from pytest_ralph.healing.takeover_log import TakeoverLog

        path = self.path / spec_key(spec_path)
        if self._worker is None:
            return TakeoverLog(path)
        worker_id = self._worker.worker_id
        if self._worker.every_spec:
            # No worker takes over from another.
            path = path.with_name(f"{path.name}-{worker_id}")
        return TakeoverLog(path, worker_id)

    def take_turn(self) -> None:
        """Wait until no other worker writes specs; nobody else can until `end_turn`."""
        if not self._has_turn:
            self._turn.__enter__()
            self._has_turn = True

    def end_turn(self) -> None:
        """Let another worker write specs."""
        if self._has_turn:
            self._turn.__exit__()
            self._has_turn = False

    # The processes of each worker, which the controller ends if the worker dies.

    def register_worker(self) -> None:
        """Record that this worker shares the directory with the controller, or create another."""
        if self.with_controller:
            self._own_marks.touch()
        else:
            self.create()

    def record_mark(self, mark: int) -> None:
        """Record the mark that processes started by this worker carry."""
        self.create()
        with self._own_marks.open("a", encoding="utf-8") as file:
            file.write(f"{mark}\n")

    def marks_of(self, worker: str) -> list[int]:
        """Return the marks of the processes that a worker may have started."""
        with contextlib.suppress(OSError):
            return [int(word) for word in self._marks(worker).read_text(encoding="utf-8").split()]
        return []

    def is_shared_with(self, worker: str) -> bool:
        """Return whether that worker writes its files where this process reads them."""
        return self._marks(worker).exists()

    def _marks(self, worker: str) -> Path:
        return self.path / f"{worker}.marks"

    @property
    def _own_marks(self) -> Path:
        assert self._worker is not None
        return self._marks(self._worker.worker_id)

    # Ending all workers after -x, --maxfail or Ctrl-C.

    def call_off(self) -> None:
        """Ask all workers to start no further task."""
        self._signal("off")

    @property
    def is_called_off(self) -> bool:
        return (self.path / "off").exists()

    def interrupt(self) -> None:
        """Ask all workers to end what runs, too."""
        self._signal("off")
        self._signal("interrupt")

    @property
    def is_interrupted(self) -> bool:
        return (self.path / "interrupt").exists()

    def _signal(self, name: str) -> None:
        if self.path.is_dir():
            (self.path / name).touch()
