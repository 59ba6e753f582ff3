"""The text about a failed task in pytest's FAILURES section."""

from __future__ import annotations

import signal
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ralph.failure.wording import headline as words_for
from pytest_ralph.failure.wording import without_shell
from pytest_ralph.report.lines import Line
from pytest_ralph.report.phrases import duration
from pytest_ralph.text.bounded import GAP, near, with_gaps
from pytest_ralph.text.inert import one_line, terminal
from pytest_ralph.text.listing import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_ralph.results import Attempt, TaskResult

OUTPUT_LINES = 8
VERBOSE_OUTPUT_LINES = 40
# With many failures the output of each takes less room, so that the whole stays readable.
LATER_OUTPUT_LINES = 3
FIRST_FAILURES = 2
LONGEST_LINE = 400
COMMAND_LINES = 3
ALL_COMMAND_LINES = 40
NAMES_SHOWN = 6
ADVICE = 3
WIDTH = 78
# Bytes from which on opening the file with the output takes thought, so that its size is shown.
LARGE_OUTPUT = 100_000
# How the note begins that says why there are no more fixes.
LIMIT_REACHED = "ERROR: Max fix "


@dataclass(frozen=True)
class Crash:
    """What pytest's short summary and `--tb=line` quote."""

    path: str
    lineno: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.lineno}: {self.message}"


@dataclass(frozen=True)
class FailureText:
    """What pytest takes as the representation of a failure, without any traceback.

    pytest calls `toterminal` to show it, and `str` to store it. It is no `str` itself: of one,
    pytest's summary repeats all lines in CI and with `-vv`.
    """

    lines: tuple[Line, ...]
    reprcrash: Crash
    # With `--tb=line`, pytest writes one line itself, and nothing else is to be written.
    shown: bool = True

    @classmethod
    def of(
        cls,
        task: TaskResult,
        root: Path | None = None,
        *,
        verbosity: int = 0,
        shown: bool = True,
        earlier: int = 0,
    ) -> FailureText:
        """Describe a failed task after `earlier` others; `root` is removed from paths of logs."""
        prefix = f"{root}/" if root else ""
        lines = tuple(_lines(task, prefix, verbosity, earlier))
        return cls(lines, Crash(task.spec_path, task.line, lines[0].text), shown)

    @classmethod
    def from_worker(cls, text: str, task: TaskResult, *, shown: bool) -> FailureText:
        """Return what a worker of pytest-xdist has sent as plain text."""
        headline, *others = text.splitlines()
        crash = Crash(task.spec_path, task.line, headline)
        lines = (Line(headline, ("red", "bold")), *map(Line, others))
        return cls(lines, crash, shown)

    def toterminal(self, writer: Any) -> None:
        if self.shown:
            for line in self.lines:
                line.write(writer)

    def __str__(self) -> str:
        return "\n".join(line.text for line in self.lines)


def failure_headline(attempt: Attempt) -> str:
    """Return the kind of a failure in words and its error: `tests failed: 3 != 4`."""
    error = without_shell(one_line(attempt.error, LONGEST_LINE))
    if attempt.kind in ("", "unknown"):
        return error
    words = words_for(attempt.kind)
    if words in error.lower():
        return error
    return one_line(f"{words}: {error}", LONGEST_LINE)


def headline(task: TaskResult) -> str:
    """Return the line that stands for a failed task in pytest's summary."""
    attempt = task.last_failure
    if attempt is None:
        return one_line(task.reason, LONGEST_LINE)
    if task.outcome == "regression":
        return f"regression: {without_shell(one_line(attempt.error, LONGEST_LINE))}"
    return failure_headline(attempt)


def _lines(task: TaskResult, root: str, verbosity: int, earlier: int) -> Iterator[Line]:
    """Yield the headline, the command, how it ended, its output, and what was decided."""
    attempt = task.last_failure
    yield Line(headline(task), ("red", "bold"))
    if task.outcome == "regression":
        yield Line("  it was checked off as complete but fails now")

    if attempt:
        output = list(_output(attempt, root, output_lines(verbosity, earlier)))
        yield from _command(attempt, verbosity)
        for fact in _facts(attempt, output, verbosity):
            yield Line(f"  {fact}")
        yield from output
        if verbosity > 0:
            yield from _advice(task)
    yield from _decision(task, verbosity)


def _command(attempt: Attempt, verbosity: int) -> Iterator[Line]:
    """Yield the command after a prompt; of a long script only its first lines."""
    lines = terminal(attempt.command).splitlines()
    most = ALL_COMMAND_LINES if verbosity > 0 else COMMAND_LINES
    prompt = "$"
    for line in lines[:most]:
        yield Line(f"  {prompt} {line}", ("bold",))
        prompt = ">"
    hidden = len(lines) - most
    if hidden > 0:
        yield Line(f"  > … {hidden} more lines …")


def _facts(attempt: Attempt, output: Sequence[Line], verbosity: int) -> Iterator[str]:
    """Yield how the command ended, and the failing tests unless the lines of `output` name them.

    With `-v`, yield all that the output names.
    """
    if not _is_in_headline(attempt):
        yield _how_it_ended(attempt)
    for note in attempt.beside:
        yield one_line(note, LONGEST_LINE)

    tests = attempt.failed_tests
    if verbosity <= 0:
        if tests and not _is_named(tests[0], output):
            yield _names("failing tests", tests, WIDTH - 2)
        return

    if tests:
        yield _names("failing tests", tests, LONGEST_LINE)
    if attempt.missing:
        yield f"missing: {one_line(attempt.missing, LONGEST_LINE)}"
    if attempt.files:
        yield _names("files", attempt.files, LONGEST_LINE)


