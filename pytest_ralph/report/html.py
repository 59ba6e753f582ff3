"""The HTML report: one file that holds all it needs, asks nothing of any server and opens from disk."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pytest_ralph.files import write_atomically
from pytest_ralph.report import charts
from pytest_ralph.report.phrases import duration, headline, lede
from pytest_ralph.results import OUTCOMES
from pytest_ralph.text.bounded import bounded
from pytest_ralph.text.inert import terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.results import Attempt, PastRun, RunSummary, TaskResult

TEMPLATES = Path(__file__).with_name("templates")
SCRIPTS = ("model.js", "list.js", "rows.js", "detail.js", "app.js")


def write_report(path: Path, story: RunSummary) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # A lone surrogate, left by undecodable output, has no UTF-8 form.
    write_atomically(path, render(story).encode("utf-8", "replace"))


def render(story: RunSummary) -> str:
    css, script = _read("report.css"), _script()
    # Every value is escaped by autoescape; these three are ours or made safe for where they stand.
    trusted = {"css": Markup(css), "script": Markup(script), "data": Markup(embedded(story))}  # noqa: S704
    page: str = _template().render(
        run=story,
        policy=policy(css, script),
        headline=headline(story),
        lede=lede(story),
        stats=stats(story),
        shares=charts.meter(story.counts),
        outcomes=OUTCOMES,
        began=datetime.fromtimestamp(story.started, timezone.utc).astimezone(),
        fix_count=sum(len(task.all_fixes) for task in story.tasks),
        past=TaskHistory.of(story.history.runs),
        kinds=charts.kind_rows(story.history.kinds),
        **trusted,
    )
    return page


def _template() -> Any:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html.j2")


def _read(name: str) -> str:
    return (TEMPLATES / name).read_text("utf-8")


def _script() -> str:
    return '(() => {\n"use strict";\n' + "\n".join(map(_read, SCRIPTS)) + "})();\n"


def policy(css: str, script: str) -> str:
    """A Content-Security-Policy under which the page can run itself and fetch nothing."""

    def digest(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    return (
        f"default-src 'none'; script-src {digest(script)}; style-src {digest(css)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def embedded(story: RunSummary) -> str:
    """The tasks as JSON that no content can break out of, whatever a command printed."""
    tasks = [
        _without_defaults(_shown(task, story.root).to_json()) for task in in_file_order(story.tasks)
    ]
    text = json.dumps({"tasks": tasks}, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def in_file_order(tasks: Sequence[TaskResult]) -> list[TaskResult]:
    """Workers and `[P]` groups end in any order; a reader expects that of the spec."""
    place = {path: at for at, path in enumerate(dict.fromkeys(task.spec_path for task in tasks))}
    return sorted(tasks, key=lambda task: (place[task.spec_path], task.line))


def _shown(task: TaskResult, root: str) -> TaskResult:
    return task._replace(attempts=tuple(_shown_attempt(attempt, root) for attempt in task.attempts))


def _shown_attempt(attempt: Attempt, root: str) -> Attempt:
    # What passed is rarely read, and there are thousands of it.
    head, tail = (40, 160) if attempt.failed else (2, 8)
    output = terminal(bounded(attempt.output, head, tail, widest=500))
    return attempt._replace(output=output, log=attempt.log.removeprefix(f"{root}/"))


def _without_defaults(value: Any) -> Any:
    """What the page reads as absent anyway: empty texts and lists, None. A False or a 0 may say something."""
    if isinstance(value, dict):
        kept = {key: _without_defaults(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in ("", None, [])}
    return [_without_defaults(item) for item in value] if isinstance(value, list) else value


def stats(story: RunSummary) -> list[tuple[str, str, str]]:
    attempts = sum(len(task.verifications) for task in story.tasks)
    fixes = sum(len(task.all_fixes) for task in story.tasks)
    recovered = story.counts.get("recovered", 0)
    tried = recovered + sum(task.bad for task in story.tasks)
    shown = [
        ("Duration", *duration(story.duration)),
        ("Attempts", f"{attempts:,}", ""),
        ("Fixes", f"{fixes:,}", ""),
    ]
    return [*shown, ("Recovered", f"{recovered:,}", f"of {tried:,}")] if tried else shown


@dataclass(frozen=True)
class TaskHistory:
    """The runs of the history, ready to draw."""

    shown: int
    first: str
    last: str
    last_duration: str
    longest: str
    last_rate: str
    bars: list[charts.Mark]
    durations: list[tuple[float, float]]
    rates: list[tuple[float, float]]

    @classmethod
    def of(cls, runs: Sequence[PastRun]) -> TaskHistory | None:
        """None for a single run: there is nothing to compare it with."""
        runs = runs[-charts.RUNS_SHOWN :]
        if len(runs) < 2:
            return None
        rates = [run.recovery_rate for run in runs]
        known = [rate for rate in rates if rate is not None]
        return cls(
            shown=len(runs),
            first=charts.day(runs[0].started),
            last=charts.day(runs[-1].started),
            last_duration=" ".join(duration(runs[-1].duration)),
            longest=" ".join(duration(max(run.duration for run in runs))),
            last_rate=f"{known[-1]:.0%}" if known else "",
            bars=charts.run_bars(runs),
            durations=charts.line([run.duration for run in runs]),
            rates=charts.line(rates) if len(known) > 1 else [],
        )
