"""The command lines behind task runners: what `just lint`, `npm run lint` or `./lint.sh` runs.

Only files of the project are read; nothing is run or imported.
"""

from __future__ import annotations

import ast
import configparser
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.fixing.check_files import RUNNER_FILES
from pytest_ralph.fixing.repairs.base import own_file
from pytest_ralph.fixing.repairs.declared import (
    mapping,
    read_json,
    read_text,
    read_toml,
    read_yaml,
    strings,
)
from pytest_ralph.shell.command import SHELLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    # The commands of each task. One that is the name of another task runs that task.
    Tasks = dict[str, list[str]]

SHELL_SCRIPT = re.compile(r"#!\s*\S*(?:/|\s)(?:ba|da|z|k)?sh\b")

# Options of runners that name another directory.
DIRECTORY_OPTIONS = ("-C", "--directory", "--dir", "--prefix", "--cwd")
# Words behind a runner that are not the name of a task.
NOT_A_TASK = frozenset(
    "run run-script install i ci add remove exec dlx x init audit why list ls link publish".split()
)

# Hooks of pre-commit whose id is not the command that they run.
HOOKS = {
    "ruff": "ruff check",
    "ruff-check": "ruff check",
    "ruff-format": "ruff format --check",
    "black-jupyter": "black",
    "mirrors-prettier": "prettier",
    "clang-format": "clang-format",
    "cargo-fmt": "cargo fmt",
    "fmt": "cargo fmt",
    "clippy": "cargo clippy",
    "go-fmt": "gofmt",
}


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
    default_tasks: How many tasks a call without names runs: the first, or with None all of them.
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
    if not directory.is_relative_to(root) or not directory.is_dir():
        return []
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


# Files with recipes: make, just

RULE = re.compile(r"^([^\s#=:][^#=:]*):(?![=:])([^=#;]*)")
JUST_RULE = re.compile(r"^@?([A-Za-z_][\w-]*)(?:\s[^:=]*)?:(?!=)\s*([^#]*)")
ASSIGNMENT = re.compile(r"^([\w.-]+)\s*[:?]?=\s*(.*?)\s*$")
VARIABLE = re.compile(r"\$[({]([\w.-]+)[)}]")
# The value of a variable may name another one.
DEEPEST_VARIABLE = 3


def _first_text(directory: Path, runner: str) -> str:
    """Return the text of the first file of a runner that is there."""
    for name in RUNNER_FILES[runner]:
        text = read_text(directory / name)
        if text:
            return text
    return ""


def _rules(text: str, rule: re.Pattern[str]) -> Tasks:
    """Return the tasks of a file in which indented lines follow a line that names them.

    Behind the name stand the tasks, or files, that are needed first.
    """
    # Of each task: what is needed first, and its own commands.
    found: dict[str, tuple[list[str], list[str]]] = {}
    body: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith((" ", "\t")):
            body.append(line.strip().lstrip("@-+"))
            continue
        named = rule.match(line)
        if named:
            body = []
            needed = [word.strip("()&") for word in named[2].split()]
            for name in named[1].split():
                found.setdefault(name, (needed, body))

    tasks = {}
    for name, (needed, commands) in found.items():
        others = [word for word in needed if word in found and word != name]
        tasks[name] = others + commands
    return tasks


def _make(directory: Path) -> Tasks:
    text = _first_text(directory, "make")
    variables = {}
    for line in text.splitlines():
        assigned = ASSIGNMENT.match(line)
        if assigned:
            variables[assigned[1]] = assigned[2]

    def value(variable: re.Match[str]) -> str:
        # An unknown variable stays `$X`, which is not a literal word.
        name = variable[1]
        return variables.get(name, f"${name}")

    for _ in range(DEEPEST_VARIABLE):
        text = VARIABLE.sub(value, text)
    tasks = _rules(text.replace("$$", "$"), RULE)
    return {name: commands for name, commands in tasks.items() if not name.startswith(".")}


def _just(directory: Path) -> Tasks:
    return _rules(_first_text(directory, "just"), JUST_RULE)


# Tables of tasks: npm, turbo, task, poe, tox

COMMAND_KEYS = ("deps", "cmds", "cmd", "commands", "shell", "sequence", "task")


def _npm(directory: Path) -> Tasks:
    return _read_tasks(read_json(directory / "package.json").get("scripts"))


def _turbo(directory: Path) -> Tasks:
    """Return the scripts of all packages, which are the project and what is below it."""
    tasks: Tasks = {}
    for pattern in ("package.json", "*/package.json", "*/*/package.json"):
        for manifest in sorted(directory.glob(pattern)):
            if "node_modules" in manifest.parts:
                continue
            where = manifest.parent.relative_to(directory).as_posix()
            for name, commands in _npm(manifest.parent).items():
                in_package = f"(cd {shlex.quote(where)} && {commands[0]})"
                tasks.setdefault(name, []).append(in_package)
    return tasks


