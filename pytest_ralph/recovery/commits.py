"""Commits of tasks that newly pass: none, as lines of a script, or made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.fixing.checkpoint import GitError
from pytest_ralph.fixing.commits import append_commit, commit_message

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.recovery.desk import Desk
    from pytest_ralph.recovery.journal import Journal, TaskResult
    from pytest_ralph.recovery.workspace import Workspace
    from pytest_ralph.spec.task import Task


class Commits:
    """What a task changed is known from the working tree before its first attempt."""

    def __init__(self, desk: Desk, workspace: Workspace) -> None:
        self.desk, self.workspace = desk, workspace
        self._before: dict[str, str] = {}

    def begin(self, task: Task) -> None:
        if self.desk.options.commit != "none" and self.desk.git and not task.checked:
            with self.desk.git_lock:
                self._before[task.name] = self.desk.git.tree_fingerprint()

    def end(self, task: Task, journal: Journal, result: TaskResult) -> TaskResult:
        """The task passed: remember the commit as good, and commit what is new."""
        git = self.desk.git
        if git is None or (self.desk.options.commit == "none" and not self.desk.options.rollback):
            return result
        with self.desk.git_lock:
            try:
                commit = "" if task.checked else self._commit(task)
                if self.desk.options.rollback:
                    git.mark_good(self.workspace.spec.name)
            except GitError as error:
                journal.say(f"no commit for {task.id}: {error}")
                return replace(result, lines=tuple(journal.lines))
        if not commit:
            return result
        self.workspace.committed(task, commit)
        return replace(result, story=replace(result.story, commit=commit))

    def _commit(self, task: Task) -> str:
        assert self.desk.git is not None
        if task.name not in self._before:
            return ""
        message = commit_message(task, self.workspace.spec.name)
        since, also = self._before.pop(task.name), self._own_paths(task)
        if self.desk.options.commit == "message-only":
            script = self.desk.directory / f"commits-{self.workspace.spec.name}.sh"
            append_commit(script, self.desk.root, message, self.desk.git.uncommitted(since=since, also=also))
            return ""
        return (self.desk.git.commit(message, since=since, also=also) or "")[:12]

    def _own_paths(self, task: Task) -> list[Path]:
        root = self.desk.root.resolve()
        named = [(root / name).resolve() for name in task.files]
        return [*self.workspace.own_files, *(path for path in named if path.is_relative_to(root) and path.exists())]
