"""The messages about a `[P]` group of which some tasks failed, as lists of lines.

The wording is that of the failure protocol the plugin follows, so that tools can rely on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pytest_ralph.text.listing import joined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What has become of the first attempt at a task.
Status = Literal["failed", "running...", "complete", "skipped", "waiting"]


def partial_failure(statuses: Mapping[str, Status]) -> list[str]:
    """A task failed while other tasks of its group are still running."""
    failed = _named(statuses, "failed")
    running = _named(statuses, "running...", "waiting")
    return [
        *_heading("PARTIAL FAILURE"),
        *_batch(statuses),
        "Status:",
        *_status_lines(statuses, failed="FAILED (attempt 1)"),
        "",
        "Decision: Allow running siblings to complete before retry.",
        "",
        "Rationale:",
        "1. Siblings may succeed, preserving their work",
        f"2. Retry of {failed} won't conflict with running {running}",
        "3. More efficient than cancelling all",
        "",
        f"Waiting for {running} to complete...",
    ]


def retry_after_siblings(statuses: Mapping[str, Status], failed: str) -> list[str]:
    """All first attempts have ended, and one of them failed."""
    lines = [
        *_heading("RETRY AFTER SIBLINGS"),
        "All siblings complete:",
        *_status_lines(statuses, failed="failed (attempt 1)"),
        "",
        f"Initiating retry for Task {failed}...",
    ]

    completed = _named(statuses, "complete")
    if completed:
        lines += [
            "",
            f"Note: {completed} results preserved. Their commits (if --ralph-commit=auto)",
            f"already created. {failed} retry runs in isolation.",
        ]
    return lines


def multiple_failures(statuses: Mapping[str, Status], failed: Sequence[str]) -> list[str]:
    """All first attempts have ended, and several of them failed."""
    retries = []
    for number, name in enumerate(failed, 1):
        others = joined([other for other in failed if other != name])
        retries.append(f"Retry {number}: Task {name} (parallel with {others} retry)")

    return [
        *_heading("MULTIPLE FAILURES"),
        *_batch(statuses),
        "Results:",
        *_status_lines(statuses),
        "",
        "Multiple tasks failed. Retrying each:",
        "",
        *retries,
        "",
        "[Retries run in parallel since they're independent]",
    ]


def retry_results(results: Mapping[str, str]) -> list[str]:
    """The retries have ended; `results` maps each task to its error, or to an empty string."""
    lines = ["Retry results:"]
    for name, error in results.items():
        outcome = f"failed ({error})" if error else "complete (retry succeeded)"
        lines.append(f"  Task {name}: {outcome}")

    failed = [name for name, error in results.items() if error]
    if failed:
        noun = "Tasks" if len(failed) > 1 else "Task"
        lines += ["", f"{noun} {joined(failed)} failed after retry.", "RALPH HALTED"]
    return lines


def _named(statuses: Mapping[str, Status], *wanted: Status) -> str:
    """Return the names of the tasks that have one of these statuses."""
    return joined([name for name, status in statuses.items() if status in wanted])


def _heading(event: str) -> list[str]:
    title = f"PARALLEL BATCH - {event}"
    return [title, "=" * len(title), ""]


def _batch(statuses: Mapping[str, Status]) -> list[str]:
    return [f"Batch: [{', '.join(statuses)}]", ""]


def _status_lines(statuses: Mapping[str, Status], failed: str = "failed") -> list[str]:
    """Return a line for each task; `failed` is the word for a task that failed."""
    lines = []
    for name, status in statuses.items():
        lines.append(f"  Task {name}: {failed if status == 'failed' else status}")
    return lines
