"""decide: of everything that can be read in a Scene, the one Finding that is the root cause."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.failure import endings
from pytest_ralph.failure.causes import causes_in
from pytest_ralph.failure.failure import NO_ERROR, VERIFICATION_FAILED
from pytest_ralph.failure.finding import Finding
from pytest_ralph.failure.locality import settle
from pytest_ralph.failure.scene import ORCHESTRATORS
from pytest_ralph.failure.testruns import pytest_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.failure.diagnostics import Diagnostic
    from pytest_ralph.failure.scene import Scene
    from pytest_ralph.failure.testruns import Failing

# An error that only says two values differ: its words are the values', not a cause.
ASSERTION = re.compile(
    r"^(?:[\w.$\\]+[.\\])?(?:Assertion\w*|ComparisonFailure|ExpectationFailed\w*|TestFailure)\b|^assert\b|^expect\("
    r"|^Failed: (?!Timeout)|^(?:expected|actual|got|want)\b|\bassertion\b.*failed",
    re.IGNORECASE,
)
# Causes outside the code keep their own name even inside a test.
OUTSIDE = frozenset({"disk full", "resource", "service", "permission", "package", "command", "value"})
WORKER_DEATH = re.compile(r"worker '.*' crashed|segmentation fault|SIGSEGV|core dumped|SIGABRT", re.IGNORECASE)
CAUSES_BELOW = 40


def decide(scene: Scene) -> Finding:
    readers = (
        endings.read_limit, _tests, _cause, _diagnostic, _symptom, endings.read_fatal, endings.read_status, _quoted,
        endings.read_silence,
    )  # fmt: skip
    for read in readers:
        if finding := read(scene):
            return finding
    return Finding("unknown", _quote(scene) or NO_ERROR)


def _tests(scene: Scene) -> Finding | None:
    if not scene.failing:
        internal = pytest_run.internal_error(scene.transcript)
        return Finding("build", internal.error, internal.line) if internal else None
    readings = [_read_failing(scene, one) for one in scene.failing]
    unloaded = [finding for finding, one in zip(readings, scene.failing) if not one.named]
    best = min(unloaded or readings, key=lambda finding: _WEIGHT.get(finding.verdict, 3))
    return replace(best, tests=tuple(one.name for one in scene.failing if one.named))


# What many failing tests amount to: a missing package stops all of them, a plain failure outweighs the environment.
_WEIGHT = {"package": 0, "test": 1, "crash": 2}


def _read_failing(scene: Scene, one: Failing) -> Finding:
    if ASSERTION.match(one.error):
        return Finding("test", one.error, one.line)
    found = sorted(
        (settle(scene, finding) for finding in causes_in(one.error, one.line)), key=lambda finding: finding.rank
    )
    if not one.named:
        return found[0] if found and found[0].rank < CAUSES_BELOW else Finding("build", one.error, one.line)
    for finding in found:
        if finding.verdict in OUTSIDE:
            return finding
        if finding.verdict == "timeout":
            return replace(finding, type=VERIFICATION_FAILED)
    if WORKER_DEATH.search(one.error):
        return Finding("crash", one.error, one.line, type=VERIFICATION_FAILED)
    return Finding("test", one.error, one.line)


def _cause(scene: Scene) -> Finding | None:
    causes = [finding for finding in scene.findings if finding.rank < CAUSES_BELOW]
    return min(causes, key=lambda finding: (finding.rank, finding.line)) if causes else None


def _diagnostic(scene: Scene) -> Finding | None:
    for diagnostic in sorted(scene.diagnostics, key=_severity):
        if verdict := _diagnosed(scene, diagnostic):
            return Finding(verdict, diagnostic.text, diagnostic.line)
    return None


def _severity(diagnostic: Diagnostic) -> tuple[bool, int]:
    return diagnostic.level in {"warning", "note", "info", "hint"}, diagnostic.line


def _diagnosed(scene: Scene, diagnostic: Diagnostic) -> str:
    """Whose words they are decides: a linter's remark and a compiler's error look the same."""
    step = scene.step_at(diagnostic.line)
    role = step.role if step and step.tool not in ORCHESTRATORS else ""
    if role in {"lint", "types", "format", "build"}:
        return role
    if role == "test":
        return "build" if diagnostic.shape == "build" else "test"
    if role == "run" and diagnostic.shape != "build":
        return "crash"
    return diagnostic.shape


def _symptom(scene: Scene) -> Finding | None:
    found = [finding for finding in scene.findings if finding.rank >= CAUSES_BELOW]
    if not found:
        return None
    best = min(found, key=lambda finding: (finding.rank, finding.line))
    if best.verdict == "crash":
        return [finding for finding in found if finding.verdict == "crash"][-1]
    return best


def _quoted(scene: Scene) -> Finding | None:
    """Words that fit no pattern, from a tool whose role is known."""
    step, line = scene.step_at(-1), _quote(scene)
    verdict = endings.BY_ROLE.get(step.role if step else "")
    if step and step.role == "install":
        verdict = "package"
    return Finding(verdict, line) if verdict and line else None


def _quote(scene: Scene) -> str:
    lines = [
        line.strip() for number, line in enumerate(scene.transcript.lines) if line.strip() and number not in scene.quiet
    ]
    return _alarming(lines) or (lines[-1] if lines else "")


def _alarming(lines: Sequence[str]) -> str:
    alarm = re.compile(r"\b(?:error|fatal|fail(?:ed|ure)?|cannot|could not|invalid)\b", re.IGNORECASE)
    return next((line for line in lines if alarm.search(line)), "")
