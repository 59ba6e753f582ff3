"""The stages of a command line as the reading of failures asks about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ralph.shell import command as commands

if TYPE_CHECKING:
    from pytest_ralph.shell.command import Stage


@dataclass(frozen=True, slots=True)
class Step:
    """`npx jest --ci` is the tool `jest` with the arguments `--ci`; `words` are as written."""

    stage: Stage

    @property
    def tool(self) -> str:
        """The name of the program."""
        return self.stage.program

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words behind the program."""
        return self.stage.arguments

    @property
    def words(self) -> tuple[str, ...]:
        """All words as written, launchers included."""
        return self.stage.written

    @property
    def name(self) -> str:
        """The tool, with its subcommand if the role depends on it."""
        return self.stage.name

    @property
    def role(self) -> str:
        """What the tool is for."""
        return self.stage.role

    @property
    def operands(self) -> tuple[str, ...]:
        """The arguments that are not options; values count, as `nope` in `cargo test -p nope`."""
        return tuple(word for word in self.arguments if not word.startswith("-"))


def read_steps(command: str) -> tuple[Step, ...]:
    """Return the stages of a command line in order."""
    return tuple(Step(stage) for stage in commands.Command.parse(command).stages)


def read_shown(line: str) -> tuple[Step, ...]:
    """Read a line of output that may show a command."""
    return tuple(Step(stage) for stage in commands.read_shown(line))
