"""Problems of specs: `--ralph-lint`, which runs nothing, and remarks after collection with `-v`."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

# Before a run begins there is no public way to a terminal writer.
from _pytest.config import create_terminal_writer

from pytest_ralph.files import HISTORY_NAME, TASKS_NAME
from pytest_ralph.healing.task_run import task_timeout
from pytest_ralph.session.discovery import find_specs, look_in_specs, shown_path
from pytest_ralph.session.items import LONGEST_READING, WARNED
from pytest_ralph.session.specs import front_matter_layer, ini_layer
from pytest_ralph.settings import RUN_WIDE, SettingError, read_settings
from pytest_ralph.spec.document import Spec, SpecError
from pytest_ralph.spec.lint import LintFinding, format_github, format_text, lint, lint_syntax
from pytest_ralph.text.inert import one_line
from pytest_ralph.text.listing import count, listed
from pytest_ralph.text.secrets import Masker, MaskError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from _pytest._io import TerminalWriter

    from pytest_ralph.session.run import Run
    from pytest_ralph.settings import Settings
    from pytest_ralph.spec.task import Task

# Time limits named in one remark.
MOST_LIMITS = 8


def lint_specs(config: pytest.Config) -> int:
    """Write all findings; return 1 if one is an error, 5 if there is no spec."""
    try:
        settings = read_settings(ini_layer(config))
        masker = Masker(extra=settings.secrets)
    except (MaskError, SettingError) as error:
        raise pytest.UsageError(str(error)) from None
    writer = create_terminal_writer(config)
    look_in_specs(config)
    paths = list(find_specs(config))
    if not paths:
        writer.line(f"no {TASKS_NAME} below {', '.join(config.args)}")
        return int(pytest.ExitCode.NO_TESTS_COLLECTED)

    errors = warnings = 0
    for path in paths:
        problems = find_problems(path, settings)
        # They quote the plan, and what is printed here may be public.
        findings = [replace(one, message=masker.mask(one.message)) for one in problems]
        _write_findings(config, writer, shown_path(path, config.rootpath), findings)
        of_severity = Counter(finding.severity for finding in findings)
        errors += of_severity["error"]
        warnings += len(findings) - of_severity["error"]
    writer.line(
        f"{count(len(paths), 'spec')}, {count(errors, 'error')}, {count(warnings, 'warning')}"
    )
    return int(pytest.ExitCode.TESTS_FAILED if errors else pytest.ExitCode.OK)


def _write_findings(
    config: pytest.Config, writer: TerminalWriter, path: str, findings: Sequence[LintFinding]
) -> None:
    """Write the findings of one spec; without `-v`, the first with each code stands for all."""
    if config.getoption("ralph_lint") == "github":
        for finding in findings:
            writer.line(format_github(finding, path))
        return

    is_brief = config.get_verbosity() <= 0
    of_code = Counter(finding.code for finding in findings)
    for finding in findings:
        line = format_text(finding, path)
        if is_brief:
            # Taken out with the first finding that has this code.
            count = of_code.pop(finding.code, 0)
            if count == 0:
                continue
            if count > 1:
                line += f" and {count - 1} more (-v lists them)"
        is_error = finding.severity == "error"
        writer.line(line, red=is_error, yellow=not is_error)


def find_problems(path: Path, settings: Settings) -> list[LintFinding]:
    """Return what is wrong with one spec, by line; an unreadable file is one finding."""
    try:
        spec = Spec.load(path, verify=settings.verify)
    except SpecError as error:
        return [LintFinding(error.line, "unreadable", error.message, "error")]
    syntax_errors = lint_syntax(spec)
    # What a command that cannot be parsed would do is a guess.
    unparsable_lines = {finding.line for finding in syntax_errors}
    problems: list[LintFinding] = []
    timeout = settings.timeout
    try:
        front_matter = read_settings(front_matter_layer(spec, ""))
        if "timeout" in spec.settings:
            timeout = front_matter.timeout
    except SettingError as error:
        _, line_number, message = str(error).split(":", 2)
        problems.append(LintFinding(int(line_number), "setting", message.strip(), "error"))
    findings = lint(spec, timeout=timeout)
    problems += [finding for finding in findings if finding.line not in unparsable_lines]
    return sorted([*problems, *_run_wide_settings(spec), *syntax_errors])


def _run_wide_settings(spec: Spec) -> Iterator[LintFinding]:
    for name in RUN_WIDE & spec.settings.keys():
        line = spec.setting_lines[name]
        yield LintFinding(line, "setting", f"`{name}` applies to the whole run and is ignored here")


def remarks(run: Run, spec: Spec, tasks: Sequence[Task]) -> Iterator[str]:
    """Yield how these tasks of a spec are read, its problems, and what the history knows."""
    path = run.specs.relative(spec.path)
    mask = run.resources.mask
    for task in tasks:
        reading = mask(f"{task.heading}: {task.verify.describe()}")
        yield f"{path}:{task.line}: {one_line(reading, LONGEST_READING)}"

    plan = run.specs.plan(spec)
    settings = run.specs.settings_of(spec)
    unselected_lines = _lines(spec.tasks) - _lines(tasks)
    for finding in lint(spec, plan.problems, timeout=settings.timeout):
        # The codes in WARNED are reported as warnings in any case.
        if finding.code not in WARNED and finding.line not in unselected_lines:
            yield mask(format_text(finding, path))

    if (run.directory / HISTORY_NAME).exists():
        yield from _risks(run, spec, path, {task.id for task in tasks})
        yield from _time_limits(run, spec, path, tasks)


def _risks(run: Run, spec: Spec, path: str, selected: Collection[str]) -> Iterator[str]:
    # Imported here: most specs have no history.
    from pytest_ralph.failure.wording import headline

    for risk in run.resources.advisor.risks(spec.name):
        task = spec.get(risk.task)
        if task is not None and risk.task in selected:
            yield (
                f"{path}:{task.line}: likely to fail: {risk.task}, {risk.chance}, "
                f"mostly: {headline(risk.kind)}"
            )


def _time_limits(run: Run, spec: Spec, path: str, tasks: Iterable[Task]) -> Iterator[str]:
    """Remark on a time limit that is far too short, or so long that a hang is costly."""
    default = run.specs.settings_of(spec).timeout
    better = []
    for task in tasks:
        advised = run.resources.advisor.time_limit(spec.name, task.id)
        if advised is None:
            continue
        current = task_timeout(task, default)
        if not advised.seconds <= current <= 2 * advised.seconds:
            better.append(f"{task.id} {advised.seconds:g} s")
    if better:
        named = listed(better, MOST_LIMITS)
        yield f"{path}: suggested time limits, from how long these tasks took: {named}"


def _lines(tasks: Iterable[Task]) -> set[int]:
    lines: set[int] = set()
    for task in tasks:
        lines.update(range(task.line, task.end_line + 1))
    return lines
