"""Whole specs, in the formats people use, read as the JSON beside them says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.spec.document import Spec

if TYPE_CHECKING:
    from pytest_ralph.spec.task import Task
    from pytest_ralph.verify.model import Check

SAMPLES = sorted((Path(__file__).parents[2] / "samples" / "specs").glob("*.md"))
LINE_ENDS = {"lf": "\n", "crlf": "\r\n"}


def check_as_json(check: Check) -> dict[str, Any]:
    expect: list[list[Any]] = []
    for one in check.expect:
        values = [] if one.value is None else [one.value]
        expect.append(
            [one.stream, one.op, *(list(v) if isinstance(v, tuple) else v for v in values)]
        )
    shown: dict[str, Any] = {"command": check.command, "expect": expect}
    return shown | ({"directory": check.directory} if check.directory else {})


def task_as_json(task: Task) -> dict[str, Any]:
    return {
        "name": task.name,
        "title": task.title,
        "checked": task.checked,
        "markers": list(task.markers),
        "phase": task.phase,
        "lines": [task.line, task.end_line],
        "fields": list(task.fields),
        "files": list(task.files),
        "checks": [check_as_json(check) for check in task.verify.checks],
        "mode": task.verify.mode,
        "manual": task.verify.manual,
    }


def spec_as_json(spec: Spec) -> dict[str, Any]:
    return {
        "tasks": [task_as_json(task) for task in spec.tasks],
        "problems": [[problem.line, problem.code] for problem in spec.problems],
        "settings": dict(spec.settings),
    }


@pytest.mark.parametrize("ends", LINE_ENDS)
@pytest.mark.parametrize("bom", ["", "\ufeff"], ids=["plain", "bom"])
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_reads_the_same_with_any_line_end_and_mark(
    sample: Path, bom: str, ends: str
) -> None:
    source = bom + sample.read_text(encoding="utf-8").replace("\n", LINE_ENDS[ends])
    spec = Spec.parse(source, sample)
    assert spec_as_json(spec) == json.loads(sample.with_suffix(".json").read_text(encoding="utf-8"))
    assert spec.source == source
