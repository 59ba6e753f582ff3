"""What the tasks of a run need, created on first use: passing tasks need little of it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.files import BACKUPS_NAME, HISTORY_NAME, LOGS_NAME, WORKTREES_NAME
from pytest_ralph.fixing.agents import NO_EXECUTOR, PRESETS, make_executor
from pytest_ralph.fixing.templating import Templates, TemplatesError
from pytest_ralph.healing.budget import Budget
from pytest_ralph.healing.outages import Outages
from pytest_ralph.healing.regressions import Regressions
from pytest_ralph.healing.services import Services, executors_of
from pytest_ralph.running.runner import Runner
from pytest_ralph.session.killed_runs import record_mark
from pytest_ralph.session.locks import FileTurns, TurnLock
from pytest_ralph.text.secrets import Masker, MaskError

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.failure.kinds import Kinds
    from pytest_ralph.fixing.agents.base import Executor
    from pytest_ralph.fixing.git.checkpoint import Git
    from pytest_ralph.fixing.isolation.worktree import Worktrees
    from pytest_ralph.fixing.prompts import Prompts
    from pytest_ralph.healing.guard import ProjectTree
    from pytest_ralph.healing.shared_passes import SharedPasses
    from pytest_ralph.history.advisor import Advisor
    from pytest_ralph.history.record import Record
    from pytest_ralph.history.store import History
    from pytest_ralph.session.interactive import Interactive
    from pytest_ralph.session.run import Run
    from pytest_ralph.settings import Settings
    from pytest_ralph.spec.document import Spec


# The first word of a command line if it is a path: `./agent.sh --fast`.
_SCRIPT = re.compile(r"[\w.+@-]*/[\w./+@-]*(?=\s|$)")


class Resources:
    """Creates, shares and closes what the tasks of one run need.

    records: In a worker on another machine, the records for the controller's history.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.settings = run.settings
        self.records: list[Record] = []
        self.regressions = Regressions()
        self._environ = copy_environment()
        self._runners: dict[str | None, Runner] = {}
        self._mark_files: list[Path] = []
        # Shared by the workers, and by the controller at the end of the run.
        shared = run.run_directory if run.worker or run.has_workers else None
        budget_file = shared.budget if shared else None
        self.budget = Budget(self.settings.budget, budget_file, max_cost=self.settings.max_cost)
        self.outages = Outages(shared.outages if shared else None)

    # Checks before the run

    def check_project_files(self) -> None:
        """Raise UsageError if a file that the project supplies cannot be used.

        Only the project's own files are checked: ours are tested, and loading them would slow
        down every start.
        """
        try:
            if self.settings.kinds:
                _ = self.kinds
            if self.settings.secrets:
                _ = self.masker
            if self.settings.templates:
                for note in self.prompts.templates.check(self.kinds):
                    self.run.messages.note(note)
        except (MaskError, TemplatesError) as error:
            raise self._usage_error(error) from None

    def check_settings(self, settings: Settings, *, needs_executor: bool) -> None:
        """Raise UsageError if the shell, the terminal or a needed executor is not there."""
        if needs_executor:
            self._check_executors(settings)
            self._remove_stale_worktrees()
            self._check_isolation(settings)
        if settings.shell and not shutil.which(settings.shell):
            raise pytest.UsageError(f"--ralph-shell: no such shell: {settings.shell}")
        if settings.interactive and self.interactive is None:
            raise pytest.UsageError(
                "--ralph-interactive needs a terminal as standard input and output"
            )

    def _check_executors(self, settings: Settings, place: str = "") -> None:
        for executor in self.executors(settings):
            problem = executor.available()
            if problem and executor.name not in PRESETS:
                # A preset is looked up when it is needed: it may not be installed here.
                raise pytest.UsageError(f"{place}{problem}")
        for command in settings.executor:
            self._check_script(command)

    def check_tasks(self, spec: Spec, settings: Settings) -> None:
        """Raise UsageError if a task names an unknown executor, or none can carry it out."""
        with_own = [task for task in spec.tasks if "Executor" in task.fields]
        for task in with_own:
            place = f"{self.run.specs.relative(spec.path)}:{task.line}: "
            self._check_executors(replace(settings, executor=executors_of(task)), place)

        if not settings.execute or len(with_own) == len(spec.tasks):
            return
        if not self.executors(settings) and not self._has_executor_plugin(spec):
            raise pytest.UsageError(
                "--ralph-execute needs an executor: name one with --ralph-executor"
            )

    def _check_script(self, command: str) -> None:
        """Raise UsageError if an executor's command line starts with a script that cannot run."""
        script = _SCRIPT.match(command.strip())
        if script is None:
            return
        path = self.run.root / script[0]
        if not path.is_file():
            raise pytest.UsageError(f"--ralph-executor: no such file: {script[0]}")
        if not os.access(path, os.X_OK):
            raise pytest.UsageError(
                f"--ralph-executor: {script[0]} is not executable (chmod +x {script[0]})"
            )

    def _remove_stale_worktrees(self) -> None:
        """Remove the worktrees of runs that were killed, and take back their unfinished merges."""
        if self.run.worker or not (self.run.directory / WORKTREES_NAME).is_dir():
            return
        from pytest_ralph.fixing.git.command import GitError

        try:
            lines = self.worktrees.sweep()
        except GitError as error:
            lines = [f"worktrees of a run that was killed could not be removed: {error}"]
        for line in lines:
            self.run.messages.note(line)

    def _check_isolation(self, settings: Settings) -> None:
        """Raise UsageError if executors cannot work in worktrees."""
        if self.run.run_directory.is_elsewhere:
            # A copy of the project without git: its changes are merged by the controller.
            return
        option = "--ralph-isolate=worktree"
        if settings.isolate == "none":
            if settings.candidates == 1:
                return
            option = "--ralph-candidates"
        from pytest_ralph.fixing.git.checkpoint import Git
        from pytest_ralph.fixing.git.command import GitError

        reason = Git(self.run.root).unavailable()
        if reason is not None:
            raise pytest.UsageError(f"{option} needs a git repository: {reason}")
        try:
            self.worktrees.require_usable()
        except GitError as error:
            raise pytest.UsageError(f"{option}: {error}") from None

    def _has_executor_plugin(self, spec: Spec) -> bool:
        return bool(self.run.hooks_for(spec.path).pytest_ralph_execute.get_hookimpls())

    def _usage_error(self, error: Exception) -> pytest.UsageError:
        return pytest.UsageError(str(error).replace(f"{self.run.root}/", ""))

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
            raise self._usage_error(error) from None

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
            )
            mark_file = record_mark(self.run.directory, runner.mark.run)
            if mark_file is not None:
                self._mark_files.append(mark_file)
            if self.run.worker:
                self.run.run_directory.record_mark(runner.mark.run)
            self._runners[shell] = runner
        return self._runners[shell]

    def executors(self, settings: Settings) -> tuple[Executor, ...]:
        """Return the executors in their order, without `repair` and `none`, which are none."""
        names = [name for name in settings.executor if name not in NO_EXECUTOR]
        options = {
            "model": settings.executor_model,
            "args": settings.executor_args,
            "program": settings.executor_program,
        }
        found = [make_executor(name, options, self.kinds) for name in names]
        return tuple(executor for executor in found if executor is not None)

    @cached_property
    def history(self) -> History:
        # Imported here for sqlite3: the first attempt that is recorded needs it.
        from pytest_ralph.history.store import History

        path = self.run.directory / HISTORY_NAME
        return History.open(path, warn=self.run.messages.note, mask=self.mask)

    @cached_property
    def advisor(self) -> Advisor:
        from pytest_ralph.history.advisor import Advisor

        return Advisor(lambda: self.history, self.run.messages.note)

    @cached_property
    def git(self) -> Git | None:
        """The git repository of the project; None if there is none."""
        from pytest_ralph.fixing.git.checkpoint import Git

        git = Git(self.run.root)
        return None if git.unavailable() else git

    @cached_property
    def tree(self) -> ProjectTree:
        """The files of the project, watched while executors run."""
        from pytest_ralph.healing.guard import ProjectTree

        return ProjectTree(self.run.root, self.run.directory / BACKUPS_NAME / self.run.id, self.git)

    @cached_property
    def worktrees(self) -> Worktrees:
        """The worktrees of this process, in which executors work."""
        from pytest_ralph.fixing.isolation.worktree import Worktrees

        link = self.settings.isolate_link
        copy = self.settings.isolate_copy
        return Worktrees(self.run.root, self.run.directory, link=link, copy=copy)

    @cached_property
    def _git_lock(self) -> TurnLock:
        return TurnLock(self.run.directory, "git")

    @cached_property
    def _turn_lock(self) -> TurnLock:
        return TurnLock(self.run.directory, "executor")

    @cached_property
    def _shared_passes(self) -> SharedPasses | None:
        if self.run.worker is None or self.run.worker.every_spec:
            return None
        from pytest_ralph.healing.shared_passes import SharedPasses

        return SharedPasses(self.run.run_directory.shared_passes, self.run.worker.worker_id)

    @cached_property
    def _file_turns(self) -> FileTurns:
        return FileTurns(self.run.directory, self.run.messages.note)

    @cached_property
    def _merge_lock(self) -> TurnLock:
        return TurnLock(self.run.directory, "merge")

    @cached_property
    def prompts(self) -> Prompts:
        from pytest_ralph.fixing.prompts import Prompts

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
        return Services(
            root=self.run.root,
            directory=self.run.directory,
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
            make_advisor=lambda: self.advisor,
            make_tree=lambda: self.tree,
            record=self._record,
            run_id=self.run.id,
            mask=self.masker.mask,
            announce=messages.announce,
            note=messages.note,
            announce_verbose=messages.announce_verbose,
            live=messages.screen.doing,
            guidance=lambda kind: self.kinds[kind].guidance,
            ask=interactive.ask if interactive else None,
            edit=interactive.edit if interactive else None,
            git_lock=self._git_lock,
            merge_lock=self._merge_lock,
            turn=self._turn_lock if _must_tell_apart(settings) else nullcontext(),
            shared_passes=self._shared_passes,
            take_turn=self._file_turns.take if self.run.worker else None,
            load_spec=lambda path: self.run.specs.load(self.run.root / path),
            make_worktrees=lambda: self.worktrees,
            files_of_other_specs=lambda: self.run.specs.files_of_other_specs(spec),
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
        for runner in self._runners.values():
            runner.stop()

    def close(self) -> None:
        """Close everything that was created."""
        for runner in self._runners.values():
            runner.close()
        for mark_file in self._mark_files:
            with contextlib.suppress(OSError):
                mark_file.unlink(missing_ok=True)
        history = self._created("history")
        if history is not None:
            history.close()
        worktrees = self._created("worktrees")
        if worktrees is not None:
            worktrees.close()
        tree = self._created("tree")
        if tree is not None:
            tree.close()

    def _created(self, name: str) -> Any:
        """Return a cached property if it has been used, else None."""
        return self.__dict__.get(name)


def copy_environment() -> dict[str, str]:
    """Return a copy of `os.environ` without the variable that pytest changes for each item."""
    environ = dict(os.environ)
    environ.pop("PYTEST_CURRENT_TEST", None)
    return environ


def _must_tell_apart(settings: Settings) -> bool:
    """Return whether it must be known which executor run changed which file.

    Then executors that share the working tree take turns.
    """
    return settings.guard == "refuse" or settings.commit != "none" or settings.rollback
