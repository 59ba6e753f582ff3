"""The command lines behind task runners: what `just lint`, `npm run lint` or `./lint.sh` runs.

Only files of the project are read; nothing is run or imported.
"""

from __future__ import annotations

import ast
import configparser
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ralph.fixing.repairs.base import own_file
from pytest_ralph.fixing.repairs.declared import read_json, read_text, read_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

SHELLS = ("sh", "bash", "dash", "zsh")
SHELL_SCRIPT = re.compile(r"#!\s*\S*(?:/|\s)(?:ba|da|z|k)?sh\b")
MAX_PACKAGES = 50
MAX_RECIPES = 200

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


class Recipe(NamedTuple):
    """The command lines of one task, and the tasks that run before it."""

    lines: Sequence[str]
    needs: Sequence[str] = ()


@dataclass(frozen=True)
class TaskRunner:
    """How to find what a task runner runs.

    read: Returns the recipes of a directory by the names of their tasks.
    launcher: The words that start a program as the runner does; `{task}` is the name of the task.
    options: The options that name tasks; without any, tasks are named by plain words.
    all_tasks: Whether a call without names runs all tasks, and not only the first.
    """

    read: Callable[[Path], dict[str, Recipe]]
    launcher: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    all_tasks: bool = False

    def lines(self, arguments: Sequence[str], directory: Path) -> Iterator[RunnerLine]:
        """Yield what a call of the runner with these arguments runs in `directory`."""
        recipes = self.read(directory)
        wanted = self._wanted(arguments)
        if not wanted:
            wanted = list(recipes) if self.all_tasks else list(recipes)[:1]
        for name in _in_order(wanted, recipes):
            launcher = tuple(word.replace("{task}", name) for word in self.launcher)
            for line in recipes[name].lines:
                yield RunnerLine(line, directory, launcher)

    def _wanted(self, arguments: Sequence[str]) -> list[str]:
        if self.options:
            return _option_values(arguments, self.options)
        plain = [word for word in arguments if not word.startswith("-") and "=" not in word]
        return [word for word in plain if word not in NOT_A_TASK]


def _in_order(wanted: Sequence[str], recipes: dict[str, Recipe]) -> list[str]:
    """Return the names of the recipes that run, each once, behind those that it needs."""
    ordered: dict[str, None] = {}
    begun: set[str] = set()

    def add(name: str) -> None:
        if name in begun or name not in recipes or len(begun) >= MAX_RECIPES:
            return
        begun.add(name)
        for needed in recipes[name].needs:
            add(needed)
        ordered[name] = None

    for name in wanted:
        add(name)
    return list(ordered)


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
    is_script = name.endswith((".sh", ".bash")) or SHELL_SCRIPT.match(text) is not None
    return text if is_script else None


def _option_values(arguments: Sequence[str], options: Sequence[str]) -> list[str]:
    """Return the values of an option; each may be a list with commas."""
    values = []
    for at, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name in options:
            text = value if equals else "".join(arguments[at + 1 : at + 2])
            values += text.split(",")
    return values


# Files with recipes: make, just

RULE = re.compile(r"^([^\s#=:][^#=:]*):(?![=:])([^=#;]*)")
JUST_RULE = re.compile(r"^@?([A-Za-z_][\w-]*)(?:\s[^:=]*)?:(?!=)\s*([^#]*)")
ASSIGNMENT = re.compile(r"^([\w.-]+)\s*[:?]?=\s*(.*?)\s*$")
VARIABLE = re.compile(r"\$[({]([\w.-]+)[)}]")


def _first_text(directory: Path, *names: str) -> str:
    """Return the text of the first of these files that is there."""
    for name in names:
        text = read_text(directory / name)
        if text:
            return text
    return ""


