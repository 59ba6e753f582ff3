"""What an output repeats of the command line: the commands that run, and its own messages."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_ralph.failure.lines import matching, numbers_of
from pytest_ralph.shell.command import Stage, program_name, read_shown
from pytest_ralph.shell.lexer import Word
from pytest_ralph.shell.programs import load_programs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ralph.failure.output import CommandOutput

# Orchestrators that show a command without a mark before it.
UNMARKED_ECHO = frozenset("make gmake just task ninja cmake".split())
ECHO = re.compile(
    r"^(?P<mark>> |\$ |\+ |\t(?=make )| {3}(?=dh_)|#\d+ \[[^]]+\] RUN "
    r"|task: \[\S+\] |\S+: commands\[\d+\]> "
    r"|nox > (?:Running )?|❯ )?"
    r"(?P<command>[\w./@+=-]+(?: .*)?)$"
)
# A sentence, or the result of a test: `test total ... ok`. `go build .` ends with a directory.
NOT_A_COMMAND = re.compile(
    r"(?![a-z]|\./)|.*(?:[^ ]\.|:)$"
    r"|\S+ (?:error|ERR!|warn|notice|WARN|failed|is|has)\b|.* \.{3} "
)
# Calls of build tools that run what they have built.
BUILD_AND_RUN = frozenset({"cargo run", "go run"})
BUILT_PROGRAM = Stage(words=(Word("./program"),), written=())
# What cargo prints before the program starts, and go after it has failed.
RUNNING_BUILT = re.compile(r"^\s+Running `[^`]+`$")
BUILT_ENDED = re.compile(r"^exit status \d+\s*\Z", re.MULTILINE)
# What a command line prints before it ends itself, and behind it the values of variables.
EXIT_WITH_MESSAGE = re.compile(
    r"(?:\|\||\bthen\b|\belse\b)[^|]*?\becho (?P<quote>[\"'])(?P<text>(?:(?!(?P=quote)).)*)"
    r"(?P=quote);[^|]*?\bexit [1-9]"
)
EXPANDED = re.compile(r"\$(?:\{[^}]*\}|\([^)]*\)|[\w?#@*!])+")
THREE_LETTERS = re.compile(r"[A-Za-z]{3}")


def echoed_commands(lines: Sequence[str], *, unmarked: bool) -> Mapping[int, Stage]:
    """Return the commands that an orchestrator shows before it runs them, by line number.

    `unmarked` says whether it shows them without a mark such as `$ `.
    """
    found: dict[int, Stage] = {}
    for number, match in matching(ECHO.match, lines):
        if not match["mark"] and not unmarked:
            continue
        stage = _shown_stage(match["command"])
        if stage is not None:
            found[number] = stage
    return found


@lru_cache(maxsize=1_000)
def _shown_stage(text: str) -> Stage | None:
    """Return the stage of a shown command line that has a role, or None for a sentence.

    A program of the project (`./run_tests`) has none, but what it prints is not the compiler's.
    """
    if NOT_A_COMMAND.match(text):
        return None
    programs = load_programs()
    first_word = text.partition(" ")[0]
    if first_word.startswith("./"):
        stages = list(read_shown(text))
    elif program_name(first_word) in programs.first_words:
        # What the words behind an unknown program suggest counts only in a command line of ours.
        stages = [stage for stage in read_shown(text) if programs.has_role(stage.name)]
    else:
        return None
    return stages[-1] if stages else None


def built_program(output: CommandOutput) -> Mapping[int, Stage]:
    """Return the program that a build tool runs once it is built, by the line where it starts."""
    started = numbers_of(RUNNING_BUILT.match, output.lines)
    if started:
        return {started[0]: BUILT_PROGRAM}
    if BUILT_ENDED.search(output.text):
        return {-1: BUILT_PROGRAM}
    return {}


def last_message(command: str, lines: Sequence[str]) -> int | None:
    """Return the number of the line that a command line prints before it ends itself.

    `test -s "$f" || { echo "no $f"; exit 1; }` prints one that begins with "no ".
    """
    match = EXIT_WITH_MESSAGE.search(command)
    if match is None or not THREE_LETTERS.search(match["text"]):
        return None
    fixed_parts = map(re.escape, EXPANDED.split(match["text"]))
    message = re.compile(".*".join(fixed_parts))
    for number, _ in matching(message.fullmatch, lines):
        return number
    return None
