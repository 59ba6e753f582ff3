"""What workers on other machines send home: merge it into the project, and verify it there."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ralph.files import RALPH_DIRECTORY, SPEC_FILES, temporary_directory
from pytest_ralph.fixing.errors import GitError, RecoveryError
from pytest_ralph.fixing.file_state import Change, write_state
from pytest_ralph.fixing.isolation.patch import keep_patch
from pytest_ralph.healing.ticks import record_tick
from pytest_ralph.session.xdist.outbox import repeat, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pytest_ralph.healing.spec_run import SpecRun
    from pytest_ralph.results import TaskResult
    from pytest_ralph.session.run import Run
    from pytest_ralph.spec.task import Task

# What became of the changes of a task, for the state and the progress file.
NOT_MERGED = "not merged"
# Characters of changes that conflict which an executor is shown.
MOST_OF_DIFF = 1_000_000


class RemoteWork(NamedTuple):
    """What was done for a task in a copy of the project.

    files: The files that were changed, each with the version before.
    protected: Those of them that are tests or configure checks.
    """

    spec_run: SpecRun
    task: Task
    files: Sequence[Change]
    protected: Sequence[str]


class Inbox:
    """The controller's side of the workers that have only a copy of the project."""

    def __init__(self, run: Run) -> None:
        self._run = run
        # Whether other machines have changes that the project does not have.
        self._differs = False

    def receive(self, report: Any, work: dict[str, Any], root: str) -> None:
        """Take over what belongs to the report of a task; `root` is the project over there.

        A task whose changes conflict with others is recovered here. If that does not help, or if
        they do not pass here, it becomes a failed task.
        """
        result = _with_local_logs(report.ralph, root, self._run.root)
        with temporary_directory("received") as directory:
            self._write_logs(work.get("logs", ()), directory)
            try:
                result, problem = self._take_over(result, work, directory)
            except (RecoveryError, GitError, OSError) as error:
                problem = f"could not be taken over from another machine: {error}"
        if problem:
            result = result._replace(outcome="failed", reason=problem)
            report.outcome = "failed"
            report.longrepr = f"{result.heading}: {problem}"
        elif result.passed:
            result = result._replace(commit=self._commit(result) or result.commit)
        report.ralph = result

    def _take_over(
        self, result: TaskResult, data: dict[str, Any], directory: Path
    ) -> tuple[TaskResult, str]:
        """Write what was done into the project; what was received is kept in the `directory`.

        Return the result that the task has now, and why it does not pass here.
        """
        for path, operations in data.get("operations", {}).items():
            collected = self._run.specs.collected(path)
            repeat(self._run.spec_run(collected).spec_files, collected, operations)
        collected = self._run.specs.collected(result.spec_path)
        spec_run = self._run.spec_run(collected)
        task = collected[result.name]
        files = []
        for path, base, new in data.get("files", ()):
            if _is_acceptable(path):
                files.append(Change(path, unpack(base, directory), unpack(new, directory)))
        work = RemoteWork(spec_run, task, files, data.get("protected", ()))
        if not result.passed:
            self._keep_patch(work)
            return result, ""
        spec_run.checkpoints.begin(task)
        if not files and not self._differs:
            return result, ""
        result, problem = self._merge(work, result)
        if problem:
            spec_run.spec_files.gave_up(task, NOT_MERGED)
        else:
            record_tick(spec_run.services, spec_run.spec_files, task)
        return result, problem

    def _commit(self, result: TaskResult) -> str:
        """Commit what was merged for a task, if commits are asked for; return the commit."""
        collected = self._run.specs.collected(result.spec_path)
        task = collected[result.name]
        try:
            return self._run.spec_run(collected).checkpoints.passed(task)
        except GitError as error:
            self._run.messages.note(f"no commit for {result.id}: {error}")
            return ""

    def _write_logs(self, logs: Iterable[Sequence[Any]], directory: Path) -> None:
        for path, packed in logs:
            parts = PurePosixPath(path).parts
            if parts[0] == RALPH_DIRECTORY and ".." not in parts:
                write_state(self._run.root, path, unpack(packed, directory))

    # Merging

    def _merge(self, work: RemoteWork, result: TaskResult) -> tuple[TaskResult, str]:
        """Merge and verify. What does not pass here, or is interrupted, is taken back."""
        services = work.spec_run.services
        left: tuple[str, ...] = ()
        # Until the merged state is verified, no other merge may change it.
        with services.tree_lock:
            worktrees = self._run.resources.worktrees
            applied, conflicts = worktrees.merge(work.files, services.backups)
            if applied is not None:
                try:
                    if work.spec_run.holds(work.task):
                        owner = work.spec_run.spec_files.record_name(work.task)
                        services.tree.record(owner, applied.changes)
                        services.tree.protected.setdefault(owner, set()).update(work.protected)
                        applied.confirm()
                        return result, ""
                except BaseException:
                    # Such as Ctrl-C, or a disk that is full.
                    applied.undo()
                    raise
                left = applied.undo()
        if conflicts:
            return self._recover(work, result, [conflict.path for conflict in conflicts])
        problem = "passed on another machine, but not here"
        kept = self._keep_patch(work)
        if kept:
            problem += f": not merged (kept as {kept})"
        return result, "; ".join((problem, *left))

    def _recover(
        self, work: RemoteWork, result: TaskResult, conflicts: Sequence[str]
    ) -> tuple[TaskResult, str]:
        """Recover a task here whose changes conflict: the executor gets both versions."""
        kept = self._keep_patch(work)
        diff = ""
        if kept:
            with (self._run.root / kept).open(encoding="utf-8", errors="replace") as patch:
                diff = patch.read(MOST_OF_DIFF)
        listed = ", ".join(conflicts)
        task = work.task
        line = f"{task.id} passed on another machine, with changes that conflict here: {listed}"
        healed = work.spec_run.heal(task, line, diff)
        if healed is not None:
            result = result.followed_by(healed)
        if result.passed:
            if kept:
                (self._run.root / kept).unlink()
            return result, ""
        problem = f"conflicts with changes made here meanwhile: {listed}"
        return result, f"{problem} (kept as {kept})" if kept else problem

    def _keep_patch(self, work: RemoteWork) -> str:
        """Keep changes that are not merged as a patch, and return its path; empty without any."""
        if work.files:
            self._differs = True
        words = (self._run.id, work.spec_run.spec_files.name, work.task.name)

        def announce(line: str) -> None:
            self._run.messages.note(f"{work.task.id}: {line}")

        return keep_patch(
            self._run.root, self._run.directory, work.files, *words, announce=announce
        )


def _is_acceptable(path: str) -> bool:
    """Whether a path leads to a file of the project that workers may change."""
    parts = PurePosixPath(path).parts
    if not parts or PurePosixPath(path).is_absolute() or parts[-1] in SPEC_FILES:
        return False
    return not {"..", ".git", RALPH_DIRECTORY} & {*parts}


def _with_local_logs(result: TaskResult, root: str, here: Path) -> TaskResult:
    """Let the attempts name the logs as they are here."""
    attempts = []
    for attempt in result.attempts:
        log = attempt.log.replace(root, str(here), 1)
        transcript = attempt.transcript.replace(root, str(here), 1)
        attempts.append(attempt._replace(log=log, transcript=transcript))
    return result._replace(attempts=tuple(attempts))
