"""The command lines behind task runners: what `just lint`, `tox -e lint` or `./lint.sh` runs.

Only files of the project are read; nothing is run or imported.
"""

from __future__ import annotations

import ast
import configparser
import re
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ralph.fixing.repairs.base import own_file
from pytest_ralph.fixing.repairs.declared import read_json, read_text, read_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

SHELLS = ("sh", "bash", "dash", "zsh")
SHELL_SCRIPT = re.compile(r"#!\s*\S*(?:/|\s)(?:ba|da|z|k)?sh\b")
JUST_RECIPE = re.compile(r"^@?([A-Za-z_][\w-]*)(?:\s[^:=]*)?:(?!=)\s*([^#]*)")
MAX_PACKAGES = 50

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
    """A command line that a runner runs, below `directory`, with the words that start it again."""

    text: str
    launcher: tuple[str, ...] = ()
    directory: str = ""


def lines_behind(
    program: str, arguments: Sequence[str], directory: Path, root: Path
) -> list[RunnerLine]:
    """Return what a call of a task runner or of a script below `root` runs."""
    script = _shell_script(program, arguments, directory, root)
    if script is not None:
        return [RunnerLine(script)]
    reader = READERS.get(program.rpartition("/")[2])
    return [] if reader is None else list(reader(list(arguments), directory))


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
    is_script = name.endswith((".sh", ".bash")) or SHELL_SCRIPT.match(text) is not None
    return text if is_script else None


def _operands(arguments: Sequence[str]) -> list[str]:
    return [word for word in arguments if not word.startswith("-") and "=" not in word]


def _option_values(arguments: Sequence[str], *options: str) -> list[str]:
    """Return the values of an option; each may be a list with commas."""
    values = []
    for at, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name in options:
            text = value if equals else "".join(arguments[at + 1 : at + 2])
            values += text.split(",")
    return values


# just, task, poe, turbo


def _just(arguments: list[str], directory: Path) -> Iterator[RunnerLine]:
    text = ""
    for name in ("justfile", "Justfile", ".justfile"):
        text = text or read_text(directory / name)
    recipes: dict[str, tuple[list[str], list[str]]] = {}
    body: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        recipe = JUST_RECIPE.match(line)
        if recipe is not None:
            body = []
            recipes[recipe[1]] = (recipe[2].split(), body)
        elif line.startswith((" ", "\t")):
            body.append(line.strip().lstrip("@-"))

    waiting = _operands(arguments) or list(recipes)[:1]
    seen = set()
    while waiting:
        name = waiting.pop(0)
        if name in seen or name not in recipes:
            continue
        seen.add(name)
        needed, lines = recipes[name]
        waiting += [word.strip("()&") for word in needed]
        for line in lines:
            yield RunnerLine(line)


