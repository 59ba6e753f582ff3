"""Evidence: the facts about one failed attempt, as they were found.

Nothing in here is interpreted yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.running.soundness import Defect

Source = Literal["verify", "executor"]


@dataclass(frozen=True)
class Evidence:
    """How a command ended and what it left behind."""

    output: str = ""
    exit_code: int | None = None
    command: str = ""
    junit: tuple[Path | str, ...] = ()
    root: Path | None = None
    timed_out: bool = False
    signal: int | None = None
    timeout: float | None = None
    duration: float = 0.0
    source: Source = "verify"
    # Expectations of the Verify field that were not met: "stdout >= 1, got '0'".
    unmet: tuple[str, ...] = ()
    # Files that are not there although the command ended as the Verify field expects.
    unwritten: tuple[str, ...] = ()
    # Files that the task is about: the project's own, even before they are there.
    planned: tuple[str, ...] = ()
    # Why the command did not do its work, if the run of the Verify field has found that out.
    defect: Defect | None = None