def _recipes(text: str, rule: re.Pattern[str]) -> dict[str, Recipe]:
    """Return the recipes of a file in which indented lines follow a line that names them."""
    recipes: dict[str, Recipe] = {}
    body: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        named = rule.match(line)
        if line.startswith((" ", "\t")):
            body.append(line.strip().lstrip("@-+"))
        elif named:
            body = []
            needs = [word.strip("()&") for word in named[2].split()]
            for name in named[1].split():
                recipes.setdefault(name, Recipe(body, needs))
    return recipes


def _make(directory: Path) -> dict[str, Recipe]:
    text = _first_text(directory, "GNUmakefile", "makefile", "Makefile")
    assigned = map(ASSIGNMENT.match, text.splitlines())
    variables = {match[1]: match[2] for match in assigned if match}
    # An unknown variable stays `$X`, which is not a literal word.
    for _ in range(3):
        text = VARIABLE.sub(lambda match: variables.get(match[1], f"${match[1]}"), text)
    recipes = _recipes(text.replace("$$", "$"), RULE)
    return {name: recipe for name, recipe in recipes.items() if not name.startswith(".")}


def _just(directory: Path) -> dict[str, Recipe]:
    return _recipes(_first_text(directory, "justfile", "Justfile", ".justfile"), JUST_RULE)


# Tables of scripts: npm, composer, turbo, task, poe


def _npm(directory: Path) -> dict[str, Recipe]:
    scripts = _mapping(read_json(directory / "package.json").get("scripts"))
    recipes = {name: Recipe([str(script)], [f"pre{name}"]) for name, script in scripts.items()}
    if "test" in recipes:
        recipes["t"] = recipes["test"]
    return recipes


def _composer(directory: Path) -> dict[str, Recipe]:
    scripts = _mapping(read_json(directory / "composer.json").get("scripts"))
    return {name: Recipe(_texts(script)) for name, script in scripts.items()}


def _turbo(directory: Path) -> dict[str, Recipe]:
    lines: dict[str, list[str]] = {}
    for manifest in _packages(directory)[:MAX_PACKAGES]:
        where = shlex.quote(manifest.parent.relative_to(directory).as_posix())
        for name, recipe in _npm(manifest.parent).items():
            lines.setdefault(name, []).append(f"(cd {where} && {recipe.lines[0]})")
    return {name: Recipe(scripts) for name, scripts in lines.items()}


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