def _names(label: str, names: Sequence[str], width: int) -> str:
    """Return a line of at most `width` characters with as many names as fit, at least one."""
    most = min(len(names), NAMES_SHOWN)
    line = f"{label}: {one_line(listed(names, most), LONGEST_LINE)}"
    while most > 1 and len(line) > width:
        most -= 1
        line = f"{label}: {one_line(listed(names, most), LONGEST_LINE)}"
    return line


def _is_in_headline(attempt: Attempt) -> bool:
    """Return whether the error says how the command ended."""
    if attempt.timed_out:
        return attempt.error.startswith("Timed out after")
    return attempt.error.endswith(f" exited with status {attempt.exit_code}")


def _is_named(test: str, output: Sequence[Line]) -> bool:
    name = test.rpartition("::")[2]
    return any(name in line.text for line in output)


def _how_it_ended(attempt: Attempt) -> str:
    """Return how the command ended, what was expected of it, and what came instead."""
    after = " ".join(duration(attempt.duration))
    if attempt.timed_out:
        return f"timed out after {after}"
    ended = f"ended after {after}"
    if attempt.exit_code is not None:
        ended = f"exited with {attempt.exit_code}{_signal_name(attempt.exit_code)} after {after}"
    if not attempt.expected:
        return ended

    expected = f"expected {one_line(attempt.expected, LONGEST_LINE)}"
    if attempt.expected.startswith("exit status") and attempt.exit_code is not None:
        return f"{ended}, {expected}"
    if attempt.got:
        expected += f", got {one_line(attempt.got, LONGEST_LINE)}"
    if expected in attempt.error:
        # The headline has it.
        return ended
    return f"{ended}, {expected}"


def _signal_name(status: int) -> str:
    """Return the signal behind an exit status: a shell reports it as 128 plus its number."""
    try:
        return f" ({signal.Signals(status - 128).name})"
    except ValueError:
        return ""


def _output(attempt: Attempt, root: str, most: int) -> Iterator[Line]:
    """Yield what matters of the output and, if that is not all, where the rest is."""
    lines = [line for line in terminal(attempt.output).splitlines() if line.strip()]
    if len(lines) == 1 and lines[0].strip() in (attempt.error, attempt.got.strip("'")):
        # The headline has it.
        return
    shown = relevant(lines, attempt.error, most)
    for line in shown:
        yield Line(f"  | {line}")
    if attempt.log and shown != lines:
        log = attempt.log.removeprefix(root)
        if attempt.printed >= LARGE_OUTPUT:
            log += f" ({attempt.printed / 1e6:,.1f} MB)"
        yield Line(f"  full output: {log}")


def output_lines(verbosity: int, earlier: int = 0) -> int:
    """Return how many lines of output to show of a failure that `earlier` others precede."""
    if verbosity < 0:
        return 0
    if verbosity > 0:
        return VERBOSE_OUTPUT_LINES
    if earlier >= FIRST_FAILURES:
        return LATER_OUTPUT_LINES
    return OUTPUT_LINES


def relevant(lines: Sequence[str], error: str, most: int) -> list[str]:
    """Return all lines of a short output; of a long one those around the error and the last."""
    if most == 0:
        return []
    if len(lines) > most:
        # One line may stand for what is left out between the parts.
        around = near(lines, error.strip(), (most - 2) // 3)
        tail = max(most - len(around) - 1, 1)
        end = range(len(lines) - tail, len(lines))
        wanted = sorted({*around, *end})
        first = wanted[0]
        lines = list(with_gaps(lines[first:], [index - first for index in wanted]))
    # The stored output may have been cut before, so that only the log tells how much is missing.
    return ["…" if GAP.fullmatch(line) else line[:LONGEST_LINE] for line in lines]


def _advice(task: TaskResult) -> Iterator[Line]:
    """Yield what a person can do about the failure."""
    for text in task.advice[:ADVICE]:
        wrapped = textwrap.wrap(
            one_line(text, LONGEST_LINE), WIDTH, initial_indent="  • ", subsequent_indent="    "
        )
        yield from map(Line, wrapped)


def _decision(task: TaskResult, verbosity: int) -> Iterator[Line]:
    """Yield what was decided and why, with the place of the task."""
    steps = list(_steps(task, verbosity))
    # Why the task was given up; otherwise the last step says why nothing more was tried.
    reason = _reason(task)
    if verbosity > 0:
        yield from steps
    elif not reason:
        yield from steps[-1:]

    others = [terminal(note.text) for note in task.notes_on("")]
    is_limit_reached = any(text.startswith(LIMIT_REACHED) for text in others)
    place = f"{task.spec_path}:{task.line}"
    if reason and not is_limit_reached:
        why = one_line(reason, LONGEST_LINE)
        yield Line(f"{place}: given up: {why}", ("red",))
    else:
        yield Line(place)
    yield from map(Line, others)


def _reason(task: TaskResult) -> str:
    """Return why a task was given up, or an empty string if that is only its error."""
    attempt = task.last_failure
    if attempt is None or task.reason.endswith(attempt.error):
        return ""
    return task.reason


def _steps(task: TaskResult, verbosity: int) -> Iterator[Line]:
    """Yield the notes on the task and its fixes, as far as this is the place for them."""
    shown_elsewhere = set()
    if verbosity > 1:
        # The section of ralph has every attempt with what was decided after it.
        shown_elsewhere = {attempt.decision for attempt in task.attempts}
    for note in task.notes:
        if not note.task_id or note.text in shown_elsewhere:
            continue
        if note.is_detail and verbosity <= 0:
            continue
        yield Line(terminal(note.line))
