"""The output of real tools, and outputs shortened to what decides, are read as a person would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_ralph import classify

SAMPLES = Path(__file__).parents[2] / "samples" / "failures"


def _misread(sample: dict[str, Any], root: Path) -> list[str]:
    for name in sample["tree"]:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    more = sample.get("evidence", {})
    failure = classify(
        sample["output"], sample["exit_code"], sample["command"], root=root, **more
    ).to_json()
    return [
        f"{sample['name']}: {field} is {failure[field]!r}, not {value!r}"
        for field, value in sample["expect"].items()
        if failure[field] != value
    ]


# Outputs that are known to be misread; docs/failures.md lists them.
GAPS = "gaps"
FAMILIES = sorted(path.stem for path in SAMPLES.glob("*.jsonl") if path.stem != GAPS)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_sample_of_a_family_is_read_rightly(family: str, tmp_path: Path) -> None:
    lines = (SAMPLES / f"{family}.jsonl").read_text(encoding="utf-8").splitlines()
    samples = [json.loads(line) for line in lines]
    misread = [
        said
        for number, sample in enumerate(samples)
        for said in _misread(sample, tmp_path / str(number))
    ]
    assert not misread, "\n".join(misread)
