"""Commits of tasks that newly pass: none, as lines of a script, or made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ralph.files import sweep
from pytest_ralph.fixing.git.command import GitError

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.healing.attempt_log import Journal, TaskResult
    from pytest_ralph.healing.services import Desk
    from pytest_ralph.healing.spec_files import Workspace
    from pytest_ralph.spec.task import Task


class Commits:
    """What a task changed is known from the working tree before its first attempt."""

    def __init__(self, desk: Desk, workspace: Workspace) -> None:
        self.desk, self.workspace = desk, workspace
        self._before: dict[str, str] = {}
        self._unknown: dict[str, GitError] = {}
        self._script = desk.directory / f"commits-{workspace.spec.name}.sh"
        sweep(self._script)
        workspace.commits = desk.options.commit == "auto" and desk.git is not None

    def begin(self, task: Task) -> None:
        # A run that was cut off may have left a task checked off and not committed.
        new = not task.checked or task.name in self.workspace.state.uncommitted()
        if self.desk.options.commit != "none" and self.desk.git and new:
            with self.desk.git_lock, self.workspace.lock:
                try:
                    self._before[task.name] = self.desk.git.tree_fingerprint()
                except GitError as error:
                    self._unknown[task.name] = error

    def end(self, task: Task, journal: Journal, result: TaskResult) -> TaskResult:
        """The task passed: remember the commit as good, and commit what is new."""
        wanted = self.desk.options.commit != "none" or self.desk.options.rollback
        git = self.desk.git if wanted else None
        if git is None:
            return result
        with self.desk.git_lock, self.workspace.lock:
            try:
                commit = self._commit(task)
                if self.desk.options.rollback:
                    git.mark_good(self.workspace.spec.name)
            except GitError as error:
                journal.say(f"no commit for {task.id}: {error}")
                return result._replace(lines=tuple(journal.lines))
        self.workspace.committed(task, commit)
        return result._replace(story=result.story._replace(commit=commit))

    def _commit(self, task: Task) -> str:
        from pytest_ralph.fixing.git.messages import append_commit, commit_message

        assert self.desk.git is not None
        if task.name in self._unknown:
            raise self._unknown.pop(task.name)
        if task.name not in self._before:
            return ""
        message = commit_message(task, self.workspace.spec.name)
        which: dict[str, Any] = {
            "since": self._before.pop(task.name),
            "also": [
                *self.workspace.own_files,
                *(path for path in self._named(task) if path.exists()),
            ],
            "exclude": self._of_others(task),
        }
        if self.desk.options.commit == "message-only":
            append_commit(self._script, self.desk.root, message, self.desk.git.uncommitted(**which))
            return ""
        return (self.desk.git.commit(message, **which) or "")[:12]

    def _named(self, task: Task) -> set[Path]:
        root = self.desk.root.resolve()
        named = ((root / name).resolve() for name in task.files)
        return {path for path in named if path.is_relative_to(root)}

    def _of_others(self, task: Task) -> set[Path]:
        """What is, by name, of tasks that may be at work at this moment: siblings, and the specs of other workers."""
        siblings = (one for one in self.workspace.plan.group_of(task) if one.name != task.name)
        others = {path for one in siblings for path in self._named(one)} | {*self.desk.beside()}
        return others - self._named(task)
