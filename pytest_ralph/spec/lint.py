"""What is wrong with a spec, found without running anything of it."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from pytest_ralph.shell.command import Command
from pytest_ralph.spec.durations import DURATION, seconds, written_timeout
from pytest_ralph.spec.formats.tables import find_table_rows
from pytest_ralph.spec.labels import misspelt
from pytest_ralph.spec.order import plan
from pytest_ralph.spec.outline import read_outline
from pytest_ralph.spec.task import is_e2e_startup
from pytest_ralph.spec.task_line import read_checkbox
from pytest_ralph.text.inert import annotation, one_line
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.hazards import hazards

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import PurePath

    from pytest_ralph.shell.command import Stage
    from pytest_ralph.spec.document import LineFinder, Spec
    from pytest_ralph.spec.plan_problems import PlanProblem
    from pytest_ralph.spec.task import Task
    from pytest_ralph.verify.model import Check

Severity = Literal["error", "warning"]

# Problems that do not make a run wrong.
_ONLY_WARNINGS = frozenset({"wrong-total"})
_PLAN_CODES = {
    "circular_dependency": "cycle",
    "plan_invalid": "unknown-dependency",
    "file_conflict": "shared-file",
}
_DURATION_OPTIONS = frozenset(["--duration", "--soak", "--runtime", "--run-time", "--test-time"])
# A message may quote a whole command.
_LONGEST = 2_000
_HEADING = re.compile(r"#{1,6}[ \t]")
_CHECKBOX = re.compile(r"[-*+][ \t]+\[[ xX]\][ \t]+\S")
# Only quotes, brackets, operators and keywords can be written wrongly.
_HAS_SYNTAX = regex(
    r"[\"'`(){}<>|&;]|\\$|\b(?:if|then|fi|for|while|until|do|done|case|esac|function)\b"
)


@dataclass(frozen=True, order=True, slots=True)
class LintFinding:
    """One thing that is wrong with a spec. `code` is a stable name for its kind."""

    line: int
    code: str
    message: str
    severity: Severity = "warning"


def lint(
    spec: Spec, plan_problems: Iterable[PlanProblem] | None = None, *, timeout: float = 300
) -> tuple[LintFinding, ...]:
    """Return everything that is wrong with `spec`, by line.

    A caller that has made the plan passes its problems, so that it is not made again. `timeout` is
    the time limit in seconds of tasks without one of their own.
    """
    if plan_problems is None:
        plan_problems = plan(spec.tasks).problems
    found: list[LintFinding] = []
    for problem in spec.problems:
        severity: Severity = "warning" if problem.code in _ONLY_WARNINGS else "error"
        found.append(LintFinding(problem.line, problem.code, problem.message, severity))
    for conflict in plan_problems:
        code = _PLAN_CODES[conflict.kind]
        found.append(LintFinding(conflict.line, code, conflict.message, "error"))

    found += _checkboxes_beside_tasks(spec)
    found += _rows_beside_tasks(spec)
    for linter in _linters(spec):
        found += linter.findings(timeout)
    return tuple(sorted(set(found)))


def lint_syntax(spec: Spec) -> list[LintFinding]:
    """Return the checks that the shell cannot parse.

    `bash -n` reads a command without running it. It takes a process per command, so this is not
    part of `lint`, which also serves ordinary runs.
    """
    found: list[LintFinding] = []
    for linter in _linters(spec):
        found += linter.syntax_errors()
    return found


def misspelt_fields(spec: Spec, task: Task) -> dict[str, LintFinding]:
    """Return a finding for each field of a task that is misspelt, by its right name."""
    return _TaskLinter(task, spec.lines).misspelt_fields()


def _linters(spec: Spec) -> Iterator[_TaskLinter]:
    """Yield a linter for each task but the fixes, which have the Verify of their originals."""
    for task in spec.tasks:
        if task.fix_for is None:
            yield _TaskLinter(task, spec.lines)


def _checkboxes_beside_tasks(spec: Spec) -> list[LintFinding]:
    """Return the checkboxes between tasks that are no tasks themselves.

    In a section without tasks they list criteria. Beside tasks, their author probably means one.
    """
    in_tasks: set[int] = set()
    last = 0
    for task in spec.tasks:
        # Each row of a table reaches to its end.
        in_tasks.update(range(max(task.line, last + 1), task.end_line + 1))
        last = max(last, task.end_line)
    task_lines = {task.line for task in spec.tasks}

    found: list[LintFinding] = []
    in_section: list[LintFinding] = []
    has_tasks = False
    for number, line in enumerate([*spec.source.split("\n"), "# "], 1):
        if number in task_lines:
            has_tasks = True
        if number in in_tasks:
            continue
        if _HEADING.match(line):
            if has_tasks:
                found += in_section
            in_section = []
            has_tasks = False
        elif _CHECKBOX.match(line):
            message = "this checkbox is not a task: write `- [ ] 1.1 Title`, or add a Verify field"
            in_section.append(LintFinding(number, "not-a-task", message))

    if not found:
        return found
    # Those in code and comments are not meant to be tasks.
    masked = read_outline(spec.source).masked
    return [finding for finding in found if finding.line - 1 not in masked]


def _rows_beside_tasks(spec: Spec) -> Iterator[LintFinding]:
    """Yield the first row of each table that is not read because the spec has other tasks.

    A row with the id of a task only describes that task.
    """
    if "\n|" not in spec.source:
        return

    task_ids = {task.id for task in spec.tasks}
    reported_tables = set()
    outline = read_outline(spec.source)
    for row in find_table_rows(outline.lines, outline.masked):
        if row.table_end in reported_tables:
            continue
        name = read_checkbox(f"- [ ] {row.name}")
        if name and name.certain and name.id not in task_ids:
            reported_tables.add(row.table_end)
            what_to_write = f"this table is not read beside other tasks: write `- [ ] {name.id}`"
            yield LintFinding(row.line + 1, "not-a-task", f"{name.id}: {what_to_write}")


def shell_error(command: str) -> str:
    """Return what `bash -n` says about a command, or an empty string."""
    if not _HAS_SYNTAX.search(command):
        return ""
    try:
        ended = subprocess.run(
            ["bash", "-n"], input=command, capture_output=True, text=True, check=False, timeout=10
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""
    if ended.returncode == 0:
        return ""
    first = ended.stderr.strip().partition("\n")[0]
    return re.sub(r"^\S*bash: (?:line \d+: )?", "", first)


class _TaskLinter:
    """Finds what is wrong with one task; `lines` are those of the whole spec."""

    def __init__(self, task: Task, lines: LineFinder) -> None:
        self.task = task
        self.lines = lines

    def findings(self, timeout: float) -> Iterator[LintFinding]:
        """Yield what is wrong with the fields of the task."""
        misspelt_names = self.misspelt_fields()
        yield from misspelt_names.values()

        verify = self.task.verify
        if verify.checks:
            yield from self._check_findings(timeout)
        elif verify.invalid:
            expect_line = self._line_of_field("expect")
            yield self._finding(expect_line, "expect-field", verify.invalid, "error")
        elif verify.manual:
            message = f"cannot be checked automatically: {verify.by_hand}"
            verify_line = self._line_of_field("verify")
            yield self._finding(verify_line, "manual", message)
        elif "Expect" in self.task.fields:
            message = "the Expect field has no command: add `- **Verify**:` with one"
            expect_line = self._line_of_field("expect")
            yield self._finding(expect_line, "no-verify", message)
        elif "Verify" not in misspelt_names:
            message = "no Verify field: add `- **Verify**:` with a command that checks it"
            yield self._finding(self.task.line, "no-verify", message)

        if verify.unread:
            words = "; ".join(verify.unread)
            message = f"not checked: {words}; state it exactly with `**Expect**:`"
            verify_line = self._line_of_field("verify")
            yield self._finding(verify_line, "unread-words", message)

    def misspelt_fields(self) -> dict[str, LintFinding]:
        """Return a finding for each misspelt field, by its right name."""
        found = {}
        for label in self.task.fields:
            meant = misspelt(label)
            if meant:
                line = self._line_of_field(re.escape(label))
                message = f"unknown field `{label}`: did you mean `{meant}`?"
                found[meant] = self._finding(line, "misspelt-field", message)
        return found

    def syntax_errors(self) -> Iterator[LintFinding]:
        """Yield the checks that the shell cannot parse."""
        for check in self.task.verify.checks:
            error = shell_error(check.command)
            if error:
                line = self._line_of_command(check)
                message = f"the shell cannot parse the Verify field: {error}"
                yield self._finding(line, "shell-syntax", message, "error")

    def _check_findings(self, timeout: float) -> Iterator[LintFinding]:
        """Yield the hazards of the commands, and time limits that are too short for them."""
        starts_service = is_e2e_startup(self.task)
        written_limit = f"{timeout:.0f} s"
        own_limit = written_timeout(self.task)
        if own_limit is not None:
            timeout = seconds(own_limit)
            written_limit = own_limit[0]

        for check in self.task.verify.checks:
            line = self._line_of_command(check)
            for hazard in hazards(check, starts_service=starts_service):
                if hazard.code == "never-passes" and self.task.verify.mode == "any":
                    continue
                severity: Severity = "error" if hazard.severe else "warning"
                yield self._finding(line, hazard.code, hazard.message, severity)
            for message, severity in _short_limits(check, timeout, written_limit):
                yield self._finding(line, "short-timeout", message, severity)

    def _finding(
        self, line: int, code: str, message: str, severity: Severity = "warning"
    ) -> LintFinding:
        return LintFinding(line, code, f"{self.task.id}: {message}", severity)

    def _line_of_field(self, name: str) -> int:
        """Return the line of a field, or that of the task if the field is written differently."""
        pattern = re.compile(rf"^[\s*+_-]*{name}\w*\b[^:]{{0,40}}:", re.IGNORECASE)
        for number in range(self.task.line, self.task.end_line + 1):
            if pattern.match(self.lines.line(number)):
                return number
        return self.task.line

    def _line_of_command(self, check: Check) -> int:
        """Return the line of a command, or that of Verify if it is written differently there."""
        first = check.command.strip().partition("\n")[0].strip()
        for number in range(self.task.line, self.task.end_line + 1):
            if first in self.lines.line(number):
                return number
        return self._line_of_field("verify")


def _short_limits(check: Check, limit: float, written: str) -> Iterator[tuple[str, Severity]]:
    """Yield why a time limit is too short for a check, and how severe that is."""
    stages = Command.parse(check.command).stages
    if limit < sum(map(_sleep_time, stages)):
        yield f"the time limit {written} is shorter than the sleep in the check", "error"
    for allowed in filter(None, map(_allowed_time, stages)):
        if limit < seconds(allowed):
            own_limit = f"the limit of {allowed[0]} in the check itself"
            yield f"the time limit {written} is shorter than {own_limit}", "warning"


def _sleep_time(stage: Stage) -> float:
    """Return for how many seconds a stage sleeps."""
    if stage.program != "sleep" or not stage.arguments:
        return 0.0
    time = DURATION.fullmatch(stage.arguments[0])
    return seconds(time) if time else 0.0


def _allowed_time(stage: Stage) -> re.Match[str] | None:
    """Return the time that a stage allows itself: `timeout 600 ./soak.sh`, `--duration 10m`."""
    words = " ".join(stage.written).replace("=", " ").split()
    for option, value in pairwise(words):
        if option in _DURATION_OPTIONS:
            return DURATION.fullmatch(value)

    if "timeout" not in stage.launchers:
        return None
    before_program = stage.written[: len(stage.written) - len(stage.words)]
    # The last one, as `-k 5` may stand before it.
    for word in reversed(before_program):
        time = DURATION.fullmatch(word)
        if time:
            return time
    return None


def format_text(finding: LintFinding, path: PurePath | str) -> str:
    message = one_line(finding.message, _LONGEST)
    return f"{path}:{finding.line}: {finding.severity}: {message} [{finding.code}]"


def format_github(finding: LintFinding, path: PurePath | str) -> str:
    """A workflow command that GitHub shows as an annotation of the line."""
    message = one_line(finding.message, _LONGEST)
    title = f"ralph: {finding.code}"
    return annotation(finding.severity, message, file=path, line=finding.line, title=title)
