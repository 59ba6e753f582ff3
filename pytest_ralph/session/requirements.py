"""What has to be true before anything runs: project files, executors, a shell.

Each function raises UsageError for what would otherwise fail in the middle of a run.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.files import WORKTREES_NAME, lasting_directory
from pytest_ralph.healing.services import executors_of
from pytest_ralph.session.resources import usage_error
from pytest_ralph.text.regex import regex
from pytest_ralph.text.secrets import MaskError

if TYPE_CHECKING:
    from pytest_ralph.session.run import Run
    from pytest_ralph.settings import Settings
    from pytest_ralph.spec.document import Spec

# The first word of a command line if it is a path: `./agent.sh --fast`.
_SCRIPT = regex(r"[\w.+@-]*/[\w./+@-]*(?=\s|$)")


def check_project_files(run: Run) -> None:
    """Check the files that the project supplies.

    Ours are tested, and loading them would slow down every start.
    """
    settings = run.settings
    if not settings.kinds and not settings.secrets and not settings.templates:
        return
    # Imported here: most projects supply none.
    from pytest_ralph.fixing.errors import TemplatesError

    resources = run.resources
    try:
        if settings.kinds:
            _ = resources.kinds
        if settings.secrets:
            _ = resources.masker
        if settings.templates:
            for note in resources.prompts.templates.check(resources.kinds):
                run.messages.note(note)
    except (MaskError, TemplatesError) as error:
        raise usage_error(error, run.root) from None


def check_distribution(run: Run) -> None:
    """Check what pytest-xdist makes impossible, before it starts its workers."""
    if run.settings.interactive and run.config.getoption("dist", "no") != "no":
        raise pytest.UsageError(
            "--ralph-interactive needs the terminal, which workers do not have: leave out -n"
        )


def check_settings(run: Run, settings: Settings, *, needs_executor: bool) -> None:
    """Check the shell, the terminal and, if one is needed, the executor."""
    if needs_executor:
        _check_executors(run, settings)
        _remove_stale_worktrees(run)
        _check_isolation(run, settings)
    if settings.shell and not shutil.which(settings.shell):
        shown = run.resources.mask(settings.shell)
        raise pytest.UsageError(f"--ralph-shell: no such shell: {shown}")
    if settings.interactive and run.resources.interactive is None:
        raise pytest.UsageError("--ralph-interactive needs a terminal as standard input and output")


def check_tasks(run: Run, spec: Spec, settings: Settings) -> None:
    """Check the executors that tasks name, and that each task has one that can carry it out."""
    path = run.specs.relative(spec.path)
    with_own = [task for task in spec.tasks if "Executor" in task.fields]
    for task in with_own:
        own_settings = settings._replace(executor=executors_of(task))
        _check_executors(run, own_settings, f"{path}:{task.line}: ")

    if not settings.execute or len(with_own) == len(spec.tasks):
        return
    has_plugin = bool(run.hooks_for(spec.path).pytest_ralph_execute.get_hookimpls())
    if not has_plugin and not run.resources.executors(settings):
        raise pytest.UsageError("--ralph-execute needs an executor: name one with --ralph-executor")


def _check_executors(run: Run, settings: Settings, place: str = "") -> None:
    # Imported here: a run that only verifies needs no executor.
    from pytest_ralph.fixing.agents import PRESETS

    for executor in run.resources.executors(settings):
        problem = executor.available()
        if problem and executor.name not in PRESETS:
            # A preset is looked up when it is needed: it may not be installed here.
            if (run.root / executor.name).is_file():
                problem += f"; write ./{executor.name} to run the file in the project root"
            raise pytest.UsageError(f"{place}{problem}")
    for command in settings.executor:
        _check_script(run, command)


def _check_script(run: Run, command: str) -> None:
    """Check the script that an executor's command line starts with."""
    script = _SCRIPT.match(command.strip())
    if script is None:
        return
    path = run.root / script[0]
    shown = run.resources.mask(script[0])
    if not path.is_file():
        raise pytest.UsageError(f"--ralph-executor: no such file: {shown}")
    if not os.access(path, os.X_OK):
        raise pytest.UsageError(f"--ralph-executor: {shown} is not executable (chmod +x {shown})")


def _remove_stale_worktrees(run: Run) -> None:
    """Remove the worktrees of runs that were killed, and take back their unfinished merges."""
    if run.worker or not lasting_directory(run.root, WORKTREES_NAME).is_dir():
        return
    if run.config.option.collectonly or run.config.getoption("ralph_explain"):
        # Nothing runs, so nothing is changed.
        return
    # Imported here: most projects have no worktrees.
    from pytest_ralph.fixing.errors import GitError

    try:
        lines = run.resources.worktrees.sweep()
    except (GitError, OSError) as error:
        lines = [f"worktrees of a run that was killed could not be removed: {error}"]
    for line in lines:
        run.messages.note(line)


def _check_isolation(run: Run, settings: Settings) -> None:
    """Check that executors can work in worktrees."""
    if run.run_directory.is_elsewhere:
        # A copy of the project without git: its changes are merged by the controller.
        return
    option = "--ralph-isolate=worktree"
    if settings.isolate == "none":
        if settings.candidates == 1:
            return
        option = "--ralph-candidates"
    # Imported here: most runs are not isolated.
    from pytest_ralph.fixing.errors import GitError
    from pytest_ralph.fixing.git.checkpoint import Git

    reason = Git(run.root).unavailable()
    if reason is not None:
        raise pytest.UsageError(f"{option} needs a git repository: {reason}")
    try:
        run.resources.worktrees.require_usable()
    except GitError as error:
        raise pytest.UsageError(f"{option}: {error}") from None
