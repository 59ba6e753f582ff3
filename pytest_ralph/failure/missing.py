"""Absence: a line that says something is not there, about a thing the command itself names or a build starts from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.finding import Finding
from pytest_ralph.shell.tools import ORCHESTRATORS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ralph.failure.context import Scene
    from pytest_ralph.shell.steps import Step

GONE = re.compile(
    r"not (?:be )?(?:found|exist|located|opened)\b|no such file|no module named|does(?: not|n't) (?:exist|appear)"
    r"|is not a (?:file|directory)|(?:is|was) missing\b"
    r"|(?:cannot|can't|could(?: not|n't)|unable to|failed to) (?:find|open|read|access|stat|locate|load)\b(?! name)"
    r"|\bno \S+ (?:file )?(?:was |were )?found|did not match any|not a valid file|no such (?:path|directory)",
    re.IGNORECASE,
)
# The one that ran the command repeats its name.
STOPPED = re.compile(r"^\w+(?:\[\d+\])?: \*\*\* ")
# An argument that is no name of anything.
VALUE = re.compile(r"[.*/\s\d]+|.*[\s;=$<>(){}].*")
# What a build starts from; without it nothing was made yet.
MANIFESTS = re.compile(
    r"(?<![\w/.-])(?:\S*/)?(cabal\.project|package\.json|package-lock\.json|pyproject\.toml|setup\.py|requirements\.txt|noxfile\.py|SConstruct|CMakeLists\.txt|"
    r"meson\.build|[Mm]akefile|build\.ninja|Cargo\.toml|go\.mod|pom\.xml|build\.gradle(?:\.kts)?|build\.xml|Gemfile|Rakefile|composer\.json|mix\.exs|"
    r"Dockerfile|docker-compose\.ya?ml|compose\.ya?ml|Chart\.yaml|[Jj]ustfile|Taskfile\.ya?ml|Package\.swift|pubspec\.yaml|shard\.yml|stack\.yaml|"
    r"dune-project|rebar\.config|project\.clj|build\.sbt|build\.zig|WORKSPACE|MODULE\.bazel)(?![\w.-])"
)


def absences(scene: Scene) -> Iterator[Finding]:
    lines = scene.transcript.lines
    wanted = [
        word
        for word in dict.fromkeys(_operands(scene))
        if len(word) > 1 and word not in scene.project.files
    ]
    for number, line in enumerate(lines):
        if number in scene.echoes or not GONE.search(line):
            continue
        below = lines[number + 1] if number + 1 < len(lines) else ""
        nearby = line if STOPPED.match(below) else f"{line} {below}"
        thing = next((word for word in wanted if _contains(nearby, word)), None)
        manifest = MANIFESTS.search(line)
        if thing or manifest:
            yield Finding("absent", line.strip(), number, _missing(thing, manifest))


def _missing(thing: str | None, manifest: re.Match[str] | None) -> str | None:
    """A file weighs more than a word of the command that may be anything."""
    if manifest and not (thing and re.search(r"[./]", thing)):
        return manifest[1].replace("makefile", "Makefile")
    return thing


def _operands(scene: Scene) -> Iterator[str]:
    """Files, targets and the like; what stands for a value or a whole directory is none."""
    for step in scene.steps:
        if step.role not in {"install", "database", "versions"}:
            yield from (
                word
                for word in step.operands
                if not VALUE.fullmatch(word) and not _is_subcommand(step, word)
            )


def _is_subcommand(step: Step, word: str) -> bool:
    """`build` in `dotnet build`; what an orchestrator is told may be a target of the project's own."""
    first = step.operands[0] if step.operands else ""
    return step.tool not in ORCHESTRATORS and word == first and step.name == f"{step.tool} {word}"


def _contains(line: str, word: str) -> bool:
    return (
        re.search(rf"(?<![\w.-]){re.escape(word.removeprefix('./').rstrip('/'))}(?![\w/-])", line)
        is not None
    )
