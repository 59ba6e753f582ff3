"""Scene: one piece of evidence made ready to be read: its lines, its commands, its tests and the project around it."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_ralph.failure.causes import causes_in
from pytest_ralph.failure.diagnostics import Diagnostic, read_diagnostics
from pytest_ralph.failure.junit import read_reports
from pytest_ralph.failure.locality import settle
from pytest_ralph.failure.noise import quiet_lines
from pytest_ralph.failure.project import Project
from pytest_ralph.failure.steps import Step, read_steps
from pytest_ralph.failure.testruns import Failing, read_failing
from pytest_ralph.failure.tools import ROLES
from pytest_ralph.failure.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.failure.evidence import Evidence
    from pytest_ralph.failure.finding import Finding

# Programs that only run other programs: their role says nothing about what failed.
ORCHESTRATORS = frozenset(
    "make gmake just task npm yarn pnpm bun tox nox rake invoke bash sh zsh dash pre-commit lefthook git docker turbo nx "
    "lerna hatch poetry uv ant gradle gradlew mvn mvnw bazel mage doit composer bundle ninja cmake mix".split()
)
TELLING = frozenset({"test", "lint", "types", "format", "build"})
ECHO = re.compile(
    r"^(?:> |\$ |\+ |\S+: commands\[\d+\]> |nox > |❯ )?((?:[A-Z_]+=\S+ )*(?:[\w./@-]*/)?[\w.@+-]+(?: .*)?)$"
)


class Scene:
    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.transcript = Transcript(evidence.output)
        self.project = Project(evidence.root)
        self.steps = read_steps(evidence.command)

    @cached_property
    def quiet(self) -> frozenset[int]:
        return quiet_lines(self.transcript) | frozenset(self.echoes)

    @cached_property
    def diagnostics(self) -> Sequence[Diagnostic]:
        return tuple(read_diagnostics(self.transcript, self.quiet))

    @cached_property
    def findings(self) -> Sequence[Finding]:
        """What every line that is not noise says about causes and symptoms."""
        return tuple(
            settle(self, finding)
            for number, line in enumerate(self.transcript.lines)
            if line and number not in self.quiet
            for finding in causes_in(line, number)
        )

    @cached_property
    def failing(self) -> Sequence[Failing]:
        printed = read_failing(self.transcript, is_test_run="test" in self.roles)
        return printed or read_reports(self.evidence.junit, self.project)

    @cached_property
    def echoes(self) -> dict[int, Step]:
        """Commands that an orchestrator shows before it runs them, by line."""
        if not any(step.tool in ORCHESTRATORS for step in self.steps):
            return {}
        found: dict[int, Step] = {}
        for number, line in enumerate(self.transcript.lines[:4_000]):
            match = ECHO.match(line)
            if match and ":" not in line.split(" ")[0]:
                steps = [step for step in read_steps(match[1]) if step.role in TELLING or step.tool in ROLES]
                if steps and _looks_like_command(match[1], steps[0]):
                    found[number] = steps[-1] if not steps[-1].role == "check" else steps[0]
        return found

    @cached_property
    def roles(self) -> frozenset[str]:
        return frozenset(step.role for step in (*self.steps, *self.echoes.values()))

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
        telling = [step for step in steps if step.role in TELLING and step.tool not in ORCHESTRATORS]
        return (telling or steps or [None])[-1]

    def names(self, thing: str) -> bool:
        """Does the command line itself name this file, module or target?"""
        wanted = thing.removeprefix("./").rstrip("/")
        words = [word.removeprefix("./") for step in self.steps for word in step.words]
        tails = ("/" + word for word in words if word)
        return wanted in words or any(wanted.endswith(tail) for tail in tails)


def _looks_like_command(text: str, step: Step) -> bool:
    first = text.split(" ", maxsplit=1)[0]
    return step.tool in first and not text.endswith((".", ":")) and first == first.lower()