def _task(directory: Path) -> dict[str, Recipe]:
    names = ("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "Taskfile.dist.yml")
    tables = [_read_yaml(directory / name) for name in names]
    tasks = _mapping(next((table["tasks"] for table in tables if "tasks" in table), {}))
    recipes = {}
    # A call without names runs the task `default`.
    for name in sorted(tasks, key=lambda name: name != "default"):
        task = tasks[name] if isinstance(tasks[name], dict) else {"cmds": tasks[name]}
        commands = task.get("cmds") or task.get("cmd") or []
        commands = commands if isinstance(commands, list) else [commands]
        needs = [*_texts(task.get("deps"))]
        needs += [str(command["task"]) for command in commands if "task" in _mapping(command)]
        lines = [str(_mapping(command).get("cmd", command)) for command in commands]
        recipes[name] = Recipe(lines, needs)
    return recipes


def _poe(directory: Path) -> dict[str, Recipe]:
    tool = _mapping(read_toml(directory / "pyproject.toml").get("tool"))
    recipes = {}
    for name, value in _mapping(_mapping(tool.get("poe")).get("tasks")).items():
        table = _mapping(value)
        task = table.get("cmd") or table.get("shell") or table.get("sequence") or value
        if isinstance(task, str):
            recipes[name] = Recipe([task])
        else:
            recipes[name] = Recipe([], _texts(task))
    return recipes


# Runners with environments of their own


def _pre_commit(directory: Path) -> dict[str, Recipe]:
    repositories = _read_yaml(directory / ".pre-commit-config.yaml").get("repos") or []
    recipes = {}
    for hook in [hook for one in repositories for hook in _mapping(one).get("hooks") or []]:
        name = str(_mapping(hook).get("id", ""))
        entry = str(hook.get("entry") or HOOKS.get(name, name))
        recipes[name] = Recipe([f"{entry} {shlex.join(_texts(hook.get('args')))}"])
    return recipes


def _tox(directory: Path) -> dict[str, Recipe]:
    table = _mapping(_mapping(read_toml(directory / "pyproject.toml").get("tool")).get("tox"))
    environments = {"py": table.get("env_run_base"), **_mapping(table.get("env"))}
    recipes = {}
    for name, environment in environments.items():
        commands = _mapping(environment).get("commands") or []
        recipes[name] = Recipe([shlex.join(_texts(command)) for command in commands])
    ini = _first_text(directory, "tox.ini", "setup.cfg") or str(table.get("legacy_tox_ini", ""))
    configuration = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        configuration.read_string(ini)
    except configparser.Error:
        return recipes
    for section in configuration.sections():
        kind, _, name = section.partition(":")
        if kind == "testenv":
            commands = configuration.get(section, "commands", fallback="").replace("\\\n", " ")
            recipes[name or "py"] = Recipe([_tox_line(line) for line in commands.splitlines()])
    return recipes


def _tox_line(line: str) -> str:
    return line.strip().lstrip("-! ").replace("{toxinidir}", ".").replace("{posargs}", "")


def _nox(directory: Path) -> dict[str, Recipe]:
    recipes = {}
    for name, calls in _literal_runs(directory / "noxfile.py").items():
        lines = []
        for words in calls:
            installed = f".nox/{name}/bin/{words[0]}"
            program = installed if (directory / installed).is_file() else words[0]
            lines.append(shlex.join([program, *words[1:]]))
        recipes[name] = Recipe(lines)
    return recipes


def _invoke(directory: Path) -> dict[str, Recipe]:
    runs = _literal_runs(directory / "tasks.py")
    return {
        name.replace("_", "-"): Recipe([words[0] for words in calls])
        for name, calls in runs.items()
    }


def _literal_runs(file: Path) -> dict[str, list[list[str]]]:
    """Return the words of calls like `session.run("ruff", "check")`, by the function they are in.

    Calls whose words are computed are left out.
    """
    try:
        module = ast.parse(read_text(file))
    except (SyntaxError, ValueError, RecursionError):
        return {}
    runs: dict[str, list[list[str]]] = {}
    for function in module.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
        runs[function.name] = [
            _texts([getattr(word, "value", None) for word in call.args])
            for call in calls
            if getattr(call.func, "attr", "") == "run" and call.args
        ]
    return {name: [words for words in calls if words] for name, calls in runs.items()}


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


def _texts(value: object) -> list[str]:
    """Return the texts of a list, or one text as a list."""
    values = value if isinstance(value, list) else [value]
    return [text for text in values if isinstance(text, str)]


RUNNERS = {
    "npm": TaskRunner(_npm, ("npx", "--no-install")),
    "pnpm": TaskRunner(_npm, ("pnpm", "exec")),
    "yarn": TaskRunner(_npm, ("yarn", "run")),
    "bun": TaskRunner(_npm, ("bunx",)),
    "composer": TaskRunner(_composer, ("composer", "exec", "--")),
    "turbo": TaskRunner(_turbo, ("npx", "--no-install")),
    "make": TaskRunner(_make),
    "gmake": TaskRunner(_make),
    "just": TaskRunner(_just),
    "task": TaskRunner(_task),
    "go-task": TaskRunner(_task),
    "poe": TaskRunner(_poe),
    "pre-commit": TaskRunner(_pre_commit, all_tasks=True),
    "prek": TaskRunner(_pre_commit, all_tasks=True),
    "tox": TaskRunner(_tox, ("tox", "exec", "-q", "-e", "{task}", "--"), ("-e", "--env")),
    "nox": TaskRunner(_nox, options=("-s", "--session", "--sessions", "-e"), all_tasks=True),
    "invoke": TaskRunner(_invoke),
    "inv": TaskRunner(_invoke),
}
