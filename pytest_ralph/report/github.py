"""A run told to GitHub Actions: annotations on the specs, and a summary on the page of the job."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.report.phrases import count, headline, lede
from pytest_ralph.text.bounded import bounded
from pytest_ralph.text.inert import one_line, terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pytest_ralph.results import RunSummary, TaskResult

# GitHub shows ten annotations of a level and step, and takes a summary of at most a mebibyte.
ANNOTATIONS_SHOWN = 10
ROWS_SHOWN = 200
DETAILS_SHOWN = 30
ERROR_LIMIT = 200


def tell(
    story: RunSummary, environ: Mapping[str, str], write_line: Callable[[str], object]
) -> None:
    """Tell what this environment can take; outside of GitHub Actions that is nothing."""
    if environ.get("GITHUB_ACTIONS") == "true":
        for line in workflow_commands(story, environ.get("GITHUB_WORKSPACE", "")):
            write_line(line)
    if path := environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(path).open("a", encoding="utf-8", errors="replace") as file:
                file.write(summary(story))
        except OSError as error:
            write_line(f"::warning::{_escaped(f'the summary could not be written: {error}')}")


def workflow_commands(story: RunSummary, workspace: str = "") -> list[str]:
    """Annotations: an error for each task that failed, a notice for each that was recovered."""
    failed = [_annotation("error", task, story.root, workspace) for task in story.tasks if task.bad]
    recovered = [
        _annotation("notice", task, story.root, workspace)
        for task in story.tasks
        if task.outcome == "recovered"
    ]
    return failed[:ANNOTATIONS_SHOWN] + recovered[:ANNOTATIONS_SHOWN]


def _annotation(level: str, task: TaskResult, root: str, workspace: str) -> str:
    where = {
        "file": _seen_from(workspace, root, task.spec_path),
        "line": str(task.line),
        "title": one_line(f"{task.heading}: {task.outcome}", ERROR_LIMIT),
    }
    properties = ",".join(f"{name}={_escaped_property(value)}" for name, value in where.items())
    return f"::{level} {properties}::{_escaped(_message(task))}"


def _message(task: TaskResult) -> str:
    failure = task.last_failure
    told = one_line(failure.error if failure else task.reason, ERROR_LIMIT)
    if task.outcome == "recovered":
        return f"Recovered after {_fixes(task) or 'another attempt'}. At first: {told}"
    advice = "".join(
        f"\n- {one_line(line, ERROR_LIMIT)}" for line in (failure.advice if failure else ())
    )
    return f"{told}{advice}"


def _fixes(task: TaskResult) -> str:
    fixes = len(task.all_fixes)
    return count(fixes, "fix", "fixes") if fixes else ""


def _seen_from(workspace: str, root: str, path: str) -> str:
    try:
        return (Path(root) / path).relative_to(workspace).as_posix() if workspace else path
    except ValueError:
        return path


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def summary(story: RunSummary) -> str:
    """Markdown for the job's page: the result, every task that did not plainly pass, what to do about it."""
    rows = [task for task in story.tasks if task.outcome != "passed"]
    parts = [f"## {headline(story)}", lede(story)]
    if rows:
        parts.append("\n".join(_table(rows)))
    parts += [_details(task) for task in [task for task in rows if task.bad][:DETAILS_SHOWN]]
    parts += [_prose(note) for note in story.notes]
    return "\n\n".join(parts) + "\n\n"


def _table(tasks: list[TaskResult]) -> Iterator[str]:
    yield "| Task | Outcome | What happened | Attempts | Fixes |"
    yield "| --- | --- | --- | ---: | ---: |"
    for task in tasks[:ROWS_SHOWN]:
        failure = task.last_failure
        told = failure.error if failure else task.reason
        cells = (f"**{_prose(task.id)}** {_prose(task.title)}", _prose(task.outcome), _prose(told))
        yield f"| {' | '.join(cells)} | {len(task.verifications) or ''} | {len(task.all_fixes) or ''} |"
    if len(tasks) > ROWS_SHOWN:
        yield f"\n… and {len(tasks) - ROWS_SHOWN:,} more"


def _details(task: TaskResult) -> str:
    failure = task.last_failure
    if failure is None:
        return ""
    output = terminal(bounded(failure.output, 10, 40, widest=500))
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", output)), default=0))
    advice = "\n".join(f"- {_prose(line)}" for line in failure.advice)
    body = "\n\n".join(filter(None, (advice, f"{fence}text\n{output}\n{fence}" if output else "")))
    return f"<details><summary>{_prose(task.heading)}</summary>\n\n{body}\n\n</details>"


def _prose(text: str) -> str:
    """One line that Markdown shows as it is: an entity is never read as syntax."""
    return re.sub(
        r"[\\`*_{}\[\]<>()#+!|~&@$:]",
        lambda char: f"&#{ord(char[0])};",
        one_line(text, ERROR_LIMIT),
    )
