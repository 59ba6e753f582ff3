"""Whether a command did its work, so that its output means what the Verify field takes it to mean.

"No output" and "0 matches" are also what a command prints that was not found, was killed or could
not read its input. Such a result does not meet an expectation, unless the field names the very exit
status that shows the defect.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from pytest_ralph.running.argv import SHELL_WORDS
from pytest_ralph.running.expectations import Unmet
from pytest_ralph.shell.command import Command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pytest_ralph.running.runner import CommandResult, Runner
    from pytest_ralph.shell.command import Stage
    from pytest_ralph.verify.model import Check, Expect

Reason = Literal["syntax", "not found", "killed", "exception", "search error", "no test"]

NOT_FOUND = {126: "cannot be executed", 127: "not found"}
# What a shell reports for a command that died of SIGINT, SIGQUIT, SIGILL, ... SIGTERM. SIGPIPE
# (141) is missing: it ends `yes | head -1` as it should.
FATAL_STATUSES = frozenset({130, 131, 132, 133, 134, 135, 136, 137, 139, 143})
SIGPIPE = 13
# xargs reports this if any of its commands failed; for grep that is a file without a match.
XARGS_FAILED = 123

_SYNTAX_ERROR = re.compile(
    r"syntax error|parse error|unexpected|unmatched|unterminated", re.IGNORECASE
)
_PLAIN_NAME = re.compile(r"[\w./+-]+", re.ASCII)
# Launchers that execute the next word themselves, found on PATH as by a shell.
_TRANSPARENT = frozenset(
    "bash command dash doas env exec gtimeout ionice ksh nice nohup setsid sh stdbuf sudo time "
    "timeout xargs zsh".split()
)
# The beginning of what a runtime prints about an exception that ended the program.
_EXCEPTION = re.compile(
    r"""
    ^Traceback\ \(most\ recent\ call\ last\):$
    | ^Exception\ in\ thread\ " | ^panic:\  | ^thread\ '.*'\ panicked\ at\  | ^Node\.js\ v\d
    """,
    re.MULTILINE | re.VERBOSE,
)
_EXCEPTION_LINE = re.compile(r"[A-Za-z_][\w.]*(?:: .*)?|exit status \d+|Node\.js v.*")
# How `find` quotes names.
_QUOTES = str.maketrans("", "", "'‘’`")
# What a writer prints if `head` has read enough.
_BROKEN_PIPE = re.compile(r"\bBroken ?[Pp]ipe", re.ASCII)
_HARMLESS = re.compile(r"binary file matches|warning:|Is a directory", re.IGNORECASE)


class Defect(NamedTuple):
    """Why a result says nothing about the task. `missing` names a program that was not found."""

    reason: Reason
    message: str
    missing: str | None = None

    def as_unmet(self) -> Unmet:
        return Unmet("the command to do its work", self.message)


def find_defect(
    check: Check, ended: CommandResult, runner: Runner, directory: Path
) -> Defect | None:
    """Return why a command did not do its work, or None if nothing shows that.

    Without expectations a wrong exit status speaks for itself; only a command that the shell cannot
    parse, and `!` before a program that is not there or cannot search, need a closer look.
    """
    if ended.timed_out or ended.interrupted:
        return None
    if _names_status(check.expect, ended.exit_code):
        return None
    defect = _syntax_error(check, ended, runner)
    if defect is None and check.expect:
        defect = _from_status(check, ended)
    if defect is not None:
        return defect
    if not check.reads_output:
        return _from_negated(check, ended, runner, directory)
    return _from_stages(check, ended, runner, directory)


def _names_status(expects: Sequence[Expect], status: int | None) -> bool:
    """Whether the field expects this very exit status."""
    for expect in expects:
        if expect.stream != "exit":
            continue
        if expect.op == "==" and expect.value == status:
            return True
        if expect.op == "in" and isinstance(expect.value, tuple) and status in expect.value:
            return True
    return False


def _syntax_error(check: Check, ended: CommandResult, runner: Runner) -> Defect | None:
    if ended.exit_code == 0 or not _SYNTAX_ERROR.search(ended.output()):
        return None
    # The words may be those of a tool: ask the shell.
    message = runner.syntax_error(check.command)
    return Defect("syntax", message) if message else None


def _from_status(check: Check, ended: CommandResult) -> Defect | None:
    status = ended.exit_code
    if status in NOT_FOUND:
        return Defect("not found", f"exit status {status}, {NOT_FOUND[status]}")
    has_signal = ended.signal is not None and ended.signal != SIGPIPE
    if not has_signal and status not in FATAL_STATUSES:
        return None
    if Command.parse(check.command).has_time_limit:
        # The command is meant to be killed.
        return None
    if has_signal:
        return Defect("killed", f"signal {ended.signal}")
    return Defect("killed", f"exit status {status}, killed by a signal")


def _from_negated(
    check: Check, ended: CommandResult, runner: Runner, directory: Path
) -> Defect | None:
    """`! nosuchtool` and `! grep TODO missing.txt` succeed."""
    if ended.exit_code != 0:
        return None
    lookup = _Lookup(check.command, runner, directory)
    for stage in Command.parse(check.command).own_stages:
        if not stage.negated:
            continue
        if lookup.is_missing(stage):
            return lookup.defect(stage)
        defect = _reported_error(stage, ended.output()) if _is_search(stage) else None
        if defect is not None and _names_operand(defect.message, stage):
            return defect
    return None


def _names_operand(message: str, stage: Stage) -> bool:
    """Whether an error is about a file of the command line, not about one found below it."""
    unquoted = message.translate(_QUOTES)
    return any(f" {operand}: " in unquoted for operand in stage.operands)


def _from_stages(
    check: Check, ended: CommandResult, runner: Runner, directory: Path
) -> Defect | None:
    """Look at each program of the command line, and at what it wrote to stderr."""
    command = Command.parse(check.command)
    lookup = _Lookup(check.command, runner, directory)
    errors = ended.stderr.text() if ended.stderr else ""
    for stage in command.stages:
        is_piped = "|" in (stage.before, stage.after)
        is_reported = stage.after != "||" and _reports_missing(stage, errors)
        if (is_piped or is_reported) and lookup.is_missing(stage):
            return lookup.defect(stage)
    for stage in command.stages:
        defect = _search_error(stage, command, ended, errors)
        if defect is not None:
            return defect
    return _exception(check, command, ended, errors)


def _search_error(
    stage: Stage, command: Command, ended: CommandResult, errors: str
) -> Defect | None:
    """The error status of a search tool, or its message where a pipe or `!` hides the status."""
    if stage.program == "find":
        return _missing_start(stage, errors)
    if not _is_search(stage):
        return None
    is_last = stage is command.last
    if is_last and not stage.negated:
        return _search_status(stage, ended.exit_code or 0)
    if not is_last and stage.after != "|":
        return None
    return _reported_error(stage, errors)


def _missing_start(stage: Stage, errors: str) -> Defect | None:
    """A directory that `find` was to search and that is not there.

    Its status does not tell: it is also 1 for a file below that it may not read.
    """
    defect = _reported_error(stage, errors)
    if defect is None or not _names_operand(defect.message, stage):
        return None
    return defect


def _reported_error(stage: Stage, errors: str) -> Defect | None:
    """The error that a search tool wrote, such as a file that it cannot read."""
    prefixes = [f"{stage.program}: "]
    if stage.program == "git":
        prefixes.append("fatal: ")
    for line in errors.splitlines():
        if line.startswith(tuple(prefixes)) and not _HARMLESS.search(line):
            return Defect("search error", line)
    return None


def _reports_missing(stage: Stage, errors: str) -> bool:
    """Whether the shell wrote that it did not find the program of a stage."""
    name = stage.words[0].text if stage.words else ""
    reports = (f" {name}: command not found", f" {name}: not found")
    return bool(name) and any(report in errors for report in reports)


def _search_status(stage: Stage, status: int) -> Defect | None:
    """Status 1 of a search means that nothing was found; a higher one is an error."""
    if status < 2:
        return None
    if status == XARGS_FAILED and "xargs" in stage.launchers:
        return None
    return Defect("search error", f"exit status {status} of {stage.program}")


def _is_search(stage: Stage) -> bool:
    if stage.program == "git":
        return True
    return stage.is_listed("searches") or stage.is_listed("differences")


def _exception(check: Check, command: Command, ended: CommandResult, errors: str) -> Defect | None:
    """An uncaught exception, unless a failure or its message is what the field expects."""
    if any(expect.stream == "stderr" or expect.op == "nonzero" for expect in check.expect):
        return None
    last = command.last
    is_status_hidden = last is not None and last.before == "|"
    if ended.exit_code == 0 and not is_status_hidden:
        # A program that logs an exception and goes on.
        return None
    texts = [errors]
    if not any(expect.op in ("contains", "matches") for expect in check.expect):
        # `2>&1` sends the exception to stdout, which nobody expects it to contain.
        texts.append(ended.stdout.text())
    for text in texts:
        message = _exception_at_end(text, is_status_hidden=is_status_hidden)
        if message:
            return Defect("exception", message)
    return None


def _exception_at_end(text: str, *, is_status_hidden: bool) -> str:
    """The last line of an output that shows an uncaught exception, otherwise empty."""
    if not _EXCEPTION.search(text):
        return ""
    last_line = text.strip().splitlines()[-1].strip()
    if is_status_hidden and not _EXCEPTION_LINE.fullmatch(last_line):
        # The program went on after the exception.
        return ""
    return "" if _BROKEN_PIPE.search(last_line) else last_line


class _Lookup:
    """Finds programs as the shell that ran the command line does."""

    def __init__(self, text: str, runner: Runner, directory: Path) -> None:
        self._environ: Mapping[str, str] = runner.environ
        self._directory = directory
        self._text = text
        # Functions, aliases and another PATH cannot be known without running the command line.
        defines_names = re.search(
            r"\(\s*\)|\b(?:function|alias|source|eval|PATH=)|(?:^|\s)\. ", text
        )
        self._is_reliable = defines_names is None and "BASH_ENV" not in self._environ

    def is_missing(self, stage: Stage) -> bool:
        """Whether the program of a stage is certainly not there."""
        name = self._name(stage)
        if not self._is_reliable or not name:
            return False
        if f"BASH_FUNC_{name}%%" in self._environ:
            return False
        if "/" in name:
            if stage.directory is None:
                return False
            return not _is_program(self._directory / stage.directory / name)
        directories = self._environ.get("PATH", os.defpath).split(os.pathsep)
        return not any(_is_program(self._directory / directory / name) for directory in directories)

    def defect(self, stage: Stage) -> Defect:
        name = self._name(stage)
        return Defect("not found", f"{name}: command not found", missing=name)

    def _name(self, stage: Stage) -> str:
        """Return the word that is looked up, or empty if it is not known or not looked up."""
        if not _TRANSPARENT.issuperset(stage.launchers):
            # `npx tool`: only the launcher has to be on PATH.
            return stage.launchers[0].split()[0]
        word = stage.words[0]
        if not word.literal or not _PLAIN_NAME.fullmatch(word.text):
            return ""
        return "" if word.text in SHELL_WORDS else word.text


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
