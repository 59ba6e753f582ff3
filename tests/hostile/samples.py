"""Text that somebody else wrote, and a failure that is made of it from top to bottom."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

from pytest_ralph.failure.failure import Failure
from pytest_ralph.report.run_summary import RunSummary
from pytest_ralph.results import Attempt, FixResult, TaskResult

SAMPLES: list[str] = json.loads(
    (Path(__file__).parents[1] / "samples" / "hostile.json").read_text("utf-8")
)
LARGE = ["x" * 1_000_000, "- [ ] 9.9 x\n" * 50_000, "`" * 1_000_000, "\x1b[31m" * 100_000]
# The same, but nothing about it is hostile: what a sink makes of this is its own structure.
TAME = "word"

_DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def failure_of(text: str) -> Failure:
    """Every field that can hold what a tool, a test or an executor said."""
    return Failure(
        kind="test_failure",
        type="VERIFICATION_FAILED",
        task_id="1.3",
        error=text,
        attempted_fix=text,
        status=text,
        raw_output=text,
        files=(text, text),
        failed_tests=(text, text),
        missing=text,
        completed_steps=(text,),
        files_modified=(text,),
        blocked_on=text,
        suggested_actions=(text,),
        session_id=text,
        guidance=text,
        command="pytest -q",
        exit_code=1,
    )


def story_of(text: str) -> RunSummary:
    """A run in which one task failed, one was recovered and one is blocked."""
    attempt = Attempt.of_failure(
        failure_of(text), log=".ralph/logs/1.log", decision=text, expected=text, got=text
    )
    fix = FixResult(
        "1.3.1",
        "1.3",
        text,
        "agent",
        "failed",
        (FixResult("1.3.1.1", "1.3.1", text, "agent", "completed"),),
    )
    tasks = [
        TaskResult(
            id=f"1.{number}",
            spec="demo",
            spec_path="specs/demo/tasks.md",
            title=text,
            outcome=outcome,
            reason=text,
            attempts=(attempt, attempt),
            fixes=(fix,),
            line=number,
        )
        for number, outcome in enumerate(("failed", "recovered", "blocked"), 3)
    ]
    return RunSummary(tuple(tasks), command_line="pytest --ralph", root="/project", notes=(text,))


def unseen(text: str) -> str:
    """The first character of `text` that moves the cursor, hides text or turns its direction."""
    for character in text:
        if character in "\n\t":
            continue
        if unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}:
            return ascii(character)
        if (
            unicodedata.bidirectional(character) in _DIRECTIONS
            or character in "\u200b\u200c\u200e\u200f\u2060\ufeff"
        ):
            return ascii(character)
    return ""
