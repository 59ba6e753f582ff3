"""settle: is what is missing the project's own, someone else's, or just what the command asked for?"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.failure.project import FOREIGN

if TYPE_CHECKING:
    from pytest_ralph.failure.finding import Finding
    from pytest_ralph.failure.scene import Scene


def settle(scene: Scene, finding: Finding) -> Finding:
    """The finding with its verdict made definite."""
    if finding.verdict == "module" and finding.missing:
        return _module(scene, finding, finding.missing)
    if finding.verdict == "module":
        return replace(finding, verdict="local module")
    if finding.verdict == "command" and finding.missing and "/" in finding.missing:
        return _program(finding, finding.missing)
    return finding


def _module(scene: Scene, finding: Finding, name: str) -> Finding:
    own = scene.project.owns_module(name) or _is_quoted_include(scene, finding, name)
    if own and scene.names(name):
        return replace(finding, verdict="absent")
    return replace(finding, verdict="local module" if own else "package")


def _program(finding: Finding, path: str) -> Finding:
    if FOREIGN.search(path) or path.startswith(("/usr/", "/bin/", "/opt/")):
        return replace(finding, missing=path)
    return replace(finding, verdict="absent")


def _is_quoted_include(scene: Scene, finding: Finding, name: str) -> bool:
    """C tells its own headers from those of a library by the quotes of the include line shown below the error."""
    below = scene.transcript.lines[finding.line + 1 : finding.line + 4] if finding.line >= 0 else ()
    return any(re.search(rf'#\s*include\s+"{re.escape(name)}"', line) for line in below)
