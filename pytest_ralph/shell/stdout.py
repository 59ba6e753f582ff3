"""What a command writes to stdout, in terms of what a number or a word can be compared with."""

from __future__ import annotations

import re
from enum import Enum
from itertools import takewhile
from typing import TYPE_CHECKING

from pytest_ralph.shell.programs import load_programs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.shell.command import Stage

_COUNT_OPTION = re.compile(r"-[A-Za-z]*c[A-Za-z]*|--count(?:-matches)?")
_QUIET_OPTION = re.compile(r"-[A-Za-z]*q[A-Za-z]*|--quiet|--silent")
_NAMES_OPTION = re.compile(r"-[A-Za-z]*l[A-Za-z]*|--files-with(?:out)?-match(?:es)?|--name-only")
_RECURSIVE_OPTION = re.compile(r"-[A-Za-z]*[rR][A-Za-z]*|--recursive")
_INLINE_OPTION = re.compile(r"-[a-zA-Z]*[cepErn]|--eval|--print|-pe|eval")
# `python -c "import shop"` prints nothing: it fails, or it does not.
_IMPORTS = re.compile(r"(?:import|from) [^;()\n]+(?:; *(?:import|from) [^;()\n]+)*;?")
_PATTERN_OPTION = re.compile(r"-[A-Za-z]*[ef]")
_WILDCARD = re.compile(r"[*?{]")
# One number, as far as the code of a one-liner or the arguments of a tool show.
# `SELECT shop, COUNT(*) … GROUP BY shop` prints one for each.
_COUNTING = re.compile(
    r"\blength\b|\blen\(|\.length\b|\$\?|\bNR\b|\$#|count(?!.*\bgroup by\b)", re.IGNORECASE
)
# What only stands in for a command that failed.
_FALLBACK = re.compile(r"(?:true|:|exit)(?: .*)?|echo \d+")
_HTTP_STATUS = re.compile(r"%\{http_code\}")


class Stdout(Enum):
    """What there is to compare with."""

    COUNT = "one number"
    COUNTS = "one number per file"
    LINES = "lines that can be counted"
    TEXT = "some text"
    STATUS = "nothing that matters: the exit status is the result"


def of_pipeline(stages: Sequence[Stage]) -> Stdout:
    """Return what a pipeline prints: what its last stage prints, or passes on."""
    last = stages[-1]
    if last.has_stdout_redirected:
        return Stdout.STATUS
    if len(stages) > 1 and last.is_listed("filters") and stages[-2].stdout is Stdout.COUNT:
        return Stdout.COUNT
    if last.looped and last.stdout is Stdout.COUNT:
        return Stdout.COUNTS
    return last.stdout


def stands_in(stages: Sequence[Stage]) -> bool:
    """Whether a pipeline only replaces the result of the one before: `|| true`, `|| echo 0`."""
    first = stages[0]
    if first.before != "||":
        return False
    call = " ".join([first.program, *first.arguments])
    return _FALLBACK.fullmatch(call) is not None


def of_stage(stage: Stage) -> Stdout:
    """Return what one stage prints, wherever its output goes."""
    if stage.is_listed("searches"):
        return _of_search(stage)
    if stage.program == "wc":
        return Stdout.COUNT
    if stage.is_listed("texts") or _runs_code(stage):
        counting = _HTTP_STATUS if stage.is_listed("http") else _COUNTING
        is_number = counting.search(" ".join(stage.arguments))
        return Stdout.COUNT if is_number else Stdout.TEXT
    if stage.is_listed("lists"):
        return Stdout.LINES
    return Stdout.STATUS


def lists_file_names(stage: Stage) -> bool:
    """Whether the lines a stage prints are names of files."""
    if stage.is_listed("file_names"):
        return True
    if stage.is_listed("searches") or stage.name in ("git diff", "git show"):
        return has_option(stage, _NAMES_OPTION)
    return False


def has_option(stage: Stage, option: re.Pattern[str]) -> bool:
    """Whether an argument is spelled like this option, and is no value of another one."""
    options = load_programs().options(stage.program, stage.arguments)
    own = takewhile(lambda argument: argument != "--", options)
    return any(map(option.fullmatch, own))


def _of_search(stage: Stage) -> Stdout:
    """Return what grep and its relatives print with their options."""
    if has_option(stage, _QUIET_OPTION):
        return Stdout.STATUS
    if not has_option(stage, _COUNT_OPTION):
        return Stdout.LINES
    return Stdout.COUNTS if _searches_several_files(stage) else Stdout.COUNT


def _searches_several_files(stage: Stage) -> bool:
    """Whether a search names several files, a wildcard or a directory to descend into."""
    if "xargs" in stage.launchers or has_option(stage, _RECURSIVE_OPTION):
        return True
    if stage.program == "git":
        # It names the file even if there is only one.
        return True
    files = stage.operands
    if not has_option(stage, _PATTERN_OPTION):
        # The first is the pattern.
        files = files[1:]
    return len(files) > 1 or any(map(_WILDCARD.search, files))


def _runs_code(stage: Stage) -> bool:
    """Whether an interpreter gets its code as an argument or on stdin, not as a file."""
    if not stage.is_listed("interpreters"):
        return False
    if has_option(stage, _INLINE_OPTION):
        return not has_option(stage, _IMPORTS)
    return stage.reads_input and stage.operands in ((), ("-",))
