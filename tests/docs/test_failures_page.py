"""docs/failures.md counts all samples and lists exactly those that are misread."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pytest_ralph import classify
from tests.docs.literal import DOCS

SAMPLES = Path(__file__).parents[1] / "samples" / "failures"
PAGE = (DOCS / "failures.md").read_text(encoding="utf-8")
GAPS = (SAMPLES / "gaps.jsonl").read_text(encoding="utf-8").splitlines()


def test_the_page_counts_all_samples() -> None:
    counts = re.findall(r"^\| [^|]+ \| (\d+) \| \d+% \|", PAGE, re.MULTILINE)
    lines = [path.read_text(encoding="utf-8").count("\n") for path in SAMPLES.glob("*.jsonl")]
    assert sum(map(int, counts)) == sum(lines)


@pytest.mark.parametrize("line", GAPS, ids=lambda line: str(json.loads(line)["name"]))
def test_a_known_gap_is_still_one(line: str, tmp_path: Path) -> None:
    sample = json.loads(line)
    for name in sample["tree"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    command = sample["command"]
    read = classify(sample["output"], sample["exit_code"], command, root=tmp_path).to_json()
    wrong = [field for field, value in sample["expect"].items() if read[field] != value]
    assert wrong
    assert all(f"| {sample['name']} | {field} |" in PAGE for field in wrong)
