"""Services: what the work on the tasks of one spec needs from the run around it."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ralph.files import our_directories
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from contextlib import AbstractContextManager

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.fixing.agents.base import Executor, Job, Outcome
    from pytest_ralph.fixing.git.checkpoint import Git
    from pytest_ralph.fixing.isolation.worktrees import Worktrees
    from pytest_ralph.fixing.prompts import Prompts
    from pytest_ralph.healing.budget import Budget, Outages
    from pytest_ralph.healing.decide import Decision
    from pytest_ralph.healing.hooks import Hooks
    from pytest_ralph.healing.project_tree import ProjectTree
    from pytest_ralph.healing.regressions import Regressions
    from pytest_ralph.history.advisor import Advisor
    from pytest_ralph.history.record import Record
    from pytest_ralph.running.runner import CommandResult, Runner
    from pytest_ralph.settings import Settings
    from pytest_ralph.spec.task import Task

    # Shows a live row (text, time limit, title) while something runs. Inside the context it gives
    # a function that takes the last line of output, or None if nobody watches.
    Live = Callable[[str, float, str], AbstractContextManager[Callable[[str], None] | None]]
    # Asks a person about a failure: their decision, or None to go on as decided.
    Ask = Callable[[Task, Failure, Decision], Decision | None]

CODE_SPAN = regex(r"`([^`]+)`")


# Without methods that nobody calls: making them takes a millisecond of every start.
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Services:
    """One object per spec, filled once by the run and handed to every TaskRun.

    The `make_…` functions create what only a failure needs; they are called on first use.
    """

    root: Path
    directory: Path
    # Where copies of the files that the run changes are kept.
    backups: Path
    run_id: str
    settings: Settings
    runner: Runner
    # In the order in which they are to be used.
    executors: tuple[Executor, ...]
    make_executors: Callable[[Settings], tuple[Executor, ...]]
    budget: Budget
    # pluggy's hook relay: this package does not import pytest.
    hook: Any
    record: Callable[[Record], None]
    make_prompts: Callable[[], Prompts]
    make_git: Callable[[], Git | None]
    # Why it makes none.
    why_no_git: Callable[[], str | None]
    make_advisor: Callable[[], Advisor]
    make_tree: Callable[[], ProjectTree]
    mask: Callable[[str], str]
    # Writes a line on the terminal at once, even if the run is killed right after it.
    announce: Callable[[str], None]
    # Shows a line at the end of the run, once however often it is noted.
    note: Callable[[str], None]
    # Writes a line on the terminal at once, with -v only.
    announce_verbose: Callable[[str], None]
    live: Live
    # The retry advice for a failure kind.
    guidance: Callable[[str], str]
    outages: Outages
    # The tasks of all specs that passed in this process, and what was changed since.
    regressions: Regressions
    ask: Ask | None
    # Lets a person edit the text of a fix task before it is written.
    edit: Callable[[str], str] | None
    git_lock: AbstractContextManager[object]
    # For whoever changes the working tree, where it must be known who changed what.
    make_tree_lock: Callable[[], AbstractContextManager[object]]
    make_worktrees: Callable[[], Worktrees]
    # Keeps other workers from changing the same files; None if there are no other workers.
    take_turn: Callable[[Collection[Path]], AbstractContextManager[None]] | None
    # Whether other workers work on other specs of the project at the same time.
    has_other_workers: bool
    # Whether one of these specs is such that executors take turns.
    do_others_take_turns: Callable[[], bool]

    @cached_property
    def prompts(self) -> Prompts:
        return self.make_prompts()

    @cached_property
    def git(self) -> Git | None:
        """None outside a git repository."""
        return self.make_git()

    @cached_property
    def tree(self) -> ProjectTree:
        return self.make_tree()

    @cached_property
    def our_directories(self) -> tuple[Path, ...]:
        """What is written below, apart from the files of specs."""
        # The last ones are in the others, and so come behind them.
        return (*our_directories(self.root), self.runner.logs.parent, self.backups)

    def link_removed(self, path: Path) -> str:
        """Return what is said about a link that was put in place of something of ours."""
        shown = os.path.relpath(path, self.root)
        return f"replaced {shown} by a link: removed; the original is lost"

    @property
    def isolated(self) -> bool:
        """Whether executors work in worktrees."""
        return self.settings.isolate == "worktree" or self.settings.candidates > 1

    @property
    def takes_turns(self) -> bool:
        """Whether executors and repairs that share the working tree change it one at a time."""
        return self.settings.tells_changes_apart or self.do_others_take_turns()

    @property
    def turn(self) -> AbstractContextManager[object]:
        """Taken by whoever changes the working tree."""
        return self.tree_lock if self.takes_turns else contextlib.nullcontext()

    @cached_property
    def tree_lock(self) -> AbstractContextManager[object]:
        """Held while the changes of a worktree are merged and verified, whoever takes turns."""
        return self.make_tree_lock()

    @property
    def do_workers_mix(self) -> bool:
        """Whether executors of other workers may change the working tree at the same time."""
        return self.has_other_workers and not self.takes_turns

    def file_turn(self, files: Iterable[str]) -> AbstractContextManager[None]:
        """Let nobody else change these files inside the context, unless executors are isolated."""
        if self.take_turn is None or self.isolated:
            return contextlib.nullcontext()
        return self.take_turn({self.root / file for file in files})

    @cached_property
    def worktrees(self) -> Worktrees:
        return self.make_worktrees()

    @cached_property
    def advisor(self) -> Advisor:
        return self.make_advisor()

    @cached_property
    def hooks(self) -> Hooks:
        # Imported here: a passing task calls no hook.
        from pytest_ralph.healing.hooks import Hooks

        return Hooks(self.hook)

    def notify(self, name: str, **given: Any) -> None:
        """Call a hook such as pytest_ralph_recovered; one that raises changes nothing."""
        # Imported here: a passing task calls no hook.
        from pytest_ralph.healing.errors import HookError

        try:
            self.hooks.call(name, **given)
        except HookError as error:
            self.note(str(error))

    def for_task(self, task: Task) -> Services:
        """These services with the executors that the task names; `none` is not overridden."""
        settings = settings_of_task(self.settings, task)
        if settings is self.settings:
            return self
        return replace(self, settings=settings, executors=self.make_executors(settings))

    @property
    def usable_executors(self) -> tuple[Executor, ...]:
        """The executors that are not in trouble."""
        return tuple(one for one in self.executors if self.outages.reason(one.command) is None)

    @property
    def executor(self) -> Executor | None:
        """The first executor that is not in trouble."""
        return next(iter(self.usable_executors), None)

    def run_executor(
        self, executor: Executor, job: Job, runner: Runner, on_output: Callable[[str], None] | None
    ) -> Outcome:
        """Have an executor carry out a job; note what that cost and whether it can work at all.

        The cost at once: whatever goes wrong after the run, it has to be paid.
        """
        outcome = executor.run(job, runner, on_output)
        self.budget.spend(outcome.usage.cost)
        if outcome.trouble is None:
            self.outages.note_work(executor.command)
        return outcome

    @property
    def outage(self) -> str:
        """Why nobody carries out tasks any more; empty if one does, or if there never was one."""
        return "" if self.has_agent else self.unavailable

    @property
    def unavailable(self) -> str:
        """Why no executor is used any more; empty if one is, or if there never was one."""
        if self.executor is not None:
            return ""
        # Imported here: most runs need no name of an executor.
        from pytest_ralph.fixing.agents import display_name

        lines = []
        for executor in self.executors:
            reason = self.outages.reason(executor.command)
            lines.append(f"executor {display_name(executor.command)} is unavailable: {reason}")
        return "; ".join(lines)

    @property
    def has_agent(self) -> bool:
        """Whether an executor, or a plugin that acts as one, can carry out any task."""
        return self.executor is not None or self.hooks.can_execute

    @property
    def executor_name(self) -> str:
        return self.executor.name if self.executor else self.settings.executor[0]

    @property
    def max_attempts(self) -> int:
        """Verifications of one task: the first, and one after each fix."""
        return self.settings.max_fixes + 1

    def pause(self, seconds: float) -> None:
        """Wait, and raise KeyboardInterrupt if the run is interrupted meanwhile."""
        end = time.monotonic() + seconds
        while not self.runner.stopped:
            left = end - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, 0.2))
        raise KeyboardInterrupt

    def failure_of(self, task: Task, failure: Failure) -> Failure:
        """`failure` as one of `task`, with secrets masked, so that it may be shown and stored."""
        return replace(
            failure,
            task_id=task.id,
            error=self.mask(failure.error),
            raw_output=self.mask(failure.raw_output),
            blocked_on=self.mask(failure.blocked_on or "") or None,
        )

    def junit_files(self, ended: CommandResult, root: Path) -> tuple[Path, ...]:
        """The JUnit files of this command: the one we asked for, and those the settings name."""
        found = [ended.junit] if ended.junit else []
        for pattern in self.settings.junit:
            for path in _matching(root, pattern):
                if _written_during(path, ended):
                    found.append(path)  # noqa: PERF401 - nested
        return tuple(found)


def settings_of_task(settings: Settings, task: Task) -> Settings:
    """Return the settings with the executors that the task names; `none` is not overridden."""
    executors = executors_of(task)
    if not executors or "none" in settings.executor:
        return settings
    return settings._replace(executor=executors)


def executors_of(task: Task) -> tuple[str, ...]:
    """Return the executors that the task's own `**Executor**:` names, in their order."""
    text = task.fields.get("Executor", "").strip()
    spans = CODE_SPAN.findall(text)
    if spans:
        return tuple(spans)
    return (text,) if text else ()


def _matching(root: Path, pattern: str) -> Iterable[Path]:
    """Return the files that match a pattern, which may be relative to `root` or absolute."""
    anchor = Path(pattern).anchor
    return Path(anchor).glob(pattern.removeprefix(anchor)) if anchor else root.glob(pattern)


def _written_during(path: Path, ended: CommandResult) -> bool:
    try:
        modified = path.stat().st_mtime
    except OSError:
        return False
    # Two seconds of grace: some file systems store whole seconds.
    return modified >= time.time() - ended.duration - 2
