"""The HTML report: one self-contained file that opens from disk and fetches nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from pytest_ralph.failure.wording import headline as words_for
from pytest_ralph.failure.wording import without_shell
from pytest_ralph.files import write_atomically
from pytest_ralph.report import charts
from pytest_ralph.report.next_steps import next_steps
from pytest_ralph.report.phrases import ANOTHER_FAILURE, cost, duration, token_count
from pytest_ralph.results import OUTCOMES
from pytest_ralph.text.bounded import cut_lines
from pytest_ralph.text.inert import terminal
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Template

    from pytest_ralph.history.stats import RunCounts
    from pytest_ralph.report.run_summary import RunSummary
    from pytest_ralph.results import Attempt, FixResult, TaskResult

TEMPLATES = Path(__file__).with_name("templates")
SCRIPTS = ("model.js", "list.js", "rows.js", "detail.js", "app.js")


_CODE_SPAN = regex(r"`([^`\n]+)`")
# Facts of a task and of an attempt that the page does not show.
NOT_SHOWN_OF_TASK: dict[str, Any] = {
    "recovery": False,
    "max_attempts": 1,
    "regressions": (),
    # Added in another form.
    "notes": (),
}
NOT_SHOWN: dict[str, Any] = {
    "guidance": "",
    "advice": (),
    "fingerprint": "",
    "tree": "",
    "session_id": "",
    "prediction": None,
    "blocked_on": None,
    "printed": 0,
}


def write_report(path: Path, run: RunSummary) -> None:
    """Write the report of a run, replacing an earlier one atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Undecodable output leaves lone surrogates, which have no UTF-8 form.
    page = render(run)
    write_atomically(path, page.encode("utf-8", "replace"))


def render(run: RunSummary) -> str:
    """Return the report as HTML."""
    css = _read("report.css")
    script = _script()
    data = embedded(run)
    # Autoescape escapes all values but these three, which are ours or made safe for their place.
    trusted = {"css": Markup(css), "script": Markup(script), "data": Markup(data)}  # noqa: S704
    return _template().render(
        run=run,
        policy=policy(css, script),
        stats=stats(run),
        shares=charts.meter(run.counts),
        outcomes=OUTCOMES,
        began=datetime.fromtimestamp(run.started, timezone.utc).astimezone(),
        words_for=words_for,
        progress=[Progress.of(run, spec) for spec in run.specs],
        past=Trends.of(run.runs),
        kinds=charts.kind_bars(run.failure_kinds),
        **trusted,
    )


def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["prose"] = prose
    return environment.get_template("report.html.j2")


def prose(text: str) -> Markup:
    """Return text with its `code spans`, as in Markdown; everything else is escaped."""
    return Markup(_CODE_SPAN.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704


def _read(name: str) -> str:
    return (TEMPLATES / name).read_text("utf-8")


def _script() -> str:
    modules = "\n".join(_read(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{modules}}})();\n'


