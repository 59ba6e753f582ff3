"""SpecFiles: the document, the state and the progress file of one spec, and every change to them.

A change reads the file again first, so that edits of other processes are kept, and is made under
one lock, so that the tasks of a [P] group do not race. The document is the truth: it is written
first, and the state is brought in line with it at the start of each run. The state identifies a
task by its name, which unlike its id is unique.
"""

from __future__ import annotations

import errno
import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_ralph.files import PROGRESS_NAME, STATE_NAME, fault_point, spec_key, sweep
from pytest_ralph.healing.document import Document, own_version, with_boxes
from pytest_ralph.healing.errors import SpecFilesError
from pytest_ralph.healing.progress_log import ProgressLog
from pytest_ralph.spec.current_spec import current_spec
from pytest_ralph.spec.document import Spec, SpecError
from pytest_ralph.spec.edit import next_id
from pytest_ralph.spec.fix_tree import has_verify_of
from pytest_ralph.spec.order import Plan, plan
from pytest_ralph.spec.state import State
from pytest_ralph.spec.state_file import StateError
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.healing.modification import Modification
    from pytest_ralph.results import TaskResult
    from pytest_ralph.spec.task import Task

# The status of a fix task that was carried out, whether it helped or not.
EXECUTED = "executed"
# A file of a spec, or its temporary replacement, whose name begins with one more dot.
_FILE = regex(r"/(?:\.(?=.*\.tmp$))?(\.ralph-state\.json|[^/]+?\.md)(?:\.[0-9a-f-]+\.tmp)?$")