def _task(directory: Path) -> Tasks:
    for name in RUNNER_FILES["task"]:
        tasks = _read_tasks(read_yaml(directory / name).get("tasks"))
        if "default" in tasks:
            # A call without names runs this task.
            return {"default": tasks["default"], **tasks}
        if tasks:
            return tasks
    return {}


def _poe(directory: Path) -> Tasks:
    return _read_tasks(_tool_table(directory, "poe").get("tasks"))


def _tox(directory: Path) -> Tasks:
    tasks = _read_tasks(_tool_table(directory, "tox").get("env"))
    configuration = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        configuration.read_string(read_text(directory / "tox.ini"))
    except configparser.Error:
        return tasks
    for section in configuration.sections():
        kind, _, name = section.partition(":")
        if kind == "testenv":
            commands = configuration.get(section, "commands", fallback="").replace("\\\n", " ")
            tasks[name or "py"] = [_tox_line(line) for line in commands.splitlines()]
    return tasks


def _tox_line(line: str) -> str:
    return line.strip().lstrip("-! ").replace("{toxinidir}", ".").replace("{posargs}", "")


def _tool_table(directory: Path, name: str) -> Mapping[str, object]:
    """Return the table `tool.NAME` of pyproject.toml."""
    return mapping(mapping(read_toml(directory / "pyproject.toml").get("tool")).get(name))


def _read_tasks(table: object) -> Tasks:
    return {name: _commands_in(task) for name, task in mapping(table).items()}


def _commands_in(task: object) -> list[str]:
    """Return the commands of a task: a text, a list, or a table with either."""
    if isinstance(task, str):
        return [task]
    commands: list[str] = []
    if isinstance(task, list):
        for command in task:
            if isinstance(command, list):
                # tox lists the words of each command.
                commands.append(shlex.join(strings(command)))
            else:
                commands += _commands_in(command)
        return commands
    table = mapping(task)
    for key in COMMAND_KEYS:
        if key in table:
            commands += _commands_in(table[key])
    return commands


# Runners with environments of their own


def _pre_commit(directory: Path) -> Tasks:
    configuration = read_yaml(directory / ".pre-commit-config.yaml")
    hooks: list[object] = []
    for repository in configuration.get("repos") or []:
        hooks += mapping(repository).get("hooks") or []
    tasks = {}
    for hook in map(mapping, hooks):
        name = str(hook.get("id", ""))
        entry = hook.get("entry") or HOOKS.get(name, name)
        arguments = shlex.join(strings(hook.get("args")))
        tasks[name] = [f"{entry} {arguments}"]
    return tasks


def _nox(directory: Path) -> Tasks:
    tasks: Tasks = {}
    for name, words in _literal_runs(directory / "noxfile.py"):
        installed = f".nox/{name}/bin/{words[0]}"
        if (directory / installed).is_file():
            words[0] = installed
        tasks.setdefault(name, []).append(shlex.join(words))
    return tasks


def _invoke(directory: Path) -> Tasks:
    tasks: Tasks = {}
    for name, words in _literal_runs(directory / "tasks.py"):
        tasks.setdefault(name.replace("_", "-"), []).append(words[0])
    return tasks


def _literal_runs(file: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the words of calls like `session.run("ruff", "check")`, and the function they are in.

    Calls whose words are computed are left out.
    """
    try:
        module = ast.parse(read_text(file))
    except (SyntaxError, ValueError, RecursionError):
        return
    for function in module.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        for call in ast.walk(function):
            if not isinstance(call, ast.Call):
                continue
            words = strings([getattr(word, "value", None) for word in call.args])
            is_run = getattr(call.func, "attr", "") == "run"
            if is_run and words:
                yield function.name, words


TOX_LAUNCHER = ("tox", "exec", "-q", "-e", "{task}", "--")
NOX_OPTIONS = ("-s", "--session", "--sessions", "-e")
RUNNERS = {
    "npm": TaskRunner(_npm, ("npx", "--no-install")),
    "pnpm": TaskRunner(_npm, ("pnpm", "exec")),
    "yarn": TaskRunner(_npm, ("yarn", "run")),
    "bun": TaskRunner(_npm, ("bunx",)),
    "turbo": TaskRunner(_turbo, ("npx", "--no-install")),
    "make": TaskRunner(_make),
    "gmake": TaskRunner(_make),
    "just": TaskRunner(_just),
    "task": TaskRunner(_task),
    "go-task": TaskRunner(_task),
    "poe": TaskRunner(_poe),
    "pre-commit": TaskRunner(_pre_commit, default_tasks=None),
    "prek": TaskRunner(_pre_commit, default_tasks=None),
    "tox": TaskRunner(_tox, TOX_LAUNCHER, options=("-e", "--env")),
    "nox": TaskRunner(_nox, options=NOX_OPTIONS, default_tasks=None),
    "invoke": TaskRunner(_invoke),
    "inv": TaskRunner(_invoke),
}