def _task(arguments: list[str], directory: Path) -> Iterator[RunnerLine]:
    document: dict[str, Any] = {}
    for name in ("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "Taskfile.dist.yml"):
        document = document or _read_yaml(directory / name)
    tasks = _mapping(document.get("tasks"))
    waiting: list[Any] = [*(_operands(arguments) or ["default"])]
    seen = set()
    while waiting:
        name = str(waiting.pop(0))
        if name in seen or name not in tasks:
            continue
        seen.add(name)
        waiting += _mapping(tasks[name]).get("deps") or []
        for command in _task_commands(tasks[name]):
            if isinstance(command, str):
                yield RunnerLine(command)
            elif isinstance(command, dict):
                waiting.append(command.get("task", ""))
                yield RunnerLine(str(command.get("cmd", "")))


def _task_commands(task: Any) -> list[Any]:
    """The commands of one task of a Taskfile, which may be written without the mapping."""
    commands = task
    if isinstance(task, dict):
        commands = task.get("cmds") or task.get("cmd") or []
    return commands if isinstance(commands, list) else [commands]


def _poe(arguments: list[str], directory: Path) -> Iterator[RunnerLine]:
    tool = _mapping(read_toml(directory / "pyproject.toml").get("tool"))
    tasks = _mapping(_mapping(tool.get("poe")).get("tasks"))
    waiting = _operands(arguments)[:1]
    seen = set()
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        task = tasks.get(name)
        if isinstance(task, dict):
            task = task.get("cmd") or task.get("shell") or task.get("sequence")
        if isinstance(task, str):
            yield RunnerLine(task)
        elif isinstance(task, list):
            waiting += [part for part in task if isinstance(part, str)]


def _turbo(arguments: list[str], directory: Path) -> Iterator[RunnerLine]:
    names = [word for word in _operands(arguments) if word != "run"]
    for manifest in _packages(directory)[:MAX_PACKAGES]:
        scripts = _mapping(read_json(manifest).get("scripts"))
        where = manifest.parent.relative_to(directory).as_posix()
        for name in names:
            if name in scripts:
                yield RunnerLine(str(scripts[name]), ("npx", "--no-install"), where)


def _packages(directory: Path) -> list[Path]:
    """Return the manifests of all workspaces; without workspaces, that of the project."""
    manifest = directory / "package.json"
    workspaces = read_json(manifest).get("workspaces") or []
    if isinstance(workspaces, dict):
        workspaces = workspaces.get("packages") or []
    workspaces += _read_yaml(directory / "pnpm-workspace.yaml").get("packages") or []
    if not workspaces:
        return [manifest]
    patterns = [str(pattern).strip("/") for pattern in workspaces]
    return [file for pattern in patterns for file in directory.glob(f"{pattern}/package.json")]


# Runners with environments of their own


def _pre_commit(arguments: list[str], directory: Path) -> Iterator[RunnerLine]:
    wanted = [word for word in _operands(arguments) if word != "run"]
    repositories = _read_yaml(directory / ".pre-commit-config.yaml").get("repos") or []
    hooks = [hook for one in repositories for hook in _mapping(one).get("hooks") or []]
    for hook in map(_mapping, hooks):
        name = str(hook.get("id", ""))
        if wanted and name not in wanted:
            continue
        entry = str(hook.get("entry") or HOOKS.get(name, name))
        options = [str(word) for word in hook.get("args") or []]
        yield RunnerLine(f"{entry} {shlex.join(options)}")


def _tox(arguments: list[str], directory: Path) -> Iterator[RunnerLine]:
    configuration = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        configuration.read_string(read_text(directory / "tox.ini"))
    except configparser.Error:
        return
    for name in _option_values(arguments, "-e", "--env") or ["py"]:
        sections = (f"testenv:{name}", "testenv")
        section = next((one for one in sections if configuration.has_section(one)), "")
        if not section:
            continue
        commands = configuration.get(section, "commands", fallback="")
        for line in commands.replace("\\\n", " ").splitlines():
            text = line.strip().lstrip("-! ").replace("{toxinidir}", ".").replace("{posargs}", "")
            yield RunnerLine(text, ("tox", "exec", "-q", "-e", name, "--"))


def _nox(arguments: list[str], directory: Path) -> Iterator[RunnerLine]:
    wanted = _option_values(arguments, "-s", "--session", "--sessions", "-e")
    for function in _functions(directory / "noxfile.py"):
        name = function.name
        if wanted and name not in wanted:
            continue
        for words in _literal_calls(function, "run"):
            installed = f".nox/{name}/bin/{words[0]}"
            program = installed if (directory / installed).is_file() else words[0]
            yield RunnerLine(shlex.join([program, *words[1:]]))


def _invoke(arguments: list[str], directory: Path) -> Iterator[RunnerLine]:
    wanted = {word.replace("-", "_") for word in _operands(arguments)}
    for function in _functions(directory / "tasks.py"):
        if function.name in wanted:
            for words in _literal_calls(function, "run"):
                yield RunnerLine(words[0])


def _functions(file: Path) -> list[ast.FunctionDef]:
    try:
        module = ast.parse(read_text(file))
    except (SyntaxError, ValueError, RecursionError):
        return []
    return [node for node in module.body if isinstance(node, ast.FunctionDef)]


def _literal_calls(function: ast.FunctionDef, method: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of calls like `session.run("ruff", "check")` that are not computed."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        constants = [one.value for one in node.args if isinstance(one, ast.Constant)]
        words = tuple(word for word in constants if isinstance(word, str))
        if node.func.attr == method and words:
            yield words


def _read_yaml(file: Path) -> dict[str, Any]:
    text = read_text(file)
    if not text:
        return {}
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return _mapping(YAML(typ="safe", pure=True).load(text))
    except (YAMLError, ValueError, RecursionError):
        return {}


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


READERS: dict[str, Callable[[list[str], Path], Iterator[RunnerLine]]] = {
    "just": _just,
    "task": _task,
    "go-task": _task,
    "poe": _poe,
    "turbo": _turbo,
    "pre-commit": _pre_commit,
    "prek": _pre_commit,
    "tox": _tox,
    "nox": _nox,
    "invoke": _invoke,
    "inv": _invoke,
}
