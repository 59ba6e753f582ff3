"""FailureContext: the evidence of one failure made ready to be read.

It offers the lines of the output, the commands that printed them, the tests that failed and the
project around them; each is worked out when it is first asked for. This is the only module of the
package that asks what a command line means.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from pytest_ralph.failure.causes import causes_in, causes_of
from pytest_ralph.failure.diagnostics import Diagnostic, read_diagnostics, read_headed_rows
from pytest_ralph.failure.failure import VERIFICATION_FAILED
from pytest_ralph.failure.lines import matching, numbers_of
from pytest_ralph.failure.missing import absences
from pytest_ralph.failure.noise import data_lines, hunk_lines, logged_tracebacks, noise_lines
from pytest_ralph.failure.output import CommandOutput
from pytest_ralph.failure.ownership import with_owner
from pytest_ralph.failure.project import FOREIGN, Project
from pytest_ralph.failure.purpose import named_role, purpose
from pytest_ralph.failure.test_runs import (
    FailedTest,
    are_counted,
    read_failed_tests,
    read_marked_tests,
    read_printed_report,
)
from pytest_ralph.failure.test_runs.junit import read_reports
from pytest_ralph.failure.test_runs.shapes import marked_lines, names_tests
from pytest_ralph.failure.tracebacks import exceptions
from pytest_ralph.shell.command import Command, Stage, program_name, read_shown
from pytest_ralph.shell.lexer import Word
from pytest_ralph.shell.programs import load_programs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from pytest_ralph.failure.evidence import Evidence
    from pytest_ralph.failure.finding import Finding

# Roles of which a failure can be told from the output.
CHECKING_ROLES = frozenset({"test", "lint", "types", "format", "build"})
# Roles of tools that complain about files.
COMPLAINING_ROLES = frozenset({"lint", "types", "format"})
SEARCH_TOOLS = frozenset("grep egrep fgrep zgrep rg ag ack".split())
# Commands that print nothing, or nothing of what a search has found.
SILENT_TOOLS = frozenset(
    ("exit", "true", "false", "test", "[", "cd", ":", "echo", "printf", "wc", "")
)
SETUP_TOOLS = frozenset({"cd", "set", "echo", "export", "exit", "}", "true", "mkdir"})
# Interpreters whose program stands in the command line.
INLINE_CODE = frozenset({"awk", "gawk", "mawk"})
# Tools whose whole output is the difference they were asked for.
COMPARING_TOOLS = frozenset(
    {"diff", "cmp", "comm", "git diff", "colordiff", "sdiff", "diff3", "zdiff", "wdiff", "icdiff"}
)
DIFFERENCE_LINE = re.compile(r"[-+<>@\\ ]")
PROGRAM_FILE = re.compile(r"[\w./-]+")
# Stands for a command that is not known: it has neither a program nor a role.
NO_STAGE = Stage(words=(Word(""),), written=())
# Calls of build tools that run what they have built.
BUILD_AND_RUN = frozenset({"cargo run", "go run"})
BUILT_PROGRAM = Stage(words=(Word("./program"),), written=())
# What cargo prints before the program starts, and go after it has failed.
RUNNING_BUILT = re.compile(r"^\s+Running `[^`]+`$")
BUILT_ENDED = re.compile(r"^exit status \d+\s*\Z", re.MULTILINE)
# The words behind it are values that were compared.
ASSERTED = re.compile(
    r"^(?:[\w.]+\.)?AssertionError\b| [!=]==? "
    r"|\b(?:expected|want(?:ed)?|got|received|was|to (?:be|equal|contain)) ['\"`]"
)
# What tools with these roles quote is code or text of the project.
QUOTE_THE_PROJECT = frozenset({"", "run", "test", "lint", "format"})
# What somebody else has said or what is a value: `"connection refused" is retried`.
QUOTATION = re.compile(r"(?<!\w)(?:'[^']* [^']*'|\"[^\"]* [^\"]*\")(?!\w)")
# What a command line prints before it ends itself, and behind it the values of variables.
EXIT_WITH_MESSAGE = re.compile(
    r"(?:\|\||\bthen\b|\belse\b)[^|]*?\becho (?P<quote>[\"'])(?P<text>(?:(?!(?P=quote)).)*)"
    r"(?P=quote);[^|]*?\bexit [1-9]"
)
EXPANDED = re.compile(r"\$(?:\{[^}]*\}|\([^)]*\)|[\w?#@*!])+")
THREE_LETTERS = re.compile(r"[A-Za-z]{3}")
# Nothing answers a client, or at this address: the server may say itself why.
UNANSWERED = re.compile(
    r"(?P<client>^(?:curl|wget|http|nc): (?!\(6\))|\bwait(?:ed|ing) for\b)"
    r"|\blocalhost\b|\b127\.0\.0\.1\b",
    re.IGNORECASE,
)
# Findings about the machine, a service or the command line.
OUTSIDE_CODE = frozenset(
    {"disk full", "resource", "service", "timeout", "permission", "value", "command", "setting"}
)
# Of many failing tests this many are searched for places.
MOST_TESTS_SHOWN = 30
# Orchestrators that show a command without a mark before it.
UNMARKED_ECHO = frozenset("make gmake just task ninja cmake".split())
ECHO = re.compile(
    r"^(?P<mark>> |\$ |\+ |#\d+ \[[^]]+\] RUN |task: \[\S+\] |\S+: commands\[\d+\]> "
    r"|nox > (?:Running )?|❯ )?"
    r"(?P<command>[\w./@+=-]+(?: .*)?)$"
)
# A sentence, or the result of a test: `test total ... ok`. `go build .` ends with a directory.
NOT_A_COMMAND = re.compile(
    r"(?![a-z]|\./)|.*(?:[^ ]\.|:)$"
    r"|\S+ (?:error|ERR!|warn|notice|WARN|failed|is|has)\b|.* \.{3} "
)
PYTHON_EXCEPTION = re.compile(r"^(?:\w+\.)*[A-Z]\w*(?:Error|Exception)\b")
# The logger of Go's services (klog), which repeats itself before the tool speaks.
SERVICE_LOG = re.compile(r"^[EWF]\d{4} \d\d:\d\d:\d\d")
PASSED_MARK = re.compile(
    r"^\s*(?:[✓✔√] \S|PASS: |(?:ok|OK|PASS) +\S)|\[ *(?:OK|PASS(?:ED)?) *\]"
    r"|^.*\s{2,}PASS(?:ED)?$|^.*\.{3} ?(?:passed|ok)$"
)
# An expectation of a test: what a linter marks has none.
COMPARED = re.compile(
    r"\bAssertionError\b|\bexpected\b.*\b(?:got|but|to (?:be|equal))\b|^expected\W", re.IGNORECASE
)


class FailureContext:
    """Everything that can be known about one failed command."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.output = CommandOutput(evidence.output)
        self.project = Project(evidence.root, evidence.planned)
        self.stages = Command.parse(evidence.command).stages

    @property
    def status(self) -> int | None:
        """The exit status as a shell reports it: 128+n, not -n, for signal n."""
        code = self.evidence.exit_code
        if code is None or code >= 0:
            return code
        return 128 - code

    # The lines of the output.

    @cached_property
    def ignored(self) -> frozenset[int]:
        """Numbers of the lines that say nothing about the failure."""
        noise = noise_lines(self.output) | frozenset(self.echoed)
        return noise | frozenset(self._file_content())

    @cached_property
    def data(self) -> frozenset[int]:
        """Numbers of the lines that count only if nothing else says what went wrong."""
        found = data_lines(self.output)
        marked = marked_lines(self.output)
        complaints = marked | self._complaints
        if self._only_complains and complaints:
            # What a linter shows beside its findings is what it has read.
            return found | frozenset(range(len(self.output.lines))) - complaints
        if names_tests(self.output):
            # The name of a test may contain the words of any cause.
            return found | marked
        return found

    @cached_property
    def _complaints(self) -> frozenset[int]:
        """Numbers of the lines about places in files, but not of a tool that shows its own."""
        own = [one for one in self.diagnostics if one.level or not FOREIGN.search(one.file)]
        return frozenset(diagnostic.line for diagnostic in own)

    @cached_property
    def passed_over(self) -> frozenset[int]:
        """Numbers of the lines that do not say what went wrong as long as any other does."""
        return self.ignored | self.data

    @cached_property
    def said_by_shell(self) -> int | None:
        """The number of the line that the command line prints before it ends itself."""
        match = EXIT_WITH_MESSAGE.search(self.evidence.command)
        if self.status == 0 or match is None or not THREE_LETTERS.search(match["text"]):
            return None
        said = re.compile(".*".join(map(re.escape, EXPANDED.split(match["text"]))))
        return next(iter(numbers_of(said.fullmatch, self.output.lines)), None)

    def _file_content(self) -> Iterator[int]:
        """Lines of a difference, or that only a search tool printed, are content of files.

        What the command line prints below its own message is the value of a variable.
        """
        if self.said_by_shell is not None:
            yield from range(self.said_by_shell + 1, len(self.output.lines))
        if self.compares:
            yield from numbers_of(DIFFERENCE_LINE.match, self.output.lines)
        working = self._stages_besides(SILENT_TOOLS)
        if not working or not all(map(is_search, working)):
            return
        for number, line in enumerate(self.output.lines):
            file, colon, _ = line.partition(":")
            if colon and self.project.find(file):
                yield number

    @cached_property
    def _own_words(self) -> CommandOutput:
        """The output with the same lines, but empty ones in place of the content of files."""
        shown = set(hunk_lines(self.output.lines))
        if not shown:
            return self.output
        lines = enumerate(self.output.lines)
        return CommandOutput("\n".join("" if number in shown else line for number, line in lines))

    @cached_property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """What compilers, linters and checkers say about places in files."""
        found = tuple(read_diagnostics(self.output, self.ignored))
        if found or self.roles & {"test", "build", "run", "format"}:
            return found

        def is_own(name: str) -> bool:
            return self.project.find(name) is not None

        return tuple(read_headed_rows(self.output, is_own, self.echoed))

    @cached_property
    def findings(self) -> Sequence[Finding]:
        """What the lines of the output say about causes and symptoms."""
        found = self._findings_outside(self.passed_over)
        if found or self.compares or (self._only_complains and self._complaints):
            return found
        return self._findings_outside(self.ignored)

    def _findings_outside(self, ignored: Collection[int]) -> Sequence[Finding]:
        logged = set(logged_tracebacks(self.output.lines))
        raised = [one for one in exceptions(self.output) if one.line not in logged]
        found = [with_owner(self, one) for one in (*causes_of(self.output, ignored), *raised)]
        return (*filter(self._is_credible, found), *self._absences)

    def _is_credible(self, finding: Finding) -> bool:
        """Return whether a line is not only worded like a cause outside the code.

        What a checker says about a place in a file is about the code, whatever words it uses, and
        what stands behind an AssertionError are values.
        """
        if finding.verdict not in OUTSIDE_CODE:
            return True
        is_remark = finding.line in self._remarked and finding.verdict != "value"
        if is_remark or ASSERTED.search(finding.error):
            return False
        own_words = QUOTATION.sub("", finding.error)
        if own_words == finding.error or self.role_at(finding.line) not in QUOTE_THE_PROJECT:
            # A tool may quote the system.
            return True
        return any(one.verdict == finding.verdict for one in causes_in(own_words))

    @cached_property
    def _remarked(self) -> frozenset[int]:
        """Numbers of the lines that give a level, such as "error", to a place in a file."""
        return frozenset(diagnostic.line for diagnostic in self.diagnostics if diagnostic.level)

    @cached_property
    def cause(self) -> Finding | None:
        """The finding that says best why the command failed, not only that it did."""
        causes = [finding for finding in self.findings if finding.is_cause]
        if not causes:
            return None
        best = min(causes, key=_precedence)
        unanswered = UNANSWERED.search(best.error)
        if unanswered and best.verdict in {"service", "timeout"}:
            deaths = (one for one in self.findings if one.is_death)
            died = next(deaths, best) if unanswered["client"] else best
            stopped = (one for one in causes if one.verdict not in OUTSIDE_CODE - {"command"})
            best = min(stopped, key=_precedence, default=died)
        raised = [finding for finding in causes if PYTHON_EXCEPTION.match(finding.error)]
        if best in raised:
            # Of exceptions that led to one another, the last one ended the program.
            best = max(raised, key=lambda finding: finding.line)
        if best.verdict == "timeout" and self.shown_tests:
            return replace(best, type=VERIFICATION_FAILED)
        return best

    @cached_property
    def _absences(self) -> Sequence[Finding]:
        return tuple(absences(self))

    @cached_property
    def failed_tests(self) -> Sequence[FailedTest]:
        """The failing tests that a runner names, from its output or from its JUnit report."""
        if self._only_complains:
            return ()
        return (
            read_failed_tests(self._own_words)
            or read_printed_report(self.evidence.output)
            or self._counted_tests
            or read_reports(self.evidence.junit, self.project)
        )

    @property
    def _only_complains(self) -> bool:
        """Whether only linters ran: they may print their findings in the format of a test run."""
        working = self._stages_besides(SETUP_TOOLS)
        if not working or not self.stated_roles:
            return False
        return self.stated_roles <= COMPLAINING_ROLES and working[-1].role != ""

    @property
    def _counted_tests(self) -> Sequence[FailedTest]:
        """Tests in a general shape, if a summary gives their number."""
        return self.marked_tests if are_counted(self._own_words, self.marked_tests) else ()

    @cached_property
    def report_lines(self) -> Sequence[str]:
        """What a JUnit report says about the failing tests, if they were read from one."""
        tests = self.failed_tests[:MOST_TESTS_SHOWN]
        return tuple(line for test in tests for line in test.details.splitlines())

    @cached_property
    def marked_tests(self) -> Sequence[FailedTest]:
        """What is marked as failed, if the command runs tests or also marks what passed."""
        if self._only_complains:
            return ()
        if "test" in self.roles or self._shows_tests():
            return read_marked_tests(self._own_words)
        if self.main_stage.role in {"", "run"} and not self.main_stage.is_orchestrator:
            tests = read_marked_tests(self._own_words)
            return tests if any(COMPARED.search(test.error) for test in tests) else ()
        return ()

    def _shows_tests(self) -> bool:
        """Return whether a command of unknown purpose prints the results of tests."""
        if names_tests(self._own_words):
            return True
        if "build" in self.roles and not self.names("test"):
            return False
        return any(map(PASSED_MARK.search, self.output.lines))

    @property
    def shown_tests(self) -> Sequence[FailedTest]:
        """The failing tests that are named, or at least marked."""
        return self.failed_tests or self.marked_tests

    @property
    def names_of_failed_tests(self) -> tuple[str, ...]:
        """The names of the failing tests that are shown; not those of files."""
        return tuple(test.name for test in self.shown_tests if test.named)

    # The commands that printed them.

    @cached_property
    def programs(self) -> frozenset[str]:
        """The programs of the command line."""
        return frozenset(stage.program for stage in self.stages)

    @property
    def words(self) -> Iterator[str]:
        """The words of the command line."""
        return chain.from_iterable(stage.written for stage in self.stages)

    @property
    def has_orchestrator(self) -> bool:
        """Whether a command of the line runs other commands, as `make` does."""
        return any(stage.is_orchestrator for stage in self.stages)

    @cached_property
    def echoed(self) -> dict[int, Stage]:
        """Commands that an orchestrator shows before it runs them, by line number."""
        if self.main_stage.name in BUILD_AND_RUN:
            return self._built_program
        if not self.has_orchestrator:
            return {}
        shows_unmarked = not UNMARKED_ECHO.isdisjoint(self.programs)
        found: dict[int, Stage] = {}
        for number, match in matching(ECHO.match, self.output.lines):
            is_shown = match["mark"] or shows_unmarked
            stage = _shown_stage(match["command"]) if is_shown else None
            if stage is not None:
                found[number] = stage
        return found

    @property
    def _built_program(self) -> dict[int, Stage]:
        """The program that a build tool runs once it has built it, by the line where it starts."""
        started = numbers_of(RUNNING_BUILT.match, self.output.lines)
        if not started and BUILT_ENDED.search(self.output.text):
            started = [-1]
        return dict.fromkeys(started[:1], BUILT_PROGRAM)

    def is_own_program(self, stage: Stage) -> bool:
        """Return whether a command is a program of the project, not a tool."""
        if stage.executable.startswith("./") or self.project.find(stage.executable):
            return True
        return "python" in stage.launchers and self.project.owns_module(stage.program)

    def runs_own_code(self, stage: Stage) -> bool:
        """Return whether a command runs code of the project, or code in the command line."""
        if self.is_own_program(stage) or stage.program in INLINE_CODE:
            return True
        script = "".join(stage.plain_arguments[:1])
        if stage.role != "run" or not PROGRAM_FILE.fullmatch(script):
            return False
        # One command may build the program that the next one runs.
        is_built = bool(self.stated_roles & {"build", "types"})
        return is_built or self.project.find(script) is not None

    @cached_property
    def roles(self) -> frozenset[str]:
        """The roles of all commands that are known to have run."""
        return frozenset(stage.role for stage in (*self.stages, *self.echoed.values()))

    @cached_property
    def stated_roles(self) -> frozenset[str]:
        """The checking roles of the command line itself."""
        return frozenset(stage.role for stage in self._checking_stages(self.stages))

    def stage_at(self, line: int) -> Stage:
        """Return the command that printed a line: the last one shown above it, else the main one.

        A negative number asks for the command that printed the end of the output.
        """
        shown = [stage for number, stage in self.echoed.items() if number <= line or line < 0]
        if shown:
            return shown[-1]
        return self._run_stage or self.main_stage

    @cached_property
    def _run_stage(self) -> Stage | None:
        """The last command if it is code of the project, and nothing complained before it ran."""
        if self.main_stage.role == "" or self.diagnostics or self.failed_tests:
            return None
        last = [stage for stage in self.stages if stage.program not in SILENT_TOOLS][-1:]
        return next(filter(self.runs_own_code, last), None)

    @cached_property
    def main_stage(self) -> Stage:
        """The last command with a checking role, else the last that is more than preparation."""
        stages = self._stages_besides(SETUP_TOOLS)
        candidates = self._checking_stages(stages) or stages
        return candidates[-1] if candidates else NO_STAGE

    def _stages_besides(self, programs: Collection[str]) -> list[Stage]:
        return [stage for stage in self.stages if stage.program not in programs]

    def _checking_stages(self, stages: Sequence[Stage]) -> list[Stage]:
        checking = [stage for stage in stages if stage.role in CHECKING_ROLES]
        return [stage for stage in checking if not stage.is_orchestrator]

    def role_at(self, line: int) -> str:
        """Return the role of the command that printed a line; empty for an orchestrator."""
        stage = self.stage_at(line)
        return "" if stage.is_orchestrator else stage.role

    def purpose_at(self, line: int) -> str:
        """Return what the command that printed a line is for.

        A program of the project that an orchestrator runs serves the target that it was asked for.
        """
        stage = self.stage_at(line)
        found = purpose(stage)
        if found in {"", "run"}:
            return purpose(self.main_stage) if named_role(self.main_stage) else found
        return found

    def is_known_at(self, line: int) -> bool:
        """Return whether the role of the command that printed a line is more than a guess."""
        return load_programs().has_role(self.stage_at(line).name)

    @property
    def compares(self) -> bool:
        """Whether the last command prints a difference: its words are data."""
        return any(stage.name in COMPARING_TOOLS for stage in self.stages[-1:])

    def names(self, thing: str) -> bool:
        """Return whether the command line names this file, module or target."""
        wanted = thing.removeprefix("./").rstrip("/")
        # `rspec` does not name `webmock/rspec`.
        programs = {stage.program for stage in self.stages} - {wanted}
        operands = (word.removeprefix("./") for word in self.words if word not in programs)
        return any(_names(word, wanted) for word in operands)

    def names_member(self, name: str) -> bool:
        """Return whether the command line names it by a dotted path (`test_cart.CartTest.name`)."""
        return any(word.endswith("." + name) for word in self.words)


