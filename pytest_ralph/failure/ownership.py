"""Decide whose a missing thing is: the project's own, someone else's, or the command's.

A missing module of the project is a broken build; one of a third party is a missing dependency; a
file that only the command names is unfinished work.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_ralph.failure.lines import lines_below, matching
from pytest_ralph.failure.purpose import PYTEST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ralph.failure.context import FailureContext
    from pytest_ralph.failure.finding import Finding

# A file without directory and suffix, which may be a program.
NO_PROGRAM = re.compile(r"FileNotFoundError: \[Errno 2\] No such file or directory: '([^'/.]+)'")
NO_KEY = re.compile(r"KeyError: '([A-Z][A-Z0-9_]+)'")
NO_MEMBER = re.compile(r"AttributeError: (?:type object|module) '[^']+' has no attribute '(\w+)'")
ADVISED = re.compile(r"Hint: .*pip install ([\w-]+)\"?$|requires provider ([\w./-]+),$")
# Node lists the files that led to a missing module, the one that needs it first.
REQUIRED_BY_OTHERS = re.compile(r"^- \S*/node_modules/")
# Rust shows below an import that a crate was found, but not the name in it.
NAME_NOT_IN_CRATE = re.compile(r"\^ no `\w+` in ")
# Arguments of a function, not of a command line: at a place in a file, or in an exception.
IN_CODE = re.compile(
    r"^\s*[^\s:(]+\.\w+[:(]\d|\b(?!Usage)[A-Z]\w+(?:Error|Exception)\b|\barguments (?:to|for|in) "
)
# An option in a line of a file, not on a command line.
IN_SETTINGS = re.compile(
    r"(?:^|\s)[^\s:]+(?::\d+:?| line \d+:) (?:unknown|unsupported|bad) option\b"
)
IMPORTED = re.compile(r"\b(?:import|use|include|require|from|load)\b[^'\"]{0,9}['\"]([^'\"]+)")
# Options whose value is a module to load.
LOADING = frozenset(
    "-r --require --import --loader -p --plugin --plugins --reporter -R --formatter -f --format "
    "--environment --preset --parser --engine --listener".split()
)
DATA_TOOLS = frozenset(
    "yamllint jsonlint xmllint yq jq json.tool check-jsonschema tomlv taplo".split()
)
AT_DATA_FILE = re.compile(
    r"\s*-->.*\.(?:ya?ml|json5?|toml|xml|ini|cfg|csv|plist|properties)\b", re.IGNORECASE
)
# Libraries come as headers, not as sources to compile.
COMPILED = (".proto", ".c", ".cc", ".cpp", ".cxx", ".m", ".mm", ".S", ".f90")
SYSTEM_DIRECTORIES = ("/usr/", "/bin/", "/opt/")
# Options of pytest that only a plugin knows: without it they are a missing package, not a typo.
# `--cov` and `--cov-report` are options of pytest-cov, and so on.
NAMED_AFTER_OPTION = frozenset(
    "cov timeout asyncio benchmark html randomly json-report forked random-order mypy flake8 black "
    "pylint ruff isort picked testmon memray spec md".split()
)
OTHER_OPTIONS = {
    "-n": "pytest-xdist",
    "--numprocesses": "pytest-xdist",
    "--dist": "pytest-xdist",
    "--no-cov": "pytest-cov",
    "--reruns": "pytest-rerunfailures",
    "--self-contained-html": "pytest-html",
    "--snapshot": "syrupy",
    "--ds": "pytest-django",
    "--reuse-db": "pytest-django",
    "--create-db": "pytest-django",
    "--nomigrations": "pytest-django",
    "--alluredir": "allure-pytest",
    "--headed": "pytest-playwright",
    "--browser": "pytest-playwright",
    "--hypothesis": "hypothesis",
    "--splits": "pytest-split",
    "--count": "pytest-repeat",
    "--gherkin": "pytest-bdd",
    "--nbval": "nbval",
    "--nbmake": "nbmake",
}
OPTIONS = OTHER_OPTIONS | {f"--{name}": f"pytest-{name}" for name in NAMED_AFTER_OPTION}
NO_TABLE = re.compile(r"\b(?:table|relation|column)\b", re.IGNORECASE)
UNKNOWN_OPTIONS = re.compile(r"unrecognized arguments?: (.+)$")


def with_owner(context: FailureContext, finding: Finding) -> Finding:
    """Return the finding with its verdict made definite."""
    settle = _SETTLERS.get(finding.verdict)
    if settle is None:
        return finding
    return settle(context, finding)


def _module(context: FailureContext, finding: Finding) -> Finding:
    name = finding.missing
    if not name:
        return replace(finding, verdict="local module", missing=_imported_below(context, finding))
    return replace(finding, verdict=_verdict_of_module(context, finding, name))


def _verdict_of_module(context: FailureContext, finding: Finding, name: str) -> str:
    if any(map(REQUIRED_BY_OTHERS.match, _lines_below(context, finding, 2))):
        return "package"
    # No word of the command names a part of a package: `playwright test` and `@playwright/test`.
    is_named = not name.startswith("@") and context.names(name.removesuffix(".__main__"))
    if _is_own_module(context, finding, name):
        return "absent" if is_named else "local module"
    is_tool = name in context.programs
    if is_named and not is_tool and not _is_to_be_loaded(context, name):
        return "absent"
    return "package"


def _is_own_module(context: FailureContext, finding: Finding, name: str) -> bool:
    if context.project.owns_module(name) or _is_named_as_own(finding.error, name):
        return True
    below = _lines_below(context, finding, 5)
    if any(map(NAME_NOT_IN_CRATE.search, below)):
        return True
    # C marks headers of the project by quotes in the include line, which is shown below.
    include = re.compile(rf'#\s*include\s+"{re.escape(name)}"')
    return any(map(include.search, below))


def _is_to_be_loaded(context: FailureContext, name: str) -> bool:
    """Return whether an option asks the program to load a module: `mocha -r esm`."""
    for stage in context.stages:
        for option, value in pairwise(stage.arguments):
            if option in LOADING and value.partition(":")[0] == name:
                return True
    return False


def _imported_below(context: FailureContext, finding: Finding) -> str | None:
    """Return the name in the line of source that is shown below an error without one."""
    for _, match in matching(IMPORTED.search, _lines_below(context, finding, 3)):
        return match[1]
    return None


def _is_named_as_own(error: str, name: str) -> bool:
    """Return whether the wording shows that a compiler looked for a file of the project.

    Go says "is not in std" of a path of the project; a path that it fetches starts with a host.
    """
    if name.endswith(COMPILED):
        return True
    host = name.split("/", maxsplit=1)[0]
    return "is not in " in error and "." not in host


def _command(_context: FailureContext, finding: Finding) -> Finding:
    """A program named by a path inside the project is a file that is not there."""
    path = finding.missing or ""
    if "/" not in path or path.startswith(SYSTEM_DIRECTORIES):
        return finding
    return replace(finding, verdict="absent")


def _crash(context: FailureContext, finding: Finding) -> Finding:
    """Recognise exceptions that only report something missing outside the code."""
    program = NO_PROGRAM.search(finding.error)
    if program and context.output.has("subprocess"):
        return replace(finding, verdict="command", missing=program[1])
    member = NO_MEMBER.search(finding.error)
    if member and context.names_member(member[1]):
        return replace(finding, verdict="absent", missing=member[1])
    key = NO_KEY.search(finding.error)
    if key and context.output.has("environ"):
        return replace(finding, verdict="value", missing=key[1])
    return finding


def _syntax(context: FailureContext, finding: Finding) -> Finding:
    """A syntax error in a data file is malformed data."""
    if any(map(AT_DATA_FILE.match, _lines_below(context, finding, 1))):
        return replace(finding, verdict="data")
    # jq reports errors of its own program at <top-level>.
    if DATA_TOOLS & context.programs and "<top-level>" not in finding.error:
        return replace(finding, verdict="data")
    return finding


def _package(context: FailureContext, finding: Finding) -> Finding:
    """Prefer the name that the tool itself advises to install."""
    lines = (finding.error, *_lines_below(context, finding, 3))
    for _, match in matching(ADVISED.search, lines):
        return replace(finding, missing=match[1] or match[2])
    if "async def functions are not natively supported" in finding.error:
        return replace(finding, missing="pytest-asyncio")
    if finding.missing:
        # `sinatra (~> 3.0)`, and a name in an address.
        name = finding.missing.partition(" (")[0]
        return replace(finding, missing=name.replace("%2f", "/"))
    return finding


def _absent(context: FailureContext, finding: Finding) -> Finding:
    """A table that the command does not name is one that a program of the project asks for."""
    table = finding.missing or ""
    is_named = re.search(rf"\b{re.escape(table)}\b", context.evidence.command)
    if is_named or not NO_TABLE.search(finding.error):
        return finding
    return replace(finding, verdict="crash", missing=None)


def _configuration(_context: FailureContext, finding: Finding) -> Finding:
    if "find an eslint.config" in finding.error:
        return replace(finding, missing="eslint.config.js")
    return finding


def _usage(context: FailureContext, finding: Finding) -> Finding:
    if IN_SETTINGS.search(finding.error):
        return replace(finding, verdict="configuration")
    if IN_CODE.search(finding.error):
        return replace(finding, verdict="unknown")
    if PYTEST & {context.stage_at(finding.line).program, *context.programs}:
        plugin = _missing_plugin(finding.error)
        if plugin:
            return replace(finding, verdict="package", missing=plugin)
    return finding


def _missing_plugin(line: str) -> str | None:
    """Return the plugin to which an option belongs that pytest does not know."""
    match = UNKNOWN_OPTIONS.search(line)
    if match is None:
        return None
    for word in match[1].split():
        # Of `--cov-report=xml` only `--cov` is in the table.
        name = word.partition("=")[0]
        while name:
            if name in OPTIONS:
                return OPTIONS[name]
            name = name.rpartition("-")[0]
    return None


_SETTLERS: dict[str, Callable[[FailureContext, Finding], Finding]] = {
    "usage": _usage,
    "package": _package,
    "absent": _absent,
    "configuration": _configuration,
    "module": _module,
    "command": _command,
    "crash": _crash,
    "exception": _crash,
    "syntax": _syntax,
}


def _lines_below(context: FailureContext, finding: Finding, count: int) -> Sequence[str]:
    return lines_below(context.output.lines, finding.line, count)
