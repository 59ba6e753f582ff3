"""The start of the work on one spec of a run: its state file, its settings and its services."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.files import PROGRESS_NAME, STATE_NAME
from pytest_ralph.healing.spec_files import SpecFiles
from pytest_ralph.healing.spec_run import SpecRun
from pytest_ralph.spec.state import State
from pytest_ralph.spec.state_file import set_aside

if TYPE_CHECKING:
    from pytest_ralph.healing.takeover_log import TakeoverLog
    from pytest_ralph.session.run import Run
    from pytest_ralph.settings import Settings
    from pytest_ralph.spec.document import Spec


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
    services = run.resources.services(spec, settings)
    spec_run = SpecRun(services, spec_files, recovery=recovery, takeover_log=takeover_log)
    if recovery and is_first:
        for line in spec_run.start(run.specs.relative(spec.directory)):
            run.messages.note(f"{spec.name}: {line}")
    return spec_run


def _takeover_log(run: Run, spec: Spec) -> TakeoverLog | None:
    """Return the log by which another worker can go on with the spec; None without workers."""
    if run.worker is None:
        return None
    if run.worker.every_spec and run.specs.is_written(spec):
        run.run_directory.take_turn()
    return run.run_directory.takeover_log(spec.path)


def _set_state_aside(run: Run, spec: Spec) -> None:
    moved_to = set_aside(spec.directory / STATE_NAME)
    if moved_to is not None:
        run.messages.note(
            f"{spec.name}: state moved aside to {moved_to.name}; "
            "tasks.md, commits and history are as they were"
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
        from pytest_ralph.session.xdist.outbox import keep_originals
        from pytest_ralph.session.xdist.recorded_files import RecordedSpecFiles

        own_files = (spec.path, spec.directory / STATE_NAME, spec.directory / PROGRESS_NAME)
        keep_originals(run, own_files)
        files_class = RecordedSpecFiles
    return files_class(spec, run.specs.plan(spec), verify=run.settings.verify, state=state)


def _settings(run: Run, spec: Spec, state: State) -> Settings:
    """Return the settings for the work on a spec, without what cannot be done here or now."""
    settings = run.specs.settings_of(spec, state)
    if run.run_directory.is_elsewhere:
        # Only the controller, which has the project itself, can commit.
        settings = replace(settings, commit="none")
        if run.resources.git is None:
            settings = replace(settings, isolate="none", candidates=1)

    has_work = settings.execute or settings.recovery
    if has_work and run.specs.awaits_approval(spec):
        settings = replace(settings, execute=False)
        run.messages.note(
            f"{run.specs.relative(spec.path)} is only verified: it awaits approval (set "
            f"awaitingApproval to false in {STATE_NAME} to have it worked on)"
        )
    return settings
