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

from pytest_ralph.running.expectations import alternatives
from pytest_ralph.shell.command import SHELLS, Command
from pytest_ralph.shell.statuses import NOT_EXECUTABLE, NOT_FOUND

if TYPE_CHECKING:
    from collections.abc import Iterator

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
# The statuses of a stage that did not do its work.
DEFECT_STATUSES = FATAL_STATUSES | {NOT_EXECUTABLE, NOT_FOUND}
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

    @cached_property
    def wanted(self) -> set[str]:
        """The kinds of expectations in the field."""
        return {expect.op for expect in self.check.expect}

    @property
    def may_fail(self) -> bool:
        """Whether the field wants any status but 0."""
        return "nonzero" in self.wanted

    @property
    def wants_words(self) -> bool:
        """Whether the field wants something in the output."""
        return not self.wanted.isdisjoint(("contains", "matches"))

    @property
    def is_about_stderr(self) -> bool:
        return any(expect.stream == "stderr" for expect in self.check.expect)

    @cached_property
    def named_statuses(self) -> set[object]:
        """The exit statuses that the field expects by their numbers."""
        named: set[object] = set()
        for expect in self.check.expect:
            if expect.stream == "exit" and expect.op in ("==", "in"):
                named.update(alternatives(expect.value))
        return named


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
    return next(_defects(run, runner), None)


def _defects(run: CheckRun, runner: Runner) -> Iterator[Defect]:
    """Yield the defects of a command, the one that explains most first."""
    yield from _syntax_error(run, runner)
    yield from _missing_program(run)
    yield from _from_statuses(run)
    yield from _broken_script(run)
    if run.check.reads_output:
        yield from _unread_input(run)
        yield from _exception(run)
        yield from _error_in_place_of_output(run)
    else:
        yield from _failed_hidden_search(run)
        yield from _search_that_has_to_fail(run)


def _is_expected_failure(run: CheckRun) -> bool:
    """Whether the field names the status of the failure, not only that of the last stage.

    `nosuchtool | wc -l` ends with 0 and `nosuchtool | grep x` with 1.
    """
    if run.succeeded or run.ended.exit_code not in run.named_statuses:
        return False
    defects = DEFECT_STATUSES.intersection(run.stages.statuses)
    return defects <= run.named_statuses


def _syntax_error(run: CheckRun, runner: Runner) -> Iterator[Defect]:
    """A command line that the shell cannot parse."""
    if run.succeeded or not _SYNTAX_ERROR.search(run.ended.output()):
        return
    # The words may be those of a tool: ask the shell.
    message = runner.syntax_error(run.check.command)
    if message:
        yield Defect("syntax", message)


def _missing_program(run: CheckRun) -> Iterator[Defect]:
    """A program that the shell did not find, unless the command line provides for that."""
    status_tells = not run.check.reads_output and NOT_FOUND not in run.stages.statuses
    for stage in run.command.stages:
        name = stage.executable
        is_reported = _reports_missing(name, run.errors)
        if not is_reported and name not in run.stages.missing:
            continue
        if status_tells and not stage.nested and not stage.negated:
            continue
        if not _is_optional(stage, is_reported=is_reported):
            yield Defect("not found", f"{name}: command not found", missing=name)


def _is_optional(stage: Stage, *, is_reported: bool) -> bool:
    """Whether the command line provides for the case that the program is missing."""
    if stage.negated or "|" in (stage.before, stage.after):
        return False
    return stage.after == "||" or not is_reported


def _reports_missing(name: str, errors: str) -> bool:
    """Whether the shell wrote that it did not find a program."""
    return f" {name}: command not found" in errors or f" {name}: not found" in errors


def _from_statuses(run: CheckRun) -> Iterator[Defect]:
    """A stage of the last pipeline that was not found, not executable or killed."""
    statuses = run.stages.statuses
    if run.check.expect:
        statuses = (*statuses, run.ended.exit_code or 0)

    if NOT_FOUND in statuses:
        yield Defect("not found", f"exit status {NOT_FOUND}, not found")
    if NOT_EXECUTABLE in statuses:
        yield Defect("not executable", f"exit status {NOT_EXECUTABLE}, cannot be executed")

    if run.command.has_time_limit:
        # The command is meant to be killed.
        return
    if run.check.expect and run.ended.signal not in (None, SIGPIPE):
        yield Defect("killed", f"signal {run.ended.signal}")
    for status in statuses:
        if status in FATAL_STATUSES:
            yield Defect("killed", f"exit status {status}, killed by a signal")


def _broken_script(run: CheckRun) -> Iterator[Defect]:
    """A script that its shell could not parse, unless a failure or the message is expected."""
    if run.is_about_stderr:
        return
    if run.succeeded and not _hides_failure(run):
        # A command that only prints such words, or goes on.
        return
    stages = run.command.stages
    may_fail = run.may_fail or any(stage.negated for stage in stages)
    if may_fail and any(map(_only_parses, stages)):
        return

    # A tool that fails because of a script it was given, such as a linter, has done its work.
    may_be_finding = run.wants_words or may_fail
    for match in _BROKEN_SCRIPT.finditer(_messages(run)):
        if not may_be_finding or _is_run(match["name"], run.command):
            yield Defect("broken script", match[0].strip())


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
    has_pipe = any(stage.before == "|" for stage in stages)
    if not has_pipe:
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


