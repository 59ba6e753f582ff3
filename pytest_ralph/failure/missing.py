"""Lines that say that something is absent which the command names or which a build starts from."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.failure.finding import Finding
from pytest_ralph.failure.lines import lines_below, matching

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_ralph.failure.context import FailureContext

GONE = re.compile(
    r"(?:\bnot|n't) (?:be )?(?:found|exist|located|opened)\b|no such (?:file|path|directory|preset)"
    r"|no module named|does(?: not|n't) (?:exist|appear|name)|no rule to"
    r"|is not a (?:\w+ )?(?:file|directory)|(?:is|was) missing\b"
    r"|(?:cannot|can't|could(?: not|n't)|unable to|failed to) "
    r"(?:find|open|read|access|stat|locate|load|detect)\b(?! (?:name|propert))"
    r"|\bno (?:\S+ ){1,2}(?:was |were )?found|did not match any|not a valid file"
    r"|\bunknown (?:task|target|recipe|goal)\b|\bmust be a (?:\w+, )?(?:task|target)\b"
    r"|\bno (?:task|target|recipe|script|files? match\w*)\b"
    r"|\binvalid (?:\w+ )?(?:input|file|path):",
    re.IGNORECASE,
)
UNKNOWN_TASK = re.compile(
    r"^\W*(?:error:? )?(?:no|unknown|undefined|not|don't)\b.*['\"`‘“]", re.IGNORECASE
)
# Words of which every line contains one that either pattern matches.
GONE_WORDS = (
    "found exist located opened such module appear directory file missing find open read access "
    "stat locate load match no unknown undefined not don must invalid detect name"
).split()
# An argument that names nothing.
VALUE = re.compile(
    r".?|[.*/\s\d]+|.*[\s;=$<>(){}].*|error|warn(?:ing)?|info|debug|fatal", re.IGNORECASE
)
# Roles whose arguments are not files or targets of the project.
FOREIGN_ROLES = {"install", "database", "versions"}
# What a build starts from; without it nothing was made yet.
MANIFEST_NAMES = (
    "cabal.project package.json package-lock.json pyproject.toml setup.py requirements.txt "
    "noxfile.py SConstruct CMakeLists.txt meson.build Makefile makefile build.ninja Cargo.toml "
    "go.mod pom.xml build.gradle build.gradle.kts build.xml Gemfile Rakefile composer.json mix.exs "
    "Dockerfile docker-compose.yaml docker-compose.yml compose.yaml compose.yml Chart.yaml "
    "Justfile justfile Taskfile.yaml Taskfile.yml Package.swift pubspec.yaml shard.yml stack.yaml "
    "dune-project rebar.config project.clj build.sbt build.zig WORKSPACE MODULE.bazel"
).split()
MANIFEST = re.compile(
    r"(?<![\w/.-])(?:\S*/)?(" + "|".join(map(re.escape, MANIFEST_NAMES)) + r")(?![\w.-])"
)
# A file that an error says is absent, behind the words or before them.
FILE = r"[\w@.~/+-]*\w\.[A-Za-z]\w{0,9}|[\w@.~+-]*/[\w@.~+/-]*\w"
ABSENT_FILE = re.compile(
    r"(?:not found|no such file|files? found|no rule to make|(?:cannot|can't|could(?: not|n't)"
    r"|unable to|failed to) (?:find|load|open|locate|read|resolve)(?: or open)?)\b"
    r"(?:\W+(?:a|the|or|directory|source|input|included?|header|template|file|url|target"
    r"|@import|path|external|entity|config\w*|open|l?stat|scandir|searched|at)\b){0,4}"
    rf"[\s:'\"`]+({FILE})(?!:\d|\w)"
    rf"|({FILE})['\"`]?:? (?:was |is |file |which )*"
    r"(?:not found|not an existing|wasn't found|no such file|does(?: not|n't) exist|missing\b)",
    re.IGNORECASE,
)
# Files that stand below the line that says they are absent.
ABSENT_FILES = re.compile(
    r"\bmissing\b.*\bfiles?\b|\bfiles?\b.*\b(?:missing|not found|not exist)\b", re.IGNORECASE
)
ABSENT_NAME = re.compile(FILE)
LISTED = re.compile(rf"^\s+(?:[-*•] )?({FILE})$")
LINES_BELOW = 8


def with_missing_file(context: FailureContext, finding: Finding) -> Finding:
    """Return the finding with the file that its error says is absent, if that is not known yet."""
    if finding.missing or finding.verdict == "service":
        return finding
    for name in _files_said_absent(context, finding):
        if not context.project.find(name):
            return replace(finding, missing=name)
    return finding


def _files_said_absent(context: FailureContext, finding: Finding) -> Sequence[str]:
    """Return the file that an error names, or those that are listed below it."""
    file = _absent_file(finding.error)
    if file:
        return [file]
    if finding.line < 0 or not ABSENT_FILES.search(finding.error):
        return []
    below = lines_below(context.output.lines, finding.line, LINES_BELOW)
    return [match[1] for _, match in matching(LISTED.match, below)]


def _absent_file(line: str) -> str | None:
    """Return the file that a line says is absent."""
    match = ABSENT_FILE.search(line)
    if match is None:
        return None
    return match[1] or match[2]


def absences(context: FailureContext) -> Iterator[Finding]:
    """Yield a finding for each line that says that a named thing or a manifest is absent."""
    if context.said_by_shell is not None:
        # It judges what its commands say.
        return
    wanted = [word for word in _operands(context) if word not in context.project.files]
    for number in _lines_about_absence(context):
        missing = _absent_thing(context, wanted, number)
        if missing:
            quoted = context.output.lines[number].strip()
            yield Finding("absent", quoted, number, missing)


def _lines_about_absence(context: FailureContext) -> Iterator[int]:
    # Beside an error at a place in a file, it is only a remark that something else is not there.
    errors = {one.line for one in context.diagnostics if one.level == "error"}
    for number in context.output.numbers_of(GONE_WORDS):
        if errors and number not in errors:
            continue
        line = context.output.english[number]
        # A task runner that was asked for something quotes it only if it does not know it.
        is_unknown_task = context.has_orchestrator and UNKNOWN_TASK.match(line)
        if is_unknown_task or GONE.search(line):
            yield number


def _absent_thing(context: FailureContext, wanted: Sequence[str], number: int) -> str | None:
    """Return what a line says is absent: a manifest, or a wanted word of the command line."""
    lines = context.output.english
    line = lines[number]
    # A colon at its end announces the name.
    shown = lines[number : number + 2] if line.endswith(":") else [line]
    missing = _named_manifest(context, line) or _first_named(wanted, shown)
    file = _absent_file(line)
    if missing and missing.isalnum():
        # Prefer a file to a word of the command, which may be anything.
        return file or missing
    if missing or file or number in context.ignored:
        return missing
    files = filter(ABSENT_NAME.fullmatch, wanted)
    return _first_named(files, lines_below(lines, number, 3))


def _named_manifest(context: FailureContext, line: str) -> str | None:
    """Return the manifest that a line names, unless the project has it."""
    manifest = MANIFEST.search(line)
    if manifest is None or manifest[1] in context.project.files:
        return None
    return manifest[1].replace("makefile", "Makefile")


def _first_named(words: Iterable[str], lines: Sequence[str]) -> str | None:
    """Return the first of the words that the lines contain."""
    text = "\n".join(lines)
    for word in words:
        name = re.escape(word.removeprefix("./").rstrip("/"))
        if re.search(rf"(?<![\w.-]){name}(?![\w/-])", text):
            return word
    return None


def _operands(context: FailureContext) -> Iterator[str]:
    """Yield the files, targets and the like that the command line names."""
    for stage in context.stages:
        if stage.role in FOREIGN_ROLES:
            continue
        # What the program shall do: `test` of `bun test cart`.
        subcommand = "".join(stage.operands[:1])
        if stage.name != f"{stage.program} {subcommand}":
            subcommand = ""
        options = [word for word in stage.arguments if word.startswith("-")]
        values = [option.partition("=")[2] for option in options]
        for word in (*stage.plain_arguments, *values):
            if word != subcommand and not VALUE.fullmatch(word):
                yield word
