"""decide: of everything that can be read in a Scene, the one Finding that is the root cause."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.failure import exit_status as endings
from pytest_ralph.failure.causes import causes_in
from pytest_ralph.failure.failure import NO_ERROR, VERIFICATION_FAILED
from pytest_ralph.failure.finding import Finding
from pytest_ralph.failure.ownership import settle
from pytest_ralph.failure.project import FOREIGN
from pytest_ralph.failure.test_runs import pytest_run
from pytest_ralph.shell.tools import ORCHESTRATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.failure.context import Scene
    from pytest_ralph.failure.diagnostics import Diagnostic
    from pytest_ralph.failure.test_runs import Failing

# An error that only says two values differ: its words are the values', not a cause.
ASSERTION = re.compile(
    r"^(?:[\w.$\\]+[.\\])?(?:Assertion\w*|ComparisonFailure|ExpectationFailed\w*|TestFailure)\b|^assert\b|^expect\("
    r"|^Failed: (?!Timeout)|^(?:expected|actual|got|want)\b|\bassertion\b.*failed",
    re.IGNORECASE,
)
# Causes outside the code keep their own name even inside a test.
OUTSIDE = frozenset(
    {"disk full", "resource", "service", "permission", "package", "command", "value"}
)
WORKER_DEATH = re.compile(
    r"worker '.*' crashed|segmentation fault|SIGSEGV|core dumped|SIGABRT|\(SEGFAULT\)|(?:Child|Subprocess) aborted",
    re.IGNORECASE,
)
CAUSES_BELOW = 40
# Of many failing tests, so many are asked for their cause.
MOST_FAILING = 60
DEATHS = frozenset({"crash", "exception"})
# Symptoms that every tool words alike: its role says which of them it is.
SOFT = frozenset({"lint", "types", "format", "test", "build"})
COMPARED = re.compile(r"\b(?:expected|assert\w*|got|want|fail\w*|mismatch|should)\b", re.IGNORECASE)
SUMMARY = re.compile(
    r"ld returned|could not compile|due to \d+ previous|aborting due|compilation terminated|build failed"
    r"|\*\*\* |found \d+ "
    r"|\d+ (?:errors?|warnings?|problems?)\b|linker command failed|failed to compile",
    re.IGNORECASE,
)
HEADING = re.compile(
    r"^\W*(?:\S+ ){0,2}(?:\S*(?:error|exception) ?|(?:error during build|build failed)\b.*|.* panicked at \S+):$"
    r"|━{5,}$|^Error -{5,} \S+$",
    re.IGNORECASE,
)
RAISED = re.compile(r"^(?:\w+\.)*[A-Z]\w*(?:Error|Exception)\b")
PYTEST_MARK = re.compile(r"^E {2,}")
ALARM = re.compile(r"\b(?:error|fatal|fail(?:ed|ure)?|cannot|could not|invalid)\b", re.IGNORECASE)
WARNING = re.compile(r"^\W{0,2}warning\b", re.IGNORECASE)
LOGGED = re.compile(r"^[EWF]\d{4} \d\d:\d\d:\d\d")
TRACED = re.compile(r"^\+{1,3} \w")
CHANGED = re.compile(r"^(?:[<>] |[-+](?![-+]{2}))")
MESSAGE = re.compile(
    r"^\s*(?:[✖✗✘]\s+\S|(?:\[?(?:error|fatal)\]?|\S+: (?:fatal )?error)\b(?::| -|\s)\s*\S)",
    re.IGNORECASE,
)


def decide(scene: Scene) -> Finding:
    readers = (
        endings.read_limit,
        _tests,
        endings.read_unrun,
        _cause,
        _marked,
        _diagnostic,
        endings.read_content,
        _symptom,
        endings.read_fatal,
        endings.read_status,
        endings.read_unmet,
        _message,
        _quoted,
        endings.read_silence,
    )
    for read in readers:
        if finding := read(scene):
            return _fleshed_out(scene, finding)
    return Finding("unknown", _quote(scene) or NO_ERROR)


def _fleshed_out(scene: Scene, finding: Finding) -> Finding:
    """A heading is no error to quote; the line below it is."""
    if HEADING.search(finding.error) and finding.line >= 0:
        below = (
            line.strip(" ×✖")
            for line in scene.transcript.lines[finding.line + 1 : finding.line + 6]
        )
        return replace(
            finding,
            error=next(
                (line for line in below if line and not HEADING.search(line)), finding.error
            ),
        )
    return replace(finding, error=PYTEST_MARK.sub("", finding.error))


def _tests(scene: Scene) -> Finding | None:
    if not scene.failing:
        internal = pytest_run.internal_error(scene.transcript)
        return Finding("build", internal.error, internal.line) if internal else None
    first = scene.failing[:MOST_FAILING]
    readings = [_read_failing(scene, one) for one in first]
    unloaded = [finding for finding, one in zip(readings, first, strict=True) if not one.named]
    best = min(
        unloaded or readings,
        key=lambda finding: (_WEIGHT.get(finding.verdict, 3), not finding.error),
    )
    best = _caused_by(scene, best) if best.verdict == "test" else best
    error = (
        best.error
        or _stated(scene)
        or (scene.transcript.lines[best.line].strip() if best.line >= 0 else NO_ERROR)
    )
    return replace(best, error=error, tests=tuple(one.name for one in scene.failing if one.named))


def _caused_by(scene: Scene, best: Finding) -> Finding:
    """Java names below an exception the one that brought it about."""
    if ASSERTION.match(best.error):
        return best
    outside = (
        one
        for one in scene.findings
        if one.verdict in OUTSIDE and one.error.startswith("Caused by: ")
    )
    return next(outside, best)


def _stated(scene: Scene) -> str:
    """Where a runner lists names only: what is said elsewhere about a failed expectation."""
    said = [
        one
        for one in scene.findings
        if one.verdict in {"assertion", "comparison", "crash", "exception", "timeout"}
    ]
    return min(said, key=lambda one: (one.rank, one.line)).error if said else ""


# What many failing tests amount to: a missing package stops all of them, a plain failure outweighs the environment.
_WEIGHT = {"package": 0, "test": 1, "crash": 2}


def _marked(scene: Scene) -> Finding | None:
    if not scene.marked:
        return None
    first = scene.marked[0]
    error = first.error or _stated(scene) or scene.transcript.lines[first.line].strip()
    return Finding("test", error, first.line, tests=tuple(one.name for one in scene.marked))


def _read_failing(scene: Scene, one: Failing) -> Finding:
    if ASSERTION.match(one.error):
        return Finding("test" if one.named else "build", one.error, one.line)
    said = one.error or (scene.transcript.lines[one.line] if one.line >= 0 else "")
    found = sorted(
        (settle(scene, finding) for finding in causes_in(said, one.line)),
        key=lambda finding: finding.rank,
    )
    if not one.named or scene.project.find(one.name):
        if found and found[0].rank < CAUSES_BELOW:
            return found[0]
        return (
            _unloaded(scene, one)
            or _cause(scene)
            or Finding("test" if one.named else "build", one.error, one.line)
        )
    for finding in found:
        if finding.verdict in OUTSIDE:
            return finding
        if finding.verdict == "timeout":
            return replace(finding, type=VERIFICATION_FAILED)
    if WORKER_DEATH.search(said) and not _aborted_by_assert(scene, said):
        return Finding("crash", one.error, one.line, type=VERIFICATION_FAILED)
    return Finding("test", one.error, one.line)


def _unloaded(scene: Scene, one: Failing) -> Finding | None:
    """A test file that died before its first test: that none was found in it is only what follows."""
    if not one.named:
        return None
    threw = next(
        (finding for finding in causes_in(one.error, one.line) if finding.verdict in DEATHS), None
    )
    untested = any(finding.verdict == "no tests" for finding in scene.findings)
    died = next(
        (finding for finding in scene.findings if untested and finding.verdict in DEATHS), threw
    )
    return replace(died, verdict="build") if died else None


def _aborted_by_assert(scene: Scene, said: str) -> bool:
    """C's assert() ends the process; what it says is a failed expectation."""
    return "abort" in said.lower() and any(
        finding.verdict == "assertion" for finding in scene.findings
    )


