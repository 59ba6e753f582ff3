"""What a person reads about a task that failed: the command, how it ended, what was expected, the lines that matter."""

from __future__ import annotations

import signal
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ralph.report.phrases import duration
from pytest_ralph.text.bounded import GAP, near, with_gaps
from pytest_ralph.text.inert import one_line, terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_ralph.results import Attempt, TaskResult

SHOWN_LINES = 40
AROUND = 8
LONGEST_LINE = 400
COMMAND_LINES = 12
ADVICE = 3
WIDTH = 78


class Line(NamedTuple):
    """A line and how pytest's terminal writer is to mark it."""

    text: str = ""
    markup: tuple[str, ...] = ()


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
    """One block of text, never a traceback of ours. pytest draws it by `toterminal` and stores it by `str`."""

    lines: tuple[Line, ...]
    reprcrash: Crash
    # With `--tb=line` the one line that pytest writes itself is all.
    drawn: bool = True

    @classmethod
    def of(
        cls,
        story: TaskResult,
        said: Sequence[str] = (),
        root: Path | None = None,
        *,
        drawn: bool = True,
    ) -> FailureText:
        lines = tuple(_lines(story, said, f"{root}/" if root else ""))
        return cls(lines, Crash(story.spec_path, story.line, lines[0].text), drawn)

    def toterminal(self, writer: Any) -> None:
        for line in self.lines if self.drawn else ():
            writer.line(line.text, **dict.fromkeys(line.markup, True))

    def __str__(self) -> str:
        return "\n".join(line.text for line in self.lines)


def _lines(story: TaskResult, said: Sequence[str], root: str) -> Iterator[Line]:
    attempt = story.last_failure
    regression = story.outcome == "regression"
    what = f"{attempt.kind}: {attempt.error}" if attempt else story.reason
    yield Line(
        one_line(f"regression: {what}" if regression else what, LONGEST_LINE), ("red", "bold")
    )
    if regression:
        yield Line("  checked off as complete, and fails now")
    if attempt:
        yield from _command(attempt)
        yield from (Line(f"  {line}") for line in (*_how_it_ended(attempt), *_what_it_was(attempt)))
        yield from _output(attempt, root)
        yield from _advice(attempt)
    yield from _end(story, said)
    yield Line(
        f"{story.spec_path}:{story.line}: {one_line(story.heading, LONGEST_LINE)}", ("bold",)
    )


def _command(attempt: Attempt) -> Iterator[Line]:
    lines = terminal(attempt.command).splitlines()
    for number, line in enumerate(lines[:COMMAND_LINES]):
        yield Line(f"  {'$' if number == 0 else '>'} {line}", ("bold",))
    if len(lines) > COMMAND_LINES:
        yield Line(f"  > … {len(lines) - COMMAND_LINES} more lines …")


def _how_it_ended(attempt: Attempt) -> Iterator[str]:
    after = " ".join(duration(attempt.duration))
    if attempt.timed_out:
        yield f"timed out after {after}"
    elif attempt.exit_code is not None:
        yield f"exited with {attempt.exit_code}{_signal(attempt.exit_code)} after {after}"
    if attempt.expected and not attempt.timed_out:
        got = f", got {one_line(attempt.got, LONGEST_LINE)}" if attempt.got else ""
        yield f"expected {one_line(attempt.expected, LONGEST_LINE)}{got}"
    yield from (one_line(note, LONGEST_LINE) for note in attempt.beside)


def _signal(status: int) -> str:
    """A shell reports death by a signal as 128 and its number."""
    try:
        return f" ({signal.Signals(status - 128).name})" if status > 128 else ""
    except ValueError:
        return ""


def _what_it_was(attempt: Attempt) -> Iterator[str]:
    if attempt.missing:
        yield f"missing: {one_line(attempt.missing, LONGEST_LINE)}"
    for name, many in (("failing tests", attempt.failed_tests), ("files", attempt.files)):
        if many:
            shown = [one_line(one, 120) for one in many[:6]]
            more = f" … {len(many) - 6} more" if len(many) > 6 else ""
            yield f"{name}: {', '.join(shown)}{more}"


def _output(attempt: Attempt, root: str) -> Iterator[Line]:
    if text := relevant(terminal(attempt.output), attempt.error):
        yield Line()
        yield from (Line(f"  | {line[:LONGEST_LINE]}") for line in text)
    if attempt.log and attempt.output.strip():
        yield Line(f"  full output: {attempt.log.removeprefix(root)}{_size(attempt.printed)}")


def _size(printed: int) -> str:
    """Worth a word where it is more than one would open without a thought."""
    return f" ({printed / 1e6:,.1f} MB)" if printed >= 1e5 else ""


def _advice(attempt: Attempt) -> Iterator[Line]:
    """What a person can do; the guidance among it is for whoever fixes it, and theirs to read."""
    advised = [advice for advice in attempt.advice if advice != attempt.guidance]
    if advised:
        yield Line()
    for advice in advised[:ADVICE]:
        wrapped = textwrap.wrap(
            one_line(advice, LONGEST_LINE), WIDTH, initial_indent="  • ", subsequent_indent="    "
        )
        yield from map(Line, wrapped)


def _end(story: TaskResult, said: Sequence[str]) -> Iterator[Line]:
    """Why nothing more was tried, and what was said on the way."""
    attempt = story.last_failure
    given_up = story.reason if attempt and not story.reason.endswith(attempt.error) else ""
    said = [line for text in said for line in terminal(text).splitlines()]
    ids = {story.id, *(fix.id for _, fix in story.all_fixes)}
    # What was said of a task or a fix was said on the way; after it comes what is to be done now.
    way = max((at for at, line in enumerate(said, 1) if line.partition(": ")[0] in ids), default=0)
    if given_up or said:
        yield Line()
    yield from map(Line, said[:way])
    if given_up:
        yield Line(f"given up: {one_line(given_up, LONGEST_LINE)}", ("red",))
    yield from map(Line, said[way:])
    if attempt:
        yield Line()


def relevant(output: str, error: str) -> list[str]:
    """All of a short output; of a long one the surroundings of the error and the end."""
    lines = output.strip("\n").splitlines()
    if len(lines) > SHOWN_LINES:
        wanted = {
            *near(lines, error.strip(), AROUND),
            *range(len(lines) - SHOWN_LINES // 2, len(lines)),
        }
        lines = list(with_gaps(lines, sorted(wanted)))
    # What is here was cut before: how much is missing in all can only be seen from the log.
    return ["…" if GAP.fullmatch(line) else line for line in lines]
