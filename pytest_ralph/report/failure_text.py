"""What a person reads about a task that failed: the command, how it ended, what was expected, the lines that matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.text.inert import one_line, terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.report.story import AttemptStory, TaskStory

SHOWN_LINES = 40
AROUND = 8
LONGEST_LINE = 400


def failure_text(story: TaskStory, lines: Sequence[str] = ()) -> str:
    """One block of text, never a traceback of ours."""
    attempt = story.last_failure
    what = f"{attempt.kind}: {attempt.error}" if attempt else story.reason
    parts = [("regression: " if story.outcome == "regression" else "") + one_line(what, LONGEST_LINE)]
    if attempt:
        parts += [*_how_it_ended(attempt), *_what_it_was(attempt), *_output(attempt), *_advice(attempt)]
    parts.append(f"  {story.spec_path}:{story.line}: {one_line(story.heading, LONGEST_LINE)}")
    if story.reason and (not attempt or story.reason != attempt.error):
        parts += ["", f"given up: {one_line(story.reason, LONGEST_LINE)}"]
    return "\n".join([*parts, *([""] if lines else []), *map(terminal, lines)])


def _how_it_ended(attempt: AttemptStory) -> Iterator[str]:
    for number, line in enumerate(terminal(attempt.command).splitlines()):
        yield f"  {'$' if number == 0 else '>'} {line}"
    if attempt.timed_out:
        yield f"  timed out after {attempt.duration:.1f} s"
    elif attempt.exit_code is not None:
        yield f"  exited with {attempt.exit_code} after {attempt.duration:.1f} s"
    if attempt.expected and not attempt.timed_out:
        got = f", got {one_line(attempt.got, LONGEST_LINE)}" if attempt.got else ""
        yield f"  expected {one_line(attempt.expected, LONGEST_LINE)}{got}"


def _what_it_was(attempt: AttemptStory) -> Iterator[str]:
    if attempt.missing:
        yield f"  missing: {one_line(attempt.missing, LONGEST_LINE)}"
    for name, many in (("failing tests", attempt.failed_tests), ("files", attempt.files)):
        if many:
            shown = [one_line(one, 120) for one in many[:6]]
            more = f" … {len(many) - 6} more" if len(many) > 6 else ""
            yield f"  {name}: {', '.join(shown)}{more}"


def _output(attempt: AttemptStory) -> Iterator[str]:
    if text := relevant(terminal(attempt.output), attempt.error):
        yield ""
        yield from (f"  | {line[:LONGEST_LINE]}" for line in text)
    if attempt.log and attempt.output.strip():
        yield f"  full output: {attempt.log}"


def _advice(attempt: AttemptStory) -> Iterator[str]:
    if attempt.advice:
        yield ""
        yield from (f"  • {one_line(line, LONGEST_LINE)}" for line in attempt.advice[:4])


def relevant(output: str, error: str) -> list[str]:
    """All of a short output; of a long one the surroundings of the error and the end."""
    lines = output.strip("\n").splitlines()
    if len(lines) <= SHOWN_LINES or not lines:
        return lines
    at = next((number for number, line in enumerate(lines) if error and error.strip() in line), len(lines) - 1)
    wanted = {
        *range(max(0, at - AROUND), min(len(lines), at + AROUND + 1)),
        *range(len(lines) - SHOWN_LINES // 2, len(lines)),
    }
    return list(_with_gaps(lines, sorted(wanted)))


def _with_gaps(lines: Sequence[str], wanted: Sequence[int]) -> Iterator[str]:
    before = -1
    for number in wanted:
        if number != before + 1:
            yield f"… {number - before - 1} lines …"
        yield lines[number]
        before = number
