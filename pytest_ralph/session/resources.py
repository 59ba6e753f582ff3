"""What the tasks of a run need, created on first use: passing tasks need little of it."""

from __future__ import annotations

import contextlib
import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.files import HISTORY_NAME, LOGS_NAME
from pytest_ralph.healing.budget import Budget, Outages
from pytest_ralph.healing.regressions import Regressions
from pytest_ralph.healing.services import Services
from pytest_ralph.history.directory import make_private
from pytest_ralph.history.record import HistoryError
from pytest_ralph.running.runner import Runner
from pytest_ralph.session.locks import FileTurns, TurnLock, record_mark
from pytest_ralph.settings import NO_EXECUTOR
from pytest_ralph.text.secrets import Masker

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_ralph.failure.kinds import Kinds
    from pytest_ralph.fixing.agents.base import Executor
    from pytest_ralph.fixing.git.checkpoint import Git
    from pytest_ralph.fixing.isolation.worktrees import Worktrees
    from pytest_ralph.fixing.prompts import Prompts
    from pytest_ralph.healing.project_tree import ProjectTree
    from pytest_ralph.history.advisor import Advisor
    from pytest_ralph.history.record import Record
    from pytest_ralph.history.store import History
    from pytest_ralph.session.interactive import Interactive
    from pytest_ralph.session.run import Run
    from pytest_ralph.settings import Settings
    from pytest_ralph.spec.document import Spec