def _cause(scene: Scene) -> Finding | None:
    causes = [finding for finding in scene.findings if finding.rank < CAUSES_BELOW]
    if not causes:
        return None
    best = min(
        causes,
        key=lambda finding: (
            finding.rank,
            finding.missing is None,
            _is_logged(finding),
            finding.line,
        ),
    )
    best = _last_of_chain(scene, best, causes)
    in_test = best.verdict == "timeout" and "test" in scene.roles
    return replace(best, type=VERIFICATION_FAILED) if in_test else best


def _is_logged(finding: Finding) -> bool:
    """Written by the logger of Go's services, which repeats itself before the tool speaks."""
    return LOGGED.match(finding.error) is not None


def _last_of_chain(scene: Scene, best: Finding, causes: Sequence[Finding]) -> Finding:
    """Of exceptions that led to one another Python shows last the one that ended the program."""
    if not RAISED.match(best.error) or not scene.transcript.has("above"):
        return best
    same = [one for one in causes if one.verdict == best.verdict and one.missing == best.missing]
    return max((one for one in same if RAISED.match(one.error)), key=lambda one: one.line)


def _diagnostic(scene: Scene) -> Finding | None:
    dies = any(finding.verdict in DEATHS for finding in scene.findings)
    for diagnostic in sorted(scene.diagnostics, key=_severity):
        verdict = _diagnosed(scene, diagnostic)
        if verdict and not (dies and _could_be_a_frame(scene, diagnostic)):
            return Finding(verdict, diagnostic.text, diagnostic.line)
    return None


def _could_be_a_frame(scene: Scene, diagnostic: Diagnostic) -> bool:
    """Below the words of a dying program, a place in a file is where it died."""
    step = scene.step_at(diagnostic.line)
    return diagnostic.shape not in {"build", "types"} and not (
        step and step.role in {"lint", "types", "format"}
    )


