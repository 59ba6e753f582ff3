"""The samples of Verify fields in tests/samples/readings, and the rules that they prove."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pytest_ralph.verify import expect, spans
from pytest_ralph.verify.read import read_verify

SAMPLES = Path(__file__).parents[2] / "samples" / "readings"


class Sample(NamedTuple):
    """A Verify field and how it is to be read, as lines of text."""

    name: str
    field: str
    reading: tuple[str, ...]


def load_samples() -> dict[str, Sample]:
    """Return all samples by name."""
    found: dict[str, Sample] = {}
    for path in sorted(SAMPLES.glob("*.txt")):
        for block in f"\n{path.read_text(encoding='utf-8')}".split("\n["):
            name, closed, rest = block.partition("]\n")
            if not closed or name.startswith("#"):
                continue
            sample = _parse(name, rest)
            assert name not in found, f"{path.name}: two samples are called {name}"
            found[name] = sample
    return found


def _parse(name: str, block: str) -> Sample:
    lines = block.rstrip().split("\n")
    marks = ("=> ", "unread: ", "files: ", "manual", "any")
    start = next(at for at, line in enumerate(lines) if line.startswith(marks))
    field = "\n".join(lines[:start])
    return Sample(name, field, tuple(lines[start:]))


def read_as_lines(field: str) -> tuple[str, ...]:
    """Return the reading of a field in the form of the samples."""
    read_verify.cache_clear()
    verify = read_verify(field)
    if verify.manual:
        return ("manual",)
    lines: list[str] = []
    if verify.mode == "any":
        lines.append("any")
    for check in verify.checks:
        expects = ", ".join(map(str, check.expect))
        command = check.command.replace("\n", "\\n")
        lines.append(f"=> {command} :: {expects}" if expects else f"=> {command}")
        lines += [f"files: {path}" for path in check.files]
    lines += [f"unread: {words}" for words in verify.unread]
    return tuple(lines)


def rule_names() -> list[str]:
    """Return the names of all patterns and rules; each is the name of its sample."""
    return [one.name for one in (*expect.PATTERNS, *spans.RULES)]


def rules_without_sample() -> list[str]:
    """Return the patterns and rules that no sample is named after."""
    samples = load_samples()
    return [name for name in rule_names() if name not in samples]
