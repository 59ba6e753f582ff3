"""Advice: what the next attempt is told, and what a person could do, for one Failure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.failure.evidence import Evidence
    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.failure.kinds import KindRow, Kinds

DEFAULT_TIMEOUT = 300
# Linters that can repair: what to add to their command line.
FIXES = {
    "eslint": "--fix",
    "ruff": "--fix",
    "stylelint": "--fix",
    "rubocop": "-a",
    "standardrb": "--fix",
    "golangci-lint": "--fix",
    "biome": "--write",
    "oxlint": "--fix",
    "standard": "--fix",
    "xo": "--fix",
    "markdownlint": "--fix",
    "sqlfluff": "--fix",
    "ktlint": "-F",
    "swiftlint": "--fix",
    "codespell": "-w",
    "typos": "-w",
    "clippy": "--fix",
    "detekt": "--auto-correct",
}
# Who installs what is missing, told by the words around it.
INSTALLERS = (
    (r"ModuleNotFoundError|ImportError|\b(?:pip|python\d?|pytest|mypy)\b|\.py\b", "pip install"),
    (
        r"\b(?:npm|npx|node|jest|tsc|eslint|yarn|pnpm|vitest|webpack|vite|mocha)\b|\.[cm]?[jt]sx?\b",
        "npm install",
    ),
    (r"\b(?:cargo|rustc)\b|\.rs\b", "cargo add"),
    (r"\bgo (?:build|test|run|vet)\b|\.go\b", "go get"),
    (r"\b(?:bundle|ruby|rspec|rake)\b|\.rb\b", "gem install"),
    (r"\b(?:composer|php)\b|\.php\b", "composer require"),
)
# Modules that are installed under another name.
DISTRIBUTIONS = {
    "yaml": "PyYAML",
    "cv2": "opencv-python",
    "PIL": "Pillow",
    "sklearn": "scikit-learn",
    "bs4": "beautifulsoup4",
    "dotenv": "python-dotenv",
    "dateutil": "python-dateutil",
    "jwt": "PyJWT",
    "OpenSSL": "pyOpenSSL",
    "Crypto": "pycryptodome",
    "serial": "pyserial",
    "usb": "pyusb",
    "git": "GitPython",
    "attr": "attrs",
    "psycopg2": "psycopg2-binary",
    "MySQLdb": "mysqlclient",
    "docx": "python-docx",
    "pptx": "python-pptx",
    "skimage": "scikit-image",
    "magic": "python-magic",
    "jose": "python-jose",
}
BY_CATEGORY = {
    "missing_context": (
        "Include specific file paths in prompt",
        "Provide configuration details or credentials",
    ),
    "invalid_task": (
        "Clarify task requirements",
        "Break into simpler, well-defined tasks",
        "Provide specific success criteria",
    ),
}


def guidance(failure: Failure, kinds: Kinds) -> str:
    row = _row(failure, kinds)
    files = ", ".join(failure.files) or "the files named in the output"
    values = {
        "FILES": files,
        "COMMAND": failure.command or "the check",
        "LINT_COMMAND": failure.command or "the linter",
        "LINT_FIX_COMMAND": _fix_command(failure.command) or "the linter's fix option",
        "TYPECHECK_COMMAND": failure.command or "the type checker",
        "MISSING": failure.missing or "what the output names",
    }
    return re.sub(r"\{([A-Z_]+)\}", lambda match: values.get(match[1], match[0]), row.guidance)


def _row(failure: Failure, kinds: Kinds) -> KindRow:
    """A cause that no kind names speaks through its category."""
    if failure.kind == "unknown" and failure.category and failure.category in kinds:
        return kinds[failure.category]
    return kinds[failure.kind]


def _fix_command(command: str) -> str:
    for tool, option in FIXES.items():
        if re.search(rf"(?<![\w-]){re.escape(tool)}(?![\w-])", command):
            return f"{command} {option}" if option not in command.split() else command
    return ""


def suggested_actions(failure: Failure, evidence: Evidence, kinds: Kinds) -> tuple[str, ...]:
    by_kind = {
        "timeout": _after_timeout,
        "dependency_missing": _install,
        "command_not_found": _provide_command,
        "permission_denied": _allow,
    }
    if failure.kind in by_kind:
        return tuple(by_kind[failure.kind](failure, evidence))
    actions = (
        [f"Set {failure.missing}"]
        if failure.category == "missing_context" and failure.missing
        else []
    )
    return (*actions, *BY_CATEGORY.get(failure.category or "", kinds[failure.kind].advice))


def _after_timeout(_failure: Failure, evidence: Evidence) -> Sequence[str]:
    limit = evidence.timeout or DEFAULT_TIMEOUT
    return f"Retry with timeout={limit * 2:g}s", "Break task into smaller subtasks"


def _install(failure: Failure, _evidence: Evidence) -> Sequence[str]:
    if not failure.missing:
        return "Install missing dependencies", "Check the version ranges that are declared"
    package = failure.missing
    seen = f"{failure.command} {failure.error} {' '.join(failure.files)}"
    installer = next((command for pattern, command in INSTALLERS if re.search(pattern, seen)), "")
    if installer == "pip install":
        top = package.split(".")[0]
        package = DISTRIBUTIONS.get(top, top)
    run = (
        (f"Run: {installer} {package}",)
        if installer and re.fullmatch(r"[\w@./^~:+\[\]-]+", package)
        else ()
    )
    return "Install missing dependencies", *run, f"Declare {package} in the project's manifest"


def _provide_command(failure: Failure, _evidence: Evidence) -> Sequence[str]:
    name = failure.missing or "<command>"
    return f"Verify command exists: which {name}", f"Install {name}"


def _allow(failure: Failure, evidence: Evidence) -> Sequence[str]:
    scripts = [
        name
        for name in failure.files
        if name.endswith((".sh", ".py", ".bash")) or "." not in name.rsplit("/", 1)[-1]
    ]
    chmod = (f"Run: chmod +x {scripts[0]}",) if scripts and evidence.exit_code == 126 else ()
    return "Check file permissions", *chmod
