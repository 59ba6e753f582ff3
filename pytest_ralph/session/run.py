"""One pytest run over any number of specs, and the start of the work on each of them."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.files import (
    LOCKS_NAME,
    RALPH_DIRECTORY,
    STATE_NAME,
    backups_directory,
    lasting_directory,
)
from pytest_ralph.healing.spec_files import SpecFiles
from pytest_ralph.healing.spec_run import SpecRun
from pytest_ralph.session.locks import keep_out_later_runs
from pytest_ralph.session.messages import Messages
from pytest_ralph.session.parallel import ParallelGroups
from pytest_ralph.session.preflight import Preflight
from pytest_ralph.session.resources import Resources
from pytest_ralph.session.root import correct_root
from pytest_ralph.session.run_directory import RunDirectory
from pytest_ralph.session.specs import Specs
from pytest_ralph.spec.state import State
from pytest_ralph.spec.state_file import set_aside

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.healing.takeover_log import TakeoverLog
    from pytest_ralph.results import TaskResult
    from pytest_ralph.session.items import TaskItem
    from pytest_ralph.session.xdist.worker_input import WorkerInput
    from pytest_ralph.settings import Settings
    from pytest_ralph.spec.document import Spec


class Run:
    """Holds the parts of one run, and starts the work on each spec.

    worker: What the controller gave this process if it is a worker of pytest-xdist, else None.
    directory: Where everything that no run depends on is written (`.ralph`).
    locks: Where the locks are.
    backups: Where copies of the files that the run changes are kept.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.worker = _worker_input(config)
        if self.worker is None:
            correct_root(config)
            self.root: Path = config.rootpath
            self.id = new_run_id()
        else:
            self.root = self.worker.find_project(config.rootpath)
            self.id = self.worker.run_id
        self.directory = self.root / RALPH_DIRECTORY
        self.locks = lasting_directory(self.root, LOCKS_NAME)
        self.backups = backups_directory(self.root) / self.id
        self.started = time.time()
        self.session: pytest.Session | None = None
        # What Ctrl-C cut off.
        self.interrupted: list[str] = []
        self.run_directory = RunDirectory(self.root, self.id, self.worker)
        self.messages = Messages(config, self.root, self._mask)
        self.specs = Specs(config, self.root, self.worker)
        self.resources = Resources(self)
        self.preflight = Preflight(self)
        self.groups = ParallelGroups(self._failures_left, self.messages.show)
        self.spec_runs: dict[Path, SpecRun] = {}
        self.preflight.check_run()

    def _mask(self, text: str) -> str:
        return self.resources.mask(text)

    @property
    def settings(self) -> Settings:
        """The settings of the run; `specs.settings_of` returns those of one spec."""
        return self.specs.settings

    @property
    def has_workers(self) -> bool:
        """Whether this process is the controller of pytest-xdist."""
        return self.worker is None and self.config.getoption("dist", "no") != "no"

    @property
    def is_failure_one_line(self) -> bool:
        """Whether pytest shows one line for each failure (`--tb=line`)."""
        return bool(self.config.getoption("tbstyle", "") == "line")

    @property
    def next_command(self) -> str:
        """The command line that continues this run, for a person to copy."""
        # Imported here: a run in which everything passes shows no command.
        from pytest_ralph.report.next_steps import command_line

        return command_line(self.config, self._mask, leave_out=("--ralph-fresh",))

    def _failures_left(self) -> int | None:
        """Return how many more failures end the run (-x, --maxfail); None for any number."""
        limit: int = self.config.getoption("maxfail")
        if not limit:
            return None
        failed = self.session.testsfailed if self.session else 0
        return max(1, limit - failed)

    def perform(self, item: TaskItem) -> TaskResult:
        """Run the task of an item, together with its siblings if it is in a [P] group."""
        self.messages.screen.item = item
        spec_run = self.spec_run(item.parent.spec)
        try:
            self.resources.update_environment()
            if item.expected_to_fail:
                return spec_run.verify_only(item.task)
            return self.groups.perform(spec_run, item.task)
        except KeyboardInterrupt:
            self.interrupted = [f"{item.parent.spec.name} {item.task.heading}"]
            raise
        except (SystemExit, pytest.exit.Exception):
            raise
        except BaseException as error:
            # For example pytest-timeout's signal. pytest reports it; nothing may depend on it.
            item.result = spec_run.cut_short(item.task, error)
            raise
        finally:
            self.messages.screen.item = None

    def hooks_for(self, path: Path) -> Any:
        """Return pytest's hooks without those of conftest files that do not apply to the path."""
        assert self.session is not None
        return self.session.gethookproxy(path)

    def spec_run(self, spec: Spec) -> SpecRun:
        """Return the work on a spec; it starts with the first call."""
        if spec.path not in self.spec_runs:
            self.spec_runs[spec.path] = start_spec(self, spec)
        return self.spec_runs[spec.path]

    def halt(self, reason: str) -> None:
        """Start no further item."""
        if self.session is not None:
            self.session.shouldstop = reason

    def stop(self) -> None:
        """End what runs and start nothing more (Ctrl-C)."""
        self.groups.stop()
        self.resources.stop()

    def close(self) -> None:
        """Wait for the groups, then release everything the run holds."""
        self.groups.close()
        if not self.worker:
            self.run_directory.remove()
        self.run_directory.end_turn()
        self.resources.close()
        self.preflight.release()


