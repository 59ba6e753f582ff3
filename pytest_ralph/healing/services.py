"""What work on a spec needs around it: one object that a run fills once and hands to every task."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pytest_ralph.files import BACKUPS_NAME, SPEC_FILES
from pytest_ralph.fixing.git.command import GitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.fixing.agents.base import Executor
    from pytest_ralph.fixing.git.checkpoint import Git
    from pytest_ralph.fixing.prompts import Prompts
    from pytest_ralph.healing.budget import Budget
    from pytest_ralph.healing.decide import Decision
    from pytest_ralph.healing.hooks import Hooks
    from pytest_ralph.healing.spec_files import SpecFiles
    from pytest_ralph.history.advisor import Advisor
    from pytest_ralph.history.record import Record
    from pytest_ralph.running.runner import CommandResult, Runner
    from pytest_ralph.spec.task import Task


class Options(Protocol):
    """The settings that work on a spec reads."""

    @property
    def max_fixes(self) -> int: ...
    @property
    def max_depth(self) -> int: ...
    @property
    def timeout(self) -> float: ...
    @property
    def executor(self) -> str: ...
    @property
    def executor_timeout(self) -> float: ...
    @property
    def execute(self) -> bool: ...
    @property
    def pending(self) -> bool: ...
    @property
    def keep_going(self) -> bool: ...
    @property
    def repair(self) -> tuple[str, ...]: ...
    @property
    def rollback(self) -> bool: ...
    @property
    def commit(self) -> str: ...
    @property
    def jobs(self) -> int: ...


class Means(Protocol):
    """What is made when it is first asked for: a task that passes needs none of it."""

    @property
    def prompts(self) -> Prompts: ...
    @property
    def git(self) -> Git | None: ...
    @property
    def advisor(self) -> Advisor: ...


class Ask(Protocol):
    """Asks a person what to do about a failure: a decision of theirs, or None to go on as decided."""

    def __call__(self, task: Task, failure: Failure, decision: Decision) -> Decision | None: ...


class Live(Protocol):
    """Shows, while something runs, what it is; inside, a function that takes the last line it printed, or None."""

    def __call__(
        self, what: str, limit: float, about: str = ""
    ) -> AbstractContextManager[Callable[[str], None] | None]: ...


def _quietly(what: str, limit: float, about: str = "") -> AbstractContextManager[None]:  # noqa: ARG001 - a Live
    return contextlib.nullcontext()


@dataclass(frozen=True, kw_only=True)
class Services:
    """Everything around a spec. `hook` is pluggy's, so that this room needs no pytest."""

    root: Path
    directory: Path
    runner: Runner
    executor: Executor | None
    hook: Any
    options: Options
    budget: Budget
    means: Means
    record: Callable[[Record], None]
    run_id: str
    mask: Callable[[str], str] = str
    junit_globs: tuple[str, ...] = ()
    # Said on the terminal at once, for what a person must know even if the run ends here.
    announce: Callable[[str], None] = lambda _: None
    # Said on the terminal at once, to those who want to know more.
    tell: Callable[[str], None] = lambda _: None
    live: Live = _quietly
    # What the next attempt is told after a failure of this kind.
    advice: Callable[[str], str] = lambda _: ""
    ask: Ask | None = None
    edit: Callable[[str], str] | None = None
    git_lock: AbstractContextManager[object] = field(default_factory=threading.RLock)
    # What other specs, worked on by other workers at the same time, name as theirs.
    beside: Callable[[], Iterable[Path]] = tuple

    @property
    def prompts(self) -> Prompts:
        return self.means.prompts

    @property
    def git(self) -> Git | None:
        return self.means.git

    @property
    def advisor(self) -> Advisor:
        return self.means.advisor

    @property
    def has_agent(self) -> bool:
        """Somebody who can carry out any task: an executor, or a plugin that is one."""
        return self.executor is not None or self.hooks.can_execute

    @cached_property
    def hooks(self) -> Hooks:
        from pytest_ralph.healing.hooks import Hooks

        return Hooks(self.hook)

    @property
    def executor_name(self) -> str:
        return self.executor.name if self.executor else self.options.executor

    @property
    def backups(self) -> Path:
        """Where repairs put what they change, to be undone."""
        return self.directory / BACKUPS_NAME / self.run_id

    def task_env(self, spec_files: SpecFiles, task: Task, attempt: int) -> dict[str, str]:
        return {
            "RALPH_SPEC": spec_files.spec.name,
            "RALPH_SPEC_PATH": str(spec_files.spec.directory),
            "RALPH_TASK_ID": task.id,
            "RALPH_ATTEMPT": str(attempt),
        }

    def about(self, task: Task, failure: Failure) -> Failure:
        """The failure as one of this task, without secrets, as it may be shown and kept."""
        return replace(
            failure,
            task_id=task.id,
            error=self.mask(failure.error),
            raw_output=self.mask(failure.raw_output),
            blocked_on=self.mask(failure.blocked_on) if failure.blocked_on else failure.blocked_on,
        )

    def junit_files(self, ended: CommandResult) -> tuple[Path, ...]:
        """What the nested pytest wrote for us, and what the project's own globs find from this very run."""
        own = (ended.junit,) if ended.junit else ()
        found = [path for glob in self.junit_globs for path in self.root.glob(glob)]
        return (*own, *(path for path in found if _written_during(path, ended)))

    def tree(self) -> str:
        """A fingerprint of the working tree; empty where there is no git to tell."""
        if self.git is None:
            return ""
        with self.git_lock:
            try:
                return self.git.tree_fingerprint()
            except GitError:
                return ""

    def written_since(self, moment: float) -> bool:
        """Whether any file of the project, our own aside, was written from then on."""
        from pytest_ralph.fixing.git.tree_snapshot import take_snapshot

        files = take_snapshot(self.root).items()
        return any(
            changed >= moment * 1e9
            for path, (_, changed) in files
            if Path(path).name not in SPEC_FILES
        )

    def keep_progress(self, spec_files: SpecFiles, task: Task) -> list[str]:
        """Commit what an executor that ran out of context has done, where commits are made; what was done."""
        if self.git is None or self.options.commit != "auto":
            return []
        with self.git_lock, spec_files.lock:
            try:
                commit = self.git.commit(
                    f"wip({spec_files.spec.name}): progress on task {task.id}", spec_files.own_files
                )
            except GitError as error:
                return [f"progress on {task.id} is not committed: {error}"]
        return [f"progress on {task.id} is kept in commit {commit[:12]}"] if commit else []

    def roll_back(self, spec_files: SpecFiles, task: Task) -> list[str]:
        """Back to the last good commit; what was done, or why nothing was."""
        if self.git is None:
            return ["no rollback: not in a git repository"]
        with self.git_lock, spec_files.lock:
            try:
                name = spec_files.spec.name
                good, ref = self.git.last_good(name) or "", self.git.next_ref(name, task.id)
                return [str(self.git.rollback(good, spec_files.own_files, ref, self.announce))]
            except GitError as error:
                return [f"no rollback: {error}"]


def _written_during(path: Path, ended: CommandResult) -> bool:
    with contextlib.suppress(OSError):
        # Two seconds of grace: some file systems keep whole seconds.
        return path.stat().st_mtime >= time.time() - ended.duration - 2
    return False
