"""Lines that say that something is absent which the command names or which a build starts from."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.failure.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.context import FailureContext
    from pytest_ralph.shell.command import Stage

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
    "found", "exist", "located", "opened", "such", "module", "appear", "directory", "file",
    "missing", "find", "open", "read", "access", "stat", "locate", "load", "match",
    "no", "unknown", "undefined", "not", "don", "must", "invalid", "detect", "name",
)  # fmt: skip
# An argument that names nothing.
VALUE = re.compile(
    r".?|[.*/\s\d]+|.*[\s;=$<>(){}].*|error|warn(?:ing)?|info|debug|fatal", re.IGNORECASE
)
# Roles whose arguments are not files or targets of the project.
FOREIGN_ROLES = {"install", "database", "versions"}
# What a build starts from; without it nothing was made yet.
MANIFESTS = re.compile(
    r"(?<![\w/.-])(?:\S*/)?(cabal\.project|package\.json|package-lock\.json|pyproject\.toml|setup\.py"
    r"|requirements\.txt|noxfile\.py|SConstruct|CMakeLists\.txt|meson\.build|[Mm]akefile"
    r"|build\.ninja|Cargo\.toml|go\.mod|pom\.xml|build\.gradle(?:\.kts)?|build\.xml|Gemfile"
    r"|Rakefile|composer\.json|mix\.exs|Dockerfile|docker-compose\.ya?ml|compose\.ya?ml|Chart\.yaml"
    r"|[Jj]ustfile|Taskfile\.ya?ml|Package\.swift|pubspec\.yaml|shard\.yml|stack\.yaml|dune-project"
    r"|rebar\.config|project\.clj|build\.sbt|build\.zig|WORKSPACE|MODULE\.bazel)(?![\w.-])"
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
    match = ABSENT_FILE.search(finding.error)
    names = [match[1] or match[2]] if match else _listed_below(context, finding)
    absent = (name for name in names if not context.project.find(name))
    return replace(finding, missing=next(absent, None))


def _listed_below(context: FailureContext, finding: Finding) -> Sequence[str]:
    """Return the files that are listed below a line that says that files are absent."""
    if finding.line < 0 or not ABSENT_FILES.search(finding.error):
        return ()
    lines_below = context.output.lines[finding.line + 1 : finding.line + 1 + LINES_BELOW]
    return [match[1] for match in map(LISTED.match, lines_below) if match]


def absences(context: FailureContext) -> Iterator[Finding]:
    """Yield a finding for each line that says that a named thing or a manifest is absent."""
    if context.said_by_shell is not None:
        # It judges what its commands say.
        return
    lines = context.output.english
    operands = dict.fromkeys(_operands(context))
    wanted = [word for word in operands if word not in context.project.files]
    for number in _lines_about_absence(context):
        # Prefer a file to a word of the command, which may be anything.
        missing = _named_manifest(context, lines[number]) or _named_operand(wanted, lines, number)
        if missing and missing.isalnum():
            absent = ABSENT_FILE.search(lines[number])
            missing = absent[1] or absent[2] if absent else missing
        elif not missing and number not in context.ignored:
            missing = _operand_below(wanted, lines, number)
        if missing:
            quoted = context.output.lines[number].strip()
            yield Finding("absent", quoted, number, missing)


def _lines_about_absence(context: FailureContext) -> Iterator[int]:
    # Beside an error at a place in a file, it is only a remark that something else is not there.
    errors = {one.line for one in context.diagnostics if one.level == "error"}
    for number in context.output.numbers_of(GONE_WORDS):
        line = context.output.english[number]
        if errors and number not in errors:
            continue
        # A task runner that was asked for something quotes it only if it does not know it.
        is_unknown_task = context.has_orchestrator and UNKNOWN_TASK.match(line)
        if is_unknown_task or GONE.search(line):
            yield number


def _named_manifest(context: FailureContext, line: str) -> str | None:
    """Return the manifest that a line names, unless the project has it."""
    manifest = MANIFESTS.search(line)
    if manifest is None or manifest[1] in context.project.files:
        return None
    return manifest[1].replace("makefile", "Makefile")


def _named_operand(wanted: Sequence[str], lines: Sequence[str], number: int) -> str | None:
    """Return the operand that a line names, or the line below it if it ends with a colon."""
    colon = lines[number].endswith(":")
    shown = lines[number : number + 1 + colon]
    named = (word for one in shown for word in wanted if _contains(one, word))
    return next(named, None)


def _operand_below(wanted: Sequence[str], lines: Sequence[str], number: int) -> str | None:
    """Return the file among the operands that stands below a line which names no file itself."""
    below = lines[number + 1 : number + 4]
    files = filter(ABSENT_NAME.fullmatch, wanted)
    named = next((file for file in files if any(_contains(one, file) for one in below)), None)
    return None if named is None or ABSENT_FILE.search(lines[number]) else named


def _operands(context: FailureContext) -> Iterator[str]:
    """Yield the files, targets and the like that the command line names."""
    for stage in context.stages:
        if stage.role in FOREIGN_ROLES:
            continue
        values = (word.partition("=")[2] for word in stage.arguments if word.startswith("-"))
        for word in (*stage.plain_arguments, *values):
            if not VALUE.fullmatch(word) and not _is_subcommand(stage, word):
                yield word


def _is_subcommand(stage: Stage, word: str) -> bool:
    """Return whether a word only says what the program shall do: `test` of `bun test cart`."""
    return stage.operands[:1] == (word,) and stage.name == f"{stage.program} {word}"


def _contains(line: str, word: str) -> bool:
    name = re.escape(word.removeprefix("./").rstrip("/"))
    return re.search(rf"(?<![\w.-]){name}(?![\w/-])", line) is not None
