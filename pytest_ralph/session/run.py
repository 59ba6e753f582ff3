"""One pytest run over any number of specs."""

from __future__ import annotations

import secrets
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.files import PROGRESS_NAME, RALPH_DIRECTORY, RUNS_NAME, STATE_NAME
from pytest_ralph.healing.spec_files import SpecFiles
from pytest_ralph.healing.spec_run import SpecRun
from pytest_ralph.session.messages import Messages
from pytest_ralph.session.misread_values import refuse_wrong_root
from pytest_ralph.session.parallel import ParallelGroups
from pytest_ralph.session.preflight import Preflight
from pytest_ralph.session.resources import Resources
from pytest_ralph.session.run_directory import RunDirectory
from pytest_ralph.session.specs import Specs
from pytest_ralph.session.symlinks import own_paths, refuse_to_write
from pytest_ralph.session.xdist.handover import Handover
from pytest_ralph.spec.state import State
from pytest_ralph.spec.state_file import set_aside

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.results import TaskResult
    from pytest_ralph.session.items import TaskItem
    from pytest_ralph.settings import Settings
    from pytest_ralph.spec.document import Spec


class Run:
    """Holds the parts of one run, and starts the work on each spec.

    worker: What the controller gave this process if it is a worker of pytest-xdist, else None.
    directory: Where everything but the specs' own files is written (`.ralph`).
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.worker = Handover.received(config)
        self.root: Path = config.rootpath
        if self.worker:
            self.root = self.worker.find_project(self.root)
        else:
            refuse_wrong_root(config)
        self.directory = self.root / RALPH_DIRECTORY
        self.started = time.time()
        self.session: pytest.Session | None = None
        # The item that Ctrl-C cut off.
        self.interrupted: TaskItem | None = None
        self.id = self.worker.run_id if self.worker else new_run_id()
        self.run_directory = RunDirectory(
            self.directory / RUNS_NAME / self.id,
            self.worker.worker_id if self.worker else "",
            every_spec=self.worker.every_spec if self.worker else False,
        )
        self.messages = Messages(config, self.root)
        self.specs = Specs(config, self.root, self.worker)
        self.resources = Resources(self)
        self.preflight = Preflight(self)
        self.groups = ParallelGroups(self._failures_left, self.messages.show)
        self.spec_runs: dict[Path, SpecRun] = {}
        self._check()

    @property
    def settings(self) -> Settings:
        """The settings of the run; `specs.settings_of` returns those of one spec."""
        return self.specs.settings

    @property
    def has_workers(self) -> bool:
        """Whether this process is the controller of pytest-xdist."""
        return self.worker is None and self.config.getoption("dist", "no") != "no"

    def _check(self) -> None:
        """Raise UsageError for what would otherwise fail in the middle of the run."""
        self.resources.check_project_files()
        refuse_to_write(own_paths(self.directory), self.root)
        settings = self.settings
        self._check_distribution(settings)
        needs_executor = settings.execute or settings.recovery is True
        self.resources.check_settings(settings, needs_executor=needs_executor)

    def _check_distribution(self, settings: Settings) -> None:
        """Refuse what pytest-xdist makes impossible, before it starts its workers."""
        if settings.interactive and self.config.getoption("dist", "no") != "no":
            raise pytest.UsageError(
                "--ralph-interactive needs the terminal, which workers do not have: leave out -n"
            )

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
            self.interrupted = item
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
            self.spec_runs[spec.path] = self._start_spec(spec)
        return self.spec_runs[spec.path]

    def _start_spec(self, spec: Spec) -> SpecRun:
        takeover_log = None
        if self.worker:
            if self.worker.every_spec and self.specs.is_written(spec):
                self.run_directory.take_turn()
            takeover_log = self.run_directory.takeover_log(spec.path)
        is_first = not self.has_workers
        if takeover_log is not None:
            is_first = takeover_log.is_new
        if is_first and self.specs.settings_of(spec).fresh:
            self._set_state_aside(spec)

        # The state file of a spec that is only verified is neither read nor written.
        is_written = self.specs.is_written(spec)
        spec_files = self._spec_files_class(spec)(
            spec,
            self.specs.plan(spec),
            verify=self.settings.verify,
            state=None if is_written else State(spec.directory / STATE_NAME),
        )
        settings = self._adapted(self.specs.settings_of(spec, spec_files.state))
        if self.specs.awaits_approval(spec) and (settings.execute or settings.recovery):
            settings = replace(settings, execute=False)
            self.messages.note(
                f"{self.specs.relative(spec.path)} is only verified: it awaits approval (set "
                f"awaitingApproval to false in {STATE_NAME} to have it worked on)"
            )
        recovery = self.specs.is_recovered(spec)
        services = self.resources.services(spec, settings)
        spec_run = SpecRun(services, spec_files, recovery=recovery, takeover_log=takeover_log)
        if recovery and is_first:
            for line in spec_run.start(self.specs.relative(spec.directory)):
                self.messages.note(f"{spec.name}: {line}")
        return spec_run

    def _spec_files_class(self, spec: Spec) -> type[SpecFiles]:
        """Return the class for the files of a spec; in a copy of the project they are put back."""
        if not self.run_directory.is_elsewhere:
            return SpecFiles
        from pytest_ralph.session.xdist.outbox import keep_originals
        from pytest_ralph.session.xdist.recorded_files import RecordedSpecFiles

        own_files = (spec.path, spec.directory / STATE_NAME, spec.directory / PROGRESS_NAME)
        keep_originals(self, own_files)
        return RecordedSpecFiles

    def _adapted(self, settings: Settings) -> Settings:
        """Leave out what only the controller can do if this worker has a copy of the project."""
        if not self.run_directory.is_elsewhere:
            return settings
        settings = replace(settings, commit="none")
        if self.resources.git is None:
            settings = replace(settings, isolate="none", candidates=1)
        return settings

    def _set_state_aside(self, spec: Spec) -> None:
        moved_to = set_aside(spec.directory / STATE_NAME)
        if moved_to is not None:
            self.messages.note(
                f"{spec.name}: state moved aside to {moved_to.name}; "
                "tasks.md, commits and history are as they were"
            )

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


def new_run_id() -> str:
    """Return an id that sorts by time."""
    return f"{time.strftime('%Y%m%dT%H%M%S')}-{secrets.token_hex(3)}"
