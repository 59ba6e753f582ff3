"""Whether a command did its work, so that its output means what the Verify field takes it to mean.

"No output" and "0 matches" are also what a command prints that was not found, was killed or could
not read its input. Such a result does not meet an expectation, unless the field names the very exit
status that shows the defect.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from pytest_ralph.shell.command import SHELLS, Command
from pytest_ralph.shell.statuses import NOT_EXECUTABLE, NOT_FOUND

if TYPE_CHECKING:
    from pytest_ralph.running.runner import CommandResult, Runner
    from pytest_ralph.running.stages import StageResults
    from pytest_ralph.shell.command import Stage
    from pytest_ralph.verify.model import Check

Reason = Literal[
    "syntax",
    "broken script",
    "not found",
    "not executable",
    "killed",
    "exception",
    "search error",
    "error",
    "no test",
]

# What a shell reports for a command that died of SIGINT, SIGQUIT, SIGILL, ... SIGTERM. SIGPIPE
# (141) is missing: it ends `yes | head -1` as it should.
FATAL_STATUSES = frozenset({130, 131, 132, 133, 134, 135, 136, 137, 139, 143})
SIGPIPE = 13
# xargs reports this if any of its commands failed; for grep that is a file without a match.
XARGS_FAILED = 123

_SYNTAX_ERROR = re.compile(
    r"syntax error|parse error|unexpected|unmatched|unterminated", re.IGNORECASE
)
# What a shell prints about a script that it cannot parse: bash, dash and zsh. The same words about
# a bad number, as in `$((1 +))`, stand behind the expression.
_BROKEN_SCRIPT = re.compile(
    r"""
    ^(?P<name>[^\s:][^:\n]*):
    (?:
        \ (?:-c:\ )?line\ \d+:\ (?:syntax\ error\b|unexpected\ EOF\ while\ looking\ for\ matching)
        | \ \d+:\ Syntax\ error:
        | \d+:\ parse\ error\ near
    ).*
    """,
    re.MULTILINE | re.VERBOSE,
)
_SOURCING = frozenset({".", "source"})
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
_HARMLESS = re.compile(r"binary file matches|warning:|is a directory|broken pipe", re.IGNORECASE)


class Defect(NamedTuple):
    """Why a result says nothing about the task. `missing` names a program that was not found."""

    reason: Reason
    message: str
    missing: str | None = None


@dataclass(frozen=True)
class CheckRun:
    """One run of a check, and what can be told from it."""

    check: Check
    ended: CommandResult
    stages: StageResults

    @cached_property
    def command(self) -> Command:
        return Command.parse(self.check.command)

    @cached_property
    def errors(self) -> str:
        """What was printed to stderr, or to both streams where they are one."""
        stream = self.ended.stderr or self.ended.stdout
        return stream.text()

    @property
    def succeeded(self) -> bool:
        return self.ended.exit_code == 0

    @property
    def may_fail(self) -> bool:
        """Whether the field wants any status but 0."""
        return any(expect.op == "nonzero" for expect in self.check.expect)

    @property
    def wants_words(self) -> bool:
        """Whether the field wants something in the output."""
        return any(expect.op in ("contains", "matches") for expect in self.check.expect)

    @property
    def is_about_stderr(self) -> bool:
        return any(expect.stream == "stderr" for expect in self.check.expect)

    def names_status(self, status: int | None) -> bool:
        """Whether the field expects this very exit status."""
        for expect in self.check.expect:
            if expect.stream != "exit":
                continue
            if expect.op == "==" and expect.value == status:
                return True
            if expect.op == "in" and isinstance(expect.value, tuple) and status in expect.value:
                return True
        return False


def find_defect(
    check: Check, ended: CommandResult, stages: StageResults, runner: Runner
) -> Defect | None:
    """Return why a command did not do its work, or None if nothing shows that.

    Without expectations a wrong exit status speaks for itself; only a command that the shell cannot
    parse, and what a pipe, a substitution or `!` hides, need a closer look.
    """
    run = CheckRun(check, ended, stages)
    if ended.timed_out or ended.interrupted or _is_expected_failure(run):
        return None
    defect = _syntax_error(run, runner)
    if defect is not None:
        return defect

    detectors = [_missing_program, _from_statuses, _broken_script]
    if check.reads_output:
        detectors += [_unread_input, _exception, _error_in_place_of_output]
    else:
        detectors += [_failed_hidden_search, _search_that_has_to_fail]

    for detector in detectors:
        defect = detector(run)
        if defect is not None:
            return defect
    return None


def _is_expected_failure(run: CheckRun) -> bool:
    """Whether the field names the status of the failure, not only that of the last stage.

    `nosuchtool | wc -l` ends with 0 and `nosuchtool | grep x` with 1.
    """
    if run.succeeded or not run.names_status(run.ended.exit_code):
        return False
    for status in run.stages.statuses:
        is_defect = status in FATAL_STATUSES or status in (NOT_EXECUTABLE, NOT_FOUND)
        if is_defect and not run.names_status(status):
            return False
    return True


def _syntax_error(run: CheckRun, runner: Runner) -> Defect | None:
    """A command line that the shell cannot parse."""
    if run.succeeded or not _SYNTAX_ERROR.search(run.ended.output()):
        return None
    # The words may be those of a tool: ask the shell.
    message = runner.syntax_error(run.check.command)
    return Defect("syntax", message) if message else None


def _missing_program(run: CheckRun) -> Defect | None:
    """A program that the shell did not find, unless the command line provides for that."""
    for stage in run.command.stages:
        is_reported = _reports_missing(stage, run.errors)
        if not is_reported and stage.executable not in run.stages.missing:
            continue

        is_hidden = stage.nested or stage.negated or NOT_FOUND in run.stages.statuses
        if not is_hidden and not run.check.reads_output:
            continue
        is_piped = "|" in (stage.before, stage.after)
        is_alternative = stage.after == "||"
        if is_piped or stage.negated or (is_reported and not is_alternative):
            name = stage.executable
            return Defect("not found", f"{name}: command not found", missing=name)
    return None


def _reports_missing(stage: Stage, errors: str) -> bool:
    """Whether the shell wrote that it did not find the program of a stage."""
    reports = (f" {stage.executable}: command not found", f" {stage.executable}: not found")
    return any(report in errors for report in reports)


def _from_statuses(run: CheckRun) -> Defect | None:
    """A stage of the last pipeline that was not found, not executable or killed."""
    statuses = run.stages.statuses
    if run.check.expect:
        statuses = (*statuses, run.ended.exit_code or 0)

    if NOT_FOUND in statuses:
        return Defect("not found", f"exit status {NOT_FOUND}, not found")
    if NOT_EXECUTABLE in statuses:
        return Defect("not executable", f"exit status {NOT_EXECUTABLE}, cannot be executed")

    if run.command.has_time_limit:
        # The command is meant to be killed.
        return None
    if run.check.expect and run.ended.signal not in (None, SIGPIPE):
        return Defect("killed", f"signal {run.ended.signal}")
    for status in statuses:
        if status in FATAL_STATUSES:
            return Defect("killed", f"exit status {status}, killed by a signal")
    return None


def _broken_script(run: CheckRun) -> Defect | None:
    """A script that its shell could not parse, unless a failure or the message is expected."""
    if run.is_about_stderr:
        return None
    if run.succeeded and not _hides_failure(run):
        # A command that only prints such words, or goes on.
        return None
    stages = run.command.stages
    may_fail = run.may_fail or any(stage.negated for stage in stages)
    if may_fail and any(map(_only_parses, stages)):
        return None

    # A tool that fails because of a script it was given, such as a linter, has done its work.
    may_be_finding = run.wants_words or may_fail
    for match in _BROKEN_SCRIPT.finditer(_messages(run)):
        if not may_be_finding or _is_run(match["name"], run.command):
            return Defect("broken script", match[0].strip())
    return None


def _messages(run: CheckRun) -> str:
    """Return the output in which a shell may have complained."""
    messages = run.errors
    has_two_streams = run.ended.stderr is not None
    if has_two_streams and not run.succeeded and not run.wants_words:
        # `2>&1` sends the message to stdout, which nobody expects it to contain.
        messages += f"\n{run.ended.stdout.text()}"
    return messages


def _hides_failure(run: CheckRun) -> bool:
    """Whether a pipe, a substitution or `!` may hide that a program failed."""
    stages = run.command.stages
    if any(stage.nested or stage.negated for stage in stages):
        return True
    if not any(stage.before == "|" for stage in stages):
        return False
    statuses = run.stages.statuses
    return not statuses or any(statuses)


def _only_parses(stage: Stage) -> bool:
    """`bash -n script.sh` finds syntax errors without running anything."""
    return stage.program in SHELLS and "-n" in stage.arguments


def _is_run(name: str, command: Command) -> bool:
    """Whether a script is run by the command line itself."""
    if name.rpartition("/")[2] in SHELLS:
        return True
    for stage in command.stages:
        if stage.executable == name:
            return True
        runs_scripts = stage.program in SHELLS or stage.program in _SOURCING
        if runs_scripts and name in stage.arguments:
            return True
    return False


def _search_that_has_to_fail(run: CheckRun) -> Defect | None:
    """`grep -q TODO missing.py` "fails" although it has not searched anything."""
    if not run.may_fail:
        return None
    for stage in run.command.own_stages:
        # `git show HEAD:removed.py` fails as it should.
        if stage.program == "git" or not _is_search(stage):
            continue
        defect = _search_error(stage, run)
        if defect is None and stage.after == "&&":
            defect = _unreadable_operand(stage, run.errors)
        if defect is not None:
            return defect
    return None


def _failed_hidden_search(run: CheckRun) -> Defect | None:
    """`! grep TODO missing.txt` and `test -z "$(cat missing.txt)"` succeed."""
    if not run.succeeded:
        return None
    for stage in run.command.stages:
        is_hidden = stage.negated or (stage.nested and stage.after != "||")
        if not is_hidden or not _reads_files(stage):
            continue
        find_error = _reported_error if stage.program == "git" else _unreadable_operand
        defect = find_error(stage, run.errors)
        if defect is not None:
            return defect
    return None


def _unread_input(run: CheckRun) -> Defect | None:
    """A tool that could not search or read what it was given."""
    for stage in run.command.stages:
        defect = _failed_redirection(stage, run.errors) or _search_error(stage, run)
        if defect is not None:
            return defect
    return None


def _failed_redirection(stage: Stage, errors: str) -> Defect | None:
    """A file that the shell could not open for a stage, which then never started."""
    for redirection in stage.redirections:
        reports = (
            f": {redirection.target}: No such file or directory",
            f"cannot open {redirection.target}: ",
            f"cannot create {redirection.target}: ",
        )
        for line in errors.splitlines():
            if any(report in line for report in reports):
                return Defect("search error", line)
    return None


def _search_error(stage: Stage, run: CheckRun) -> Defect | None:
    """The error status of a search tool, or its message where a pipe or `!` hides the status.

    Of a tool that only reads, such as `cat`, the message counts wherever it stands.
    """
    if stage.program == "find":
        return _unreadable_operand(stage, run.errors)
    is_last = stage is run.command.last
    if is_last and not stage.negated and _is_search(stage):
        return _search_status(stage, run.ended.exit_code or 0)
    if not is_last and stage.after != "|":
        return None
    if _reads_files(stage):
        return _reported_error(stage, run.errors)
    return None


def _unreadable_operand(stage: Stage, errors: str) -> Defect | None:
    """A file or directory of the command line that a search could not read.

    Its status does not tell: it is the same for a file below that it may not read.
    """
    defect = _reported_error(stage, errors)
    if defect is None:
        return None
    unquoted = defect.message.translate(_QUOTES)
    for operand in stage.operands:
        if f" {operand}: " in unquoted:
            return defect
    return None


def _reported_error(stage: Stage, errors: str) -> Defect | None:
    """The error that a search tool wrote, such as a file that it cannot read."""
    names = [stage.program]
    if stage.program == "git":
        names.append("fatal")
    prefixes = tuple(f"{name}: " for name in names)
    for line in errors.splitlines():
        if line.startswith(prefixes) and not _HARMLESS.search(line):
            return Defect("search error", line)
    return None


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


def _reads_files(stage: Stage) -> bool:
    return _is_search(stage) or stage.is_listed("readers")


def _exception(run: CheckRun) -> Defect | None:
    """An uncaught exception, unless a failure or its message is what the field expects."""
    if run.is_about_stderr or run.may_fail:
        return None
    is_status_hidden = run.command.last.before == "|"
    if run.succeeded and not is_status_hidden:
        # A program that logs an exception and goes on.
        return None

    texts = [run.errors]
    if not run.wants_words:
        # `2>&1` sends the exception to stdout, which nobody expects it to contain.
        texts.append(run.ended.stdout.text())
    for text in texts:
        message = _exception_at_end(text, is_status_hidden=is_status_hidden)
        if message:
            return Defect("exception", message)
    return None


def _error_in_place_of_output(run: CheckRun) -> Defect | None:
    """An error status of 2 or more with nothing but a message on stderr: `make -f missing.mk`.

    Status 1 often means that there was nothing to print.
    """
    status = run.ended.exit_code or 0
    if status < 2 or run.may_fail or run.is_about_stderr:
        return None
    if run.command.last.program == "ls":
        # How many people check that no such file is there.
        return None
    if run.ended.stderr is None or run.ended.stdout.text().strip():
        return None
    message = run.errors.strip()
    return Defect("error", message.splitlines()[-1].strip()) if message else None


def _exception_at_end(text: str, *, is_status_hidden: bool) -> str:
    """The last line of an output that shows an uncaught exception, otherwise empty."""
    if not _EXCEPTION.search(text):
        return ""
    last_line = text.strip().splitlines()[-1].strip()
    if is_status_hidden and not _EXCEPTION_LINE.fullmatch(last_line):
        # The program went on after the exception.
        return ""
    return "" if _BROKEN_PIPE.search(last_line) else last_line
