"""No pattern or rule without a sample that needs it."""

from __future__ import annotations

import pytest

from pytest_ralph.verify import expect, spans
from tests.unit.verify.readings import (
    load_samples,
    read_as_lines,
    rule_names,
    rules_without_sample,
)

SAMPLES = load_samples()


def test_every_rule_has_a_sample() -> None:
    assert rules_without_sample() == []


def test_no_two_rules_share_a_name() -> None:
    assert len(set(rule_names())) == len(rule_names())


@pytest.mark.parametrize("name", rule_names())
def test_without_its_rule_a_sample_reads_differently(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    patterns = tuple(one for one in expect.PATTERNS if one.name != name)
    rules = tuple(one for one in spans.RULES if one.name != name)
    monkeypatch.setattr(expect, "PATTERNS", patterns)
    monkeypatch.setattr(spans, "RULES", rules)

    reading = read_as_lines(SAMPLES[name].field)

    assert reading != SAMPLES[name].reading