def _worker_input(config: pytest.Config) -> WorkerInput | None:
    """Return what the controller gave this process; None if it is no worker."""
    if not hasattr(config, "workerinput"):
        return None
    # Imported here: without workers, nothing else needs the module.
    from pytest_ralph.session.xdist.worker_input import KEY, WorkerInput

    given = config.workerinput.get(KEY)
    return WorkerInput(**given) if given else None


def new_run_id() -> str:
    """Return an id that sorts by time."""
    return f"{time.strftime('%Y%m%dT%H%M%S')}-{os.urandom(3).hex()}"


def start_spec(run: Run, spec: Spec) -> SpecRun:
    """Return the work on a spec, ready for its first task."""
    takeover_log = _takeover_log(run, spec)
    is_first = not run.has_workers
    if takeover_log is not None:
        is_first = takeover_log.is_new
    if is_first and run.specs.settings_of(spec).fresh:
        _set_state_aside(run, spec)

    spec_files = _open_files(run, spec)
    settings = _settings(run, spec, spec_files.state)
    recovery = run.specs.is_recovered(spec)
    if not recovery and not settings.execute:
        # What is only verified changes nothing in a repository.
        settings = settings._replace(commit="none", rollback=False)
    services = run.resources.services(spec, settings)
    spec_run = SpecRun(
        services,
        spec_files,
        spec_path=run.specs.relative(spec.path),
        recovery=recovery,
        takeover_log=takeover_log,
    )
    if recovery and is_first:
        for line in spec_run.start(run.specs.relative(spec.directory)):
            run.messages.note(f"{spec.name}: {line}")
    return spec_run


def _takeover_log(run: Run, spec: Spec) -> TakeoverLog | None:
    """Return the log by which another worker can go on with the spec; None without workers."""
    if run.worker is None:
        return None
    keep_out_later_runs(run.locks, spec.path)
    if run.worker.every_spec and run.specs.is_written(spec):
        run.run_directory.take_turn()
    return run.run_directory.takeover_log(spec.path)


def _set_state_aside(run: Run, spec: Spec) -> None:
    moved_to = set_aside(spec.directory / STATE_NAME)
    if moved_to is not None:
        run.messages.note(
            f"{spec.name}: state moved aside to {moved_to.name}; "
            "tasks.md, commits and history are unchanged"
        )


def _open_files(run: Run, spec: Spec) -> SpecFiles:
    """Return the files of a spec; in a copy of the project they are put back afterwards."""
    state = None
    if not run.specs.is_written(spec):
        # The state file of a spec that is only verified is neither read nor written.
        state = State(spec.directory / STATE_NAME)
    files_class = SpecFiles
    if run.run_directory.is_elsewhere:
        # Only workers on another machine need these modules.
        from pytest_ralph.session.xdist.copies import keep_originals
        from pytest_ralph.session.xdist.outbox import RecordedSpecFiles

        files_class = RecordedSpecFiles
    spec_files = files_class(spec, run.specs.plan(spec), verify=run.settings.verify, state=state)
    if run.run_directory.is_elsewhere:
        keep_originals(run, spec_files.own_files)
    return spec_files


def _settings(run: Run, spec: Spec, state: State) -> Settings:
    """Return the settings for the work on a spec, without what cannot be done here or now."""
    settings = run.specs.settings_of(spec, state)
    if run.run_directory.is_elsewhere:
        # Only the controller, which has the project itself, can commit.
        settings = settings._replace(commit="none")
        if run.resources.git is None:
            settings = settings._replace(isolate="none", candidates=1)

    has_work = settings.execute or settings.recovery
    if has_work and settings.commit != "none" and run.resources.why_no_git:
        settings = settings._replace(commit="none")
        run.messages.note(f"no commits: {run.resources.why_no_git}")
    if has_work and run.specs.awaits_approval(spec):
        settings = settings._replace(execute=False)
        run.messages.note(
            f"{run.specs.relative(spec.path)} is only verified: it awaits approval (set "
            f"awaitingApproval to false in {STATE_NAME} to have it worked on)"
        )
    return settings
