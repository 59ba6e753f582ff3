"""Agent: what all presets share, from finding the program to reading its output."""

from __future__ import annotations

import contextlib
import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from pytest_ralph.fixing.agents import shell_words
from pytest_ralph.fixing.agents.events import Event, is_banner, read_events
from pytest_ralph.fixing.agents.finished_run import FinishedRun
from pytest_ralph.fixing.agents.launch import Launch, is_installed
from pytest_ralph.fixing.agents.live import IdleWatch, LiveReader
from pytest_ralph.fixing.agents.outcome import not_started, read_outcome
from pytest_ralph.fixing.agents.stream_json import STREAM_JSON
from pytest_ralph.fixing.agents.transcript import Transcript
from pytest_ralph.running.runner import RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_ralph.failure.kinds import Kinds
    from pytest_ralph.fixing.agents.base import Job, Outcome
    from pytest_ralph.fixing.agents.events import EventReader
    from pytest_ralph.running.runner import CommandResult, Runner


BEGINNING_OF_EVENT = '{"'
# It selects the model, or the mode of Amp. For aider it is one of PROMPT_OPTIONS.
MODEL_SHORT_FLAG = "-m"


@dataclass(frozen=True)
class PresetOptions:
    """What a project can change about a preset: the model, extra arguments, the program."""

    model: str = ""
    args: tuple[str, ...] = ()
    program: tuple[str, ...] = ()

    @classmethod
    def read(cls, options: Mapping[str, str | None]) -> PresetOptions:
        """Split the texts of the settings into words, as a shell would."""
        return cls(
            model=options.get("model") or "",
            args=tuple(shell_words(options.get("args") or "")),
            program=tuple(shell_words(options.get("program") or "")),
        )

    def default(self, *words: str, unless: Sequence[str] = ()) -> Sequence[str]:
        """Return `words` unless the project's arguments set the same option, or one of `unless`."""
        return () if self.sets(words[0], *unless) else words

    def sets(self, *options: str) -> bool:
        """Return whether the project's arguments set one of `options`."""
        given = {word.partition("=")[0] for word in self.args}
        return not given.isdisjoint(options)


class Agent:
    """A program that takes its task as a prompt in natural language.

    A preset subclasses it and says how to call the program (`arguments`, `variables`) and, unless
    it prints the events of Claude Code, how to read the events of its output (`readers`, by the
    type of the event, and `session_key`) or a line that is not an event (`read_line`).
    """

    name: ClassVar[str]
    install: ClassVar[str]
    model_flag: ClassVar[str] = "--model"
    readers: ClassVar[Mapping[str, EventReader]] = STREAM_JSON
    # Where an event names its session.
    session_key: ClassVar[str] = "session_id"
    # True if we choose the name of a session, so that the program need not report it.
    names_session: ClassVar[bool] = False
    # What the program needs in its environment to run unattended.
    variables: ClassVar[Mapping[str, str]] = {}

    def __init__(self, options: PresetOptions, kinds: Kinds) -> None:
        self.options = options
        self._kinds = kinds

    def arguments(self, launch: Launch) -> list[str]:
        """Return the command line after the program."""
        raise NotImplementedError

    def environment(self, launch: Launch) -> Mapping[str, str]:  # noqa: ARG002
        """Return the environment variables that the program needs for this job."""
        return self.variables

    def read_event(self, event: Event, transcript: Transcript) -> None:
        """Add one event of the program's output to `transcript`."""
        session_id = event.get(self.session_key)
        if session_id and isinstance(session_id, str):
            transcript.session_id = session_id
        read = self.readers.get(str(event.get("type")))
        if read is not None:
            read(event, transcript)

    def read_line(self, line: str, transcript: Transcript) -> None:
        """Add a line that is not an event: programs print some before or beside their events.

        The beginning of an event, which is all that a program writes that is ended, is left out.
        """
        if not line.strip() or line.startswith(BEGINNING_OF_EVENT):
            return
        if is_banner(line):
            transcript.add_entry(line)
        else:
            transcript.append_text(f"{line}\n")

    @property
    def program(self) -> tuple[str, ...]:
        """The words that start the program."""
        return self.options.program or (self.name,)

    @property
    def command(self) -> str:
        """What was configured: the preset with its model and arguments."""
        return shlex.join([self.name, *self.project_arguments])

    @property
    def project_arguments(self) -> Sequence[str]:
        """What the project adds to the command line: the model that it names, and arguments."""
        options = self.options
        if not options.model or options.sets(self.model_flag, MODEL_SHORT_FLAG):
            return options.args
        return (self.model_flag, options.model, *options.args)

    def available(self) -> str | None:
        """Return why the program cannot be used here, or None if it can."""
        program = self.program[0]
        if is_installed(program):
            return None
        return f"{program} is not on PATH (to install it: {self.install})"

    def run(
        self, job: Job, runner: Runner, on_output: Callable[[str], None] | None = None
    ) -> Outcome:
        """Carry out `job` and read from the program's output how it went."""
        idle = IdleWatch(runner.root, job.idle_limit)
        try:
            launch = Launch.prepare(job, runner)
            result = launch.run(
                runner,
                argv=[*self.program, *self.arguments(launch)],
                env=self.environment(launch),
                label=self.name,
                watch=LiveReader(self.add_to, idle, on_output),
            )
        except (RunError, OSError) as error:
            return not_started(job, error, self._kinds, self.program[0], self.available())

        transcript = self.read_output(result)
        if not transcript.session_id:
            # It continues the session that it was told to.
            transcript.session_id = launch.session if self.names_session else job.session_id
        run = FinishedRun(job, result, transcript, runner.root, is_agent=True)
        outcome = read_outcome(run, self._kinds)
        return replace(outcome, transcript=launch.write_transcript(transcript.entries))

    def read_output(self, result: CommandResult) -> Transcript:
        """Return the transcript of a run that has ended."""
        transcript = Transcript()
        for event in read_events(result.stdout.path):
            self.add_to(transcript, event)
        return transcript

    def add_to(self, transcript: Transcript, event: Event | str) -> None:
        """Add an event, or a line that is not one, to `transcript`."""
        if isinstance(event, str):
            self.read_line(event, transcript)
            return

        transcript.has_events = True
        # Another version of the program may change the shape of one event. Skip it and keep
        # reading the others.
        with contextlib.suppress(AttributeError, LookupError, TypeError, ValueError):
            self.read_event(event, transcript)
