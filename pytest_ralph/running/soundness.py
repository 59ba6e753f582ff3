"""Whether a command did its work, so that its output means what the Verify field takes it to mean.

"No output" and "0 matches" are also what a command prints that was not found, was killed or could
not read its input. A test command may end with 0 although it ran no test. Such a result does not
meet an expectation, unless the field names the very exit status that shows the defect.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from pytest_ralph.shell.command import SHELLS, Command
from pytest_ralph.shell.statuses import NOT_EXECUTABLE, NOT_FOUND
from pytest_ralph.text.inert import terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.running.runner import CommandResult, Runner
    from pytest_ralph.running.stages import Stages
    from pytest_ralph.shell.command import Stage
    from pytest_ralph.verify.model import Check, Expect, Verify

Reason = Literal[
    "syntax",
    "broken script",
    "not found",
    "not executable",
    "killed",
    "exception",
    "search error",
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


def find_defect(
    check: Check, ended: CommandResult, stages: Stages, runner: Runner
) -> Defect | None:
    """Return why a command did not do its work, or None if nothing shows that.

    Without expectations a wrong exit status speaks for itself; only a command that the shell cannot
    parse, and what a pipe, a substitution or `!` hides, need a closer look.
    """
    if ended.timed_out or ended.interrupted:
        return None
    if _is_expected_failure(check, ended, stages):
        return None
    command = Command.parse(check.command)
    errors = (ended.stderr or ended.stdout).text()
    defect = (
        _syntax_error(check, ended, runner)
        or _missing_program(check, command, stages, errors)
        or _from_statuses(check, command, ended, stages)
        or _broken_script(check, command, ended, stages)
    )
    if defect is not None:
        return defect
    if not check.reads_output:
        return _failed_hidden_search(command, ended, errors) or _search_that_has_to_fail(
            check, command, ended, errors
        )
    return _unread_input(command, ended, errors) or _exception(check, command, ended, errors)


def _is_expected_failure(check: Check, ended: CommandResult, stages: Stages) -> bool:
    """Whether the field names the status of the failure, not only that of the last stage.

    `nosuchtool | wc -l` ends with 0 and `nosuchtool | grep x` with 1.
    """
    if ended.exit_code == 0 or not _names_status(check.expect, ended.exit_code):
        return False
    for status in stages.statuses:
        is_defect = status in FATAL_STATUSES or status in (NOT_EXECUTABLE, NOT_FOUND)
        if is_defect and not _names_status(check.expect, status):
            return False
    return True


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


def _missing_program(check: Check, command: Command, stages: Stages, errors: str) -> Defect | None:
    """A program that the shell did not find, unless the command line provides for that."""
    for stage in command.stages:
        is_reported = _reports_missing(stage, errors)
        if not is_reported and stage.executable not in stages.missing:
            continue
        is_hidden = stage.nested or stage.negated or NOT_FOUND in stages.statuses
        if not is_hidden and not check.reads_output:
            continue
        is_piped = "|" in (stage.before, stage.after)
        is_alternative = stage.after == "||"
        if is_piped or stage.negated or (is_reported and not is_alternative):
            name = stage.executable
            return Defect("not found", f"{name}: command not found", missing=name)
    return None


def _from_statuses(
    check: Check, command: Command, ended: CommandResult, stages: Stages
) -> Defect | None:
    """A stage of the last pipeline that was not found, not executable or killed."""
    statuses = stages.statuses
    if check.expect:
        statuses = (*statuses, ended.exit_code or 0)
    if NOT_FOUND in statuses:
        return Defect("not found", f"exit status {NOT_FOUND}, not found")
    if NOT_EXECUTABLE in statuses:
        return Defect("not executable", f"exit status {NOT_EXECUTABLE}, cannot be executed")
    if command.has_time_limit:
        # The command is meant to be killed.
        return None
    if check.expect and ended.signal not in (None, SIGPIPE):
        return Defect("killed", f"signal {ended.signal}")
    for status in statuses:
        if status in FATAL_STATUSES:
            return Defect("killed", f"exit status {status}, killed by a signal")
    return None


def _broken_script(
    check: Check, command: Command, ended: CommandResult, stages: Stages
) -> Defect | None:
    """A script that its shell could not parse, unless a failure or the message is expected."""
    if any(expect.stream == "stderr" for expect in check.expect):
        return None
    if ended.exit_code == 0 and not _hides_failure(command, stages):
        # A command that only prints such words, or goes on.
        return None
    may_fail = _may_fail(check, command)
    if may_fail and any(_only_parses(stage) for stage in command.stages):
        return None
    wants_words = any(expect.op in ("contains", "matches") for expect in check.expect)
    # A tool that fails because of a script it was given, such as a linter, has done its work.
    may_be_finding = wants_words or may_fail
    for match in _BROKEN_SCRIPT.finditer(_messages(ended, wants_words)):
        if not may_be_finding or _is_run(match["name"], command):
            return Defect("broken script", match[0].strip())
    return None


def _may_fail(check: Check, command: Command) -> bool:
    """Whether a failure is what the field asks for."""
    if any(expect.op == "nonzero" for expect in check.expect):
        return True
    return any(stage.negated for stage in command.stages)


def _messages(ended: CommandResult, wants_words: bool) -> str:
    """Return the output in which a shell may have complained."""
    if ended.stderr is None:
        return ended.stdout.text()
    text = ended.stderr.text()
    if ended.exit_code != 0 and not wants_words:
        # `2>&1` sends the message to stdout, which nobody expects it to contain.
        text += f"\n{ended.stdout.text()}"
    return text


def _hides_failure(command: Command, stages: Stages) -> bool:
    """Whether a pipe, a substitution or `!` may hide that a program failed."""
    if any(stage.nested or stage.negated for stage in command.stages):
        return True
    is_piped = any(stage.before == "|" for stage in command.stages)
    if not is_piped:
        return False
    return not stages.statuses or any(stages.statuses)


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
        is_shell = stage.program in SHELLS or stage.program in _SOURCING
        if is_shell and name in stage.arguments:
            return True
    return False


def _search_that_has_to_fail(
    check: Check, command: Command, ended: CommandResult, errors: str
) -> Defect | None:
    """`grep -q TODO missing.py` "fails" although it has not searched anything."""
    if not any(expect.op == "nonzero" for expect in check.expect):
        return None
    for stage in command.own_stages:
        # `git show HEAD:removed.py` fails as it should.
        if stage.program == "git" or not _is_search(stage):
            continue
        defect = _search_error(stage, command, ended, errors)
        if defect is None and stage.after == "&&":
            defect = _unreadable_operand(stage, errors)
        if defect is not None:
            return defect
    return None


def _failed_hidden_search(command: Command, ended: CommandResult, errors: str) -> Defect | None:
    """`! grep TODO missing.txt` and `test -z "$(cat missing.txt)"` succeed."""
    if ended.exit_code != 0:
        return None
    for stage in command.stages:
        is_hidden = stage.negated or (stage.nested and stage.after != "||")
        if not is_hidden or not (_is_search(stage) or stage.is_listed("readers")):
            continue
        is_fatal = stage.program == "git"
        defect = _reported_error(stage, errors) if is_fatal else _unreadable_operand(stage, errors)
        if defect is not None:
            return defect
    return None


def _unread_input(command: Command, ended: CommandResult, errors: str) -> Defect | None:
    """A tool that could not search or read what it was given."""
    for stage in command.stages:
        defect = _failed_redirection(stage, errors)
        defect = defect or _search_error(stage, command, ended, errors)
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


def _search_error(
    stage: Stage, command: Command, ended: CommandResult, errors: str
) -> Defect | None:
    """The error status of a search tool, or its message where a pipe or `!` hides the status.

    Of a tool that only reads, such as `cat`, the message counts wherever it stands.
    """
    if stage.program == "find":
        return _unreadable_operand(stage, errors)
    is_last = stage is command.last
    if is_last and not stage.negated and _is_search(stage):
        return _search_status(stage, ended.exit_code or 0)
    if not is_last and stage.after != "|":
        return None
    if _is_search(stage) or stage.is_listed("readers"):
        return _reported_error(stage, errors)
    return None


def _unreadable_operand(stage: Stage, errors: str) -> Defect | None:
    """A file or directory of the command line that a search could not read.

    Its status does not tell: it is the same for a file below that it may not read.
    """
    defect = _reported_error(stage, errors)
    if defect is None:
        return None
    unquoted = defect.message.translate(_QUOTES)
    is_named = any(f" {operand}: " in unquoted for operand in stage.operands)
    return defect if is_named else None


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
    reports = (f" {stage.executable}: command not found", f" {stage.executable}: not found")
    return any(report in errors for report in reports)


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
    is_status_hidden = command.last.before == "|"
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


# Lines by which runners report that there was nothing to run.
NOTHING_RAN = re.compile(
    r"""
    \bno\ tests?\ (?:were\ |was\ |are\ )?(?:ran|run|found|executed|available|discovered)\b
    | \bno\ tests?\ (?:to\ run|is\ available|matche[sd]?\b|match\b|ran\b)
    | \bno\ (?:test\ (?:files|suites?|cases)|tests|specs?|examples|scenarios)\ (?:were\ )?found\b
    | \bthere\ are\ no\ tests\ to\ run | \[no\ test\ files\] | \bresult:\ notests\b
    | ^\s*tests\s+no\ tests$                                         # vitest
    | \bcollected\ 0\ items\b | \bran\ 0\ tests\b | \bexecuted\ 0\ tests\b
    | \b(?:running|starting)\ 0\ tests\b | \btotal\ tests:\ 0\b
    | \btests\ run:\ 0\b                                             # surefire
    | ^(?:\#|ℹ)\ tests\ 0$ | ^1\.\.0\b                               # TAP
    | ^\s*0\ (?:passing|pass|examples|runs|scenarios|specs|tests)\b | \|\ 0\ passed\b
    | ^0\ scenarios\ passed,\ 0\ failed | ^>\ Task\ \S*:test\ NO-SOURCE
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Lines that show that at least one test ran.
SOMETHING_RAN = re.compile(
    r"""
    \b[1-9]\d*\ (?:\w+\ )?
    (?:passed|passing|pass|succeeded|failed|failing|failures?|skipped|pending)\b
    | \b[1-9]\d*\ (?:examples?|runs|scenarios?|specs?)\b
    | \b(?:ran|running|executed|starting)\ [1-9]\d*\ (?:\w+\ )?tests?\b
    | \b(?:tests\ run|total\ tests|tests|passed|total):?\s+[1-9]\d*\b
    | ^(?:not\ )?ok\ \d | ^1\.\.[1-9]
    | ^ok\s+\S+\s+(?:[\d.]+s|\(cached\))(?!.*\[no\ tests\ to\ run\])   # go
    | ^\s*(?:✓|✔|√|✗|✘|✕|✖)\ \S
    | ^>\ Task\ \S*:test(?:\ UP-TO-DATE|\ FROM-CACHE)?$
    """,
    re.IGNORECASE | re.VERBOSE,
)
# How a Verify field says that no test runs.
NO_TEST_WORDS = re.compile(
    r"\b(?:no|zero|0) (?:tests?|specs?|examples|items|scenarios)\b|\bwithout tests\b",
    re.IGNORECASE,
)
# Commands that print what others wrote: their output says nothing about tests that ran.
READING_ROLES = frozenset({"check", "data", "net", "versions"})


def no_test_ran(command: str, output: str, exit_code: int | None) -> str | None:
    """Return the line that says that a successful command ran no test, otherwise None.

    A run in which only some packages have no tests is not a run without tests.
    """
    if exit_code != 0 or not _may_run_tests(command):
        return None
    nothing = None
    for line in terminal(output).splitlines():
        if SOMETHING_RAN.search(line):
            return None
        if nothing is None and NOTHING_RAN.search(line):
            nothing = line.strip()
    return nothing


def _may_run_tests(command: str) -> bool:
    """Whether a program of the command line does more than print what there is."""
    for stage in Command.parse(command).stages:
        if stage.role in READING_ROLES:
            continue
        if stage.is_listed("texts") or stage.is_listed("lists") or stage.is_listed("silent"):
            continue
        return True
    return False


def expects_no_test(verify: Verify) -> bool:
    """Whether a Verify field says in so many words that no test runs."""
    prose = verify.text
    for check in verify.checks:
        prose = prose.replace(check.command, "")
    values = [str(expect.value) for check in verify.checks for expect in check.expect]
    return any(NO_TEST_WORDS.search(text) for text in (prose, *values))