class SpecFiles:
    """The files of one spec. Nothing else writes into them."""

    def __init__(
        self,
        spec: Spec,
        plan: Plan,
        *,
        verify: Mapping[str, str] | None = None,
        state: State | None = None,
    ) -> None:
        self.plan = plan
        self.state = state or State.load(spec.directory / STATE_NAME)
        self.lock = threading.RLock()
        # How many `with` statements hold the lock: one method may call another.
        self._depth = 0
        # Whether a task that passes is committed after it is ticked.
        self.commits = False
        # Verifications of one task at most: the first, and one after each fix.
        self.max_attempts = 1
        # Names of tasks that failed in this run, and how.
        self.failed: dict[str, str] = {}
        # Names of tasks that passed and were not ticked, and why.
        self.not_ticked: dict[str, str] = {}
        # How many executors are at work on the spec, and how many of them in the project itself.
        self._holds = 0
        self._watched = 0
        self._document = Document(spec, verify)
        self._log = ProgressLog(spec.directory / PROGRESS_NAME)
        # Where each file really was when the run began, and what told its directory from others.
        self._places = {str(path): os.path.realpath(path) for path in self.own_files}
        self._directory = _identity(spec.directory)

    @property
    def spec(self) -> Spec:
        """The document as it was last read."""
        return self._document.spec

    @property
    def name(self) -> str:
        """The name of the spec."""
        return self.spec.name

    @property
    def e2e_label(self) -> str:
        """The name under which what an E2E startup task starts lives on: specs may share a name."""
        return f"{self.name}-e2e-{spec_key(self.spec.path)}"

    @property
    def own_files(self) -> tuple[Path, ...]:
        """The files that only we write; rollbacks and commits treat them separately."""
        return self.spec.path, self.state.path, self._log.path

    def start(self, base_path: str) -> list[str]:
        """Start a recovery run: bring the state in line with the document; return what changed."""
        for path in self.own_files:
            sweep(path)
        said = []
        with self.files():
            if self.state.exists:
                said = self.state.start_run()
            else:
                self.state.create(name=self.spec.name, base_path=base_path, tasks=self.spec.tasks)
            self.state.recovery_mode = True
            said += self.state.reconcile(self.spec.tasks)
            self.state.save()
        return said

    def is_checked(self, task: Task) -> bool:
        """Whether the task is checked off by now; at collection it may have been open."""
        with self.files():
            now = self._document.find(task)
        return task.checked if now is None else now.checked

    def was_cut_off(self, task: Task) -> bool:
        """Whether an earlier run was killed while it worked on the task."""
        return self.state.status(task.name) == "running"

    def record_name(self, task: Task | TaskResult) -> str:
        """The name under which changes for a task are recorded: specs may share a name."""
        return f"{self.spec.path}::{task.name}"

    def owner_of(self, fix: Task) -> Task | None:
        """The task that a fix or part was made for."""
        return self._document.owner_of(fix)

    def owners_of(self, fix: Task) -> list[Task]:
        """The task that a fix or part was made for, the task that was made for, and so on."""
        owners: list[Task] = []
        owner = self.owner_of(fix)
        while owner is not None and owner not in owners:
            owners.append(owner)
            owner = self.owner_of(owner)
        return owners

    # Fix tasks

    def use_open_fix(self, target: Task) -> Task | None:
        """The open fix task of `target`, if any; from now on it counts as a fix of this run."""
        with self.files():
            fix = self._open_fix(target)
            if fix is not None and fix.id not in self.state.current_fixes(target.name):
                self.state.use_again(target.name, fix.id)
                self.state.save()
            return fix

    def fixes_of(self, task: Task) -> tuple[str, ...]:
        """The fixes carried out for a task in this run and in the interrupted run it continues."""
        with self.files():
            waiting = self._open_fix(task)
            return tuple(
                fix
                for fix in self.state.current_fixes(task.name)
                if waiting is None or fix != waiting.id
            )

    def unsuccessful_fixes(self, task: Task) -> tuple[str, ...]:
        """The fixes that any run carried out for a task and that did not make it pass."""
        with self.files():
            fixes = self.state.fix_ids(task.name)
            return tuple(fix for fix in fixes if self.state.status(fix) == EXECUTED)

    def parts_of(self, task: Task) -> tuple[Task, ...]:
        with self.files():
            return tuple(fix for fix in self._document.made_for(task) if fix.has_marker("SPLIT"))

    def open_parts(self, task: Task) -> tuple[Task, ...]:
        return tuple(part for part in self.parts_of(task) if self._is_open(part))

    def _open_fix(self, target: Task) -> Task | None:
        fixes = (fix for fix in self._document.made_for(target) if not fix.has_marker("SPLIT"))
        return next((fix for fix in fixes if self._is_open(fix)), None)

    def _is_open(self, fix: Task) -> bool:
        return not fix.checked and self.state.status(fix.name) != EXECUTED

    def next_id(self, target: Task) -> str:
        """An id for the next fix or part of a task; ids never repeat."""
        with self.files():
            return next_id(target.id, self._known_ids())

    def _known_ids(self) -> set[str]:
        """Every id that a task has, or that a fix or part ever had."""
        return {task.id for task in self._document.read().tasks}.union(self.state.used_ids())

    def insert_fix(self, target: Task, fix_id: str, block: str, error: str) -> Task:
        """Write one fix task after the last fix of its original: document first, then state."""
        with self.files():
            self._document.insert(target, {fix_id: block})
            fault_point("between document and state")
            self.state.record_fix(target.name, fix_id, error)
            self.state.save()
            # As it was inserted: another process may have saved the file without it since.
            return self._document.named(fix_id)

    def insert_parts(self, target: Task, blocks: Mapping[str, str]) -> list[Task]:
        """Write the parts of a task, by their ids: all of them or none."""
        with self.files():
            self._document.insert(target, blocks)
            fault_point("between document and state")
            for part_id in blocks:
                self.state.record_part(target.name, part_id)
            self.state.save()
            return [self.spec[part_id] for part_id in blocks]

    def add_tasks(self, target: Task, modification: Modification) -> list[Task]:
        """Write the tasks that an executor asked for: all of them or none.

        Raise ModificationError if the request cannot be carried out.
        """
        # Imported here: executors rarely ask for tasks.
        from pytest_ralph.healing.modification import PREREQUISITE, ModificationError, numbered

        with self.files():
            limit = self.state.number("maxModificationsPerTask")
            if self.state.modifications(target.name) >= limit:
                raise ModificationError(f"{limit} of them were made for task {target.id}")
            taken = self._known_ids()
            first_free = next_id(target.id, taken)
            blocks = numbered(modification.blocks, self.spec.path, taken, first_free)
            self._document.insert(target, blocks, before=modification.type == PREREQUISITE)
            fault_point("between document and state")
            self.state.record_modification(
                target.name, list(blocks), modification.type, modification.reason
            )
            if self.state.exists:
                self.state.save()
            self.plan = plan(self.spec.tasks)
            return [self.spec[task_id] for task_id in blocks]

    def remove_fix(self, fix: Task) -> bool:
        """Remove a fix task that this run inserted, byte for byte.

        Returns False, and leaves it, if somebody has changed it since.
        """
        with self.files():
            owner = self.owner_of(fix)
            if owner is None or not self._document.remove(fix):
                return False
            self.state.forget_fix(owner.name, fix.id)
            self.state.save()
            return True

    def foreign_edits(self) -> int | None:
        """Return a number that grows when another process writes the document.

        None if the document cannot be read.
        """
        with self.lock:
            try:
                self._document.read()
            except (OSError, SpecError):
                return None
            return self._document.reads

    @property
    def own_edits(self) -> int:
        """How often this process has inserted tasks or removed one."""
        return len(self._document.edits)

    def with_own_edits(self, source: str, since: int) -> str:
        """Return an earlier text of the document with what this process has changed since."""
        for made in self._document.edits[since:]:
            source = made.applied_to(source, self.spec.path)
        return with_boxes(source, self.spec.path, self._document.boxes)

    def executed(self, fix: Task) -> None:
        """Mark a fix, and the fixes it was made for, as carried out: none of them is used again."""
        with self.files():
            for one in (fix, *self.owners_of(fix)):
                if one.fix_for:
                    self.state.set_status(one.name, EXECUTED)
                if one.has_marker("SPLIT"):
                    # A part does not complete its whole.
                    break
            self.state.save()

    def did_not_help(self, fix_id: str, failure: Failure) -> None:
        """Record that a fix claimed success and its original still fails."""
        with self.files():
            self.state.attempt_failed(fix_id, "verification_mismatch", failure.error)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Put back files that are removed while an executor is at work in the project."""
        with self.lock:
            self._watched += 1
        try:
            yield
        finally:
            with self.lock:
                self._watched -= 1

    @contextmanager
    def held(self, root: Path, run_id: str) -> Iterator[None]:
        """Keep smart-ralph's Stop hook from taking over the agent that runs meanwhile.

        The hook reads the state of the current spec, which may be another one.
        """
        state = self._state_of_hook(root)
        if state is None or state.awaits_approval:
            yield
            return
        with self.files():
            state.hold(run_id)
            state.save()
            self._holds += 1
        try:
            yield
        finally:
            with self.files():
                self._holds -= 1
                if not self._holds:
                    state.release()
                    state.save()

    def _state_of_hook(self, root: Path) -> State | None:
        """The state that smart-ralph's Stop hook reads; None if there is none to be read."""
        current = current_spec(root)
        if current is None:
            return None
        state = self.state
        if current != self.spec.directory.resolve():
            try:
                state = State.load(current / STATE_NAME)
            except (OSError, StateError):
                return None
        return state if state.exists else None

    # Attempts

    def attempt_failed(self, task: Task, failure: Failure) -> None:
        """Record a failure. It is saved with what follows from it: a fix task, or giving up."""
        with self.files():
            self._begin_attempt(task)
            self.state.attempt_failed(task.name, failure.kind, failure.error)

    def _begin_attempt(self, task: Task) -> None:
        number = len(self.fixes_of(task)) + 1
        self.state.begin_attempt(task.name, self.max_attempts, number)

    def passed(self, task: Task) -> tuple[str, ...]:
        """Tick the task and the open fixes of its lineage; return the fixes it took."""
        with self.files():
            if self.commits:
                self.state.set_uncommitted(task.name, waits=True)
                self.state.save()
            now = self._document.find(task)
            self.not_ticked.pop(task.name, None)
            if now is None:
                self.not_ticked[task.name] = f"it was removed from {self.spec.path.name} meanwhile"
            elif now.verify.checks != task.verify.checks:
                self.not_ticked[task.name] = "its Verify was changed meanwhile"
                now = None
            fixes = self._done_with(task)
            newly = [one for one in (now, *fixes) if one is not None and not one.checked]
            # The log before the box: after a crash in between, the task is verified again.
            self._log.passed(newly, task, self.state.fix_ids(task.name))
            for one in newly:
                self._document.tick(one)
            self._settle(task, fixes)
            return self.state.fix_ids(task.name)

    def tick(self, task: Task) -> None:
        """Tick the box only: --ralph-execute without recovery keeps no state and no progress."""
        sweep(self.spec.path)
        with self.files():
            self._document.tick(task)

    def _done_with(self, task: Task) -> list[Task]:
        """The fixes and parts that are done once the task passes: those without Verify."""
        made = self._document.lineage(task)
        return [fix for fix in made if fix.has_marker("SPLIT") or has_verify_of(fix, task)]

    def _settle(self, task: Task, fixes: Sequence[Task]) -> None:
        failed_before = self.state.status(task.name) == "running"
        if failed_before:
            self._begin_attempt(task)
        for one in (task, *fixes):
            self.state.task_passed(one.name)
        self.state.set_index(self._document.index())
        self.state.save()

    def untick(self, task: Task) -> None:
        """Clear the box of a task that failed: an executor may have ticked it."""
        if not task.checked:
            with self.files():
                self._document.untick(task)

    def take_back(self, task: Task) -> None:
        """Clear the box and the progress of a task that was recorded as passed in this run."""
        if task.checked:
            return
        self.untick(task)
        with self.files():
            self._log.reopened(task)
            if self.state.exists:
                self.state.set_index(self._document.index())
                self.state.save()

    def reopen(self, tasks: Iterable[Task]) -> list[str]:
        """Take back the tasks that are checked off by now; return their names.

        `tasks` are as they were before they were ticked. This is not for use during a run.
        """
        reopened = []
        for task in tasks:
            if self.is_checked(task):
                self.take_back(task)
                reopened.append(task.name)
        with self.files():
            if reopened and self.state.exists:
                self.state.reconcile(self.spec.tasks)
                self.state.save()
        return reopened

    def skipped(self, task: Task) -> None:
        """Record that a task is left as it is: the next run does not continue the work on it."""
        self.untick(task)
        with self.files():
            self.state.set_status(task.name, "pending")
            self.state.save()

    def gave_up(self, task: Task, final: str) -> None:
        self.untick(task)
        with self.files():
            self.failed[task.name] = final
            if not self.state.exists:
                return
            if final:
                self._log.gave_up(task, self.state.fix_ids(task.name), final)
            self.state.task_failed(task.name)
            self.state.save()

    def committed(self, task: Task, commit: str) -> None:
        """Record the commit of a task; an empty one means there was nothing to commit."""
        with self.files():
            if commit:
                self._log.committed(task, commit)
            if self.state.exists:
                self.state.set_uncommitted(task.name, waits=False)
                self.state.save()

    def own_version(self, in_head: bytes) -> bytes:
        """Return the text of the document that HEAD has, with what was written into it since."""
        with self.files():
            now = self._document.read()
            text = in_head.decode("utf-8", "surrogateescape")
            return own_version(text, now, self._document.edits).encode("utf-8", "surrogateescape")

    def learnings(self) -> list[str]:
        with self.files():
            return self._log.learnings()

    @contextmanager
    def files(self) -> Iterator[None]:
        """Hold the lock, and turn errors of the files into a SpecFilesError of one line."""
        with self.lock:
            self._depth += 1
            try:
                if self._depth == 1:
                    self._require_in_place()
                    if self._watched:
                        self._document.put_back_if_gone()
                        self._log.put_back_if_gone()
                yield
            except (SpecError, StateError) as error:
                raise SpecFilesError(
                    f"{error} (it was readable at the start of the run)"
                ) from error
            except OSError as error:
                raise SpecFilesError(_why(error, self.spec.directory)) from error
            finally:
                self._depth -= 1

    def _require_in_place(self) -> None:
        """Raise OSError if a link leads elsewhere since the run began: an executor may do that."""
        has_links = any(map(os.path.islink, self._places))
        if not has_links and _identity(self.spec.directory) == self._directory:
            # Resolving the paths takes twenty times as long.
            return
        for path, place in self._places.items():
            if os.path.realpath(path) != place:
                raise OSError(errno.ELOOP, "it was replaced by a link", path)


def _identity(directory: Path) -> tuple[object, ...]:
    """Return what tells a directory from another one that is put in its place."""
    try:
        status = directory.stat()
    except OSError:
        return ()
    return status.st_dev, status.st_ino, directory.is_symlink()


def _why(error: OSError, directory: Path) -> str:
    """Name the file itself, not the temporary file that was to replace it."""
    found = _FILE.search(str(error.filename or ""))
    name = found[1] if found else "its files"
    reason = error.strerror or error
    return f"{directory.name}: {name} cannot be read or written: {reason}; it is unchanged"
