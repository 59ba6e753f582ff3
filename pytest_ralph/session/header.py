"""What a run says before its first task: what it does, and what to know about its specs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_ralph.session.run import Run
    from pytest_ralph.spec.document import Spec
    from pytest_ralph.spec.task import Task


# A spec, and its tasks that are going to run.
SelectedTasks = tuple["Spec", list["Task"]]


def mode_line(run: Run) -> str:
    """Return what the run does, and with which executor."""
    settings = run.settings
    if run.config.getoption("ralph_explain"):
        return "ralph: explain only, nothing runs"
    if settings.only_verifies:
        return "ralph: verify only"
    modes = []
    if settings.execute:
        modes.append("execute")
    if settings.recovery is None:
        modes.append("recovery where the state file asks for it")
    elif settings.recovery:
        modes.append("recovery")
    mode = ", ".join(modes)
    executors = run.resources.mask(", then ".join(settings.executor))
    runs = "run" if settings.budget == 1 else "runs"
    return f"ralph: {mode}, executor {executors}, at most {settings.budget} {runs}"


def missing_executors(run: Run) -> list[str]:
    """Return a line for each executor that is not installed. A run may not need it."""
    if run.settings.only_verifies:
        return []
    lines = []
    for executor in run.resources.executors(run.settings):
        problem = executor.available()
        if problem:
            lines.append(f"ralph: executor {executor.name}: {problem}")
    return lines


def lines_about_specs(run: Run, selected: Iterable[SelectedTasks]) -> list[str]:
    """Return what a user should know about the collected specs before their tasks run."""
    lines: list[str] = []
    for spec, tasks in selected:
        lines += _notes_on_spec(run, spec)
        if run.config.option.verbose > 0:
            # Imported here: only `-v` shows remarks.
            from pytest_ralph.session.linting import remarks

            lines += remarks(run, spec, tasks)
    return lines


def _notes_on_spec(run: Run, spec: Spec) -> Iterator[str]:
    """Yield how the spec is run if that is not what it, or the header, says."""
    path = run.specs.relative(spec.path)
    request = run.specs.ignored_request(spec)
    if request is not None:
        yield (
            f"ralph: {path}: {request} is off although the front matter says "
            f"{request}: true (turn it on with --ralph-{request})"
        )
    elif run.specs.ignores_recovery_mode(spec):
        yield (
            f"ralph: {path}: recovery is off although the state file says "
            "recoveryMode: true (turn it on with --ralph-recovery)"
        )
    settings = run.specs.settings_of(spec)
    if not settings.only_verifies and settings.executor != run.settings.executor:
        executors = run.resources.mask(", then ".join(settings.executor))
        yield f"ralph: {path}: executor {executors} (from the front matter)"
