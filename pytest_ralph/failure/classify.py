"""classify: from Evidence to one well-founded Failure."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ralph.failure.advice import guidance, suggested_actions
from pytest_ralph.failure.context import Scene
from pytest_ralph.failure.evidence import Evidence
from pytest_ralph.failure.executor_words import as_failure, read_agent
from pytest_ralph.failure.files import named_files
from pytest_ralph.failure.fingerprint import fingerprint
from pytest_ralph.failure.indicators import read_last_words, read_project_words
from pytest_ralph.failure.kinds import Kinds
from pytest_ralph.failure.root_cause import decide

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ralph.failure.failure import Failure

LONGEST_ERROR = 1_000


def classify(
    output: str,
    exit_code: int | None = None,
    command: str = "",
    junit: Path | str | Iterable[Path | str] | None = None,
    root: Path | str | None = None,
    **more: Any,
) -> Failure:
    """What went wrong, from a command's output and how it ended."""
    reports = () if junit is None else (junit,) if isinstance(junit, (str, Path)) else tuple(junit)
    evidence = Evidence(
        output, exit_code, command, reports, Path(root) if root is not None else None, **more
    )
    return classify_evidence(evidence, Kinds.load())


def classify_evidence(evidence: Evidence, kinds: Kinds) -> Failure:
    scene = Scene(evidence)
    failure = read_project_words(scene, kinds) or read_agent(scene, kinds) or _read(scene, kinds)
    return _completed(failure, scene, kinds)


def _read(scene: Scene, kinds: Kinds) -> Failure:
    finding = decide(scene)
    words = read_last_words(scene, kinds) if finding.verdict == "unknown" else None
    return words or as_failure(finding, kinds)


def _completed(failure: Failure, scene: Scene, kinds: Kinds) -> Failure:
    """Everything that follows from what is known: the files, the advice, the fingerprint."""
    evidence = scene.evidence
    failure = replace(
        failure,
        error=failure.error[:LONGEST_ERROR],
        files=failure.files or named_files(scene, failure),
        line=line_of(failure.error),
        blocked_on=failure.blocked_on or failure.error[:LONGEST_ERROR],
        duration=failure.duration or evidence.duration,
        raw_output=scene.transcript.text,
        command=evidence.command,
        exit_code=evidence.exit_code,
        timed_out=evidence.timed_out,
    )
    return replace(
        failure,
        guidance=guidance(failure, kinds),
        suggested_actions=failure.suggested_actions or suggested_actions(failure, evidence, kinds),
        fingerprint=fingerprint(failure),
    )


def line_of(error: str) -> int | None:
    match = re.search(r"[\w)]:(\d{1,7})\b|\bline (\d{1,7})\b|\((\d{1,7})[,:]\d+\)", error)
    return int(next(filter(None, match.groups()))) if match else None
