"""Scene: one piece of evidence made ready to be read: its lines, its commands, its tests and the project around it."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_ralph.failure.causes import causes_of
from pytest_ralph.failure.diagnostics import Diagnostic, read_diagnostics
from pytest_ralph.failure.junit import read_reports
from pytest_ralph.failure.missing import absences
from pytest_ralph.failure.noise import quiet_lines
from pytest_ralph.failure.output import CommandOutput
from pytest_ralph.failure.ownership import settle
from pytest_ralph.failure.project import Project
from pytest_ralph.failure.test_runs import Failing, read_failing, read_marked
from pytest_ralph.failure.tracebacks import exceptions
from pytest_ralph.shell.steps import Step, read_shown, read_steps
from pytest_ralph.shell.tools import ORCHESTRATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.evidence import Evidence
    from pytest_ralph.failure.finding import Finding

TELLING = frozenset({"test", "lint", "types", "format", "build"})
# Of these, the ones that show a command without any mark before it.
PLAIN_ECHO = frozenset("make gmake just task ninja cmake".split())
ECHO = re.compile(
    r"^(?P<mark>> |\$ |\+ |\S+: commands\[\d+\]> |nox > (?:Running )?|❯ )?(?P<command>[\w./@+=-]+(?: .*)?)$"
)

SEARCHERS = frozenset("grep egrep fgrep zgrep rg ag ack".split())
SILENT = frozenset(("exit", "true", "false", "test", "[", "cd", ":"))
SENTENCE = re.compile(r"\S+ (?:error|ERR!|warn|notice|WARN|failed|is|has)\b")
MOST_ECHOES = 200


class Scene:
    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.transcript = CommandOutput(evidence.output)
        self.project = Project(evidence.root, evidence.planned)
        self.steps = read_steps(evidence.command)

    @cached_property
    def quiet(self) -> frozenset[int]:
        return quiet_lines(self.transcript) | frozenset(self.echoes) | frozenset(self._found)

    @property
    def _found(self) -> Iterator[int]:
        """Lines of the project's own files that a search prints, where nobody else does: their words are content."""
        tools = {step.tool for step in self.steps} - SILENT
        if not tools or tools - SEARCHERS:
            return
        for number, line in enumerate(self.transcript.lines):
            file, colon, _ = line.partition(":")
            if colon and self.project.find(file):
                yield number

    @cached_property
    def diagnostics(self) -> Sequence[Diagnostic]:
        found = tuple(read_diagnostics(self.transcript, self.quiet))
        # To a linter even a remark is a finding.
        return found or (
            tuple(read_diagnostics(self.transcript, frozenset(self.echoes)))
            if "lint" in self.roles
            else ()
        )

    @cached_property
    def findings(self) -> Sequence[Finding]:
        """What every line that is not noise says about causes and symptoms."""
        said = (settle(self, finding) for finding in causes_of(self.transcript, self.quiet))
        raised = (settle(self, finding) for finding in exceptions(self.transcript))
        return (*said, *raised, *absences(self))

    @cached_property
    def failing(self) -> Sequence[Failing]:
        return read_failing(self.transcript) or read_reports(self.evidence.junit, self.project)

    @cached_property
    def marked(self) -> Sequence[Failing]:
        """What is marked as failed in the output of something that runs tests."""
        return read_marked(self.transcript) if "test" in self.roles else ()

    @cached_property
    def echoes(self) -> dict[int, Step]:
        """Commands that an orchestrator shows before it runs them, by line."""
        tools = {step.tool for step in self.steps}
        if not tools & ORCHESTRATORS:
            return {}
        found: dict[int, Step] = {}
        for number, line in enumerate(self.transcript.lines):
            match = ECHO.match(line)
            if (
                match
                and (match["mark"] or tools & PLAIN_ECHO)
                and (step := _shown_step(match["command"]))
            ):
                found[number] = step
                if len(found) > MOST_ECHOES:
                    break
        return found

    @cached_property
    def roles(self) -> frozenset[str]:
        return frozenset(step.role for step in (*self.steps, *self.echoes.values()))

    @cached_property
    def told_roles(self) -> frozenset[str]:
        """What the steps of the command line itself are for, as far as their output tells."""
        return frozenset(
            step.role
            for step in self.steps
            if step.role in TELLING and step.tool not in ORCHESTRATORS
        )

    def step_at(self, line: int) -> Step | None:
        """The command that printed a line, as far as can be told: the last one shown above it, else the main one."""
        shown = [step for number, step in self.echoes.items() if number <= line or line < 0]
        return shown[-1] if shown else self.main_step

    @cached_property
    def main_step(self) -> Step | None:
        """The command that matters: the last that has a telling role, without filters at the end of a pipe."""
        steps = [
            step
            for step in self.steps
            if step.tool not in {"cd", "set", "echo", "export", "exit", "}", "true", "mkdir"}
        ]
        telling = [
            step for step in steps if step.role in TELLING and step.tool not in ORCHESTRATORS
        ]
        return next(reversed(telling or steps), None)

    def names(self, thing: str) -> bool:
        """Does the command line itself name this file, module or target?"""
        wanted = thing.removeprefix("./").rstrip("/")
        words = [word.removeprefix("./") for step in self.steps for word in step.words if word]
        return any(
            word == wanted
            or wanted.endswith("/" + word)
            or word.startswith((wanted + ".", wanted + ":"))
            for word in words
        )

    def names_member(self, name: str) -> bool:
        """Does the command line name it by a dotted path: `test_cart.CartTest.test_total`?"""
        return any(word.endswith("." + name) for step in self.steps for word in step.words)


def _shown_step(text: str) -> Step | None:
    """The telling step of a command line, or None for a sentence that begins like one."""
    if not text[0].islower() or text[-1] in ".:" or SENTENCE.match(text):
        return None
    steps = [step for step in read_shown(text) if step.role]
    return next(
        (step for step in reversed(steps) if step.role != "check"), steps[0] if steps else None
    )
