"""PlanGuard: undoes what executors edit in the plans of specs.

The plan of their own spec is put back from memory, with the ticks and fix tasks of this process.
The plans of other specs are put back from the copies of the snapshot. A copy on the disk tells the
next run what was edited in one that is killed.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.files import (
    STATE_NAME,
    TASKS_NAME,
    file_signature,
    read_regular,
    replace_if_unchanged,
    spec_key,
    unused_path,
)
from pytest_ralph.fixing.file_state import put_back
from pytest_ralph.healing.document import (
    changed_checks,
    differs_in_ticks_only,
    with_checks_of,
)
from pytest_ralph.spec.document import Spec, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_ralph.fixing.file_state import Change, FileState
    from pytest_ralph.healing.services import Services
    from pytest_ralph.healing.spec_files import SpecFiles
    from pytest_ralph.spec.task import Task

# The plan of a spec while executors are at work.
PLAN_SUFFIX = "-plan.saved"
# How often a plan that another process writes at the same moment is read again.
TRIES = 10
_TICKED = re.compile(rb"\[[xX]\]")


class PlanBefore(NamedTuple):
    """A tasks.md before executor runs.

    `edits` counts what this process inserted or removed itself; `foreign_edits` grows when another
    process writes the file, and is None if it cannot be read.
    """

    tasks: bytes
    edits: int
    foreign_edits: int | None


class PlanEdit(NamedTuple):
    """What an executor did to a file of a spec, and what became of that.

    changes_checks: Whether fields of checks were changed or removed.
    """

    what: str
    changes_checks: bool
    outcome: str = "undone"

    def __str__(self) -> str:
        return f"{self.what}: {self.outcome}"


class PlanGuard:
    """Watches the plan of one spec, and those of others, during executor runs."""

    def __init__(self, services: Services, spec_files: SpecFiles) -> None:
        self.services = services
        self.spec_files = spec_files

    @cached_property
    def path(self) -> str:
        """The path of the plan in the project."""
        return os.path.relpath(self.spec_files.spec.path, self.services.root)

    @property
    def _copy(self) -> Path:
        """The plan before the executor runs, for the case that this process is killed meanwhile."""
        return self.services.tree.backups / _copy_name(self.spec_files.spec)

    def begin(self) -> PlanBefore:
        """Return the plan before this run, or before the first of those that are still at work.

        What a sibling's executor has done to the plan meanwhile must not count as given.
        """
        plans = self.services.tree.plans
        path = self.spec_files.spec.path
        with self.spec_files.lock:
            if path not in plans:
                plans[path] = self._plan_now()
            return plans[path]

    def _plan_now(self) -> PlanBefore:
        foreign_edits = self.spec_files.foreign_edits()
        tasks = b""
        if foreign_edits is not None:
            tasks = self.spec_files.spec.source.encode("utf-8", "surrogateescape")
        return PlanBefore(tasks, self.spec_files.own_edits, foreign_edits)

    def keep_copy(self, before: PlanBefore) -> None:
        """Keep the plan on the disk until the last of the runs has ended."""
        if not self._copy.exists():
            # A disk that cannot be written is reported elsewhere.
            with contextlib.suppress(OSError):
                self._copy.parent.mkdir(parents=True, exist_ok=True)
                self._copy.write_bytes(before.tasks)

    def remove_copy(self) -> None:
        """Remove the copy unless another run is at work."""
        tree = self.services.tree
        with tree.lock, contextlib.suppress(OSError):
            if not tree.active:
                self._copy.unlink()

    def undo_edits(self, before: PlanBefore, task: Task) -> list[PlanEdit]:
        """Undo all edits of tasks.md; return those other than ticks."""
        path = self.spec_files.spec.path
        edits = []
        if not os.path.lexists(path):
            edits.append(PlanEdit(f"removed {path.name}", changes_checks=True))
        with self.spec_files.files():
            foreign_edits = self.spec_files.foreign_edits()
            if before.foreign_edits is None:
                # It could not be read, so what it was is not known.
                return edits
            if foreign_edits == before.foreign_edits:
                return edits
            for _ in range(TRIES):
                seen = file_signature(path)
                edited = b""
                with contextlib.suppress(OSError):
                    edited = read_regular(path)
                # Fix tasks of siblings may have been inserted meanwhile, and boxes ticked.
                text = self.spec_files.with_own_edits(_decoded(before.tasks), before.edits)
                expected = text.encode("utf-8", "surrogateescape")
                if expected == edited:
                    return edits
                only_ticks = differs_in_ticks_only(text, _decoded(edited))
                kept = "" if only_ticks else self._keep_edited(edited, task)
                path.parent.mkdir(parents=True, exist_ok=True)
                if replace_if_unchanged(Path(os.path.realpath(path)), expected, seen):
                    outcome = f"undone, the edited file is kept as {kept}"
                    break
            else:
                # Another process keeps saving it.
                outcome = "not undone"
        if outcome == "not undone" or not only_ticks:
            edits.append(_edit_of(expected, edited, path.name)._replace(outcome=outcome))
        return edits

    def _keep_edited(self, edited: bytes, task: Task) -> str:
        """Keep a tasks.md whose edits are going to be undone; return its path."""
        backups = self.services.tree.backups
        kept = unused_path(backups, f"{self.spec_files.name}-{task.name}-tasks", ".saved")
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(edited)
        return os.path.relpath(kept, self.services.root)

    def edits_in_worktree(self, before: bytes, after: bytes) -> list[PlanEdit]:
        """Return what an executor edited in the plan of its worktree, other than ticks."""
        if differs_in_ticks_only(_decoded(before), _decoded(after)):
            return []
        edit = _edit_of(before, after, self.spec_files.spec.path.name)
        return [edit._replace(outcome="not merged")]

    def losses(self, changes: Iterable[Change]) -> list[Change]:
        """Return which changes of files of specs lose something that is to be put back.

        These are plans that lost lines, and files that are gone. What other files lost, as notes
        do by `git checkout`, is kept for the user.
        """
        lossy = [change for change in changes if _loses_lines(change)]
        self.services.tree.snapshots.keep(lossy)
        return [one for one in lossy if one.deleted or Path(one.path).name == TASKS_NAME]

    def undo_edits_of_others(self, losses: Iterable[Change]) -> Iterator[PlanEdit]:
        """Put back the files of other specs."""
        for change in losses:
            if change.path == self.path:
                continue
            edit = self._put_back(change)
            if edit is not None:
                yield edit

    def _put_back(self, change: Change) -> PlanEdit | None:
        """Put back what one file lost; None if it may be left as it is."""
        root = self.services.root
        if change.deleted:
            if os.path.lexists(root / change.path):
                # Whoever works on that spec has put it back.
                return None
            is_plan = Path(change.path).name == TASKS_NAME
            edit = PlanEdit(f"removed {change.path}", changes_checks=is_plan)
            is_undone = not put_back(root, [change])
        else:
            before = content_of(change.before)
            edit = _edit_of(before, content_of(change.after), change.path)
            if not self.services.has_other_workers:
                is_undone = not put_back(root, [change])
            elif edit.changes_checks:
                is_undone = self._put_back_checks(change.path, before)
            else:
                # What differs may be the work of another worker.
                return None
        return edit if is_undone else edit._replace(outcome="not undone")

    def _put_back_checks(self, path: str, tasks_before: bytes) -> bool:
        """Put back the tasks of another spec whose checks were edited; return whether that is done.

        Other workers may be ticking tasks and inserting fix tasks in the same file.
        """
        place = Path(os.path.realpath(self.services.root / path))
        with contextlib.suppress(OSError, SpecError):
            before = Spec.parse(_decoded(tasks_before), place)
            for _ in range(TRIES):
                seen = file_signature(place)
                now = Spec.parse(_decoded(read_regular(place)), place)
                if replace_if_unchanged(place, with_checks_of(before, now), seen):
                    return True
        return False


def edits_before_kill(root: Path, backups: Path, spec: Spec) -> list[str]:
    """Return lines about fields of checks that changed in runs that were killed.

    Whether the executor or the user changed them cannot be told, so they are not undone.
    """
    lines = []
    for copy in sorted(backups.glob(f"*/{_copy_name(spec)}")):
        edited = spec.source.encode("utf-8", "surrogateescape")
        fields = _changed_fields(copy.read_bytes(), edited, spec.path)
        if not fields:
            copy.unlink()
            continue
        kept = copy.rename(unused_path(copy.parent, f"{spec.name}-before-kill", ".saved"))
        shown = os.path.relpath(kept, root)
        line = (
            f"{', '.join(fields)} changed while an executor was running, in a run that was killed"
        )
        lines.append(f"{line}: compare {spec.path.name} with {shown}")
    return lines


def _copy_name(spec: Spec) -> str:
    """Return the name of the copy of a plan: two specs may share a name."""
    return f"{spec_key(spec.path)}{PLAN_SUFFIX}"


def _edit_of(before: bytes, edited: bytes, path: str) -> PlanEdit:
    """Return what an executor edited in a plan."""
    fields = _changed_fields(before, edited, Path(path))
    if fields:
        return PlanEdit(f"changed {', '.join(fields)} in {path}", changes_checks=True)
    return PlanEdit(f"edited {path}", changes_checks=False)


def _changed_fields(before: bytes, edited: bytes, path: Path) -> list[str]:
    """Return the fields of checks that differ; none if one of the texts is no spec."""
    try:
        old = Spec.parse(before.decode("utf-8", "replace"), path)
        new = Spec.parse(edited.decode("utf-8", "replace"), path)
    except SpecError:
        return []
    return changed_checks(old, new)


def _loses_lines(change: Change) -> bool:
    """Return whether a file of a spec lost lines, other than by ticks."""
    if change.before is None or Path(change.path).name == STATE_NAME:
        return False
    before = _TICKED.sub(b"[ ]", content_of(change.before))
    after = _TICKED.sub(b"[ ]", content_of(change.after))
    # Tasks may have lines in common, such as the same Verify.
    return not Counter(before.splitlines()) <= Counter(after.splitlines())


def content_of(state: FileState | None) -> bytes:
    """Return what a file contained, or where a link led to.

    Nothing if there was no file, or if no copy of it is left.
    """
    if state is None or not state.can_be_put_back:
        return b""
    try:
        return state.content()
    except FileNotFoundError:
        return b""


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")
