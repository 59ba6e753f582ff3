"""One pytest run over any number of specs."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.files import RALPH_DIRECTORY, RUNS_NAME
from pytest_ralph.session.messages import Messages
from pytest_ralph.session.misread_values import refuse_wrong_root
from pytest_ralph.session.parallel import ParallelGroups
from pytest_ralph.session.preflight import Preflight
from pytest_ralph.session.requirements import (
    check_distribution,
    check_project_files,
    check_settings,
)
from pytest_ralph.session.resources import Resources
from pytest_ralph.session.run_directory import RunDirectory
from pytest_ralph.session.spec_start import start_spec
from pytest_ralph.session.specs import Specs
from pytest_ralph.session.symlinks import own_paths, refuse_to_write
from pytest_ralph.session.xdist.handover import Handover

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.healing.spec_run import SpecRun
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
        self.messages = Messages(config, self.root, self._mask)
        self.specs = Specs(config, self.root, self.worker)
        self.resources = Resources(self)
        self.preflight = Preflight(self)
        self.groups = ParallelGroups(self._failures_left, self.messages.show)
        self.spec_runs: dict[Path, SpecRun] = {}
        self._check()

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

    def _check(self) -> None:
        """Raise UsageError for what would otherwise fail in the middle of the run."""
        check_project_files(self)
        refuse_to_write(own_paths(self.directory), self.root)
        check_distribution(self)
        settings = self.settings
        needs_executor = settings.execute or settings.recovery is True
        check_settings(self, settings, needs_executor=needs_executor)

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


def new_run_id() -> str:
    """Return an id that sorts by time."""
    return f"{time.strftime('%Y%m%dT%H%M%S')}-{secrets.token_hex(3)}"