class Resources:
    """Creates, shares and closes what the tasks of one run need.

    records: In a worker on another machine, the records for the controller's history.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.settings = run.settings
        self.records: list[Record] = []
        self.regressions = Regressions(run.root)
        self._environ = copy_environment()
        self._runners: dict[str | None, Runner] = {}
        self._mark_files: list[Path] = []
        self._git_lock = TurnLock(run.locks, "git")
        # Shared by the workers, and by the controller at the end of the run.
        shared = run.run_directory if run.worker or run.has_workers else None
        budget_file = shared.budget if shared else None
        self.budget = Budget(self.settings.budget, budget_file, max_cost=self.settings.max_cost)
        self.outages = Outages(shared.outages if shared else None)

    def _project_path(self, name: str | None) -> Path | None:
        return self.run.root / name if name else None

    def update_environment(self) -> None:
        """Take over what conftest files and plugins changed in `os.environ` since the last task.

        Called in the main thread: pytest changes `os.environ` for each item, also while other
        threads start processes, so those get a copy.
        """
        environ = copy_environment()
        if environ == self._environ:
            return
        self._environ = environ
        for runner in self._runners.values():
            runner.use_environment(environ)
        masker: Masker | None = self._created("masker")
        if masker is not None:
            masker.learn(environ)

    # Parts

    @cached_property
    def kinds(self) -> Kinds:
        """The table of failure kinds, with the project's own."""
        from pytest_ralph.failure.kinds import Kinds, KindsError

        try:
            return Kinds.load(self._project_path(self.settings.kinds))
        except KindsError as error:
            raise usage_error(error, self.run.root) from None

    @cached_property
    def masker(self) -> Masker:
        """Hides secrets."""
        return Masker(self._environ, extra=self.settings.secrets)

    def mask(self, text: str) -> str:
        """Hide the secrets in a text; creates the masker only now."""
        return self.masker.mask(text)

    def runner(self, shell: str | None) -> Runner:
        """Return what runs commands in this shell; a spec may set a shell of its own."""
        if shell not in self._runners:
            runner = Runner(
                root=self.run.root,
                environ=self._environ,
                logs=self.run.directory / LOGS_NAME,
                shell=shell,
                mask=self.mask,
                name=self._log_name(),
            )
            with contextlib.suppress(HistoryError):
                # Before the first log is written: git must not list it.
                make_private(self.run.directory)
            mark_file = record_mark(self.run.root, self.run.locks, runner.mark.run)
            if mark_file is not None:
                self._mark_files.append(mark_file)
            if self.run.worker:
                self.run.run_directory.record_mark(runner.mark.run)
            else:
                self.run.run_directory.sweep()
            self._runners[shell] = runner
        return self._runners[shell]

    def _log_name(self) -> str:
        """Return the name of the next runner's logs: the id of the run, unless that is taken."""
        parts = [self.run.id]
        if self.run.worker:
            parts.append(self.run.worker.worker_id)
        if self._runners:
            parts.append(str(len(self._runners) + 1))
        return "-".join(parts)

    def executors(self, settings: Settings) -> tuple[Executor, ...]:
        """Return the executors in their order, without `repair` and `none`, which are none."""
        commands = [command.strip() for command in settings.executor]
        commands = [command for command in commands if command not in ("", *NO_EXECUTOR)]
        if not commands:
            return ()
        # Imported here: a run that only verifies has no executor.
        from pytest_ralph.fixing.agents import make_executor

        options = {
            "model": settings.executor_model,
            "args": settings.executor_args,
            "program": settings.executor_program,
        }
        return tuple(make_executor(command, options, self.kinds) for command in commands)

    @cached_property
    def history(self) -> History:
        # Imported here for sqlite3: the first attempt that is recorded needs it.
        from pytest_ralph.history.store import History

        path = self.run.directory / HISTORY_NAME
        return History(path, warn=self.run.messages.note, mask=self.mask)

    @cached_property
    def advisor(self) -> Advisor:
        from pytest_ralph.history.advisor import Advisor

        return Advisor(lambda: self.history, self.run.messages.note)

    @cached_property
    def git(self) -> Git | None:
        """The git repository of the project; None if there is none, or none that can be used."""
        if self.why_no_git:
            return None
        # A git of a killed run, which may have worked in one of them, has ended now.
        self._repository.sweep()
        return self._repository

    @cached_property
    def why_no_git(self) -> str | None:
        """Why there is no git repository to work with; None if there is one."""
        return self._repository.unavailable()

    @cached_property
    def _repository(self) -> Git:
        from pytest_ralph.fixing.git.checkpoint import Git

        return Git(self.run.root, self._environ_of_git)

    @property
    def _environ_of_git(self) -> Mapping[str, str]:
        """The environment in which git is called, so that it ends with a run that is killed."""
        return {**self._environ, **self.runner(self.settings.shell).mark_git()}

    @cached_property
    def tree_lock(self) -> TurnLock:
        """For whoever changes the working tree.

        It is on the git directory: an executor may remove `.ralph` while another one waits.
        """
        place = None if self.git is None else self.git.directory
        return TurnLock(self.run.locks, "tree", place)

    @cached_property
    def tree(self) -> ProjectTree:
        """The files of the project, watched while executors run."""
        from pytest_ralph.healing.project_tree import ProjectTree

        return ProjectTree(self.run.root, self.run.backups, self.git)

    @cached_property
    def worktrees(self) -> Worktrees:
        """The worktrees of this process, in which executors work."""
        from pytest_ralph.fixing.isolation.worktrees import Worktrees

        link = self.settings.isolate_link
        copy = self.settings.isolate_copy
        return Worktrees(
            self.run.root,
            self.run.directory,
            link=link,
            copy=copy,
            environ=self._environ_of_git,
        )

    @cached_property
    def prompts(self) -> Prompts:
        from pytest_ralph.fixing.prompts import Prompts
        from pytest_ralph.fixing.templating import Templates

        return Prompts(Templates(self._project_path(self.settings.templates)), self.masker)

    @cached_property
    def interactive(self) -> Interactive | None:
        """The person at the terminal; None if standard input or output is not a terminal."""
        from pytest_ralph.session.interactive import Console, Interactive

        console = Console.find(self.run.config)
        if console is None:
            return None
        return Interactive(console, self.run.messages.screen, self.run.halt, self.run.root)

    # For one spec

    def services(self, spec: Spec, settings: Settings) -> Services:
        """Return what the tasks of one spec need, with the settings of that spec."""
        messages = self.run.messages
        interactive = self.interactive if settings.interactive else None
        file_turns = FileTurns(self.run.locks, messages.note)
        return Services(
            root=self.run.root,
            directory=self.run.directory,
            backups=self.run.backups,
            runner=self.runner(settings.shell),
            executors=self.executors(settings),
            make_executors=self.executors,
            outages=self.outages,
            regressions=self.regressions,
            hook=self.run.hooks_for(spec.path),
            settings=settings,
            budget=self._budget(settings),
            make_prompts=lambda: self.prompts,
            make_git=lambda: self.git,
            why_no_git=lambda: self.why_no_git,
            make_advisor=lambda: self.advisor,
            make_tree=lambda: self.tree,
            record=self._record,
            run_id=self.run.id,
            mask=self.mask,
            announce=messages.announce,
            note=messages.note,
            announce_verbose=messages.announce_verbose,
            live=messages.screen.doing,
            guidance=lambda kind: self.kinds[kind].guidance,
            ask=interactive.ask if interactive else None,
            edit=interactive.edit if interactive else None,
            git_lock=self._git_lock,
            make_tree_lock=lambda: self.tree_lock,
            take_turn=file_turns.take if self.run.worker else None,
            make_worktrees=lambda: self.worktrees,
            has_other_workers=self.run.specs.are_others_at_work(spec),
            do_others_take_turns=lambda: self.run.specs.tell_changes_apart,
        )

    def _budget(self, settings: Settings) -> Budget:
        """Return the budget of the run, or a smaller one within it that a state file sets."""
        if settings.budget == self.budget.total:
            return self.budget
        return Budget(settings.budget, within=self.budget)

    def _record(self, record: Record) -> None:
        self.history.record(record)
        if self.run.run_directory.is_elsewhere:
            self.records.append(record)

    # The end

    def stop(self) -> None:
        """End all running commands, and wait for no more answers."""
        interactive = self._created("interactive")
        if interactive is not None:
            interactive.stop()
        # A list: a worker calls this in another thread than the one that adds runners.
        for runner in list(self._runners.values()):
            runner.stop()

    def close(self) -> None:
        """Close everything that was created."""
        for runner in self._runners.values():
            runner.close()
        for mark_file in self._mark_files:
            with contextlib.suppress(OSError):
                mark_file.unlink(missing_ok=True)
        for name in ("history", "worktrees", "tree"):
            part = self._created(name)
            if part is not None:
                part.close()

    def _created(self, name: str) -> Any:
        """Return a cached property if it has been used, else None."""
        return self.__dict__.get(name)


def usage_error(error: Exception, root: Path) -> pytest.UsageError:
    """Return an error about a file of the project as one of how pytest was called."""
    return pytest.UsageError(str(error).replace(f"{root}/", ""))


def copy_environment() -> dict[str, str]:
    """Return a copy of `os.environ` without the variable that pytest changes for each item."""
    environ = dict(os.environ)
    environ.pop("PYTEST_CURRENT_TEST", None)
    return environ
