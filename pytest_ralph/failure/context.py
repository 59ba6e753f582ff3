"""FailureContext: the evidence of one failure made ready to be read.

It offers the lines of the output, the tests that failed, the commands that printed them and the
project around them; each is worked out when it is first asked for.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_ralph.failure.cause import best_cause, is_credible, without_doubtful
from pytest_ralph.failure.causes import causes_of
from pytest_ralph.failure.commands import SILENT_TOOLS, CommandContext, is_search
from pytest_ralph.failure.diagnostics import Diagnostic, read_diagnostics, read_headed_rows
from pytest_ralph.failure.echoed import (
    BUILD_AND_RUN,
    UNMARKED_ECHO,
    built_program,
    echoed_commands,
    last_message,
)
from pytest_ralph.failure.failure import VERIFICATION_FAILED
from pytest_ralph.failure.lines import numbers_of
from pytest_ralph.failure.missing import absences
from pytest_ralph.failure.noise import data_lines, hunk_lines, logged_tracebacks, noise_lines
from pytest_ralph.failure.output import CommandOutput
from pytest_ralph.failure.ownership import with_owner
from pytest_ralph.failure.project import FOREIGN
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
from pytest_ralph.shell.programs import load_programs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pytest_ralph.failure.evidence import Evidence
    from pytest_ralph.failure.finding import Finding
    from pytest_ralph.shell.command import Stage

# Roles of tools that do not group their findings below the names of files.
NOT_GROUPING_ROLES = frozenset({"test", "build", "run", "format"})
DIFFERENCE_LINE = re.compile(r"[-+<>@\\ ]")
# How the shell and git begin what they say of themselves.
SHELL_OR_GIT = re.compile(r"(?:/\S*/)?(?:ba|da|k|z)?sh: |fatal: |error: ")
# Of many failing tests this many are searched for places.
MOST_TESTS_SHOWN = 30
PASSED_MARK = re.compile(
    r"^\s*(?:[✓✔√✅🟢]\ufe0f? +\S|PASS: |(?:ok|OK|PASS) +\S)|\[ *(?:OK|ok|PASS(?:ED)?) *\]"
    r"|^.*\s{2,}PASS(?:ED)?\b|^.*\.{3} ?(?:passed|ok|✅)$"
    r"|(?:[|│] *|: |=> )(?:PASS(?:ED)?|OK|✅)(?: *[|│].*)?$"
)
TEST_WORDS = frozenset(
    "assertions checks examples failing fails pass passed passing scenario scenarios specs test "
    "tests".split()
)
# An expectation of a test: what a linter marks has none.
COMPARED = re.compile(
    r"\bAssertionError\b|\bexpected\b.*\b(?:got|but|to (?:be|equal))\b|(?:^|: +)expected\W",
    re.IGNORECASE,
)


class FailureContext(CommandContext):
    """Everything that can be known about one failed command."""

    def __init__(self, evidence: Evidence) -> None:
        super().__init__(evidence)
        self.output = CommandOutput(evidence.output)

    # The lines of the output.

    @cached_property
    def ignored(self) -> frozenset[int]:
        """Numbers of the lines that say nothing about the failure."""
        return noise_lines(self.output).union(self.echoed, self._content_of_files())

    @cached_property
    def data(self) -> frozenset[int]:
        """Numbers of the lines that count only if nothing else says what went wrong."""
        found = data_lines(self.output)
        marked = marked_lines(self.output)
        complaints = marked | self.complaints
        if self.only_complains and complaints:
            # What a linter shows beside its findings is what it has read.
            everything = frozenset(range(len(self.output.lines)))
            return found | (everything - complaints)
        if self.counts_failed_tests:
            # The name of a test may contain the words of any cause.
            return found | marked
        return found | self.verdicts

    @cached_property
    def verdicts(self) -> frozenset[int]:
        """Numbers of the lines that say that a named test failed, if others say that one passed."""
        lines = self.output.lines
        if not self.tests_ran_above(len(lines)):
            return frozenset()
        return frozenset(test.line for test in self.marked_tests if test.name in lines[test.line])

    @cached_property
    def counts_failed_tests(self) -> bool:
        """Whether a summary shows that tests ran and failed, not the steps of another program."""
        return self.output.has(*TEST_WORDS) and names_tests(self.output)

    @cached_property
    def passed_over(self) -> frozenset[int]:
        """Numbers of the lines that do not say what went wrong as long as any other does."""
        return self.ignored | self.data

    def heard(self, numbers: Iterable[int]) -> list[int]:
        """Return those of the lines that are not ignored."""
        return [number for number in numbers if number not in self.ignored]

    @cached_property
    def said_by_shell(self) -> int | None:
        """The number of the line that the command line prints before it ends itself."""
        return last_message(self.evidence.command, self.output.lines)

    def _content_of_files(self) -> Iterator[int]:
        """Yield the lines that are no words of a tool, but what it was asked to print."""
        if self.said_by_shell is not None:
            # What the command line prints below its own message is the value of a variable.
            yield from range(self.said_by_shell + 1, len(self.output.lines))
        if self.compares:
            yield from numbers_of(DIFFERENCE_LINE.match, self.output.lines)
        printing = self.stages_besides(SILENT_TOOLS)
        if self.only_prints:
            yield from numbers_of(self._is_content, self.output.lines)
        elif printing and all(map(is_search, printing)):
            yield from numbers_of(self._starts_with_file, self.output.lines)

    def _is_content(self, line: str) -> bool:
        """Return whether a line is not what a shell or tool says itself: `cat: a.py: No such`."""
        speaker = line.partition(":")[0]
        return speaker not in self.programs and not SHELL_OR_GIT.match(line)

    def _starts_with_file(self, line: str) -> bool:
        file, colon, _ = line.partition(":")
        return bool(colon) and self.project.find(file) is not None

    @cached_property
    def _own_words(self) -> CommandOutput:
        """The output with the same lines, but empty ones in place of the content of files."""
        lines = list(self.output.lines)
        shown = list(hunk_lines(lines))
        if not shown:
            return self.output
        for number in shown:
            lines[number] = ""
        return CommandOutput("\n".join(lines))

    # What they say.

    @cached_property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """What compilers, linters and checkers say about places in files."""
        found = list(read_diagnostics(self.output, self.ignored))
        if found or not self.roles.isdisjoint(NOT_GROUPING_ROLES):
            return found
        return list(read_headed_rows(self.output.lines, self.project.find))

    @cached_property
    def remarks(self) -> frozenset[int]:
        """Numbers of the lines that give a level, such as "error", to a place in a file."""
        return frozenset(diagnostic.line for diagnostic in self.diagnostics if diagnostic.level)

    @cached_property
    def complaints(self) -> frozenset[int]:
        """Numbers of the remarks, and of the other lines about places in files of the project."""
        own = [one.line for one in self.diagnostics if not FOREIGN.search(one.file)]
        return self.remarks.union(own)

    @cached_property
    def findings(self) -> Sequence[Finding]:
        """What the lines of the output say about causes and symptoms."""
        found = self._findings_outside(self.passed_over)
        if found or (self.only_complains and self.complaints):
            return found
        return self._findings_outside(self.ignored)

    def _findings_outside(self, ignored: Collection[int]) -> Sequence[Finding]:
        found: list[Finding] = []
        for finding in (*causes_of(self.output, ignored), *self._exceptions):
            owned = with_owner(self, finding)
            if is_credible(self, owned):
                found.append(owned)
        return without_doubtful(self, [*found, *self._absences])

    @cached_property
    def _exceptions(self) -> Sequence[Finding]:
        """The exceptions that were not only logged."""
        raised = exceptions(self.output)
        logged = set(logged_tracebacks(self.output.lines))
        return [finding for finding in raised if finding.line not in logged]

    @cached_property
    def _absences(self) -> Sequence[Finding]:
        return tuple(absences(self))

    @cached_property
    def cause(self) -> Finding | None:
        """The finding that says best why the command failed, not only that it did."""
        best = best_cause(self.findings)
        if best and best.verdict == "timeout" and (self.shown_tests or self.counts_failed_tests):
            return replace(best, type=VERIFICATION_FAILED)
        return best

    # The tests that failed.

    @cached_property
    def failed_tests(self) -> Sequence[FailedTest]:
        """The failing tests that a runner names, from its output or from its JUnit report."""
        if self.only_complains:
            return ()
        return (
            read_failed_tests(self._own_words, several=self.may_run_several)
            or read_printed_report(self.evidence.output)
            or self._counted_tests
            or read_reports(self.evidence.junit, self.project)
        )

    @property
    def _counted_tests(self) -> Sequence[FailedTest]:
        """Tests in a general shape, if a summary gives their number."""
        if not are_counted(self._own_words, self.marked_tests):
            return ()
        return self.marked_tests

    @cached_property
    def marked_tests(self) -> Sequence[FailedTest]:
        """What is marked as failed, if the command runs tests or also marks what passed."""
        if self.only_complains:
            return ()
        if "test" in self.roles or self._shows_tests():
            return read_marked_tests(self._own_words)
        if self.main_stage.is_orchestrator or self.main_stage.role not in {"", "run"}:
            return ()
        tests = read_marked_tests(self._own_words)
        if any(COMPARED.search(test.error) for test in tests):
            return tests
        return ()

    def _shows_tests(self) -> bool:
        """Return whether a command of unknown purpose prints the results of tests."""
        if names_tests(self._own_words):
            return True
        only_builds = "build" in self.roles and not self._own_code_at_end
        if only_builds and not self.names("test"):
            return False
        return any(map(PASSED_MARK.search, self.output.lines))

    def tests_ran_above(self, line: int) -> bool:
        """Return whether tests are marked as passed above a line."""
        return any(map(PASSED_MARK.search, self.output.lines[:line]))

    @property
    def _own_code_at_end(self) -> Stage | None:
        """The last command if it is code of the project, such as what the others have built."""
        printing = self.stages_besides(SILENT_TOOLS)
        if printing and self.runs_own_code(printing[-1]):
            return printing[-1]
        return None

    @property
    def shown_tests(self) -> Sequence[FailedTest]:
        """The failing tests that are named, or at least marked."""
        return self.failed_tests or self.marked_tests

    @property
    def names_of_failed_tests(self) -> tuple[str, ...]:
        """The names of the failing tests that are shown; not those of files."""
        return tuple(test.name for test in self.shown_tests if test.named)

    @cached_property
    def report_lines(self) -> Sequence[str]:
        """What a JUnit report says about the failing tests, if they were read from one."""
        lines: list[str] = []
        for test in self.failed_tests[:MOST_TESTS_SHOWN]:
            lines += test.details.splitlines()
        return lines

    # The commands that printed the lines.

    @cached_property
    def echoed(self) -> Mapping[int, Stage]:
        """The commands that the output shows above what they printed, by line number."""
        if self.main_stage.name in BUILD_AND_RUN:
            return built_program(self.output)
        if not self.has_orchestrator:
            return {}
        shows_unmarked = not self.programs.isdisjoint(UNMARKED_ECHO)
        return echoed_commands(self.output.lines, unmarked=shows_unmarked)

    @cached_property
    def roles(self) -> frozenset[str]:
        """The roles of all commands that are known to have run."""
        known = (*self.stages, *self.echoed.values())
        return frozenset(stage.role for stage in known)

    def stage_at(self, line: int) -> Stage:
        """Return the command that printed a line: the last one shown above it, else the main one.

        A negative number asks for the command that printed the end of the output.
        """
        if line < 0:
            line = len(self.output.lines)
        shown = [stage for number, stage in self.echoed.items() if number <= line]
        if shown:
            return shown[-1]
        return self._run_stage or self.main_stage

    @cached_property
    def _run_stage(self) -> Stage | None:
        """The last command if it is code of the project, and nothing complained before it ran."""
        if self.main_stage.role == "" or self.diagnostics or self.failed_tests:
            return None
        return self._own_code_at_end

    def role_at(self, line: int) -> str:
        """Return the role of the command that printed a line; empty for an orchestrator."""
        stage = self.stage_at(line)
        return "" if stage.is_orchestrator else stage.role

    def purpose_at(self, line: int) -> str:
        """Return what the command that printed a line is for.

        A program of the project that an orchestrator runs serves the target that it was asked for.
        """
        found = purpose(self.stage_at(line))
        if found in {"", "run"} and named_role(self.main_stage):
            return purpose(self.main_stage)
        return found

    def is_known_at(self, line: int) -> bool:
        """Return whether the role of the command that printed a line is more than a guess."""
        return load_programs().has_role(self.stage_at(line).name)