def policy(css: str, script: str) -> str:
    """Return a Content-Security-Policy that allows the page's own script and no requests."""
    return (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(css)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def embedded(run: RunSummary) -> str:
    """Return the tasks as JSON from which no content can break out of its element."""
    tasks = [_embedded_task(task, run.root) for task in in_file_order(run.tasks)]
    kinds = {kind: words_for(kind) for kind in run.kinds}
    text = json.dumps({"tasks": tasks, "kinds": kinds}, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _embedded_task(task: TaskResult, root: str) -> dict[str, Any]:
    """Return a task with its attempts and fixes as JSON."""
    data = _without_defaults(task._replace(**NOT_SHOWN_OF_TASK))
    shown = [_shortened(attempt, root) for attempt in task.attempts]
    lists = {
        "attempts": [_without_defaults(attempt) for attempt in shown],
        "advice": next_steps(task) if task.bad else [],
        "fixes": [_fix_tree(task, fix) for fix in task.fixes],
        "notes": _notes(task),
    }
    for name, values in lists.items():
        if values:
            data[name] = values
    return data


def in_file_order(tasks: Sequence[TaskResult]) -> list[TaskResult]:
    """Sort the tasks as in their specs: workers and `[P]` groups finish in any order."""
    by_spec: dict[str, list[TaskResult]] = defaultdict(list)
    for task in tasks:
        by_spec[task.spec_path].append(task)

    found: list[TaskResult] = []
    for tasks_of_spec in by_spec.values():
        found += sorted(tasks_of_spec, key=attrgetter("line"))
    return found


def _shortened(attempt: Attempt, root: str) -> Attempt:
    """Return an attempt as the page shows it: bounded, inert, with its transcript."""
    # Output of a pass is rarely read, and there may be thousands of passes.
    head, tail = (40, 160) if attempt.failed else (2, 8)
    output = terminal(cut_lines(attempt.output, head, tail, widest=500))
    transcript = ""
    if attempt.transcript:
        with suppress(OSError):
            said = Path(attempt.transcript).read_text("utf-8", "replace")
            transcript = terminal(cut_lines(said, 40, 160, widest=500))

    log = attempt.log.removeprefix(f"{root}/")
    return attempt._replace(
        error=without_shell(attempt.error),
        output=output,
        log=log,
        transcript=transcript,
        diff=terminal(attempt.diff),
        **NOT_SHOWN,
    )


def _without_defaults(value: NamedTuple) -> dict[str, Any]:
    """Return the fields that differ from their default, which the page knows."""
    known = value._field_defaults
    data = {}
    for name, field in value._asdict().items():
        if name in known and field == known[name]:
            continue
        data[name] = round(field, 3) if isinstance(field, float) else field
    return data


def _notes(task: TaskResult) -> list[str]:
    """Return the notes on a task without the decisions, which the page shows with the attempts."""
    decisions = {attempt.decision for attempt in task.attempts}
    return [note.line for note in task.notes if note.text not in decisions]


def _fix_tree(task: TaskResult, fix: FixResult) -> dict[str, Any]:
    """Return a fix and its own fixes as JSON."""
    data = _without_defaults(fix)
    if task.led_to_another_failure(fix):
        data["words"] = ANOTHER_FAILURE
    if fix.children:
        data["children"] = [_fix_tree(task, child) for child in fix.children]
    return data


def stats(run: RunSummary) -> list[tuple[str, str, str]]:
    """Return the figures at the top of the page: name, number and unit."""
    attempts = sum(len(task.verifications) for task in run.tasks)
    figures = [
        ("Duration", *duration(run.duration)),
        ("Attempts", f"{attempts:,}", ""),
        ("Fixes", f"{run.fix_count:,}", ""),
    ]

    recovered = run.counts.get("recovered", 0)
    failed_at_first = recovered + run.failed
    if failed_at_first:
        figures.append(("Recovered", f"{recovered:,}", f"of {failed_at_first:,}"))

    total = cost(run.tasks)
    if total:
        figures.append(("Cost", total, ""))
    tokens = token_count(run.tasks)
    if tokens:
        figures.append(("Tokens", f"{tokens:,}", ""))
    return figures


@dataclass(frozen=True)
class Progress:
    """How far one spec is: its name, a meter, and the same in words."""

    name: str
    shares: list[charts.Bar]
    text: str

    @classmethod
    def of(cls, run: RunSummary, spec: str) -> Progress:
        tasks = tuple(task for task in run.tasks if task.spec == spec)
        part = run._replace(tasks=tasks)
        text = f"{part.passed:,} of {len(tasks):,} pass"
        return cls(spec, charts.meter(part.counts), text)


@dataclass(frozen=True)
class Trends:
    """The latest runs of the history, ready to draw."""

    shown: int
    first: str
    last: str
    last_duration: str
    longest: str
    last_rate: str
    bars: list[charts.Bar]
    durations: list[tuple[float, float]]
    rates: list[tuple[float, float]]

    @classmethod
    def of(cls, runs: Sequence[RunCounts]) -> Trends | None:
        """Return None for a single run, which cannot be compared with anything."""
        runs = runs[-charts.RUNS_SHOWN :]
        if len(runs) < 2:
            return None

        rates = [run.recovery_rate for run in runs]
        known = [rate for rate in rates if rate is not None]
        durations = [run.duration for run in runs]
        return cls(
            shown=len(runs),
            first=charts.day(runs[0].started),
            last=charts.day(runs[-1].started),
            last_duration=" ".join(duration(durations[-1])),
            longest=" ".join(duration(max(durations))),
            last_rate=f"{known[-1]:.0%}" if known else "",
            bars=charts.run_bars(runs),
            durations=charts.line(durations),
            rates=charts.line(rates) if len(known) > 1 else [],
        )
