"""One spec being worked on: its document, state and progress.

Every change reads the file again first, so that what somebody else wrote meanwhile is kept, and is made under one
lock, so that the tasks of a [P] group do not race. The document is the truth: it is written first, and the state is
brought in line with it at the start of each run.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.disk import step, sweep, write_whole
from pytest_ralph.spec import edit, progress
from pytest_ralph.spec.document import Spec
from pytest_ralph.spec.state import STATE_NAME, State, current_index

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.spec.order import Plan
    from pytest_ralph.spec.task import Task

PROGRESS_NAME = ".progress.md"
# The status of a fix task that was carried out; whether it helped is for the original's Verify to say.
EXECUTED = "executed"


class Workspace:
    """A spec, and the only hands that ever write into it."""

    def __init__(self, spec: Spec, plan: Plan, *, verify: Mapping[str, str] | None = None) -> None:
        self.spec = spec
        self.plan = plan
        self.state = State.load(spec.directory / STATE_NAME)
        self.lock = threading.RLock()
        self.failed: dict[str, str] = {}
        self._verify = verify
        # Unknown until first read here: in a worker, the spec at hand is the controller's copy.
        self._signature: tuple[int, ...] = ()

    @property
    def own_files(self) -> tuple[Path, ...]:
        """What is ours to write; a rollback or a commit of somebody's work treats them apart."""
        return self.spec.path, self.state.path, self.progress_path

    @property
    def progress_path(self) -> Path:
        return self.spec.directory / PROGRESS_NAME

    def reload(self) -> Spec:
        """The document as it is on disk now; read again only if somebody wrote it."""
        signature = _signature(self.spec.path)
        if signature != self._signature:
            self.spec = Spec.load(self.spec.path, verify=self._verify)
            self._signature = signature
        return self.spec

    def start(self, base_path: str) -> list[str]:
        """A run in recovery mode begins: the state comes to say what the document says. What was changed."""
        for path in self.own_files:
            sweep(path)
        said = []
        if self.state.exists:
            said = self.state.start_run()
        else:
            self.state.create(name=self.spec.name, base_path=base_path, tasks=self.spec.tasks)
        self.state.recovery_mode = True
        said += self.state.reconcile(self.spec.tasks)
        self.state.save()
        return said

    # Fix tasks

    def waiting_fix(self, original: Task) -> Task | None:
        """A fix of `original` that waits in the document for somebody to carry it out."""
        mine = (task for task in self.reload().tasks if task.fix_for == original.id and not task.checked)
        return next((task for task in mine if self.state.status(task.id) != EXECUTED), None)

    def open_fix(self, original: Task) -> Task | None:
        """The fix that waits, taken up: it counts as one of this run."""
        fix = self.waiting_fix(original)
        if fix is not None and fix.id not in self.fixes_of(original):
            self.state.use_again(original.id)
            self.state.save()
        return fix

    def fixes_of(self, task: Task) -> tuple[str, ...]:
        """The fixes made for a task in this run (and in one that was cut off, which this one goes on with)."""
        made = self.state.fixes_attempted(task.id)
        return self.state.fix_ids(task.id)[-made:] if made else ()

    def next_id(self, original: Task) -> str:
        return edit.next_fix_id(self.reload(), original.id, self.state.all_fix_ids())

    def insert(self, original: Task, fix_id: str, block: str, error: str, *, counts: bool = True) -> Task:
        """Write one fix task after the last fix of its original. First the document, then the state."""
        with self.lock:
            spec = self.reload()
            source = edit.insert_task(spec, spec.get(original.id) or original, block)
            total = spec.front_matter.get("total_tasks")
            if isinstance(total, int):
                source = edit.set_total(source, total + 1)
            write_whole(spec.path, source)
            step("between document and state")
            self.reload()
            self.state.record_fix(original.id, fix_id, error, counts=counts)
            self.state.save()
            return self.spec[fix_id]

    def executed(self, fix: Task) -> None:
        """A fix was carried out: it is not used again, whether it helped or not."""
        with self.lock:
            self.state.set_status(fix.id, EXECUTED)
            self.state.save()

    # Attempts

    def attempt_failed(self, task: Task, failure: Failure, number: int, most: int) -> None:
        with self.lock:
            self.state.begin_attempt(task.id, most, number)
            self.state.attempt_failed(task.id, failure.kind, failure.error)
            self.state.save()

    def passed(self, task: Task, most: int) -> tuple[str, ...]:
        """Tick the task and the open fixes of its lineage; which fixes it took."""
        with self.lock:
            spec = self.reload()
            fixes = [fix for fix in edit.lineage(spec, task.id) if fix.verify.checks == task.verify.checks]
            newly = [one for one in (spec.get(task.name) or task, *fixes) if not one.checked]
            # The log before the box: cut off in between, the task is verified again, and nothing is missing in the end.
            self._log_progress(task, newly, "", "PASS")
            self._tick(newly)
            if self.state.status(task.id) == "running":
                self.state.begin_attempt(task.id, most, len(self.fixes_of(task)) + 1)
            for one in (task, *fixes):
                self.state.task_passed(one.id)
            self.state.set_number("taskIndex", current_index(self.spec.tasks))
            self.state.save()
            return self.state.fix_ids(task.id)

    def _tick(self, tasks: Sequence[Task]) -> None:
        source = self.spec.source
        for task in tasks:
            source = edit.tick(source, task)
        if source == self.spec.source:
            return
        write_whole(self.spec.path, source)
        names = {task.name for task in tasks}
        ticked = tuple(replace(task, checked=True) if task.name in names else task for task in self.spec.tasks)
        # No line has moved, so nothing needs to be read again.
        self.spec = replace(self.spec, source=source, tasks=ticked)
        self._signature = _signature(self.spec.path)

    def gave_up(self, task: Task, final: str) -> None:
        with self.lock:
            self.failed[task.name] = final
            if not self.state.exists:
                return
            self._log_progress(task, (), "", f"FAIL ({final})" if final else "")
            self.state.task_failed(task.id)
            self.state.save()

    def committed(self, task: Task, commit: str) -> None:
        with self.lock:
            self._log_progress(task, (task,), commit, "")

    # Progress

    def learnings(self) -> list[str]:
        return progress.learnings(self._progress())

    def _progress(self) -> str:
        try:
            return self.progress_path.read_bytes().decode("utf-8", "surrogateescape")
        except FileNotFoundError:
            return ""

    def _log_progress(self, task: Task, done: Iterable[Task], commit: str, final: str) -> None:
        before = text = self._progress()
        for one in done:
            text = progress.completed(text, one.id, one.title, commit)
        if final and (fixes := self.state.fix_ids(task.id)):
            text = progress.fixes(text, task.id, fixes, final)
        if text != before:
            write_whole(self.progress_path, text)

    @property
    def complete(self) -> bool:
        return bool(self.spec.tasks) and all(task.checked for task in self.spec.tasks)


def _signature(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino
