"""One pytest run over any number of specs: the object everything of a run hangs on, and how it is put together."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.failure.kinds import Kinds, KindsError
from pytest_ralph.fixing.templating import Templates, TemplatesError
from pytest_ralph.groups import Groups
from pytest_ralph.locks import SpecHeld, SpecLocks, spec_key
from pytest_ralph.plugin import INI_ONLY, add_hookspecs
from pytest_ralph.recovery.budget import Budget
from pytest_ralph.recovery.desk import Desk
from pytest_ralph.recovery.ledger import Ledger
from pytest_ralph.recovery.work import SpecWork
from pytest_ralph.recovery.workspace import Workspace
from pytest_ralph.report.halt import refusal_lines
from pytest_ralph.settings import (
    SettingError,
    Settings,
    in_front_matter,
    in_ini_file,
    on_command_line,
    read_settings,
)
from pytest_ralph.spec.document import Spec, SpecError
from pytest_ralph.spec.order import Plan, plan
from pytest_ralph.spec.state import STATE_NAME, State, StateError, set_aside
from pytest_ralph.text.secrets import Masker, MaskError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from pytest_ralph.fixing.checkpoint import Git
    from pytest_ralph.fixing.executors.base import Executor
    from pytest_ralph.fixing.prompts import Prompts
    from pytest_ralph.history.store import History
    from pytest_ralph.history.wisdom import Wisdom
    from pytest_ralph.interactive import Interactive
    from pytest_ralph.items import TaskItem
    from pytest_ralph.recovery.journal import TaskResult
    from pytest_ralph.report.live import Live
    from pytest_ralph.running.command import Runner

run_key = pytest.StashKey["Run"]()


def start(config: pytest.Config) -> None:
    """Called once, when the options ask for us: make the run and let its parts listen to pytest."""
    from pytest_ralph.collecting import Collecting
    from pytest_ralph.defaults import Defaults
    from pytest_ralph.ending import Ending
    from pytest_ralph.reporting import Reporting

    run = Run(config)
    config.stash[run_key] = run
    add_hookspecs(config.pluginmanager)
    config.pluginmanager.register(Defaults(run), "ralph-defaults")
    config.pluginmanager.register(Collecting(run), "ralph-collecting")
    config.pluginmanager.register(Reporting(run), "ralph-reporting")
    config.pluginmanager.register(Ending(run), "ralph-ending")
    config.add_cleanup(run.close)
    if config.pluginmanager.hasplugin("xdist"):
        from pytest_ralph.xdist import Distribution

        config.pluginmanager.register(Distribution(run), "ralph-xdist")
    if config.pluginmanager.hasplugin("html"):
        from pytest_ralph.report.pytest_html import HtmlColumns

        config.pluginmanager.register(HtmlColumns(), "ralph-html")


class Run:
    """What one pytest run knows. Expensive parts are made on first use."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.root: Path = config.rootpath
        self.started = time.time()
        self.handed: dict[str, Any] = getattr(config, "workerinput", {}).get("ralph", {})
        self.id: str = self.handed.get("run") or f"{time.strftime('%Y%m%dT%H%M%S')}-{secrets.token_hex(3)}"
        self.notes: list[str] = []
        self.live: Live | None = None
        self.session: pytest.Session | None = None
        self.works: dict[Path, SpecWork] = {}
        self._runners: dict[str | None, Runner] = {}
        self._executors: dict[str, Executor | None] = {}
        self._plans: dict[Path, Plan] = {}
        self._environ = dict(os.environ)
        self.settings = self._settings()
        self.budget = Budget(self.settings.budget, self._shared / "budget" if self.handed else None)
        self.groups = Groups(lambda work: work.desk.options.jobs, self._stops_early)
        self._check()

    # Settings

    def _settings(self) -> Settings:
        try:
            return read_settings(on_command_line(self.config), in_ini_file(self.config))
        except SettingError as error:
            raise pytest.UsageError(str(error)) from None

    def settings_of(self, spec: Spec) -> Settings:
        """With what the front matter of the spec sets for itself; SettingError if that cannot be."""
        if not spec.settings:
            return self.settings
        here = in_front_matter(spec, self.relative(spec.path))
        return read_settings(on_command_line(self.config), here, in_ini_file(self.config))

    def _check(self) -> None:
        """What would only come to light in the middle of a run is said before it."""
        try:
            # Ours are right, and reading them takes longer than a run without a failure should wait.
            _ = self.ini("ralph_kinds") and self.kinds, self.ini("ralph_templates") and self.prompts
            _ = self.ini("ralph_secrets") and self.masker
        except (KindsError, MaskError, TemplatesError) as error:
            raise pytest.UsageError(str(error)) from None
        self._check_means(self.settings)
        if self.settings.interactive and not self._has_terminal():
            raise pytest.UsageError("--ralph-interactive needs a terminal, and standard input or output is none")

    def _check_means(self, settings: Settings) -> None:
        """Whoever is to do the work must be there."""
        executor = self.executor(settings.executor)
        if executor and (why := executor.available()):
            raise pytest.UsageError(why)
        if settings.execute and not executor:
            raise pytest.UsageError("--ralph-execute needs somebody to do the tasks: give one with --ralph-executor")
        if settings.shell and not shutil.which(settings.shell):
            raise pytest.UsageError(f"--ralph-shell: no such shell: {settings.shell}")

    def _has_terminal(self) -> bool:
        """A person to ask. pytest has put something else in the place of standard input; for a moment it is undone."""
        capture = self.config.pluginmanager.getplugin("capturemanager")
        if capture is None:
            return os.isatty(0) and os.isatty(1)
        capture.suspend_global_capture(in_=True)
        try:
            return os.isatty(0) and os.isatty(1)
        finally:
            capture.resume_global_capture()
            capture.suspend_global_capture()

    def ini(self, key: str) -> Any:
        assert key in INI_ONLY, key
        return self.config.getini(key)

    def _project_path(self, key: str) -> Path | None:
        value = self.ini(key)
        return self.root / value if value else None

    def _stops_early(self) -> bool:
        return bool(self.config.getoption("maxfail") == 1)

    # Parts

    @cached_property
    def kinds(self) -> Kinds:
        return Kinds.load(self._project_path("ralph_kinds"))

    @cached_property
    def masker(self) -> Masker:
        return Masker(self._environ, extra=self.ini("ralph_secrets"))

    def _mask(self, text: str) -> str:
        """Makes the masker only when there is something to mask."""
        return self.masker.mask(text)

    @property
    def directory(self) -> Path:
        return self.root / ".ralph"

    def runner(self, shell: str | None) -> Runner:
        """A spec may ask for a shell of its own."""
        if shell not in self._runners:
            from pytest_ralph.running.command import Runner

            logs = self.directory / "logs"
            self._runners[shell] = Runner(
                root=self.root, environ=self._environ, logs=logs, shell=shell, mask=self._mask
            )
        return self._runners[shell]

    @cached_property
    def history(self) -> History:
        from pytest_ralph.history.store import History

        return History.open(self.directory / "history.db", warn=self.note, mask=self.masker.mask)

    @cached_property
    def wisdom(self) -> Wisdom:
        from pytest_ralph.history.wisdom import Wisdom

        return Wisdom(lambda: self.history, self.note)

    def executor(self, name: str) -> Executor | None:
        """Who carries out tasks; a spec may ask for one of its own."""
        from pytest_ralph.fixing.executors import NOBODY, make_executor

        if name not in NOBODY and name not in self._executors:
            given = {key: self.ini(f"ralph_executor_{key}") for key in ("model", "args", "program")}
            self._executors[name] = make_executor(name, given, self.kinds)
        return self._executors.get(name)

    @cached_property
    def git(self) -> Git | None:
        from pytest_ralph.fixing.checkpoint import Git

        git = Git(self.root)
        return None if git.unavailable() else git

    @cached_property
    def prompts(self) -> Prompts:
        from pytest_ralph.fixing.prompts import Prompts

        return Prompts(Templates(self._project_path("ralph_templates")), self.masker)

    @cached_property
    def interactive(self) -> Interactive | None:
        from pytest_ralph.interactive import Interactive

        return Interactive(self.config, self.halt) if self.settings.interactive else None

    @cached_property
    def locks(self) -> SpecLocks:
        return SpecLocks(self.directory)

    # Specs

    @cached_property
    def snapshots(self) -> dict[str, str]:
        """Every spec as it is now, for workers; looked at and locked once, by the controller."""
        from pytest_ralph.discovery import find_specs

        specs = [spec for path in find_specs(self.config) if (spec := self._readable(path))]
        self.hold(specs)
        return {str(spec.path): spec.source for spec in specs}

    def _readable(self, path: Path) -> Spec | None:
        try:
            return self.load(path)
        except (SpecError, SettingError):
            # The worker that collects it says what is wrong.
            return None

    @cached_property
    def _verify_mapping(self) -> dict[str, str]:
        pairs = (line.partition(": ") for line in self.ini("ralph_verify"))
        return {key.strip(): value.strip() for key, _, value in pairs if value.strip()}

    def load(self, path: Path) -> Spec:
        """Read a spec; in a worker, as the controller saw it. SpecError or SettingError if it cannot be used."""
        handed = self.handed.get("specs", {}).get(str(path))
        if handed is not None:
            return Spec.parse(handed, path, verify=self._verify_mapping)
        spec = Spec.load(path, verify=self._verify_mapping)
        self.settings_of(spec)
        return spec

    def plan(self, spec: Spec) -> Plan:
        if spec.path not in self._plans:
            self._plans[spec.path] = plan(spec.tasks)
        return self._plans[spec.path]

    def hold(self, specs: Iterable[Spec]) -> None:
        """Before anything runs: lock the specs, and refuse one that cannot be worked on."""
        for spec in specs:
            self._lock(spec.path)
            settings = self.settings_of(spec)
            self._check_means(settings)
            try:
                state = State.load(spec.directory / STATE_NAME)
            except StateError as error:
                if not settings.fresh:
                    raise pytest.UsageError(str(error)) from None
                state = State(error.path)
            writes = settings.execute or settings.recovery or (settings.recovery is None and state.recovery_mode)
            self._refuse(self.plan(spec), writes=bool(writes))

    def _lock(self, path: Path) -> None:
        try:
            self.locks.take(path, self.relative(path))
        except SpecHeld as error:
            raise pytest.UsageError(str(error)) from None
        except OSError as error:
            self.note(f"no lock could be taken, so another run would not be noticed: {error}")

    def _refuse(self, plan: Plan, *, writes: bool) -> None:
        """A plan that contradicts itself cannot be carried out; tasks that share a file can still be verified."""
        for problem in plan.problems:
            if writes or problem.kind != "file_conflict":
                raise pytest.UsageError("\n".join(refusal_lines(problem)))
            self.note(problem.message)

    def work(self, spec: Spec) -> SpecWork:
        if spec.path not in self.works:
            self.works[spec.path] = self._start_work(spec)
        return self.works[spec.path]

    def _start_work(self, spec: Spec) -> SpecWork:
        settings = self.settings_of(spec)
        workspace = self._workspace(spec, fresh=settings.fresh)
        recovery = settings.recovery if settings.recovery is not None else workspace.state.recovery_mode
        ledger = Ledger(self._shared / spec_key(spec.path)) if self.handed else None
        if recovery and (ledger is None or ledger.is_new):
            for line in workspace.start(self.relative(spec.directory)):
                self.note(f"{spec.name}: {line}")
        return SpecWork(self._desk(settings), workspace, recovery=recovery, ledger=ledger)

    @property
    def _shared(self) -> Path:
        """What the workers of this run tell each other."""
        return self.directory / "runs" / self.id

    def _workspace(self, spec: Spec, *, fresh: bool) -> Workspace:
        if fresh and (moved := set_aside(spec.directory / STATE_NAME)):
            self.note(f"{spec.name}: state moved aside to {moved.name}; tasks.md, commits and history are as they were")
        return Workspace(spec, self.plan(spec), verify=self._verify_mapping)

    def _desk(self, settings: Settings) -> Desk:
        return Desk(
            root=self.root,
            directory=self.directory,
            runner=self.runner(settings.shell),
            executor=self.executor(settings.executor),
            hook=self.config.hook,
            options=settings,
            budget=self.budget,
            prompts=self.prompts,
            git=self.git,
            record=self.history.record,
            wisdom=self.wisdom,
            run_id=self.id,
            mask=self.masker.mask,
            junit_globs=tuple(self.ini("ralph_junit")),
            announce=self._announce,
            live=self._live,
            ask=self.interactive.ask if self.interactive else None,
            edit=self.interactive.edit if self.interactive else None,
        )

    def _announce(self, line: str) -> None:
        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        capture = self.config.pluginmanager.getplugin("capturemanager")
        if reporter is None or capture is None:
            self.note(line)
            return
        with capture.global_and_fixture_disabled():
            reporter.ensure_newline()
            reporter.write_line(f"ralph: {line}")

    @contextmanager
    def _live(self, what: str, limit: float) -> Iterator[Callable[[str], None] | None]:
        if self.live is None:
            yield None
        else:
            with self.live.doing(what, limit) as said:
                yield said

    def perform(self, item: TaskItem) -> TaskResult:
        return self.groups.perform(self.work(item.parent.spec), item.task)

    # Small things

    def note(self, line: str) -> None:
        if line not in self.notes:
            self.notes.append(line)

    def relative(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)

    def halt(self, reason: str) -> None:
        """No further item is started."""
        if self.session is not None:
            self.session.shouldstop = reason

    def stop(self) -> None:
        """Ctrl-C: end what runs, start nothing more."""
        for runner in self._runners.values():
            runner.stop()

    def close(self) -> None:
        self.groups.close()
        if not self.handed:
            shutil.rmtree(self._shared, ignore_errors=True)
        for part in (*self._runners.values(), self.__dict__.get("history"), self.__dict__.get("git")):
            if part is not None:
                part.close()
        if "locks" in self.__dict__:
            self.locks.release()