def is_search(stage: Stage) -> bool:
    """Return whether a command searches files and prints the lines that match."""
    return stage.program in SEARCH_TOOLS or stage.operands[:1] == ("grep",)


def _precedence(finding: Finding) -> tuple[int, bool, bool, int]:
    """Order causes: by rank, then those that name what is missing, then by place."""
    is_logged = SERVICE_LOG.match(finding.error) is not None
    return finding.rank, finding.missing is None, is_logged, finding.line


def _names(word: str, wanted: str) -> bool:
    if word == wanted or wanted.endswith("/" + word) or f"/{word}/" in f"/{wanted}":
        return True
    return word.startswith((wanted + ".", wanted + ":"))


@lru_cache(maxsize=1_000)
def _shown_stage(text: str) -> Stage | None:
    """Return the stage of a shown command line that has a role, or None for a sentence.

    A program of the project (`./run_tests`) has none, but what it prints is not the compiler's.
    """
    if NOT_A_COMMAND.match(text):
        return None
    programs = load_programs()
    first_word = text.partition(" ")[0]
    is_own = first_word.startswith("./")
    if not is_own and program_name(first_word) not in programs.first_words:
        return None
    # What the words behind an unknown program suggest counts only in a command line of our own.
    stages = [stage for stage in read_shown(text) if is_own or programs.has_role(stage.name)]
    return stages[-1] if stages else None
