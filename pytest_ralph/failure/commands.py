"""CommandContext: the command line of a failure, without what it printed."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_ralph.failure.project import Project
from pytest_ralph.shell.command import Command, Stage
from pytest_ralph.shell.lexer import Word

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from pytest_ralph.failure.evidence import Evidence

# Roles of which a failure can be told from the output.
CHECKING_ROLES = frozenset({"test", "lint", "types", "format", "build"})
# Roles of tools that complain about files.
COMPLAINING_ROLES = frozenset({"lint", "types", "format"})
SEARCH_TOOLS = frozenset("grep egrep fgrep zgrep rg ag ack".split())
SETUP_TOOLS = frozenset("cd set echo export exit } true mkdir".split())
# Commands that print nothing, or nothing of what others have printed.
SILENT_TOOLS = SETUP_TOOLS | frozenset(("false", "test", "[", ":", "printf", "wc", ""))
PASSING_ON = frozenset("cat head tail tee".split())
# Interpreters whose program stands in the command line.
INLINE_CODE = frozenset({"awk", "gawk", "mawk"})
# Tools whose whole output is the difference they were asked for.
COMPARING_TOOLS = frozenset(
    {"diff", "cmp", "comm", "git diff", "colordiff", "sdiff", "diff3", "zdiff", "wdiff", "icdiff"}
)
# What they print is the answer of a service, which may be an error of it.
ASKING_ROLES = frozenset({"net", "database"})
PROGRAM_FILE = re.compile(r"[\w./-]+")
# Stands for a command that is not known: it has neither a program nor a role.
NO_STAGE = Stage(words=(Word(""),), written=())


class CommandContext:
    """The commands of one command line, and what they are for."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.project = Project(evidence.root, evidence.planned)
        self.stages = Command.parse(evidence.command).stages

    @property
    def status(self) -> int | None:
        """The exit status as a shell reports it: 128+n, not -n, for signal n."""
        code = self.evidence.exit_code
        if code is None or code >= 0:
            return code
        return 128 - code

    @cached_property
    def programs(self) -> frozenset[str]:
        """The programs of the command line."""
        return frozenset(stage.program for stage in self.stages)

    @property
    def words(self) -> Iterator[str]:
        """The words of the command line."""
        for stage in self.stages:
            yield from stage.written

    @property
    def has_orchestrator(self) -> bool:
        """Whether a command of the line runs other commands, as `make` does."""
        return any(stage.is_orchestrator for stage in self.stages)

    @property
    def compares(self) -> bool:
        """Whether the last command prints a difference: its words are data."""
        if not self.stages:
            return False
        return self.stages[-1].name in COMPARING_TOOLS

    @cached_property
    def main_stage(self) -> Stage:
        """The last command with a checking role, else the last that is more than preparation."""
        stages = self.stages_besides(SETUP_TOOLS)
        speaking = [stage for stage in stages if not _passes_on(stage)]
        candidates = _checking(stages) or speaking or stages
        if not candidates:
            return NO_STAGE
        return candidates[-1]

    @cached_property
    def only_prints(self) -> bool:
        """Whether all commands succeeded and print what they were asked for: its words are data."""
        printing = self.stages_besides(SILENT_TOOLS)
        return self.status == 0 and bool(printing) and all(map(prints_answer, printing))

    @cached_property
    def stated_roles(self) -> frozenset[str]:
        """The checking roles of the command line itself."""
        return frozenset(stage.role for stage in _checking(self.stages))

    @property
    def only_complains(self) -> bool:
        """Whether only linters ran: they may print their findings in the format of a test run."""
        if not self.stated_roles or not self.stated_roles <= COMPLAINING_ROLES:
            return False
        working = self.stages_besides(SETUP_TOOLS)
        return bool(working) and working[-1].role != ""

    @cached_property
    def may_run_several(self) -> bool:
        """Whether the command line is more than one test runner, whose output is all there is."""
        working = [stage for stage in self.stages_besides(SILENT_TOOLS) if stage.before != "|"]
        return len(working) > 1 or any(_runs_others(stage) for stage in working)

    def stages_besides(self, programs: Collection[str]) -> Sequence[Stage]:
        """Return the commands of the line that run other programs than these."""
        return [stage for stage in self.stages if stage.program not in programs]

    def is_own_program(self, stage: Stage) -> bool:
        """Return whether a command is a program of the project, not a tool."""
        if stage.executable.startswith("./") or self.project.find(stage.executable):
            return True
        return "python" in stage.launchers and self.project.owns_module(stage.program)

    def runs_own_code(self, stage: Stage) -> bool:
        """Return whether a command runs code of the project, or code in the command line."""
        if self.is_own_program(stage) or stage.program in INLINE_CODE:
            return True
        if stage.role != "run" or not stage.plain_arguments:
            return False
        script = stage.plain_arguments[0]
        if not PROGRAM_FILE.fullmatch(script):
            return False
        # One command may build the program that the next one runs.
        is_built = not self.stated_roles.isdisjoint({"build", "types"})
        return is_built or self.project.find(script) is not None

    def names(self, thing: str) -> bool:
        """Return whether the command line names this file, module or target.

        The directory of a file names it too, and so does a place in a file: `test_cart.py::total`.
        """
        wanted = thing.removeprefix("./").rstrip("/")
        # `rspec` does not name `webmock/rspec`.
        programs = self.programs - {wanted}
        for written in self.words:
            word = written.removeprefix("./")
            is_part = f"/{word}/" in f"/{wanted}/"
            is_place = word.startswith((f"{wanted}.", f"{wanted}:"))
            if written not in programs and (is_part or is_place):
                return True
        return False

    def names_member(self, name: str) -> bool:
        """Return whether the command line names it by a dotted path (`test_cart.CartTest.name`)."""
        return any(word.endswith(f".{name}") for word in self.words)


def is_search(stage: Stage) -> bool:
    """Return whether a command searches files and prints the lines that match."""
    return stage.program in SEARCH_TOOLS or stage.operands[:1] == ("grep",)


def prints_answer(stage: Stage) -> bool:
    """Return whether a command that succeeds prints what it was asked for, not what it did."""
    if stage.role in ASKING_ROLES:
        return False
    lists = ("searches", "lists", "texts", "filters")
    return stage.role == "check" or any(map(stage.is_listed, lists))


def _passes_on(stage: Stage) -> bool:
    """Return whether a command behind a pipe only shows what the one before it printed."""
    return stage.before == "|" and stage.program in PASSING_ON


def _runs_others(stage: Stage) -> bool:
    """Return whether a command may run any other: an orchestrator, a script, an unknown program."""
    return stage.is_orchestrator or stage.role != "test"


def _checking(stages: Sequence[Stage]) -> Sequence[Stage]:
    """Return the commands that check something themselves."""
    checking = [stage for stage in stages if stage.role in CHECKING_ROLES]
    return [stage for stage in checking if not stage.is_orchestrator]
