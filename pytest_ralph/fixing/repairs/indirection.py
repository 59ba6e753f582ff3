"""Room fixing: the program calls behind a Verify command, seen through launchers, package scripts and make.

`cd web && npm run lint` is a step `eslint .` in `web/`, to be run again as `npx --no-install eslint …`.
Only what is written in the project's own files and in the command is followed; nothing is run to find out.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_ralph.shell.lexer import Simple, Word, simple_commands

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_DEEPEST = 4
_MOST = 200
_LARGEST = 1_000_000
_LONGEST_LINE = 10_000


@dataclass(frozen=True)
class Step:
    """One call of a program. `launcher` is what makes it run the same way again, as `("npx",)` or `("uv", "run")`."""

    program: str
    arguments: tuple[Word, ...]
    launcher: tuple[str, ...]
    directory: Path
    env: tuple[tuple[str, str], ...] = ()
    # The `bin` directory of an environment that was activated before it.
    activated: Path | None = None

    @property
    def name(self) -> str:
        """The bare name of the program: no path, no version, no suffix."""
        name = re.sub(r"(?<=.)@[\w.^~-]+$", "", self.program)
        return re.sub(r"(?i)\.(?:exe|cmd|phar|py)$", "", name.rpartition("/")[2])

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.arguments)


@dataclass(frozen=True)
class _Place:
    root: Path
    directory: Path
    launcher: tuple[str, ...] = ()
    activated: Path | None = None
    depth: int = 0

    def inside(self, name: str) -> Path | None:
        try:
            directory = (self.directory / name).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            return None
        return directory if directory.is_relative_to(self.root) and directory.is_dir() else None


def steps(command: str, root: Path, directory: Path | None = None) -> tuple[Step, ...]:
    found: list[Step] = []
    for step in _read(command, _Place(root, directory or root)):
        found.append(step)
        if len(found) == _MOST:
            break
    return tuple(found)


def _read(source: str, place: _Place) -> Iterator[Step]:
    if place.depth > _DEEPEST:
        return
    for simple in simple_commands(source[:_LARGEST]):
        words = simple.words
        if words[0].text in ("cd", "pushd"):
            target = place.inside(words[1].text) if len(words) == 2 and words[1].literal else None
            if target is None:
                return
            place = replace(place, directory=target)
        elif (
            words[0].text in ("source", ".")
            and len(words) > 1
            and words[1].text.endswith("/bin/activate")
        ):
            place = replace(place, activated=(place.directory / words[1].text).parent)
        else:
            yield from _unwrapped(simple, words, place)


def _unwrapped(simple: Simple, words: tuple[Word, ...], place: _Place) -> Iterator[Step]:
    words = _without_wrappers(words)
    if not words or not words[0].literal:
        return
    deeper = replace(place, depth=place.depth + 1)
    if (script := _inline_script(words)) is not None:
        yield from _read(script, deeper)
    elif (delegated := _delegated(words, deeper)) is not None:
        for source, where in delegated:
            yield from _read(source, where)
    elif (step := _launched(words, place)) is not None:
        env = tuple((name, word.text) for name, word in simple.assignments if word.literal)
        yield replace(step, env=env)


# Programs that only run another one. Their options that take a value are named.
_WRAPPERS = {
    "env": ("-u", "-C"),
    "time": (),
    "command": (),
    "exec": (),
    "nohup": (),
    "nice": ("-n",),
    "stdbuf": (),
    "timeout": ("-s", "-k", "--signal", "--kill-after"),
    "xargs": ("-n", "-P", "-I", "-L", "-d", "-s", "-a"),
    "winpty": (),
}
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?")


def _without_wrappers(words: tuple[Word, ...]) -> tuple[Word, ...]:
    while words and words[0].text in _WRAPPERS:
        wrapper, words = words[0].text, _past_options(words[1:], _WRAPPERS[words[0].text])
        while words and wrapper == "env" and re.match(r"\w+=", words[0].text):
            words = words[1:]
        if words and wrapper == "timeout" and _DURATION.fullmatch(words[0].text):
            words = words[1:]
    texts = [word.text for word in words]
    if texts[:1] == ["find"] and "-exec" in texts:
        return words[texts.index("-exec") + 1 :]
    return words


def _past_options(words: tuple[Word, ...], valued: tuple[str, ...]) -> tuple[Word, ...]:
    while words and words[0].text.startswith("-"):
        first = words[0].text
        words = words[2:] if first in valued else words[1:]
        if first == "--":
            break
    return words


def _inline_script(words: tuple[Word, ...]) -> str | None:
    """The script of `sh -c '…'`."""
    if words[0].text.rpartition("/")[2] not in ("sh", "bash", "dash", "zsh") or len(words) < 3:
        return None
    flags, script = words[1], words[2]
    return script.text if re.fullmatch(r"-[a-z]*c", flags.text) and script.literal else None


# Launchers: leading words, options with a value, and what runs the same program again without asking or downloading.
_LAUNCHERS: tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    (("npx",), ("-p", "--package"), ("npx", "--no-install")),
    (("npm", "exec"), ("-p", "--package"), ("npx", "--no-install")),
    (("pnpm", "exec"), (), ("pnpm", "exec")),
    (("pnpm", "dlx"), (), ("pnpm", "dlx")),
    (("pnpm",), (), ("pnpm", "exec")),
    (("pnpx",), (), ("pnpx",)),
    (("yarn", "exec"), (), ("yarn", "exec")),
    (("yarn", "dlx"), (), ("yarn", "dlx")),
    (("yarn", "run"), (), ("yarn", "run")),
    (("yarn",), (), ("yarn", "run")),
    (("bunx",), (), ("bunx",)),
    (("bun", "x"), (), ("bunx",)),
    (("bun", "run"), (), ("bun", "run")),
    (
        ("uv", "run"),
        ("--with", "-p", "--python", "--group", "--extra", "--package", "--only-group"),
        ("uv", "run"),
    ),
    (("uvx",), ("--from", "--with", "-p", "--python"), ("uvx",)),
    (("uv", "tool", "run"), ("--from", "--with", "-p", "--python"), ("uvx",)),
    (("pipx", "run"), ("--spec",), ("pipx", "run")),
    (("poetry", "run"), (), ("poetry", "run")),
    (("pdm", "run"), (), ("pdm", "run")),
    (("pipenv", "run"), (), ("pipenv", "run")),
    (("hatch", "run"), (), ("hatch", "run")),
    (("rye", "run"), (), ("rye", "run")),
    (("pixi", "run"), ("-e",), ("pixi", "run")),
    (("bundle", "exec"), (), ("bundle", "exec")),
    (("composer", "exec"), (), ("composer", "exec", "--")),
    (("mise", "exec"), (), ("mise", "exec", "--")),
    (("dotnet", "tool", "run"), (), ("dotnet", "tool", "run")),
)
_PYTHON = re.compile(r"(?:.*/)?(?:python|pypy)[\d.]*(?:\.exe)?")


def _launched(words: tuple[Word, ...], place: _Place) -> Step | None:
    texts = tuple(word.text for word in words)
    launcher, rest = place.launcher, words
    for leading, valued, again in _LAUNCHERS:
        if texts[: len(leading)] == leading and len(texts) > len(leading):
            launcher, rest = again, _past_options(words[len(leading) :], valued)
            break
    if (
        rest
        and _PYTHON.fullmatch(rest[0].text)
        and [word.text for word in rest[1:2]] == ["-m"]
        and len(rest) > 2
    ):
        launcher, rest = (*launcher, rest[0].text, "-m"), rest[2:]
    if not rest or not rest[0].literal:
        return None
    return Step(rest[0].text, rest[1:], launcher, place.directory, (), place.activated)


# Delegates: a word of the command names lines in a file of the project.

_BUILT_IN = frozenset(
    {
        "install",
        "i",
        "ci",
        "add",
        "remove",
        "exec",
        "dlx",
        "x",
        "init",
        "audit",
        "why",
        "list",
        "ls",
        "link",
        "publish",
    }
)


def _delegated(words: tuple[Word, ...], place: _Place) -> list[tuple[str, _Place]] | None:
    """The source lines that `npm run x`, `make x` or `composer x` stand for, with where they run. None: not one."""
    program = words[0].text.rpartition("/")[2]
    texts = [word.text for word in words[1:] if word.literal]
    if program in ("npm", "pnpm", "yarn", "bun"):
        return _package_script(program, texts, place)
    if program in ("make", "gmake"):
        return _make_recipe(texts, place)
    if program == "composer":
        return _composer_script(texts, place)
    return None


def _into(
    options: tuple[str, ...], texts: list[str], place: _Place
) -> tuple[list[str], _Place] | None:
    """`texts` without `-C dir` and the like, and the place that names."""
    rest: list[str] = []
    given = iter(texts)
    for text in given:
        name, equals, value = text.partition("=")
        if name in options:
            target = place.inside(value if equals else next(given, ""))
            if target is None:
                return None
            place = replace(place, directory=target)
        else:
            rest.append(text)
    return rest, place


_BINARIES = {
    "npm": ("npx", "--no-install"),
    "pnpm": ("pnpm", "exec"),
    "yarn": ("yarn", "run"),
    "bun": ("bunx",),
}


def _package_script(
    manager: str, texts: list[str], place: _Place
) -> list[tuple[str, _Place]] | None:
    located = _into(("-C", "--dir", "--prefix", "--cwd"), texts, place)
    if located is None:
        return []
    texts, place = located
    names = [text for text in texts if not text.startswith("-")]
    if names[:1] in (["run"], ["run-script"]):
        names = names[1:]
    elif manager in ("npm", "bun") and names[:1] not in (["test"], ["t"], ["start"]):
        return None
    scripts = _table(place.directory / "package.json", "scripts")
    name = "test" if names[:1] == ["t"] else next(iter(names), "")
    if name not in scripts or name in _BUILT_IN:
        return None
    place = replace(place, launcher=_BINARIES[manager])
    return [(scripts[key], place) for key in (f"pre{name}", name) if key in scripts]


def _composer_script(texts: list[str], place: _Place) -> list[tuple[str, _Place]] | None:
    names = [
        text for text in texts if not text.startswith("-") and text not in ("run", "run-script")
    ]
    script = _table(place.directory / "composer.json", "scripts").get(next(iter(names), ""))
    return (
        None if script is None else [(script, replace(place, launcher=("composer", "exec", "--")))]
    )


def _table(path: Path, key: str) -> dict[str, str]:
    """The names and texts below `key` of a JSON file; a list of texts is joined by new lines."""
    try:
        found = json.loads(path.read_bytes()[:_LARGEST]).get(key, {})
        items = found.items()
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}
    return {
        str(name): "\n".join(value) if isinstance(value, list) else str(value)
        for name, value in items
    }


_ASSIGNED = re.compile(r"^([\w.-]+)\s*[:?]?=\s*(.*?)\s*$")
_RULE = re.compile(r"^([^\s#=:][^#=:]*):(?![=:])([^=#;]*)")


def _make_recipe(texts: list[str], place: _Place) -> list[tuple[str, _Place]] | None:
    located = _into(("-C", "--directory"), texts, place)
    if located is None:
        return []
    texts, place = located
    makefile = next(
        (
            path
            for name in ("GNUmakefile", "makefile", "Makefile")
            if (path := place.directory / name).is_file()
        ),
        None,
    )
    if makefile is None:
        return None
    rules, variables = _rules(makefile.read_text("utf-8", "replace")[:_LARGEST])
    targets = [text for text in texts if not text.startswith("-") and "=" not in text] or [*rules][
        :1
    ]
    lines = [line for target in targets for line in _recipe(target, rules, set())]
    return [(_with_variables(line, variables), place) for line in lines]


def _rules(text: str) -> tuple[dict[str, tuple[list[str], list[str]]], dict[str, str]]:
    """Target → (prerequisites, recipe lines), and the plain variables."""
    rules: dict[str, tuple[list[str], list[str]]] = {}
    variables: dict[str, str] = {}
    recipe: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            recipe.append(line.strip().lstrip("@-+"))
        elif assigned := _ASSIGNED.match(line):
            variables.setdefault(assigned[1], assigned[2])
        elif rule := _RULE.match(line):
            recipe = []
            for target in rule[1].split():
                if not target.startswith("."):
                    rules.setdefault(target, (rule[2].split(), recipe))
    return rules, variables


def _recipe(
    target: str, rules: dict[str, tuple[list[str], list[str]]], seen: set[str]
) -> Iterator[str]:
    if target not in rules or target in seen or len(seen) >= _MOST:
        return
    seen.add(target)
    prerequisites, lines = rules[target]
    for prerequisite in prerequisites:
        yield from _recipe(prerequisite, rules, seen)
    yield from lines


def _with_variables(line: str, variables: dict[str, str]) -> str:
    """`$(X)` replaced by a plain value; others stay as `$X`, which no step takes literally."""
    for _ in range(3):
        line = re.sub(
            r"\$[({]([\w.-]+)[)}]", lambda match: variables.get(match[1], f"${match[1]}"), line
        )
        line = line[:_LONGEST_LINE]
    return line.replace("$$", "$")
