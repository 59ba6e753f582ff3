"""Commits of tasks that newly pass: none, as lines of a script, or made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ralph.files import sweep
from pytest_ralph.fixing.git.command import GitError

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.healing.attempt_log import AttemptLog
    from pytest_ralph.healing.services import Services
    from pytest_ralph.healing.spec_files import SpecFiles
    from pytest_ralph.results import TaskResult
    from pytest_ralph.spec.task import Task


class Commits:
    """What a task changed is known from the working tree before its first attempt."""

    def __init__(self, services: Services, spec_files: SpecFiles) -> None:
        self.services, self.spec_files = services, spec_files
        self._before: dict[str, str] = {}
        self._unknown: dict[str, GitError] = {}
        self._script = services.directory / f"commits-{spec_files.spec.name}.sh"
        sweep(self._script)
        spec_files.commits = services.options.commit == "auto" and services.git is not None

    def begin(self, task: Task) -> None:
        # A run that was cut off may have left a task checked off and not committed.
        new = not task.checked or task.name in self.spec_files.state.uncommitted()
        if self.services.options.commit != "none" and self.services.git and new:
            with self.services.git_lock, self.spec_files.lock:
                try:
                    self._before[task.name] = self.services.git.tree_fingerprint()
                except GitError as error:
                    self._unknown[task.name] = error

    def end(self, task: Task, attempt_log: AttemptLog, result: TaskResult) -> TaskResult:
        """The task passed: remember the commit as good, and commit what is new."""
        wanted = self.services.options.commit != "none" or self.services.options.rollback
        git = self.services.git if wanted else None
        if git is None:
            return result
        with self.services.git_lock, self.spec_files.lock:
            try:
                commit = self._commit(task)
                if self.services.options.rollback:
                    git.mark_good(self.spec_files.spec.name)
            except GitError as error:
                attempt_log.say(f"no commit for {task.id}: {error}")
                return result._replace(notes=tuple(attempt_log.lines))
        self.spec_files.committed(task, commit)
        return result._replace(commit=commit)

    def _commit(self, task: Task) -> str:
        from pytest_ralph.fixing.git.messages import append_commit, commit_message

        assert self.services.git is not None
        if task.name in self._unknown:
            raise self._unknown.pop(task.name)
        if task.name not in self._before:
            return ""
        message = commit_message(task, self.spec_files.spec.name)
        which: dict[str, Any] = {
            "since": self._before.pop(task.name),
            "also": [
                *self.spec_files.own_files,
                *(path for path in self._named(task) if path.exists()),
            ],
            "exclude": self._of_others(task),
        }
        if self.services.options.commit == "message-only":
            append_commit(
                self._script, self.services.root, message, self.services.git.uncommitted(**which)
            )
            return ""
        return (self.services.git.commit(message, **which) or "")[:12]

    def _named(self, task: Task) -> set[Path]:
        root = self.services.root.resolve()
        named = ((root / name).resolve() for name in task.files)
        return {path for path in named if path.is_relative_to(root)}

    def _of_others(self, task: Task) -> set[Path]:
        """What is, by name, of tasks that may be at work at this moment: siblings, and the specs of other workers."""
        siblings = (one for one in self.spec_files.plan.group_of(task) if one.name != task.name)
        others = {path for one in siblings for path in self._named(one)} | {*self.services.beside()}
        return others - self._named(task)
