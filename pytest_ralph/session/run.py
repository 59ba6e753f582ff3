"""One pytest run over any number of specs: the object everything of a run hangs on, and how it is put together."""

from __future__ import annotations

import os
import secrets
import shutil
import threading
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.files import (
    HISTORY_NAME,
    LOGS_NAME,
    PROGRESS_NAME,
    RALPH_DIRECTORY,
    RUNS_NAME,
    STATE_NAME,
)
from pytest_ralph.fixing.templating import Templates, TemplatesError
from pytest_ralph.healing.budget import Budget
from pytest_ralph.healing.services import Services
from pytest_ralph.healing.spec_files import SpecFiles
from pytest_ralph.healing.spec_run import SpecRun
from pytest_ralph.session.groups import Around, Groups
from pytest_ralph.session.locks import TurnLock
from pytest_ralph.session.preflight import Preflight
from pytest_ralph.session.run_directory import Shared
from pytest_ralph.session.screen import Screen
from pytest_ralph.session.setting_sources import (
    command_line_layer,
    front_matter_layer,
    ini_layer,
    state_layer,
)
from pytest_ralph.session.symlinks import own_paths, refuse_to_write
from pytest_ralph.settings import SettingError, Settings, read_settings
from pytest_ralph.spec.completion import with_progress
from pytest_ralph.spec.document import Spec, SpecError
from pytest_ralph.spec.order import Plan, plan
from pytest_ralph.spec.state_file import set_aside
from pytest_ralph.text.secrets import Masker, MaskError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_ralph.failure.kinds import Kinds
    from pytest_ralph.fixing.agents.base import Executor
    from pytest_ralph.fixing.git.checkpoint import Git
    from pytest_ralph.fixing.prompts import Prompts
    from pytest_ralph.history.advisor import Advisor
    from pytest_ralph.history.record import Record
    from pytest_ralph.history.store import History
    from pytest_ralph.results import TaskResult
    from pytest_ralph.running.runner import Runner
    from pytest_ralph.session.interactive import Interactive
    from pytest_ralph.session.items import TaskItem
    from pytest_ralph.spec.state import State

run_key = pytest.StashKey["Run"]()


def start(config: pytest.Config) -> None:
    """Called once, when the options ask for us: make the run and let its parts listen to pytest."""
    from pytest_ralph.session.collect import Collecting
    from pytest_ralph.session.defaults import Defaults
    from pytest_ralph.session.e2e_cleanup import Cleaning
    from pytest_ralph.session.reporting import JunitAttempts, Reporting
    from pytest_ralph.session.signals import Termination
    from pytest_ralph.session.summary import Ending

    run = Run(config)
    config.stash[run_key] = run
    config.pluginmanager.register(Defaults(run), "ralph-defaults")
    config.pluginmanager.register(Collecting(run), "ralph-collecting")
    config.pluginmanager.register(Reporting(run), "ralph-reporting")
    if config.getoption("xmlpath", None):
        config.pluginmanager.register(JunitAttempts(run), "ralph-junit")
    config.pluginmanager.register(Ending(run), "ralph-ending")
    config.pluginmanager.register(Termination(run), "ralph-termination")
    config.pluginmanager.register(Cleaning(run), "ralph-cleaning")
    config.add_cleanup(run.close)
    if run.handed or config.getoption("dist", "no") != "no":
        config.pluginmanager.register(_distribution(run), "ralph-xdist")
    if config.getoption("verbose", 0) > 0:
        from pytest_ralph.session.linting import Telling

        config.pluginmanager.register(Telling(run), "ralph-telling")
    if config.pluginmanager.hasplugin("html"):
        from pytest_ralph.report.pytest_html import HtmlColumns

        config.pluginmanager.register(HtmlColumns(), "ralph-html")


def _distribution(run: Run) -> object:
    if run.handed:
        from pytest_ralph.session.xdist.worker import Worker

        return Worker(run)
    from pytest_ralph.session.xdist.controller import Controller

    return Controller(run)


