"""Report a run to GitHub Actions: annotations on the specs, and a summary on the job's page."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.report.next_steps import next_steps
from pytest_ralph.report.phrases import cost, fix_count, problem
from pytest_ralph.text.bounded import cut_lines
from pytest_ralph.text.inert import annotation, fenced, one_line
from pytest_ralph.text.listing import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pytest_ralph.report.run_summary import RunSummary
    from pytest_ralph.results import TaskResult

# GitHub shows ten annotations per level and step, and refuses a summary of more than 1 MiB.
ANNOTATIONS_SHOWN = 10
ROWS_SHOWN = 200
DETAILS_SHOWN = 30
ERROR_LIMIT = 200
SUMMARY_LIMIT = 1_000_000


def report(
    run: RunSummary,
    environ: Mapping[str, str],
    write_line: Callable[[str], object],
    *,
    annotate_failures: bool = True,
) -> None:
    """Write annotations and the summary, as far as this environment takes them.

    `annotate_failures` is False if another plugin annotates failed items already.
    """
    if environ.get("GITHUB_ACTIONS") == "true":
        for line in workflow_commands(run, environ.get("GITHUB_WORKSPACE", "")):
            if annotate_failures or not line.startswith("::error"):
                write_line(line)

    path = environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        with Path(path).open("a", encoding="utf-8", errors="replace") as file:
            file.write(summary(run))
    except OSError as error:
        write_line(annotation("warning", f"the summary could not be written: {error}"))


def workflow_commands(run: RunSummary, workspace: str = "") -> list[str]:
    """Return an error for each failed task and a notice for each recovered one."""
    errors = []
    notices = []
    for task in run.tasks:
        if task.bad:
            errors.append(_annotation("error", task, run.root, workspace))
        elif task.outcome == "recovered":
            notices.append(_annotation("notice", task, run.root, workspace))
    return errors[:ANNOTATIONS_SHOWN] + notices[:ANNOTATIONS_SHOWN]


def _annotation(level: str, task: TaskResult, root: str, workspace: str) -> str:
    """Return one annotation on the line of a task."""
    file = _path_in(workspace, root, task.spec_path)
    title = one_line(f"{task.heading}: {task.outcome}", ERROR_LIMIT)
    return annotation(level, _message(task), file=file, line=task.line, title=title)


def _message(task: TaskResult) -> str:
    """Return the error with what a person can do about it, or how the task recovered from it."""
    error = one_line(problem(task), ERROR_LIMIT)
    if task.outcome == "recovered":
        how = fix_count(task) or "another attempt"
        return f"Recovered after {how}. At first: {error}"
    steps = [one_line(step, ERROR_LIMIT) for step in next_steps(task)]
    return "\n- ".join([error, *steps])


def _path_in(workspace: str, root: str, path: str) -> str:
    """Return the path of a spec in the workspace, as GitHub names files."""
    # A spec outside the root has `..` in its path.
    absolute = Path(os.path.normpath(Path(root) / path))
    if workspace and absolute.is_relative_to(workspace):
        return absolute.relative_to(workspace).as_posix()
    return path


def summary(run: RunSummary) -> str:
    """Return Markdown for the job's page: the result, and all tasks that did not simply pass."""
    parts = [f"## {run.headline}", run.subheadline]
    total = cost(run.tasks)
    if total:
        parts.append(f"Cost: {total}")

    tasks = [task for task in run.tasks if task.outcome != "passed"]
    failures_first = sorted(tasks, key=lambda task: not task.bad)
    if tasks:
        parts.append("\n".join(_table(failures_first)))

    failed = [task for task in tasks if task.bad]
    parts += map(_details, failed[:DETAILS_SHOWN])
    for task in run.tasks:
        parts += [_prose(f"Warning: {finding}") for finding in task.findings]
    parts += map(_prose, run.notes)
    return "\n\n".join(_fitting(parts)) + "\n\n"


def _fitting(parts: Iterable[str]) -> Iterator[str]:
    """Yield the parts that fit into a summary; a line stands for the others."""
    room = SUMMARY_LIMIT
    hidden = 0
    for part in parts:
        size = len(part.encode("utf-8", "replace")) + len("\n\n")
        if size > room:
            hidden += 1
        else:
            room -= size
            yield part
    if hidden:
        yield f"… {count(hidden, 'part')} left out, because GitHub takes no more"


def _table(tasks: list[TaskResult]) -> Iterator[str]:
    """Yield a table with one row per task."""
    yield "| Spec | Task | Outcome | What happened | Attempts | Fixes | Cost |"
    yield "| --- | --- | --- | --- | ---: | ---: | ---: |"

    for task in tasks[:ROWS_SHOWN]:
        attempts = len(task.verifications)
        fixes = len(task.all_fixes)
        cells = (
            _prose(task.spec),
            f"**{_prose(task.id)}** {_prose(task.title)}",
            _prose(task.outcome),
            _prose(problem(task)),
            str(attempts or ""),
            str(fixes or ""),
            cost([task]),
        )
        yield f"| {' | '.join(cells)} |"
    hidden = len(tasks) - ROWS_SHOWN
    if hidden > 0:
        yield f"\n… and {hidden:,} more"


def _details(task: TaskResult) -> str:
    """Return the advice and the output of a failed task, to be unfolded."""
    failure = task.last_failure
    if failure is None:
        return ""
    summary_line = _prose(f"{task.spec} {task.heading}")
    advice = [f"- {_prose(line)}" for line in next_steps(task)]
    parts = [f"<details><summary>{summary_line}</summary>", "\n".join(advice)]
    if failure.output:
        parts.append(fenced(cut_lines(failure.output, 10, 40, widest=500)))
    parts.append("</details>")
    return "\n\n".join(parts)


_MARKDOWN_SYNTAX = re.compile(r"[\\`*_{}\[\]<>()#+!|~&@$:]")


def _prose(text: str) -> str:
    """Return one line that Markdown shows literally: an entity is never read as syntax."""
    line = one_line(text, ERROR_LIMIT)
    return _MARKDOWN_SYNTAX.sub(lambda match: f"&#{ord(match[0])};", line)
