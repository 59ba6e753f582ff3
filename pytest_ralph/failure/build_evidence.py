"""Whether a failure shows that the project does not build, as opposed to text that says so.

A rollback undoes work, so words are not enough for it: a compiler, loader or parser must have named
a place in a file of the project.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.commands import SILENT_TOOLS, prints_answer
from pytest_ralph.failure.context import FailureContext
from pytest_ralph.failure.evidence import Evidence
from pytest_ralph.failure.failure import BROKEN_BUILD
from pytest_ralph.failure.lines import lines_below
from pytest_ralph.failure.root_cause import root_cause

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.failure.failure import Failure

# Rows of the table of verdicts that a compiler, loader or parser gives.
BUILD_VERDICTS = frozenset(
    {"syntax", "local module", "data", "configuration", "unknown key", "build"}
)
# Programs of these roles print what others wrote.
PRINTING_ROLES = frozenset({"check", "net", "operations", "versions"})
FILE_NAME = re.compile(r"[\w@.~/\\+-]*\w")
# a.c:3:5: error, a.ts(3,5): error, a.js (3:5), File "a.py", line 3, a.sh: 3: Syntax error
PLACE = re.compile(r"\bline:? \d+|[:(] ?\d+[:,)\s]|[:(]\d+$|^\s*\d+:\d+\s", re.IGNORECASE)
# Some tools print the file first, and the place some lines below it.
LINES_BELOW = 3


def shows_broken_build(failure: Failure, root: Path) -> bool:
    """Return whether a command that builds or runs the project named the place that is broken."""
    if failure.type != BROKEN_BUILD or failure.timed_out:
        return False
    evidence = Evidence(failure.raw_output, failure.exit_code, failure.command, root=root)
    context = FailureContext(evidence)
    if not _builds_or_runs(context):
        return False
    verdict = root_cause(context).verdict
    if verdict not in BUILD_VERDICTS:
        return False
    # A loader names the file that it looked for a module from, without a line.
    needs_place = verdict != "local module"
    return _names_own_file(context, with_place=needs_place)


def _builds_or_runs(context: FailureContext) -> bool:
    for stage in context.stages_besides(SILENT_TOOLS):
        if stage.role not in PRINTING_ROLES and not prints_answer(stage):
            return True
    return False


def _names_own_file(context: FailureContext, *, with_place: bool) -> bool:
    """Return whether the output names a file of the project, and a place in it."""
    lines = context.output.lines
    for number, line in enumerate(lines):
        is_own = any(map(context.project.find, FILE_NAME.findall(line)))
        if not is_own or number in context.echoed:
            continue
        block = (line, *lines_below(lines, number, LINES_BELOW))
        if not with_place or any(map(PLACE.search, block)):
            return True
    return False
