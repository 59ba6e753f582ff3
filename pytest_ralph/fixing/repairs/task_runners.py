"""The command lines behind task runners: what `just lint`, `npm run lint` or `./lint.sh` runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.fixing.repairs import task_files
from pytest_ralph.fixing.repairs.declared import read_text
from pytest_ralph.fixing.repairs.own_files import own_file
from pytest_ralph.shell.command import SHELLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pytest_ralph.fixing.repairs.task_files import Tasks

SHELL_SCRIPT = re.compile(r"#!\s*\S*(?:/|\s)(?:ba|da|z|k)?sh\b")

# Options of runners that name another directory.
DIRECTORY_OPTIONS = ("-C", "--directory", "--dir", "--prefix", "--cwd")
# Words behind a runner that are not the name of a task.
NOT_A_TASK = frozenset(
    "run run-script install i ci add remove exec dlx x init audit why list ls link publish".split()
)


class RunnerLine(NamedTuple):
    """A command line that a runner runs in `directory`, and the words that start it again."""

    text: str
    directory: Path
    launcher: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskRunner:
    """How to find what a task runner runs.

    read: Returns the tasks of a directory.
    launcher: The words that start a program as the runner does; `{task}` is the name of the task.
    options: The options that name tasks; without any, tasks are named by plain words.
    default_tasks: How many tasks a call without names runs: none, the first, or with None all.
    """

    read: Callable[[Path], Tasks]
    launcher: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    default_tasks: int | None = 1

    def lines(self, arguments: Sequence[str], directory: Path) -> Iterator[RunnerLine]:
        """Yield what a call of the runner with these arguments runs in `directory`."""
        tasks = self.read(directory)
        wanted = self._named_tasks(arguments) or list(tasks)[: self.default_tasks]
        seen: set[str] = set()
        for name in wanted:
            for task, command in _commands_of(name, tasks, seen):
                launcher = tuple(word.replace("{task}", task) for word in self.launcher)
                yield RunnerLine(command, directory, launcher)

    def _named_tasks(self, arguments: Sequence[str]) -> list[str]:
        if self.options:
            return _option_values(arguments, self.options)
        named = []
        for word in arguments:
            if word.startswith("-") or "=" in word:
                # An option, or the value of a variable.
                continue
            if word not in NOT_A_TASK:
                named.append(word)
        return named


def _commands_of(name: str, tasks: Tasks, seen: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the commands of a task and of those that it runs, with the name of their task."""
    if name not in tasks or name in seen:
        return
    seen.add(name)
    for command in tasks[name]:
        if command in tasks and command != name:
            yield from _commands_of(command, tasks, seen)
        else:
            yield name, command


TOX_LAUNCHER = ("tox", "exec", "-q", "-e", "{task}", "--")
NOX_OPTIONS = ("-s", "--session", "--sessions", "-e")
RUNNERS = {
    "npm": TaskRunner(task_files.npm, ("npx", "--no-install"), default_tasks=0),
    "pnpm": TaskRunner(task_files.npm, ("pnpm", "exec"), default_tasks=0),
    "yarn": TaskRunner(task_files.npm, ("yarn", "run"), default_tasks=0),
    "bun": TaskRunner(task_files.npm, ("bunx",), default_tasks=0),
    "turbo": TaskRunner(task_files.turbo, ("npx", "--no-install"), default_tasks=0),
    "make": TaskRunner(task_files.make),
    "gmake": TaskRunner(task_files.make),
    "just": TaskRunner(task_files.just),
    "task": TaskRunner(task_files.task),
    "go-task": TaskRunner(task_files.task),
    "poe": TaskRunner(task_files.poe, default_tasks=0),
    "pre-commit": TaskRunner(task_files.pre_commit, default_tasks=None),
    "prek": TaskRunner(task_files.pre_commit, default_tasks=None),
    "tox": TaskRunner(task_files.tox, TOX_LAUNCHER, options=("-e", "--env")),
    "nox": TaskRunner(task_files.nox, options=NOX_OPTIONS, default_tasks=None),
    "invoke": TaskRunner(task_files.invoke, default_tasks=0),
    "inv": TaskRunner(task_files.invoke, default_tasks=0),
}


def lines_behind(
    program: str, arguments: Sequence[str], directory: Path, root: Path
) -> list[RunnerLine]:
    """Return what a call of a task runner or of a script below `root` runs."""
    script = _shell_script(program, arguments, directory, root)
    if script is not None:
        return [RunnerLine(script, directory)]
    runner = RUNNERS.get(program.rpartition("/")[2])
    if runner is None:
        return []
    for name in _option_values(arguments, DIRECTORY_OPTIONS):
        directory = (directory / name).resolve()
    return list(runner.lines(arguments, directory))


def _shell_script(
    program: str, arguments: Sequence[str], directory: Path, root: Path
) -> str | None:
    """Return the text of a shell script of the project that the call names."""
    name = program
    if program in SHELLS:
        operands = [word for word in arguments if not word.startswith("-")]
        if not operands:
            return None
        name = operands[0]
    elif "/" not in program:
        return None

    file = own_file(root, directory / name)
    if file is None:
        return None
    text = read_text(file)
    if name.endswith((".sh", ".bash")) or SHELL_SCRIPT.match(text):
        return text
    return None


def _option_values(arguments: Sequence[str], options: Sequence[str]) -> list[str]:
    """Return the values of an option; each may be a list with commas."""
    values = []
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if name in options:
            if not equals:
                value = next(words, "")
            values += value.split(",")
    return values