def _severity(diagnostic: Diagnostic) -> tuple[bool, bool, int]:
    foreign = FOREIGN.search(diagnostic.file) is not None
    return foreign, diagnostic.level in {"warning", "note", "info", "hint"}, diagnostic.line


def _diagnosed(scene: Scene, diagnostic: Diagnostic) -> str:
    """Whose words they are decides: a linter's remark and a compiler's error look the same."""
    step = scene.step_at(diagnostic.line)
    role = step.role if step and step.tool not in ORCHESTRATORS else ""
    if diagnostic.shape == "message":
        return role if role in {"lint", "types"} else ""
    if diagnostic.shape in scene.told_roles and len(scene.told_roles) > 1 and not scene.echoes:
        return diagnostic.shape
    if role == "format":
        # A formatter that speaks of a place in a file could not read it.
        ours = not scene.project.files or scene.project.find(diagnostic.file)
        return (
            "syntax"
            if ours and all(finding.verdict != "format" for finding in scene.findings)
            else "format"
        )
    if role in {"lint", "types", "build", "data"}:
        return role
    if role == "test":
        return "test" if COMPARED.search(diagnostic.text) else "build"
    if role == "run" and not diagnostic.shape:
        return "crash"
    return diagnostic.shape


def _symptom(scene: Scene) -> Finding | None:
    found = [finding for finding in scene.findings if finding.rank >= CAUSES_BELOW]
    if not found:
        return None
    best = min(found, key=lambda finding: (finding.rank, finding.line))
    if best.verdict in DEATHS:
        return _death(scene, [finding for finding in found if finding.verdict in DEATHS])
    role = _own_role(scene, best)
    if best.verdict == "build" and not role:
        return _first_told([best, *_messages(scene)])
    if role in SOFT and best.verdict in (SOFT if role == "test" else {*SOFT, "comparison"}):
        own = [finding for finding in found if finding.verdict == role]
        return replace(_first_told([*own, *_messages(scene)]) or best, verdict=role)
    return best


def _death(scene: Scene, deaths: Sequence[Finding]) -> Finding:
    """Python ends its traceback with the exception that counts; others begin with it.

    An exception of a tool that builds or checks is a tool that could not do so, not a program of ours that died.
    """
    last = (
        deaths[-1]
        if scene.transcript.has("traceback") and scene.transcript.has("recent")
        else deaths[0]
    )
    if all(finding.verdict == "exception" for finding in deaths) and _own_role(scene, last) in {
        *SOFT,
        "install",
    }:
        return replace(last, verdict="build")
    return last


def _own_role(scene: Scene, finding: Finding) -> str:
    """The role of the tool that speaks; of one that runs others only where it speaks for itself."""
    step = scene.step_at(finding.line)
    if step is None or (
        step.tool in ORCHESTRATORS and not finding.error.startswith(f"{step.tool}: ")
    ):
        return ""
    return step.role


def _first_told(findings: Sequence[Finding]) -> Finding | None:
    """The first that is more than a summary."""
    ordered = sorted(
        findings, key=lambda finding: (bool(SUMMARY.search(finding.error)), finding.line)
    )
    return ordered[0] if ordered else None


def _messages(scene: Scene) -> Iterator[Finding]:
    """Lines that call themselves an error."""
    for number, line in enumerate(scene.transcript.lines):
        if number not in scene.quiet and MESSAGE.match(line):
            step = scene.step_at(number)
            role = step.role if step else ""
            verdict = {"run": "crash", "test": "build"}.get(role) or endings.BY_ROLE.get(role)
            if verdict:
                yield Finding(verdict, line.strip(), number)


def _message(scene: Scene) -> Finding | None:
    return _first_told(list(_messages(scene)))


def _quoted(scene: Scene) -> Finding | None:
    """Words that fit no pattern, from a tool whose role is known."""
    step, line = scene.step_at(-1), _quote(scene)
    if not step or not line:
        return None
    changed = next((text for text in scene.transcript.lines if CHANGED.match(text)), "")
    if step.name in endings.COMPARERS or (
        changed and any(one.name in endings.COMPARERS for one in scene.steps)
    ):
        return Finding("comparison", changed or line)
    verdict = "package" if step.role == "install" else endings.BY_ROLE.get(step.role)
    return Finding(verdict, line) if verdict else None


def _quote(scene: Scene) -> str:
    """The line to quote where nothing is known of the tool's way of speaking."""
    told = [
        line.strip()
        for number, line in enumerate(scene.transcript.lines)
        if line.strip() and number not in scene.quiet
    ]
    alarming = [line for line in told if ALARM.search(line)]
    warning = [line.strip() for line in scene.transcript.lines if WARNING.match(line)]
    lines = (
        [line for line in alarming if not SUMMARY.search(line)]
        or warning
        or alarming
        or _traced(scene)
        or told[-1:]
    ) or [line.strip() for line in scene.transcript.lines if line.strip()]
    return lines[0] if lines else ""


def _traced(scene: Scene) -> Sequence[str]:
    """The last command of a shell's trace is the one that ended it."""
    last = next((line for line in reversed(scene.transcript.lines) if line.strip()), "")
    return [last] if TRACED.match(last) else []
