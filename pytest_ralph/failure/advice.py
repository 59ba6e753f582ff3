"""What the next attempt should know, and what a person could do, about one Failure.

Advice never says to disable a rule or to change a test: both hide the failure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.distributions import distributions_of
from pytest_ralph.files import read_regular
from pytest_ralph.shell.statuses import NOT_EXECUTABLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_ralph.failure.evidence import Evidence
    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.failure.kinds import KindRow, Kinds

DEFAULT_TIMEOUT = 300
SCRIPT_SUFFIXES = (".sh", ".py", ".bash")
# Linters that can repair what they find: what to add to their command line.
FIX_OPTIONS = {
    "--fix": (
        "eslint ruff stylelint standardrb golangci-lint oxlint standard xo markdownlint swiftlint "
        "clippy"
    ).split(),
    "--write": ["biome"],
    "-a": ["rubocop"],
    "-F": ["ktlint"],
    "-w": ["codespell", "typos"],
    "--auto-correct": ["detekt"],
}
# A command line that does not end with the arguments of its first program.
OTHER_END = re.compile(r"[|&;<>\n`]|\s--\s|\bsh -c\b")
# What to check about a type checker's settings, by the words around its error.
TYPE_SETTINGS = {
    r"\btsc\b|\bvue-tsc\b|error TS\d": "Check tsconfig.json and missing @types packages",
    r"\bmypy\b": "Check the mypy settings and missing stub packages",
    r"\bpyright\b|\bbasedpyright\b": "Check the pyright settings",
}
PLACEHOLDER = re.compile(r"`?\{([A-Z_]+)\}`?")
UNKNOWN_VALUES = {
    "FILES": "the files named in the output",
    "COMMAND": "the check",
    "LINT_COMMAND": "the linter",
    "LINT_FIX_COMMAND": "the linter's fix option",
    "TYPECHECK_COMMAND": "the type checker",
    "MISSING": "what the output names",
}
PIP_INSTALL = "pip install"
NPM_INSTALL = "npm install"
# Who installs what is missing, by the words around it.
INSTALLERS = {
    r"ModuleNotFoundError|ImportError|\b(?:pip|python\d?|pytest|mypy)\b|\.py\b": PIP_INSTALL,
    r"\b(?:npm|npx|node|jest|tsc|eslint|yarn|pnpm|vitest|webpack|vite|mocha)\b"
    r"|\.[cm]?[jt]sx?\b": NPM_INSTALL,
    r"\b(?:cargo|rustc)\b|\.rs\b": "cargo add",
    r"\bgo (?:build|test|run|vet)\b|\.go\b": "go get",
    r"\b(?:bundle|ruby|rspec|rake)\b|\.rb\b": "gem install",
    r"\b(?:composer|php)\b|\.php\b": "composer require",
}
# A module may be a file inside the package: `ajv/dist/core`, `@scope/name/file`.
NPM_PACKAGE = re.compile(r"^(@[^/]*/[^/]*|[^@/][^/]*)/.*")
PACKAGE_NAME = re.compile(r"[\w@./^~:+\[\]-]+")
MANIFESTS = (
    "pyproject.toml setup.cfg setup.py requirements.txt requirements-dev.txt requirements/dev.txt "
    "Pipfile package.json Cargo.toml go.mod Gemfile composer.json environment.yml"
).split()
LARGEST_MANIFEST = 200_000
PROJECT_NAME = re.compile(r"""^\s*(?:name|"name")\s*[:=]\s*["']([\w@/.-]+)["']""", re.MULTILINE)


def guidance(failure: Failure, kinds: Kinds) -> str:
    """Return the advice for the next attempt, with files and commands filled in."""
    command = failure.command
    known = {
        "FILES": ", ".join(failure.files),
        "COMMAND": command,
        "LINT_COMMAND": command,
        "LINT_FIX_COMMAND": _fix_command(command),
        "TYPECHECK_COMMAND": command,
        "MISSING": failure.missing,
    }

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        value = known.get(name)
        if value:
            return match[0].replace(f"{{{name}}}", value)
        # Words, not a command: without the backticks.
        return UNKNOWN_VALUES.get(name, match[0])

    return PLACEHOLDER.sub(fill, _row(failure, kinds).guidance)


def _row(failure: Failure, kinds: Kinds) -> KindRow:
    """Return the row of the kind, or of the category if no kind names the cause."""
    if failure.kind == "unknown" and failure.category and failure.category in kinds:
        return kinds[failure.category]
    return kinds[failure.kind]


def _fix_command(command: str) -> str:
    """Return the command with the linter's option to fix; empty if that is not its last word."""
    if OTHER_END.search(command):
        return ""
    for option, tools in FIX_OPTIONS.items():
        names = "|".join(tools)
        if not re.search(rf"(?<![\w-])(?:{names})(?![\w-])", command):
            continue
        if option in command.split():
            return command
        return f"{command} {option}"
    return ""


def suggested_actions(failure: Failure, evidence: Evidence, kinds: Kinds) -> tuple[str, ...]:
    """Return what a person could do."""
    advise = _ADVISERS.get(failure.kind)
    if advise is not None:
        return tuple(advise(failure, evidence))
    actions = list(_row(failure, kinds).advice)
    if failure.category == "missing_context" and failure.missing:
        actions.insert(0, f"Set {failure.missing}")
    if failure.kind == "typecheck_error":
        printed = f"{failure.command} {failure.error}"
        for words, action in TYPE_SETTINGS.items():
            if re.search(words, printed):
                actions.append(action)
    return tuple(actions)


def _after_timeout(_failure: Failure, evidence: Evidence) -> list[str]:
    limit = evidence.timeout or DEFAULT_TIMEOUT
    return [f"Retry with timeout={limit * 2:g}s", "Break task into smaller subtasks"]


def _install(failure: Failure, evidence: Evidence) -> list[str]:
    if not failure.missing:
        return ["Install missing dependencies", "Check the declared version ranges"]
    installer = _installer(failure)
    package = failure.missing
    if installer == PIP_INSTALL:
        module = package.partition(".")[0]
        package = distributions_of(module)[0]
    elif installer == NPM_INSTALL:
        package = NPM_PACKAGE.sub(r"\1", package)

    actions = ["Install missing dependencies"]
    is_safe = PACKAGE_NAME.fullmatch(package) is not None
    if installer and is_safe and _may_be_installed(package, evidence.root):
        actions.append(f"Run: {installer} {package}")
    actions.append(f"Declare {package} in the project's manifest")
    return actions


def _installer(failure: Failure) -> str:
    """Return the command that installs packages of the failure's language, if it is known."""
    printed = f"{failure.command} {failure.error} {' '.join(failure.files)}"
    for words, command in INSTALLERS.items():
        if re.search(words, printed):
            return command
    return ""


def _may_be_installed(package: str, root: Path | None) -> bool:
    """Return whether installing a package by name is sound advice.

    A name that no manifest declares may be a typo or a trap, and the project's own name is taken by
    someone else as often as not. Without a manifest to look into the name is all there is.
    """
    if root is None:
        return True
    manifests = list(filter(None, (_manifest(root / name) for name in MANIFESTS)))
    if not manifests:
        return True
    wanted = _normal(package)
    for text in manifests:
        own_name = PROJECT_NAME.search(text)
        if own_name and _normal(own_name[1]) == wanted:
            return False
    return any(wanted in _normal(text) for text in manifests)


def _manifest(path: Path) -> str:
    try:
        return read_regular(path)[:LARGEST_MANIFEST].decode("utf-8", "replace")
    except OSError:
        return ""


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.lower())


def _provide_command(failure: Failure, _evidence: Evidence) -> list[str]:
    name = failure.missing or "<command>"
    return [f"Verify command exists: which {name}", f"Install {name}"]


def _grant_permission(failure: Failure, evidence: Evidence) -> list[str]:
    actions = ["Check file permissions"]
    if evidence.exit_code != NOT_EXECUTABLE:
        return actions
    for name in failure.files:
        has_suffix = "." in name.rsplit("/", 1)[-1]
        if name.endswith(SCRIPT_SUFFIXES) or not has_suffix:
            actions.append(f"Run: chmod +x {name}")
            break
    return actions


_ADVISERS: dict[str, Callable[[Failure, Evidence], list[str]]] = {
    "timeout": _after_timeout,
    "dependency_missing": _install,
    "command_not_found": _provide_command,
    "permission_denied": _grant_permission,
}
