"""The calls of programs behind a Verify command, seen through scripts and task runners.

`cd web && npm run lint` is the call `eslint .` in `web/`, to be run again as
`npx --no-install eslint …`. Only the command and the project's own files are read; nothing is run.
"""

from __future__ import annotations

import json
import re
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

_DEEPEST = 4
_MOST = 200
_LARGEST = 1_000_000
_LONGEST_LINE = 10_000
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

    @property
    def texts(self) -> tuple[str, ...]:
        """The arguments without what they say about expansions."""
        return tuple(word.text for word in self.arguments)

    def fixing_argv(self, mode: FixMode) -> tuple[str, ...] | None:
        """Return the words of the fixing call, to which the files are still to be added.

        All paths and most options of the failing call are dropped. None if the value of an option
        that matters is only known to the shell.
        """
        kept: list[Word] = []
        words = iter(self.arguments)
        for word in words:
            name, equals, _ = word.text.partition("=")
            if name in mode.keep:
                kept.append(word)
                if not equals:
                    kept.append(next(words, word))
            elif word.text in mode.flags:
                kept.append(word)
        if not all(word.literal for word in kept):
            return None

        program = self.program
        if mode.instead:
            path, slash, _ = self.program.rpartition("/")
            program = f"{path}{slash}{mode.instead}"
        return (*self.launcher, program, *mode.fix, *(word.text for word in kept))


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
        try:
            directory = (self.directory / name).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            return None
        return directory if directory.is_relative_to(self.root) and directory.is_dir() else None


def steps(command: str, root: Path, directory: Path | None = None) -> tuple[Step, ...]:
    """Return the calls of programs behind a command line, with how and where they run."""
    return tuple(islice(_read(command, _Place(root, directory or root)), _MOST))


def _read(source: str, place: _Place) -> Iterator[Step]:
    if place.depth > _DEEPEST:
        return
    activated = place.activated
    stages = Command.parse(source).stages
    for number, stage in enumerate(stages):
        if stage.program in ("cd", "pushd"):
            continue
        if stage.program in ("source", ".") and stage.executable == stage.program:
            activated = _activated(stage, place) or activated
            continue
        # Behind a `cd` that leads out of the project or nowhere, nothing is known.
        target = None if stage.directory is None else place.inside(stage.directory)
        if target is None:
            return
        masked = place.masked or _is_masked(stages[number:])
        here = replace(place, directory=target, activated=activated, masked=masked)
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
    """Yield the call of a stage, or the calls of the script or recipe that it runs."""
    if not stage.words[0].literal or "-exec" in stage.arguments:
        return
    deeper = replace(place, depth=place.depth + 1)
    delegated = _delegated(stage, deeper)
    if delegated is not None:
        for source, where in delegated:
            yield from _read(source, where)
        return
    yield from _behind_runner(stage, deeper)
    env = tuple((name, word.text) for name, word in stage.assignments if word.literal)
    # A repair never runs with the rights of another user, and without them it may do harm.
    as_other_user = not _OTHER_USER.isdisjoint(stage.launchers)
    yield Step(
        program=stage.executable,
        arguments=stage.words[1:],
        launcher=stage.again or place.launcher,
        directory=place.directory,
        env=env,
        activated=place.activated,
        fix_mode=None if as_other_user or place.masked else stage.fix_mode,
        nested=stage.nested,
    )


def _behind_runner(stage: Stage, place: _Place) -> Iterator[Step]:
    """Yield the calls behind a task runner or a script of the project."""
    for line in lines_behind(stage.executable, stage.arguments, place.directory, place.root):
        directory = place.inside(line.directory)
        if directory is not None:
            launcher = line.launcher or place.launcher
            yield from _read(line.text, replace(place, directory=directory, launcher=launcher))


# Calls that name lines in a file of the project.

_BUILT_IN = frozenset(
    "install i ci add remove exec dlx x init audit why list ls link publish".split()
)


def _delegated(stage: Stage, place: _Place) -> list[tuple[str, _Place]] | None:
    """Return the lines that `npm run x`, `make x` or `composer x` stand for, and where they run.

    None if the stage is no such call.
    """
    texts = [word.text for word in stage.words[1:] if word.literal]
    if stage.program in ("npm", "pnpm", "yarn", "bun"):
        return _package_script(stage.program, texts, place)
    if stage.program in ("make", "gmake"):
        return _make_recipe(texts, place)
    if stage.program == "composer":
        return _composer_script(texts, place)
    return None


def _into(
    options: tuple[str, ...], texts: list[str], place: _Place
) -> tuple[list[str], _Place] | None:
    """Return `texts` without `-C dir` and the like, and the place that this option names."""
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
    """Return the names and texts below `key` of a JSON file; lists are joined by line breaks."""
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
    """Return the prerequisites and recipe lines by target, and the plain variables."""
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
    """Replace `$(X)` by its value; an unknown one stays `$X`, which is not a literal word."""
    for _ in range(3):
        line = re.sub(
            r"\$[({]([\w.-]+)[)}]", lambda match: variables.get(match[1], f"${match[1]}"), line
        )
        line = line[:_LONGEST_LINE]
    return line.replace("$$", "$")
