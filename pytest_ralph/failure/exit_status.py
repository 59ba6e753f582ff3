"""Endings: what the way a command ended tells before a word of its output is read, or when there is none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.finding import Finding

if TYPE_CHECKING:
    from pytest_ralph.failure.context import Scene
    from pytest_ralph.shell.steps import Step

NOTHING_COLLECTED = 5
TIMEOUT, NOT_EXECUTABLE, NOT_FOUND, KILLED, TERMINATED = 124, 126, 127, 137, 143
FATAL_SIGNALS = {
    132: "Illegal instruction",
    133: "Trace trap",
    134: "Aborted",
    135: "Bus error",
    136: "Floating point exception",
    139: "Segmentation fault",
}
# Signals by which a limit of the shell is enforced.
SPENT = {152: "CPU time limit exceeded", 153: "File size limit exceeded"}
# What clients of the network say by their exit status alone.
CURL = {
    5: "service",
    6: "service",
    7: "service",
    22: "assertion",
    28: "timeout",
    35: "service",
    52: "service",
    56: "service",
    60: "service",
}
WGET = {4: "service", 5: "service", 6: "value", 8: "assertion"}
OTHERS = {
    ("ssh", 255): "service",
    ("scp", 255): "service",
    ("pg_isready", 1): "service",
    ("pg_isready", 2): "service",
    ("ping", 1): "service",
    ("nc", 1): "service",
}
BY_ROLE = {
    "test": "test",
    "lint": "lint",
    "types": "types",
    "format": "format",
    "build": "build",
    "check": "absent",
    "data": "absent",
}
# Tools whose whole output is the difference they were asked for.
COMPARERS = frozenset(
    {"diff", "cmp", "comm", "git diff", "colordiff", "sdiff", "diff3", "zdiff", "wdiff", "icdiff"}
)


def read_limit(scene: Scene) -> Finding | None:
    """Our own time limit, or the one of a `timeout` in the command line."""
    evidence = scene.evidence
    if evidence.timed_out:
        limit = evidence.timeout or evidence.duration
        return Finding("timeout", f"Timed out after {limit:g}s" if limit else "Timed out")
    limited = re.search(r"(?:^|[\s;&|(])g?timeout\s", evidence.command)
    if evidence.exit_code == TIMEOUT or (limited and evidence.exit_code in {KILLED, TERMINATED}):
        return Finding("timeout", f"Timed out: {evidence.command}".strip())
    return None


def read_unrun(scene: Scene) -> Finding | None:
    """pytest's own word for a run without a test, whatever else it says."""
    step = scene.main_step
    if (
        scene.evidence.exit_code != NOTHING_COLLECTED
        or step is None
        or step.tool not in {"pytest", "py.test"}
    ):
        return None
    said = [(number, line) for number, line in enumerate(scene.transcript.lines) if line.strip()]
    return Finding("no tests", said[-1][1].strip(), said[-1][0]) if said else None


def read_fatal(scene: Scene) -> Finding | None:
    """Death by a signal, for which no better words were found."""
    code = scene.evidence.exit_code
    if code in FATAL_SIGNALS:
        return Finding("crash", f"{FATAL_SIGNALS[code]} (exit status {code})")
    if code in SPENT:
        return Finding("resource", f"{SPENT[code]} (exit status {code})")
    if code in {KILLED, TERMINATED}:
        return Finding("killed", f"Killed (exit status {code})")
    return None


def read_status(scene: Scene) -> Finding | None:
    """An exit status that has a meaning of its own."""
    code, step = scene.evidence.exit_code, scene.main_step
    tool = step.tool if step else ""
    told = {"curl": CURL, "wget": WGET}.get(tool, {}).get(code or 0) or OTHERS.get(
        (tool, code or 0)
    )
    if told:
        return Finding(told, f"{tool} exited with status {code}")
    if code == NOT_FOUND:
        return Finding("command", f"command not found (exit status {code})", missing=tool or None)
    if code == NOT_EXECUTABLE:
        return Finding("permission", f"cannot execute (exit status {code})")
    return None


def read_content(scene: Scene) -> Finding | None:
    """A command that ended well printed something else than was asked for: its words are content, not complaints."""
    return read_unmet(scene) if scene.evidence.exit_code == 0 else None


def read_unmet(scene: Scene) -> Finding | None:
    """What was expected, and what came instead."""
    if not scene.evidence.unmet:
        return None
    step = scene.step_at(-1)
    return Finding(
        BY_ROLE.get(step.role if step else "", "absent"), f"expected {scene.evidence.unmet[0]}"
    )


def read_silence(scene: Scene) -> Finding | None:
    """Nothing was printed that says why: what the command is for decides."""
    evidence = scene.evidence
    if not scene.steps or [step.tool for step in scene.steps] == ["false"]:
        return None
    last = scene.steps[-1]
    silent_check = last.role in {"check", "data"} and not scene.transcript.text.strip()
    step = last if silent_check else scene.step_at(-1)
    error = f"`{_shortened(evidence.command)}` exited with status {evidence.exit_code}"
    verdict = BY_ROLE.get(step.role if step else "") or (
        "absent" if _is_check(scene, step) else None
    )
    return Finding(verdict, error) if verdict else None


def _is_check(scene: Scene, step: Step | None) -> bool:
    """A silent condition: one made of tests, or a line of code written only to be one."""
    inline = step is not None and any(option in step.arguments for option in ("-c", "-e"))
    return inline or any(one.role in {"check", "data"} for one in scene.steps)


def _shortened(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= 120 else line[:117] + "..."
