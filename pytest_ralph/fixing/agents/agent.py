"""Fixing: an Agent, what the presets share: finding the program, running it, listening to what it says."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pytest_ralph.fixing.agents.conversation import Conversation, Event, events, read_event
from pytest_ralph.fixing.agents.judge import could_not_run, judge
from pytest_ralph.fixing.agents.launch import Start
from pytest_ralph.running.runner import RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_ralph.failure.kinds import Kinds
    from pytest_ralph.fixing.agents.base import Job, Outcome
    from pytest_ralph.running.runner import CommandResult, Runner


@dataclass(frozen=True)
class Options:
    """What a project may change about a preset."""

    model: str = ""
    args: tuple[str, ...] = ()
    program: tuple[str, ...] = ()

    @classmethod
    def read(cls, options: Mapping[str, str | None]) -> Options:
        return cls(
            model=options.get("model") or "",
            args=tuple(shlex.split(options.get("args") or "")),
            program=tuple(shlex.split(options.get("program") or "")),
        )

    def unless(self, *words: str, default: Sequence[str]) -> Sequence[str]:
        """`default`, unless the project's own arguments already say something about it."""
        given = {word.split("=", 1)[0] for word in self.args}
        return () if given & {*words, default[0]} else default


class Agent:
    """A program that is told in words what to do. A preset says how to call it and how to read what it prints."""

    name: ClassVar[str]
    install: ClassVar[str]
    model_flag: ClassVar[str] = "--model"
    # Whether a session is called what we call it, so that the program need not tell.
    names_session: ClassVar[bool] = False

    def __init__(self, options: Options | None = None, kinds: Kinds | None = None) -> None:
        self.options = options or Options()
        self._kinds = kinds

    # What a preset says

    def arguments(self, start: Start) -> Sequence[str]:
        """The command line after the program."""
        raise NotImplementedError

    def hear(self, event: Event, talk: Conversation) -> None:
        """Take in one event of the program's output."""
        raise NotImplementedError

    def hear_line(self, line: str, talk: Conversation) -> None:
        """Take in a line that is no event: what a program prints that does not, or not yet, keep to its format."""
        if line.strip():
            talk.say(f"{line}\n", more=True)

    def environment(self) -> Mapping[str, str]:
        return {}

    # What all share

    @property
    def program(self) -> tuple[str, ...]:
        return self.options.program or (self.name,)

    @property
    def model(self) -> Sequence[str]:
        return (self.model_flag, self.options.model) if self.options.model else ()

    def available(self) -> str | None:
        if shutil.which(self.program[0]):
            return None
        return f"executor {self.name}: {self.program[0]!r} is not installed ({self.install})"

    def run(
        self, job: Job, runner: Runner, on_output: Callable[[str], None] | None = None
    ) -> Outcome:
        try:
            start = Start.of(job, runner.logs)
            ended = start.run(
                runner,
                argv=[*self.program, *self.arguments(start)],
                env=self.environment(),
                label=self.name,
                on_output=on_output and (lambda line: on_output(self.glance(line))),
            )
        except (RunError, OSError) as error:
            return could_not_run(job, error, missing=self.available(), kinds=self._kinds)
        talk = self.listen(ended)
        talk.session_id = talk.session_id or (start.session if self.names_session else start.resume)
        return judge(job, ended, talk, root=runner.root, kinds=self._kinds, must_speak=True)

    def listen(self, ended: CommandResult) -> Conversation:
        talk = Conversation()
        for event in events(ended.stdout.path):
            self.take_in(event, talk)
        return talk

    def glance(self, line: str) -> str:
        """What one line of the program's output says, for a person who looks on."""
        talk = Conversation()
        event = read_event(line)
        self.take_in(event, talk)
        said = talk.text.strip().splitlines()
        return (
            said[-1]
            if said
            else talk.error or talk.busy_with or (line if isinstance(event, str) else "")
        )

    def take_in(self, event: Event | str, talk: Conversation) -> None:
        if isinstance(event, str):
            self.hear_line(event, talk)
            return
        talk.heard = True
        try:
            self.hear(event, talk)
        except (AttributeError, KeyError, TypeError, IndexError):
            # Another version of the program may shape an event in another way: that is no reason to lose the rest.
            return
