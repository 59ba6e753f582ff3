"""The calls of programs behind a Verify command, seen through scripts and task runners.

`cd web && npm run lint` is the call `eslint .` in `web/`, to be run again as
`npx --no-install eslint …`. Only the command and the project's own files are read; nothing is run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from pytest_ralph.fixing.repairs.task_runners import lines_behind
from pytest_ralph.shell.command import Command, Stage, program_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_ralph.shell.lexer import Word
    from pytest_ralph.shell.programs import FixMode

_MAX_DEPTH = 4
_MAX_CALLS = 200
_OTHER_USER = frozenset(["sudo", "doas"])


@dataclass(frozen=True)
class Step:
    """One call of a program.

    `launcher` are the words that start it the same way again, as `("npx",)` or `("uv", "run")`;
    `activated` is the `bin` directory of an environment that was activated before it.
    """

    program: str
    arguments: tuple[Word, ...]
    launcher: tuple[str, ...]
    directory: Path
    env: tuple[tuple[str, str], ...] = ()
    activated: Path | None = None
    fix_mode: FixMode | None = None
    # Inside `$(…)`: what it prints is not in the output of the command.
    nested: bool = False

    @property
    def name(self) -> str:
        """The name of the program without path, version and suffix."""
        return program_name(self.program)

    def fixing_argv(self, mode: FixMode) -> tuple[str, ...] | None:
        """Return the words of the fixing call, to which the files are still to be added.

        All paths and most options of the failing call are dropped. None if the value of an option
        that matters is only known to the shell.
        """
        kept = []
        for word in self._options_kept(mode):
            if not word.literal:
                return None
            kept.append(word.text)

        program = self.program
        if mode.instead:
            path, slash, _ = self.program.rpartition("/")
            program = f"{path}{slash}{mode.instead}"
        return (*self.launcher, program, *mode.fix, *kept)

    def _options_kept(self, mode: FixMode) -> Iterator[Word]:
        """Yield the options of the failing call that matter to the fixing call, with values."""
        words = iter(self.arguments)
        for word in words:
            name, equals, _ = word.text.partition("=")
            if name in mode.keep:
                yield word
                value = None if equals else next(words, None)
                if value is not None:
                    yield value
            elif word.text in mode.flags or word.text[:2] in mode.keep:
                # A flag, or an option of one letter with its value: `-l100`.
                yield word


@dataclass(frozen=True)
class _Place:
    """Where and how the commands that are being read run."""

    root: Path
    directory: Path
    launcher: tuple[str, ...] = ()
    activated: Path | None = None
    depth: int = 0
    # Whether `|| true` or the like hides the status of everything here.
    masked: bool = False

    def inside(self, name: str) -> Path | None:
        """Return the directory that a `cd` leads to; None if the project has no such directory."""
        try:
            directory = (self.directory / name).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            return None
        if not directory.is_relative_to(self.root) or not directory.is_dir():
            return None
        return directory


def steps(command: str, root: Path) -> tuple[Step, ...]:
    """Return the calls of programs behind a command line, with how and where they run."""
    return tuple(islice(_read(command, _Place(root, root)), _MAX_CALLS))


def _read(source: str, place: _Place) -> Iterator[Step]:
    if place.depth > _MAX_DEPTH:
        return
    activated = place.activated
    stages = Command.parse(source).stages
    for number, stage in enumerate(stages):
        if stage.program in ("cd", "pushd"):
            continue
        if stage.program in ("source", ".") and stage.executable == stage.program:
            activated = _activated(stage, place) or activated
            continue
        # Behind a `cd` that points outside the project or nowhere, nothing is known.
        if stage.directory is None:
            return
        directory = place.inside(stage.directory)
        if directory is None:
            return
        masked = place.masked or _is_masked(stages[number:])
        here = replace(place, directory=directory, activated=activated, masked=masked)
        yield from _calls(stage, here)


def _is_masked(stages: Sequence[Stage]) -> bool:
    """Return whether `|| true` behind the first stage hides that it failed."""
    for stage, following in pairwise(stages):
        if stage.after == "||":
            return following.always_succeeds
        if stage.after not in ("&&", "|", "|&"):
            break
    return False


def _activated(stage: Stage, place: _Place) -> Path | None:
    """Return the `bin` directory of the environment that a stage activates."""
    script = next(iter(stage.arguments), "")
    if not script.endswith("/bin/activate"):
        return None
    return (place.directory / (stage.directory or "") / script).parent


def _calls(stage: Stage, place: _Place) -> Iterator[Step]:
    """Yield the calls of the script or recipe that a stage runs, and its own call."""
    if not stage.words[0].literal or "-exec" in stage.arguments:
        return
    # The arguments that the shell does not change.
    literal = [word.text for word in stage.words[1:] if word.literal]
    for line in lines_behind(stage.executable, literal, place.directory, place.root):
        deeper = replace(
            place,
            directory=line.directory,
            launcher=line.launcher or place.launcher,
            depth=place.depth + 1,
        )
        yield from _read(line.text, deeper)
    fix_mode = stage.fix_mode
    # A repair never runs with the rights of another user, and without them it may do harm.
    as_other_user = not _OTHER_USER.isdisjoint(stage.launchers)
    if as_other_user or place.masked:
        fix_mode = None
    yield Step(
        program=stage.executable,
        arguments=stage.words[1:],
        launcher=stage.again or place.launcher,
        directory=place.directory,
        env=tuple((name, word.text) for name, word in stage.assignments if word.literal),
        activated=place.activated,
        fix_mode=fix_mode,
        nested=stage.nested,
    )
