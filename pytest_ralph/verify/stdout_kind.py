"""What the expectations of a Verify field need to know about the output of its command."""

from __future__ import annotations

import re

from pytest_ralph.shell.command import Command, Stage
from pytest_ralph.shell.stdout import Stdout as Prints
from pytest_ralph.shell.stdout import has_option, lists_file_names, of_pipeline

_SUMMARY_OPTION = re.compile(r"--(?:short)?stat\b.*")
_BODY_ONLY_OPTION = re.compile(
    r"-[A-Za-z]*[qs][A-Za-z]*|-o\S*|--(?:porcelain|short|quiet|no-headers?|format\S*)(?:=.*)?"
)
_QUIET_OPTION = re.compile(r"-[A-Za-z]*[qs][A-Za-z]*|--quiet|--silent")
_SILENT = frozenset([":", "[", "[[", "cd", "exit", "false", "return", "set", "test", "true"])
_QUIETED = frozenset(["cmp", "egrep", "fgrep", "grep", "rg"])
_EXITING_CODE = re.compile(r"\bexit\(")
_PRINTING_CODE = re.compile(r"print|puts|console|write|echo|say ")
_STATUS_OPTION = re.compile(r"-[A-Za-z]*[iIv]|--include|--head|--verbose")

__all__ = ["Prints", "prints"]


def prints(command: str) -> Prints:
    """Return what the last pipeline of a command line prints."""
    return Command.parse(command).stdout


def split_stages(command: str) -> list[str]:
    """Return the simple commands of a command line as written."""
    return [stage.source for stage in Command.parse(command).own_stages] or [command]


def prints_nothing(command: str) -> bool:
    """Whether its exit status is all that it can return: `test -f x`, `sh -c 'exit 3'`."""
    stages = Command.parse(command).own_stages
    return bool(stages) and all(_is_silent(stage) for stage in stages)


def is_pytest(command: str) -> bool:
    """Whether the exit status of a command is that of pytest."""
    return Command.parse(command).last.program == "pytest"


def ends_with_echo(command: str) -> bool:
    """Whether it prints its own verdict: `… && echo PASS`."""
    stages = Command.parse(command).own_stages
    if len(stages) < 2 or stages[-1].before == "||":
        return False
    return stages[-1].program in ("echo", "printf")


def prints_number_last(command: str) -> bool:
    """Whether a number is printed below other output: `make && grep -c x f`, `./tool; echo $?`."""
    *earlier, last = Command.parse(command).pipelines or ((),)
    if not earlier:
        return False
    if last[-1].source in ("echo $?", 'echo "$?"'):
        return True
    has_counts = any(of_pipeline(stages) in (Prints.COUNT, Prints.COUNTS) for stages in earlier)
    return of_pipeline(last) is Prints.COUNT and not has_counts


def is_search(command: str) -> bool:
    """Whether its exit status says whether it has found something."""
    return _last_is_listed(command, "searches")


def searches(command: str) -> bool:
    """Whether it prints the lines or files in which it finds something."""
    return is_search(command) and prints(command) is Prints.LINES


def searches_quietly(command: str) -> bool:
    """Whether it looks for something and prints nothing: `grep -q`."""
    return is_search(command) and prints_nothing(command)


def compares(command: str) -> bool:
    """Whether it prints nothing but differences."""
    return _last_is_listed(command, "differences")


def adds_lines(command: str) -> bool:
    """Whether a heading or a sum stands above or below the list: `git diff --stat`."""
    last = Command.parse(command).last
    if last.is_listed("tables"):
        return not has_option(last, _BODY_ONLY_OPTION)
    return last.program == "git" and has_option(last, _SUMMARY_OPTION)


def counts_only(command: str) -> bool:
    """Whether it prints nothing but numbers: `grep -c`, `wc -l`."""
    last = Command.parse(command).last
    if last.program != "wc" and not last.is_listed("searches"):
        return False
    return last.stdout in (Prints.COUNT, Prints.COUNTS)


def counts_several_files(command: str) -> bool:
    """Whether it prints one number for each of several files: `grep -c x a b`, `wc -l *.md`."""
    if prints(command) is Prints.COUNTS:
        return True
    last = Command.parse(command).last
    if last.program != "wc":
        return False
    return len(last.operands) > 1 or any("*" in operand for operand in last.operands)


def hides_zero(command: str) -> bool:
    """Whether it prints nothing, not 0, if it finds nothing: `rg -c`."""
    return Command.parse(command).last.program == "rg"


def is_http(command: str) -> bool:
    """Whether a number may mean the status of a server's answer, which is not in the output."""
    return _last_is_listed(command, "http")


def shows_http_status(command: str) -> bool:
    """Whether the status of the answer is in the output."""
    return any(has_option(stage, _STATUS_OPTION) for stage in Command.parse(command).stages)


def always_prints(command: str) -> bool:
    """Whether it prints a heading or a summary even if there is nothing to list."""
    last = Command.parse(command).last
    return last.is_listed("headed") and not has_option(last, _BODY_ONLY_OPTION)


def prints_in_turn(command: str) -> bool:
    """Whether several commands print something of their own: `cat a && cat b`."""
    pipelines = _in_turn(command)
    if len(pipelines) < 2:
        return False
    return all(of_pipeline(pipeline) is not Prints.STATUS for pipeline in pipelines)


def shows_contents(command: str) -> bool:
    """Whether it prints a text whose lines nobody counts without saying so."""
    pipelines = Command.parse(command).pipelines
    if not pipelines:
        return False
    stages = list(pipelines[-1])
    is_cut = False
    while len(stages) > 1 and stages[-1].program in ("head", "tail", "cat"):
        stages.pop()
        is_cut = True
    if stages[-1].is_listed("contents"):
        return True
    return is_cut and stages[-1].stdout is Prints.STATUS


def lists_names(command: str) -> bool:
    """Whether it prints names of files."""
    return lists_file_names(Command.parse(command).last)


def _is_silent(stage: Stage) -> bool:
    if stage.program in _SILENT or stage.has_stdout_redirected:
        return True
    if stage.program in _QUIETED:
        return has_option(stage, _QUIET_OPTION)
    code = " ".join(stage.arguments)
    return bool(_EXITING_CODE.search(code)) and not _PRINTING_CODE.search(code)


def _last_is_listed(command: str, key: str) -> bool:
    return Command.parse(command).last.is_listed(key)


def _in_turn(command: str) -> list[tuple[Stage, ...]]:
    """The pipelines that run one after the other; what `||` joins are alternatives."""
    found: list[tuple[Stage, ...]] = []
    for pipeline in Command.parse(command).pipelines:
        if pipeline[0].before == "||" and found:
            continue
        found.append(pipeline)
    return found
