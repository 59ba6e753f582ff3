"""What the expectations of a Verify field need to know about the output of its command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.shell.stdout import Stdout, has_option, lists_file_names, of_pipeline

if TYPE_CHECKING:
    from pytest_ralph.shell.command import Command, Stage

_SUMMARY_OPTION = re.compile(r"--(?:short)?stat\b.*")
_BODY_ONLY_OPTION = re.compile(
    r"-[A-Za-z]*[qs][A-Za-z]*|-o\S*|--(?:porcelain|short|quiet|no-headers?|format\S*)(?:=.*)?"
)
_ONE_LINE_OPTION = re.compile(r"--oneline|--(?:format|pretty)(?:=.*)?|-[A-Za-z]*s[A-Za-z]*")
_FORMAT_OPTION = re.compile(r"--(?:format|pretty)(?:=.*)?")
_LONG_OPTION = re.compile(r"-[A-Za-z]*l[A-Za-z]*")
_QUIET_OPTION = re.compile(r"-[A-Za-z]*[qs][A-Za-z]*|--quiet|--silent")
_SILENT = frozenset([":", "[", "[[", "cd", "exit", "false", "return", "set", "test", "true"])
_QUIETED = frozenset(["cmp", "egrep", "fgrep", "grep", "rg"])
# A client of a database that is not told to print values only.
_SQL_CLIENT = re.compile(r"\b(?P<client>psql|mysql|mariadb)\b")
_VALUES_ONLY = {
    "psql": re.compile(r"\s(?:-[A-Za-z]*t[A-Za-z]*|--tuples-only)\b"),
    "mysql": re.compile(r"\s(?:-[A-Za-z]*N[A-Za-z]*|--skip-column-names)\b"),
}
_EXITING_CODE = re.compile(r"\bexit\(")
_PRINTING_CODE = re.compile(r"print|puts|console|write|echo|say ")
_STATUS_OPTION = re.compile(r"-[A-Za-z]*[iIv]|--include|--head|--verbose")
_COUNTS = (Stdout.COUNT, Stdout.COUNTS)
_CUTTING = ("head", "tail", "cat")


def prints_numbers(command: Command) -> bool:
    """Whether it prints one number, or one for each file."""
    return command.stdout in _COUNTS


def prints_nothing(command: Command) -> bool:
    """Whether its exit status is all that it can return: `test -f x`, `sh -c 'exit 3'`."""
    stages = command.own_stages
    return bool(stages) and all(map(_is_silent, stages))


def _is_silent(stage: Stage) -> bool:
    if stage.program in _SILENT or stage.has_stdout_redirected:
        return True
    if stage.program in _QUIETED:
        return has_option(stage, _QUIET_OPTION)
    code = " ".join(stage.arguments)
    if _PRINTING_CODE.search(code):
        return False
    return _EXITING_CODE.search(code) is not None


def prints_something(command: Command) -> bool:
    """Whether it has output even if there is nothing to list: a verdict of its own, a heading."""
    if ends_with_echo(command):
        return True
    if prints_sql_table(command) == "psql":
        return True
    last = command.last
    return last.is_listed("headed") and not has_option(last, _BODY_ONLY_OPTION)


def prints_sql_table(command: Command) -> str:
    """Return the client that prints the answer of a database with headings, if it does."""
    source = command.last.source
    client = _SQL_CLIENT.search(source)
    if client is None:
        return ""
    name = "psql" if client["client"] == "psql" else "mysql"
    if _VALUES_ONLY[name].search(source):
        return ""
    return name


def ends_with_echo(command: Command) -> bool:
    """Whether it prints its own verdict: `… && echo PASS`."""
    if len(command.own_stages) < 2:
        return False
    last = command.last
    return last.program in ("echo", "printf") and last.before != "||"


def prints_number_last(command: Command) -> bool:
    """Whether a number is printed below other output: `make && grep -c x f`, `./tool; echo $?`."""
    if len(command.pipelines) < 2:
        return False
    if command.last.source in ("echo $?", 'echo "$?"'):
        return True
    *earlier, last = map(of_pipeline, command.pipelines)
    if last is not Stdout.COUNT:
        return False
    return Stdout.COUNT not in earlier and Stdout.COUNTS not in earlier


def prints_several_numbers(command: Command) -> bool:
    """Whether several commands print a number of their own: `wc -l a && wc -l b`."""
    counted = [stages for stages in command.pipelines if of_pipeline(stages) in _COUNTS]
    # What `||` joins is an alternative.
    return len([stages for stages in counted if stages[0].before != "||"]) > 1


def prints_in_turn(command: Command) -> bool:
    """Whether several commands print something of their own: `cat a && cat b`."""
    # What `||` joins is an alternative.
    in_turn = [stages for stages in command.pipelines if stages[0].before != "||"]
    if len(in_turn) < 2:
        return False
    return Stdout.STATUS not in map(of_pipeline, in_turn)


def prints_per_file(command: Command) -> bool:
    """Whether it prints one value for each of several files: `stat -c %a a b`."""
    if command.last.program != "stat" or command.last.source.count("%") != 1:
        return False
    files = [operand for operand in command.last.operands if "%" not in operand]
    return len(files) > 1


def iterates(command: Command) -> bool:
    """Whether it prints one line for each item of an array: `jq '.[].name' a.json`."""
    last = command.last
    return last.program in ("jq", "yq") and "[]" in last.source


def is_search(command: Command) -> bool:
    """Whether its exit status says whether it has found something."""
    return command.last.is_listed("searches")


def is_quiet_search(command: Command) -> bool:
    """Whether it tells only by its exit status whether it has found something."""
    return is_search(command) and _is_silent(command.last)


def searches(command: Command) -> bool:
    """Whether it prints the lines or files in which it finds something."""
    return is_search(command) and command.stdout is Stdout.LINES


def compares(command: Command) -> bool:
    """Whether it prints nothing but differences."""
    return command.last.is_listed("differences")


def adds_lines(command: Command) -> bool:
    """Whether a heading or a sum stands above or below the list: `git diff --stat`."""
    last = command.last
    if last.is_listed("tables"):
        return not has_option(last, _BODY_ONLY_OPTION)
    return last.program == "git" and has_option(last, _SUMMARY_OPTION)


def prints_columns(command: Command) -> bool:
    """Whether what it lists stands in lines that tell more: `ls -l`, `docker ps`."""
    last = command.last
    if last.program == "ls":
        return has_option(last, _LONG_OPTION)
    if last.name == "git log":
        return not has_option(last, _FORMAT_OPTION)
    is_table = last.is_listed("headed") or last.is_listed("tables")
    return is_table and not has_option(last, _BODY_ONLY_OPTION)


def prints_blocks(command: Command) -> bool:
    """Whether it prints several lines for each thing that it lists: `git log -3`."""
    return command.last.name == "git log" and not has_option(command.last, _ONE_LINE_OPTION)


def counts_only(command: Command) -> bool:
    """Whether it prints nothing but numbers: `grep -c`, `wc -l`."""
    if command.last.program != "wc" and not is_search(command):
        return False
    return command.last.stdout in _COUNTS


def counts_several_files(command: Command) -> bool:
    """Whether it prints one number for each of several files: `grep -c x a b`, `wc -l *.md`."""
    if command.stdout is Stdout.COUNTS:
        return True
    last = command.last
    if last.program != "wc":
        return False
    return len(last.operands) > 1 or "*" in "".join(last.operands)


def hides_zero(command: Command) -> bool:
    """Whether it prints nothing, not 0, if it finds nothing: `rg -c`."""
    return command.last.program == "rg"


def is_http(command: Command) -> bool:
    """Whether a number may mean the status of a server's answer, which is not in the output."""
    return command.last.is_listed("http")


def shows_http_status(command: Command) -> bool:
    """Whether the status of the answer is in the output."""
    return any(has_option(stage, _STATUS_OPTION) for stage in command.stages)


def prints_body(command: Command) -> bool:
    """Whether it prints the answer of a server without its headers."""
    return is_http(command) and not shows_http_status(command)


def shows_contents(command: Command) -> bool:
    """Whether it prints a text whose lines nobody counts without saying so."""
    if not command.own_stages:
        return False
    first, *others = command.pipelines[-1]
    while others and others[-1].program in _CUTTING:
        others.pop()
    printing = others[-1] if others else first
    if printing.is_listed("contents"):
        return True
    # `make | tail -5` shows a part of a report.
    is_cut = printing is not command.pipelines[-1][-1]
    return is_cut and printing.stdout is Stdout.STATUS


def lists_names(command: Command) -> bool:
    """Whether it prints names of files."""
    return lists_file_names(command.last)
