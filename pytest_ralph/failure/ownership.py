"""settle: is what is missing the project's own, someone else's, or just what the command asked for?"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.failure.plugins import missing_plugin
from pytest_ralph.failure.project import FOREIGN

if TYPE_CHECKING:
    from pytest_ralph.failure.context import Scene
    from pytest_ralph.failure.finding import Finding

NO_FILE = re.compile(r"FileNotFoundError: \[Errno 2\] No such file or directory: '([^']+)'")
ADVISED = re.compile(r"Hint: .*pip install ([\w-]+)\"?$|requires provider ([\w./-]+),$")
# Where a cloud tells its own machines who they are; nobody else reaches it.
METADATA_HOST = "169.254.169.254"
NO_KEY = re.compile(r"KeyError: '([A-Z][A-Z0-9_]+)'")
NO_MEMBER = re.compile(r"AttributeError: (?:type object|module) '[^']+' has no attribute '(\w+)'")
# Arguments of a function, not of a command line: at a place in a file, or in the words of an exception.
IN_CODE = re.compile(
    r"^\s*[^\s:(]+\.\w+[:(]\d|\b(?!Usage)[A-Z]\w+(?:Error|Exception)\b|\barguments (?:to|for|in) "
)
DATA_TOOLS = frozenset(
    {
        "yamllint",
        "jsonlint",
        "xmllint",
        "yq",
        "jq",
        "json.tool",
        "check-jsonschema",
        "tomlv",
        "taplo",
    }
)
# Libraries come as headers, not as sources to compile.
COMPILED = (".proto", ".c", ".cc", ".cpp", ".cxx", ".m", ".mm", ".S", ".f90")
DATA_FILE = re.compile(r"\.(?:ya?ml|json5?|toml|xml|ini|cfg|csv|plist|properties)\b", re.IGNORECASE)


def settle(scene: Scene, finding: Finding) -> Finding:
    """The finding with its verdict made definite."""
    settled = _SETTLERS.get(finding.verdict)
    return settled(scene, finding) if settled else finding


def _module(scene: Scene, finding: Finding) -> Finding:
    name = finding.missing
    if not name:
        return replace(finding, verdict="local module")
    own = scene.project.owns_module(name) or _is_named_as_own(finding.error, name)
    own = own or _is_quoted_include(scene, finding, name)
    if scene.names(name.removesuffix(".__main__")) and (own or not _is_tool(scene, name)):
        return replace(finding, verdict="absent")
    return replace(finding, verdict="local module" if own else "package")


def _is_named_as_own(error: str, name: str) -> bool:
    """Go names what is neither its own nor fetched from a host by a path of the project; protoc and C compile files."""
    return name.endswith(COMPILED) or (
        "is not in " in error and "." not in name.split("/", maxsplit=1)[0]
    )


def _is_tool(scene: Scene, name: str) -> bool:
    return any(step.tool == name for step in scene.steps)


def _command(_scene: Scene, finding: Finding) -> Finding:
    """A program named by a path inside the project is a file that is not there."""
    path = finding.missing or ""
    outside = FOREIGN.search(path) or path.startswith(("/usr/", "/bin/", "/opt/"))
    return replace(finding, verdict="absent") if "/" in path and not outside else finding


def _crash(scene: Scene, finding: Finding) -> Finding:
    """Exceptions that are only the messenger of something missing outside the code."""
    if match := NO_FILE.search(finding.error):
        if "/" not in match[1] and "." not in match[1] and scene.transcript.has("subprocess"):
            return replace(finding, verdict="command", missing=match[1])
        return (
            replace(finding, verdict="absent", missing=match[1])
            if scene.names(match[1])
            else finding
        )
    if (match := NO_MEMBER.search(finding.error)) and scene.names_member(match[1]):
        return replace(finding, verdict="absent", missing=match[1])
    if match := NO_KEY.search(finding.error):
        above = scene.transcript.lines[max(0, finding.line - 8) : finding.line]
        if any("environ" in line for line in above):
            return replace(finding, verdict="value", missing=match[1])
    return finding


def _syntax(scene: Scene, finding: Finding) -> Finding:
    """A syntax error in data is malformed data."""
    tools = {step.tool for step in scene.steps}
    below = scene.transcript.lines[finding.line + 1 : finding.line + 2] if finding.line >= 0 else ()
    if any(line.lstrip().startswith("-->") and DATA_FILE.search(line) for line in below):
        return replace(finding, verdict="data")
    if (tools & DATA_TOOLS and "<top-level>" not in finding.error) or DATA_FILE.search(
        finding.error
    ):
        return replace(finding, verdict="data")
    return finding


def _package(scene: Scene, finding: Finding) -> Finding:
    """The name under which to ask for it: what the tool itself advises, else what it misses."""
    below = scene.transcript.lines[finding.line + 1 : finding.line + 4] if finding.line >= 0 else ()
    for line in (finding.error, *below):
        if match := ADVISED.search(line):
            return replace(finding, missing=match[1] or match[2])
    if "async def functions are not natively supported" in finding.error:
        return replace(finding, missing="pytest-asyncio")
    return (
        replace(finding, missing=finding.missing.replace("%2f", "/"))
        if finding.missing
        else finding
    )


def _service(_scene: Scene, finding: Finding) -> Finding:
    """Who asks a cloud's own host in vain was given no credentials."""
    return replace(finding, verdict="value") if METADATA_HOST in finding.error else finding


def _configuration(_scene: Scene, finding: Finding) -> Finding:
    return (
        replace(finding, missing="eslint.config.js")
        if "find an eslint.config" in finding.error
        else finding
    )


def _usage(scene: Scene, finding: Finding) -> Finding:
    if IN_CODE.search(finding.error):
        return replace(finding, verdict="unknown")
    if any(step.tool in {"pytest", "py.test"} for step in scene.steps) and (
        plugin := missing_plugin(finding.error)
    ):
        return replace(finding, verdict="package", missing=plugin)
    return finding


_SETTLERS = {
    "usage": _usage,
    "package": _package,
    "service": _service,
    "configuration": _configuration,
    "module": _module,
    "command": _command,
    "crash": _crash,
    "exception": _crash,
    "syntax": _syntax,
}


def _is_quoted_include(scene: Scene, finding: Finding, name: str) -> bool:
    """C tells its own headers from those of a library by the quotes of the include line shown below the error."""
    below = scene.transcript.lines[finding.line + 1 : finding.line + 4] if finding.line >= 0 else ()
    return any(re.search(rf'#\s*include\s+"{re.escape(name)}"', line) for line in below)
