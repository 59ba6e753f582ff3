"""The tasks that the files of task runners define, each with its commands.

Only files of the project are read; nothing is run or imported.
"""

from __future__ import annotations

import ast
import configparser
import re
import shlex
from typing import TYPE_CHECKING

from pytest_ralph.fixing.check_files import RUNNER_FILES
from pytest_ralph.fixing.repairs.declared import read_table, read_text, strings, table_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    # The commands of each task. One that is the name of another task runs that task.
    Tasks = dict[str, list[str]]

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


def make(directory: Path) -> Tasks:
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


def just(directory: Path) -> Tasks:
    return _rules(_first_text(directory, "just"), JUST_RULE)


# Tables of tasks: npm, turbo, task, poe, tox

COMMAND_KEYS = ("deps", "cmds", "cmd", "commands", "shell", "sequence", "task")


def npm(directory: Path) -> Tasks:
    return _read_tasks(read_table(directory / "package.json", "scripts"))


def turbo(directory: Path) -> Tasks:
    """Return the scripts of all packages, which are the project and what is below it."""
    tasks: Tasks = {}
    for pattern in ("package.json", "*/package.json", "*/*/package.json"):
        for manifest in sorted(directory.glob(pattern)):
            if "node_modules" in manifest.parts:
                continue
            where = manifest.parent.relative_to(directory).as_posix()
            for name, commands in npm(manifest.parent).items():
                for command in commands:
                    in_package = f"(cd {shlex.quote(where)} && {command})"
                    tasks.setdefault(name, []).append(in_package)
    return tasks


def task(directory: Path) -> Tasks:
    for name in RUNNER_FILES["task"]:
        tasks = _read_tasks(read_table(directory / name, "tasks"))
        if "default" in tasks:
            # A call without names runs this task.
            return {"default": tasks["default"], **tasks}
        if tasks:
            return tasks
    return {}


def poe(directory: Path) -> Tasks:
    return _read_tasks(read_table(directory / "pyproject.toml", "tool", "poe", "tasks"))


def tox(directory: Path) -> Tasks:
    tasks = _read_tasks(read_table(directory / "pyproject.toml", "tool", "tox", "env"))
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


def _read_tasks(table: Mapping[str, object]) -> Tasks:
    try:
        return {name: _commands_in(task) for name, task in table.items()}
    except RecursionError:
        # In YAML a value may contain itself.
        return {}


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
    table = table_at(task)
    for key in COMMAND_KEYS:
        if key in table:
            commands += _commands_in(table[key])
    return commands


# Runners with environments of their own

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


def _rows(table: Mapping[str, object], key: str) -> list[object]:
    value = table.get(key)
    return value if isinstance(value, list) else []


def pre_commit(directory: Path) -> Tasks:
    configuration = read_table(directory / ".pre-commit-config.yaml")
    hooks: list[object] = []
    for repository in _rows(configuration, "repos"):
        hooks += _rows(table_at(repository), "hooks")
    tasks = {}
    for hook in map(table_at, hooks):
        name = str(hook.get("id", ""))
        entry = hook.get("entry") or HOOKS.get(name, name)
        arguments = shlex.join(strings(hook.get("args")))
        tasks[name] = [f"{entry} {arguments}"]
    return tasks


def nox(directory: Path) -> Tasks:
    tasks: Tasks = {}
    for name, words in _literal_runs(directory / "noxfile.py"):
        installed = f".nox/{name}/bin/{words[0]}"
        if (directory / installed).is_file():
            words[0] = installed
        tasks.setdefault(name, []).append(shlex.join(words))
    return tasks


def invoke(directory: Path) -> Tasks:
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