class Run:
    """What one pytest run knows. Expensive parts are made on first use."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.root: Path = config.rootpath
        self.started = time.time()
        worker: dict[str, Any] = getattr(config, "workerinput", {})
        self.handed: dict[str, Any] = worker.get("ralph", {})
        self.id: str = (
            self.handed.get("run") or f"{time.strftime('%Y%m%dT%H%M%S')}-{secrets.token_hex(3)}"
        )
        self.shared = Shared(
            self.directory / RUNS_NAME / self.id,
            worker.get("workerid", ""),
            alone=self.handed.get("alone", False),
        )
        self.notes: list[str] = []
        # For a controller to show and to store: in a worker there is no terminal, maybe not even the same disk.
        self.shown: list[str] = []
        self.records: list[Record] = []
        self.screen = Screen(config)
        self.session: pytest.Session | None = None
        self.works: dict[Path, SpecRun] = {}
        self._runners: dict[str | None, Runner] = {}
        self._executors: dict[str, Executor | None] = {}
        self._plans: dict[Path, Plan] = {}
        self._environ = dict(os.environ)
        self.settings = self._settings()
        self.budget = Budget(self.settings.budget, self.shared.budget if self.handed else None)
        self.groups = Groups(Around(self._tolerance, self.show))
        self.holding = Preflight(self)
        self._check()

    # Settings

    def _settings(self) -> Settings:
        try:
            return read_settings(command_line_layer(self.config), ini_layer(self.config))
        except SettingError as error:
            raise pytest.UsageError(str(error)) from None

    def settings_of(self, spec: Spec, state: State | None = None) -> Settings:
        """With what its front matter sets, and last what its state does; SettingError if that cannot be."""
        if not spec.settings and state is None:
            return self.settings
        here = front_matter_layer(spec, self.relative(spec.path))
        last = () if state is None else (state_layer(state),)
        return read_settings(command_line_layer(self.config), here, ini_layer(self.config), *last)

    def _check(self) -> None:
        """What would only come to light in the middle of a run is said before it."""
        try:
            # Ours are right, and reading them takes longer than a run without a failure should wait.
            if self.settings.kinds:
                _ = self.kinds
            if self.settings.secrets:
                _ = self.masker
            if self.settings.templates:
                for unused in self.prompts.templates.check(self.kinds):
                    self.note(unused)
        except (MaskError, TemplatesError) as error:
            raise self._unusable(error) from None
        refuse_to_write(own_paths(self.directory), self.root)
        self.check_means(self.settings)

    def _unusable(self, error: Exception) -> pytest.UsageError:
        return pytest.UsageError(str(error).replace(f"{self.root}/", ""))

    def check_means(self, settings: Settings) -> None:
        """Whoever is to do the work must be there."""
        executor = self.executor(settings.executor)
        if executor and (why := executor.available()):
            raise pytest.UsageError(why)
        if (
            settings.execute
            and not executor
            and not self.config.hook.pytest_ralph_execute.get_hookimpls()
        ):
            raise pytest.UsageError(
                "--ralph-execute needs somebody to do the tasks: give one with --ralph-executor"
            )
        if settings.shell and not shutil.which(settings.shell):
            raise pytest.UsageError(f"--ralph-shell: no such shell: {settings.shell}")
        if settings.interactive and not self.interactive:
            raise pytest.UsageError(
                "--ralph-interactive needs a terminal, and standard input or output is none"
            )

    def _project_path(self, name: str | None) -> Path | None:
        return self.root / name if name else None

    def _tolerance(self) -> int | None:
        """How many more failures end the run."""
        most: int = self.config.getoption("maxfail")
        return max(1, most - (self.session.testsfailed if self.session else 0)) if most else None

    # Parts

    @cached_property
    def kinds(self) -> Kinds:
        from pytest_ralph.failure.kinds import Kinds, KindsError

        try:
            return Kinds.load(self._project_path(self.settings.kinds))
        except KindsError as error:
            raise self._unusable(error) from None

    @cached_property
    def masker(self) -> Masker:
        return Masker(self._environ, extra=self.settings.secrets)

    def _mask(self, text: str) -> str:
        """Makes the masker only when there is something to mask."""
        return self.masker.mask(text)

    @property
    def directory(self) -> Path:
        return self.root / RALPH_DIRECTORY

    def runner(self, shell: str | None) -> Runner:
        """A spec may ask for a shell of its own."""
        if shell not in self._runners:
            from pytest_ralph.running.runner import Runner

            logs = self.directory / LOGS_NAME
            self._runners[shell] = Runner(
                root=self.root, environ=self._environ, logs=logs, shell=shell, mask=self._mask
            )
            if self.handed:
                self.shared.started(self._runners[shell].mark.run)
        return self._runners[shell]

    @cached_property
    def history(self) -> History:
        from pytest_ralph.history.store import History

        return History.open(self.directory / HISTORY_NAME, warn=self.note, mask=self.masker.mask)

    @cached_property
    def advisor(self) -> Advisor:
        from pytest_ralph.history.advisor import Advisor

        return Advisor(lambda: self.history, self.note)

    def executor(self, name: str) -> Executor | None:
        """Who carries out tasks; a spec may ask for one of its own."""
        from pytest_ralph.fixing.agents import NO_EXECUTOR, make_executor

        if name not in NO_EXECUTOR and name not in self._executors:
            given = {
                "model": self.settings.executor_model,
                "args": self.settings.executor_args,
                "program": self.settings.executor_program,
            }
            self._executors[name] = make_executor(name, given, self.kinds)
        return self._executors.get(name)

    @cached_property
    def git(self) -> Git | None:
        from pytest_ralph.fixing.git.checkpoint import Git

        git = Git(self.root)
        return None if git.unavailable() else git

    @cached_property
    def _git_lock(self) -> TurnLock:
        return TurnLock(self.directory, "git")

    @cached_property
    def prompts(self) -> Prompts:
        from pytest_ralph.fixing.prompts import Prompts

        return Prompts(Templates(self._project_path(self.settings.templates)), self.masker)

    @cached_property
    def interactive(self) -> Interactive | None:
        """The person to ask, where there is a terminal at which one can sit."""
        from pytest_ralph.session.interactive import Console, Interactive

        console = Console.find(self.config)
        return Interactive(console, self.screen, self.halt) if console else None

    # Specs

    @cached_property
    def snapshots(self) -> dict[str, str]:
        """Every spec as it is now, by its place in the project, for workers."""
        from pytest_ralph.session.discovery import find_specs

        specs = (spec for path in find_specs(self.config) if (spec := self._readable(path)))
        return {self.relative(spec.path): spec.source for spec in specs}

    def _readable(self, path: Path) -> Spec | None:
        try:
            return self.load(path)
        except (SpecError, SettingError):
            # The worker that collects it says what is wrong.
            return None

    def load(self, path: Path) -> Spec:
        """Read a spec; in a worker, as the controller saw it. SpecError or SettingError if it cannot be used."""
        handed = self.handed.get("specs", {}).get(self.relative(path))
        if handed is not None:
            return with_progress(Spec.parse(handed, path, verify=self.settings.verify))
        spec = with_progress(Spec.load(path, verify=self.settings.verify))
        spec.require_settings()
        self.settings_of(spec)
        return spec

    def plan(self, spec: Spec) -> Plan:
        if spec.path not in self._plans:
            self._plans[spec.path] = plan(spec.tasks)
        return self._plans[spec.path]

    def work(self, spec: Spec) -> SpecRun:
        if spec.path not in self.works:
            self.works[spec.path] = self._start_work(spec)
        return self.works[spec.path]

    def _start_work(self, spec: Spec) -> SpecRun:
        settings = self.settings_of(spec)
        if (
            self.handed
            and self.shared.alone
            and (settings.execute or self.holding.is_written(spec))
        ):
            self.shared.take_turn()
        takeover_log = self.shared.takeover_log(spec.path) if self.handed else None
        first = takeover_log is None or takeover_log.is_new
        spec_files = self._workspace(spec, fresh=settings.fresh and first)
        settings = self.settings_of(spec, spec_files.state)
        recovery = (
            settings.recovery if settings.recovery is not None else spec_files.state.recovery_mode
        )
        work = SpecRun(
            self._desk(settings, spec), spec_files, recovery=recovery, takeover_log=takeover_log
        )
        if recovery and first:
            for line in work.start(self.relative(spec.directory)):
                self.note(f"{spec.name}: {line}")
        return work

    def _workspace(self, spec: Spec, *, fresh: bool) -> SpecFiles:
        if fresh and (moved := set_aside(spec.directory / STATE_NAME)):
            self.note(
                f"{spec.name}: state moved aside to {moved.name}; tasks.md, commits and history are as they were"
            )
        return SpecFiles(spec, self.plan(spec), verify=self.settings.verify)

    def _beside(self, spec: Spec) -> Iterator[Path]:
        """Where other workers may be at work: on the other specs, and on what their tasks name."""
        others = (
            self.root / place
            for place in self.handed.get("specs", {})
            if self.root / place != spec.path
        )
        for other in map(self.load, others):
            yield from (other.path, other.directory / PROGRESS_NAME)
            yield from (self.root / name for task in other.tasks for name in task.files)

    def _desk(self, settings: Settings, spec: Spec) -> Services:
        return Services(
            root=self.root,
            directory=self.directory,
            runner=self.runner(settings.shell),
            executor=self.executor(settings.executor),
            hook=self.config.hook,
            settings=settings,
            budget=self._budget(settings),
            make_prompts=lambda: self.prompts,
            make_git=lambda: self.git,
            make_advisor=lambda: self.advisor,
            record=self._record,
            run_id=self.id,
            mask=self.masker.mask,
            announce=self._announce,
            announce_verbose=self._tell,
            live=self.screen.doing,
            guidance=lambda kind: self.kinds[kind].guidance,
            ask=self.interactive.ask if settings.interactive and self.interactive else None,
            edit=self.interactive.edit if settings.interactive and self.interactive else None,
            git_lock=self._git_lock,
            files_of_other_specs=lambda: self._beside(spec),
        )

    def _budget(self, settings: Settings) -> Budget:
        total = settings.budget
        return self.budget if total == self.budget.total else Budget(total, within=self.budget)

    def _announce(self, line: str) -> None:
        if not self.screen.write([f"ralph: {line}"]):
            self.note(line)

    def _tell(self, line: str) -> None:
        """With -v. Between pytest's lines only the main thread can write; what is done in others has its live row."""
        told = (
            self.config.getoption("verbose", 0) > 0
            and threading.current_thread() is threading.main_thread()
        )
        if told and not self.screen.write([line]):
            self.shown.append(line)

    def show(self, lines: Sequence[str]) -> None:
        """With -v: what goes on in a group, as it happens."""
        if self.config.option.verbose > 0 and not self.screen.write(["", *lines, ""]):
            self.shown += lines

    def perform(self, item: TaskItem) -> TaskResult:
        self.screen.item = item
        try:
            return self.groups.perform(self.work(item.parent.spec), item.task)
        finally:
            self.screen.item = None

    def _record(self, record: Record) -> None:
        self.history.record(record)
        if self.handed and not self.shared.with_controller:
            self.records.append(record)

    # Small things

    def note(self, line: str) -> None:
        """For the end of the run, once."""
        shown = line.replace(f"{self.root}/", "")
        if shown not in self.notes:
            self.notes.append(shown)

    def relative(self, path: Path) -> str:
        return (
            path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)
        )

    def halt(self, reason: str) -> None:
        """No further item is started."""
        if self.session is not None:
            self.session.shouldstop = reason

    def stop(self) -> None:
        """Ctrl-C: end what runs, start nothing more."""
        self.groups.stop()
        if asking := self.__dict__.get("interactive"):
            asking.stop()
        for runner in self._runners.values():
            runner.stop()

    def close(self) -> None:
        self.groups.close()
        if not self.handed:
            self.shared.remove()
        self.shared.end_turn()
        for part in (
            *self._runners.values(),
            self.__dict__.get("history"),
            self.__dict__.get("git"),
        ):
            if part is not None:
                part.close()
        self.holding.release()
