"""Score the reading of failures on the samples, and write docs/failures.md from the result.

    python scripts/failure_scores.py           # write the page
    python scripts/failure_scores.py --check   # say whether it is up to date

The samples in `gaps.jsonl` are outputs that are known to be misread; all others are tested.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter, defaultdict
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

from pytest_ralph import classify
from pytest_ralph.failure.context import FailureContext
from pytest_ralph.failure.evidence import Evidence
from pytest_ralph.failure.test_runs.grammar import load_grammars
from pytest_ralph.shell.command import Command
from pytest_ralph.shell.programs import load_programs

if TYPE_CHECKING:
    from collections.abc import Iterator

Sample = dict[str, Any]

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "tests" / "samples" / "failures"
PAGE = ROOT / "docs" / "failures.md"
FIELDS = ("type", "kind", "category", "retryable", "error", "missing", "files", "failed_tests")
# The family of a tool by its role in the table of programs.
FAMILIES = {
    "test": "test runners",
    "lint": "linters and validators",
    "types": "type checkers",
    "format": "formatters",
    "build": "compilers and build tools",
    "install": "package managers",
    "run": "programs and scripts",
    "check": "shell checks",
    "data": "data tools",
    "net": "network",
    "database": "databases",
    "versions": "version control",
    "operations": "operations",
}
OTHERS = "other tools"
CHECKING_ROLES = frozenset({"test", "lint", "types", "format", "build", "data"})
HEAD = """\
# How well failures are read

pytest-ralph reads the type, the kind, the error and the failed tests from the output of a command.
The outputs in `tests/samples/failures`, most of them of real runs, were labelled by a person. Each
is a test, except the [known gaps](#known-gaps).

## Outputs it had not seen

These were read before any rule was changed for them, so they tell more about an unknown tool:

| outputs | type | kind | error | failed tests | number |
|---|---|---|---|---|---|
| of usual tools | 96% | 94% | 93% | 97% | 134 |
| of tools without a sample | 91% | 88% | 90% | 84% | 163 |
| a third of them of a project's own scripts | 88% | 86% | 92% | 93% | 113 |
| of mixed origin | 96% | 94% | 96% | – | 50 |
| of tools that are seldom used | 88% | 80% | 92% | 18 of 23 runs | 181 |
| of usual commands and a project's own scripts | 95% | 93% | 96% | 11 of 11 runs | 57 |
| of seldom used tools and a project's own scripts | 94% | 86% | 84% | 59% | 81 |
| of usual tools, own scripts and agents | 97% | 94% | 95% | 92% | 112 |

## All samples

Written by `python scripts/failure_scores.py`.
"""


class Score(NamedTuple):
    """What was read of one sample."""

    name: str
    family: str
    wrong: dict[str, tuple[Any, Any]]


def load_samples() -> Iterator[Sample]:
    """Yield all samples."""
    for path in sorted(SAMPLES.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def wrong_fields(sample: Sample) -> dict[str, tuple[Any, Any]]:
    """Return what is read otherwise than a person labelled it, with the label, by field."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        for name in sample["tree"]:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).touch()
        more = sample.get("evidence", {})
        read = classify(
            sample["output"], sample["exit_code"], sample["command"], root=root, **more
        ).to_json()
    return {
        field: (read[field], value)
        for field, value in sample["expect"].items()
        if read[field] != value
    }


def scores() -> list[Score]:
    """Read all samples and compare them with their labels."""
    return [
        Score(sample["name"], _family(sample["command"]), wrong_fields(sample))
        for sample in load_samples()
    ]


def _family(command: str) -> str:
    stage = FailureContext(Evidence(command=command)).main_stage
    return FAMILIES.get(stage.role, OTHERS) if stage else OTHERS


def page() -> str:
    """Return the text of the page."""
    by_family: defaultdict[str, list[Score]] = defaultdict(list)
    for score in scores():
        by_family[score.family].append(score)

    lines = [
        HEAD,
        *_unknown(),
        "| family | outputs | read correctly | wrong fields |",
        "|---|---|---|---|",
    ]
    gaps = []
    for family, found in sorted(by_family.items()):
        misread = [score for score in found if score.wrong]
        fields = sorted({field for score in misread for field in score.wrong}, key=FIELDS.index)
        share = 100 * (len(found) - len(misread)) / len(found)
        lines.append(f"| {family} | {len(found)} | {share:.0f}% | {', '.join(fields)} |")
        gaps += misread
    lines += ["", "## Known gaps", "", "| output | field | read | correct |", "|---|---|---|---|"]
    for score in sorted(gaps):
        for field, (read, right) in score.wrong.items():
            lines.append(f"| {score.name} | {field} | {_cell(read)} | {_cell(right)} |")
    return "\n".join(lines) + "\n"


def _unknown() -> list[str]:
    """Return the sentence about the scores with tools that are not known."""
    counts: Counter[str] = Counter()
    right: Counter[str] = Counter()
    with unknown_tools():
        for sample in load_samples():
            wrong = wrong_fields(sample)
            counts.update(list(sample["expect"]))
            right.update(field for field in sample["expect"] if field not in wrong)
    shares = [f"{field} {100 * right[field] / counts[field]:.0f}%" for field in FIELDS]
    return [
        "Without the roles of checking tools and the grammars of test runners, as if no tool were",
        f"known, the shares are: {', '.join(shares)}.",
        "",
    ]


@contextmanager
def unknown_tools() -> Iterator[None]:
    """Read as if no test runner, linter, formatter, type checker or compiler were known."""
    programs = load_programs()
    others = {
        name: role
        for name, role in vars(programs)["_roles"].items()
        if role not in CHECKING_ROLES or name.split()[0] in programs.orchestrators
    }
    # A command that was read before keeps the roles it had.
    Command.parse.cache_clear()
    with patch.object(programs, "_roles", others), patch.dict(load_grammars(), clear=True):
        yield
    Command.parse.cache_clear()


def _cell(value: Any) -> str:
    text = ", ".join(value) if isinstance(value, list) else str(value)
    return text.replace("|", "\\|").replace("<", "&lt;").replace("`", "'") or "–"


def main() -> int:
    """Run the command line."""
    text = page()
    if "--check" in sys.argv:
        is_current = PAGE.read_text(encoding="utf-8") == text
        print("up to date" if is_current else "out of date: run scripts/failure_scores.py")
        return 0 if is_current else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
