"""Print the failure rules and test-runner grammars that no sample needs.

    python scripts/unneeded_rules.py           # rules whose sample reads the same without them
    python scripts/unneeded_rules.py --assign  # name a sample that needs it for every rule

A rule names the sample in `tests/samples/failures` that needs it: without the rule that sample is
misread. `tests/unit/failure/test_rules.py` fails on a rule without one.
"""

from __future__ import annotations

import argparse
import re
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from failure_scores import Sample, load_samples, wrong_fields

from pytest_ralph.failure.causes import PROSE_FILES, TOOL_FILES, rules_by_key
from pytest_ralph.failure.output import CommandOutput
from pytest_ralph.failure.test_runs.grammar import load_grammars, read_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ralph.failure.causes import Rule

ROOT = Path(__file__).parents[1]
RULES = ROOT / "pytest_ralph" / "failure" / "causes"
GRAMMARS = ROOT / "pytest_ralph" / "failure" / "test_runs" / "runners.rules"
NEVER = re.compile(r"(?!)")
NO_SAMPLE = "-"


class Unneeded(NamedTuple):
    """A rule or grammar that no sample needs."""

    name: str
    sample: str


def all_rules() -> list[Rule]:
    """Return every rule once, in the order of the files."""
    rules: dict[int, Rule] = {}
    for names in (TOOL_FILES, PROSE_FILES):
        for found in rules_by_key(names).values():
            rules.update((id(rule), rule) for rule in found)
    return list(rules.values())


@contextmanager
def without_rule(rule: Rule) -> Iterator[None]:
    """Read as if the rule did not exist."""
    pattern = rule.pattern
    rule.pattern = NEVER
    try:
        yield
    finally:
        rule.pattern = pattern


@contextmanager
def without_grammar(name: str) -> Iterator[None]:
    """Read as if the grammar did not exist."""
    grammars = load_grammars()
    grammar = grammars[name]
    grammars[name] = replace(grammar, title="(?!)")
    try:
        yield
    finally:
        grammars[name] = grammar


def unneeded() -> Iterator[Unneeded]:
    """Yield the rules and grammars whose named sample is read the same without them."""
    samples = {sample["name"]: sample for sample in load_samples()}
    for rule in all_rules():
        name = f"[{rule.verdict}] {' '.join(rule.keys)}"
        with without_rule(rule):
            if rule.sample not in samples or not wrong_fields(samples[rule.sample]):
                yield Unneeded(name, rule.sample)
    for name, grammar in load_grammars().items():
        with without_grammar(name):
            if grammar.sample not in samples or not wrong_fields(samples[grammar.sample]):
                yield Unneeded(f"grammar {name}", grammar.sample)


def assign() -> None:
    """Write into every rule and grammar the name of the first sample that needs it."""
    samples = list(load_samples())
    outputs = {sample["name"]: CommandOutput(sample["output"]) for sample in samples}
    for path in sorted(RULES.glob("*.rules")):
        text = path.read_text(encoding="utf-8")
        for rule in all_rules():
            header = f"\n{rule.sample} | {' '.join(rule.keys)}\n    {rule.alternatives[0]}\n"
            if header not in text:
                continue
            matching = [one for one in samples if _matches(rule, outputs[one["name"]])]
            with without_rule(rule):
                needed_by = _first_misread(matching, rule.sample)
            renamed = header.replace(f"\n{rule.sample} |", f"\n{needed_by} |")
            text = text.replace(header, renamed)
        path.write_text(text, encoding="utf-8")

    text = GRAMMARS.read_text(encoding="utf-8")
    for name, grammar in load_grammars().items():
        matching = [one for one in samples if any(read_blocks(outputs[one["name"]], grammar))]
        with without_grammar(name):
            needed_by = _first_misread(matching, grammar.sample)
        heading = rf"(?m)^\[{re.escape(name)}\]\n(?:sample .*\n)?"
        text = re.sub(heading, f"[{name}]\nsample  {needed_by}\n", text)
    GRAMMARS.write_text(text, encoding="utf-8")


def _matches(rule: Rule, output: CommandOutput) -> bool:
    numbers = {number for key in rule.keys for number in output.index.get(key, ())}
    return any(rule.pattern.search(output.english[number]) for number in numbers)


def _first_misread(samples: list[Sample], current: str) -> str:
    """Return the name of a misread sample, the current one if it is among them."""
    for sample in sorted(samples, key=lambda sample: bool(sample["name"] != current)):
        if wrong_fields(sample):
            return str(sample["name"])
    return NO_SAMPLE


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--assign", action="store_true", help="name a sample for every rule")
    if parser.parse_args().assign:
        assign()
        return 0
    found = list(unneeded())
    for rule in found:
        print(f"{rule.name} (sample: {rule.sample or 'none'})")
    print(f"{len(found)} rules that no sample needs")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