def _search_that_has_to_fail(run: CheckRun) -> Iterator[Defect]:
    """`grep -q TODO missing.py` "fails" although it has not searched anything."""
    if not run.may_fail:
        return
    for stage in run.command.own_stages:
        # `git show HEAD:removed.py` fails as it should.
        if stage.program == "git" or not _is_search(stage):
            continue
        yield from _search_error(stage, run)
        if stage.after == "&&":
            yield from _unreadable_operand(stage, run.errors)


def _failed_hidden_search(run: CheckRun) -> Iterator[Defect]:
    """`! grep TODO missing.txt` and `test -z "$(cat missing.txt)"` succeed."""
    if not run.succeeded:
        return
    for stage in run.command.stages:
        is_hidden = stage.negated or (stage.nested and stage.after != "||")
        if not is_hidden or not _reads_files(stage):
            continue
        if stage.program == "git":
            yield from _reported_error(stage, run.errors)
        else:
            yield from _unreadable_operand(stage, run.errors)


def _unread_input(run: CheckRun) -> Iterator[Defect]:
    """A tool that could not search or read what it was given."""
    for stage in run.command.stages:
        yield from _failed_redirection(stage, run.errors)
        yield from _search_error(stage, run)


def _failed_redirection(stage: Stage, errors: str) -> Iterator[Defect]:
    """A file that the shell could not open for a stage, which then never started."""
    for redirection in stage.redirections:
        reports = (
            f": {redirection.target}: No such file or directory",
            f"cannot open {redirection.target}: ",
            f"cannot create {redirection.target}: ",
        )
        for line in errors.splitlines():
            if any(report in line for report in reports):
                yield Defect("search error", line)


def _search_error(stage: Stage, run: CheckRun) -> Iterator[Defect]:
    """The error status of a search tool, or its message where a pipe or `!` hides the status.

    Of a tool that only reads, such as `cat`, the message counts wherever it stands.
    """
    if stage.program == "find":
        yield from _unreadable_operand(stage, run.errors)
        return
    is_last = stage is run.command.last
    if is_last and not stage.negated and _is_search(stage):
        yield from _search_status(stage, run.ended.exit_code or 0)
        return
    if not is_last and stage.after != "|":
        return
    if _reads_files(stage):
        yield from _reported_error(stage, run.errors)


def _unreadable_operand(stage: Stage, errors: str) -> Iterator[Defect]:
    """A file or directory of the command line that a search could not read.

    Its status does not tell: it is the same for a file below that it may not read.
    """
    for defect in _reported_error(stage, errors):
        unquoted = defect.message.translate(_QUOTES)
        if any(f" {operand}: " in unquoted for operand in stage.operands):
            yield defect


def _reported_error(stage: Stage, errors: str) -> Iterator[Defect]:
    """The first error that a search tool wrote, such as a file that it cannot read."""
    prefixes = [f"{stage.program}: "]
    if stage.program == "git":
        prefixes.append("fatal: ")
    for line in errors.splitlines():
        if line.startswith(tuple(prefixes)) and not _HARMLESS.search(line):
            yield Defect("search error", line)
            return


def _search_status(stage: Stage, status: int) -> Iterator[Defect]:
    """Status 1 of a search means that nothing was found; a higher one is an error."""
    if status == XARGS_FAILED and "xargs" in stage.launchers:
        return
    if status > 1:
        yield Defect("search error", f"exit status {status} of {stage.program}")


def _is_search(stage: Stage) -> bool:
    if stage.program == "git":
        return True
    return stage.is_listed("searches") or stage.is_listed("differences")


def _reads_files(stage: Stage) -> bool:
    return _is_search(stage) or stage.is_listed("readers")


def _exception(run: CheckRun) -> Iterator[Defect]:
    """An uncaught exception, unless a failure or its message is what the field expects."""
    if run.is_about_stderr or run.may_fail:
        return
    is_status_hidden = run.command.last.before == "|"
    if run.succeeded and not is_status_hidden:
        # A program that logs an exception and goes on.
        return

    texts = [run.errors]
    if not run.wants_words:
        # `2>&1` sends the exception to stdout, which nobody expects it to contain.
        texts.append(run.ended.stdout.text())
    for text in texts:
        message = _exception_at_end(text, is_status_hidden=is_status_hidden)
        if message:
            yield Defect("exception", message)


def _exception_at_end(text: str, *, is_status_hidden: bool) -> str:
    """Return the last line of an output that shows an uncaught exception, or an empty text."""
    if not _EXCEPTION.search(text):
        return ""
    last_line = text.strip().splitlines()[-1].strip()
    if is_status_hidden and not _EXCEPTION_LINE.fullmatch(last_line):
        # The program went on after the exception.
        return ""
    if _BROKEN_PIPE.search(last_line):
        return ""
    return last_line


def _error_in_place_of_output(run: CheckRun) -> Iterator[Defect]:
    """An error status of 2 or more with nothing but a message on stderr: `make -f missing.mk`.

    Status 1 often means that there was nothing to print.
    """
    status = run.ended.exit_code or 0
    if status < 2 or run.may_fail or run.is_about_stderr:
        return
    if run.command.last.program == "ls":
        # How many people check that no such file is there.
        return
    if run.ended.stderr is None or run.ended.stdout.text().strip():
        return
    lines = run.errors.strip().splitlines()
    if lines:
        yield Defect("error", lines[-1].strip())
