"""The Batch: tasks of a [P] group when some of them fail: who runs, who waits, who is tried again. Data → lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Status = Literal[
    "FAILED (attempt 1)",
    "failed (attempt 1)",
    "failed",
    "running...",
    "complete",
    "skipped",
    "waiting",
]
MOST = 20


def partial_failure(statuses: Mapping[str, Status]) -> list[str]:
    """A task failed while siblings of it still run."""
    failed = [name for name, status in statuses.items() if status.lower().startswith("failed")]
    running = [name for name, status in statuses.items() if status in ("running...", "waiting")]
    return [
        *_heading("PARTIAL FAILURE"),
        *_batch(statuses),
        "Status:",
        *_listed(statuses),
        "",
        "Decision: Allow running siblings to complete before retry.",
        "",
        "Rationale:",
        "1. Siblings may succeed, preserving their work",
        f"2. Retry of {_and(failed)} won't conflict with running {_and(running)}",
        "3. More efficient than cancelling all",
        "",
        f"Waiting for {_and(running)} to complete...",
    ]


def retry_after_siblings(statuses: Mapping[str, Status], failed: str) -> list[str]:
    """All first attempts have ended and one of them failed."""
    done = [name for name, status in statuses.items() if status == "complete"]
    kept = f"{_and(done)} results preserved. Their commits (if --ralph-commit=auto)" if done else ""
    note = (
        ["", f"Note: {kept}", f"already created. {failed} retry runs in isolation."] if done else []
    )
    return [
        *_heading("RETRY AFTER SIBLINGS"),
        "All siblings complete:",
        *_listed(
            {
                name: "failed (attempt 1)" if name == failed else status
                for name, status in statuses.items()
            }
        ),
        "",
        f"Initiating retry for Task {failed}...",
        *note,
    ]


def multiple_failures(statuses: Mapping[str, Status], failed: Sequence[str]) -> list[str]:
    """All first attempts have ended and several of them failed."""
    retries = [
        f"Retry {number}: Task {name} (parallel with {_and([other for other in failed if other != name])} retry)"
        for number, name in enumerate(failed, 1)
    ]
    return [
        *_heading("MULTIPLE FAILURES"),
        *_batch(statuses),
        "Results:",
        *_listed(statuses),
        "",
        "Multiple tasks failed. Retrying each:",
        "",
        *retries[:MOST],
        *_more(len(retries)),
        "",
        "[Retries run in parallel since they're independent]",
    ]


def retry_results(results: Mapping[str, str]) -> list[str]:
    """What became of each task that was tried again: empty for one that passes now, else why it does not."""
    lines = [
        f"  Task {name}: {f'failed ({why})' if why else 'complete (retry succeeded)'}"
        for name, why in results.items()
    ]
    failed = [name for name, why in results.items() if why]
    told = f"Task{'s' if len(failed) > 1 else ''} {_and(failed)} failed after retry."
    ends = ["", told, "RALPH HALTED"] if failed else []
    return ["Retry results:", *lines[:MOST], *_more(len(lines)), *ends]


def _heading(what: str) -> list[str]:
    title = f"PARALLEL BATCH - {what}"
    return [title, "=" * len(title), ""]


def _batch(statuses: Mapping[str, Status]) -> list[str]:
    names = list(statuses)
    more = f", … {len(names) - MOST} more" if len(names) > MOST else ""
    return [f"Batch: [{', '.join(names[:MOST])}{more}]", ""]


def _listed(statuses: Mapping[str, Status]) -> Iterator[str]:
    """Those that failed first, where not all can be shown."""
    shown = sorted(statuses, key=lambda name: not statuses[name].lower().startswith("failed"))[
        :MOST
    ]
    yield from (f"  Task {name}: {status}" for name, status in statuses.items() if name in shown)
    yield from _more(len(statuses))


def _more(count: int) -> list[str]:
    return [f"  … {count - MOST} more"] if count > MOST else []


def _and(names: Sequence[str]) -> str:
    if len(names) > 4:
        return f"{names[0]}, {names[1]} and {len(names) - 2} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
