"""Lines that say that something failed, but not why."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.failure.commands import COMPLAINING_ROLES
from pytest_ralph.failure.finding import Finding, first_of_lowest_rank
from pytest_ralph.failure.lines import matching
from pytest_ralph.failure.project import FOREIGN
from pytest_ralph.failure.purpose import purpose
from pytest_ralph.failure.quote import SUMMARY
from pytest_ralph.failure.readers.messages import (
    error_messages,
    first_statement,
    read_complaint,
    read_difference,
)

if TYPE_CHECKING:
    from pytest_ralph.failure.context import FailureContext

# Symptoms that every tool words alike: the role of the tool says which of them it is.
BY_ROLE = frozenset({"lint", "types", "format", "test", "build"})
FAILED_CHECKS = frozenset({"test", "comparison"})
# The files of frames of Python and Node, the place that Node prints above an error, and the cell of
# a notebook.
FRAME = re.compile(
    r'^\s*File "([^"]+)", line \d|^\s+at .*?\(?((?:file:/|node:|/)[^():]+)(?::\d+)+\)?$'
    r"|^((?:file:/|node:|/)[^\s():]+):\d+$|^(Cell In\[\d+\]), line \d+"
)
PYTHON_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line \d+, in (?P<function>\S+)')
FOREIGN_FRAME = re.compile(rf"{FOREIGN.pattern}|/bin/[\w.-]+$|^<frozen |^node:")


def read_symptom(context: FailureContext) -> Finding | None:
    """Return the symptom that says most, as the tool that printed it means it."""
    best = first_of_lowest_rank(context.findings)
    if best is None:
        return None
    if best.is_death:
        return _read_death(context)
    if best.verdict == "assertion" and "test" not in context.roles and _is_of_library(context):
        return replace(best, verdict="crash")

    symptom = _as_meant(context, best)
    if symptom.verdict in COMPLAINING_ROLES and SUMMARY.search(symptom.error):
        # Quote what a linter complains about in place of its count.
        return read_complaint(context, symptom.verdict) or symptom
    if symptom.verdict == "test":
        return read_difference(context) or symptom
    return symptom


def _as_meant(context: FailureContext, symptom: Finding) -> Finding:
    """Return the symptom with the verdict and the line that the tool's role gives it."""
    role = _deciding_role(context, symptom)
    stated: list[Finding] = []
    if role in BY_ROLE and symptom.verdict in BY_ROLE | {"comparison"}:
        stated += [finding for finding in context.findings if finding.verdict == role]
    elif symptom.verdict == "build":
        stated.append(symptom)
        role = ""
    else:
        return symptom
    stated += error_messages(context)
    best = first_statement(stated) or symptom
    return replace(best, verdict=role) if role else best


def _deciding_role(context: FailureContext, symptom: Finding) -> str:
    """Return what decides about a symptom: the role of the tool, or the symptom's own words."""
    if symptom.verdict in COMPLAINING_ROLES & context.stated_roles:
        # One of several commands, such as the formatter before the tests.
        return symptom.verdict
    role = _speaker_role(context, symptom)
    if role == "build" and symptom.verdict in FAILED_CHECKS and context.counts_failed_tests:
        # It was asked to run the tests too.
        return "test"
    if context.is_known_at(symptom.line):
        return role
    if role in COMPLAINING_ROLES and symptom.verdict == "comparison":
        # Linters, too, say what they expected.
        return role
    # The words are clearer than what the name of a tool suggests.
    return symptom.verdict


def _read_death(context: FailureContext) -> Finding:
    """Return the exception to quote: Python ends its traceback with it, others start with it.

    An exception of a tool that builds or checks means that the tool could not do its work, not
    that a program of the project died.
    """
    deaths = [finding for finding in context.findings if finding.is_death]
    death = deaths[0]
    if context.output.has("traceback"):
        death = max(deaths, key=_words_then_place)
    if any(finding.verdict != "exception" for finding in deaths):
        return death

    role = _speaker_role(context, death)
    if role == "test" and _is_raised_in_test(context):
        return replace(death, verdict="test")
    if role in BY_ROLE or role == "install" or _is_death_of_tool(context):
        return replace(death, verdict="build")
    return death


def _words_then_place(death: Finding) -> tuple[bool, int]:
    """Order exceptions: the name of a class alone tells less than one with words behind it."""
    return not death.error.endswith(":"), death.line


def _is_death_of_tool(context: FailureContext) -> bool:
    """Return whether frames are shown, and none of them is in a file of the project."""
    matches = [match for _, match in matching(FRAME.match, context.output.lines)]
    if not matches:
        return False
    # Each alternative of the pattern has one group.
    return all(FOREIGN_FRAME.search(match[match.lastindex or 0]) for match in matches)


def _is_raised_in_test(context: FailureContext) -> bool:
    """Return whether Python shows a function of the project as the last frame."""
    frame = _last_python_frame(context)
    if frame is None or FOREIGN_FRAME.search(frame["file"]):
        return False
    return frame["function"] != "<module>"


def _is_of_library(context: FailureContext) -> bool:
    """Return whether the last frame that Python shows is in a file of somebody else."""
    frame = _last_python_frame(context)
    return frame is not None and FOREIGN.search(frame["file"]) is not None


def _last_python_frame(context: FailureContext) -> re.Match[str] | None:
    last = None
    for _, frame in matching(PYTHON_FRAME.match, context.output.lines):
        last = frame
    return last


def _speaker_role(context: FailureContext, finding: Finding) -> str:
    """Return the role of the tool that printed a finding.

    An orchestrator has a role only where it speaks for itself (`make: *** ...`).
    """
    stage = context.stage_at(finding.line)
    if stage.is_orchestrator and finding.error.startswith(f"{stage.program}: "):
        return purpose(stage)
    return context.role_at(finding.line)
