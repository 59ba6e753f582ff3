"""Every failure rule and every grammar of a test runner is needed by the sample that it names."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

SCRIPT = Path(__file__).parents[3] / "scripts" / "unneeded_rules.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    # The script imports another one beside it.
    sys.path.insert(0, str(SCRIPT.parent))
    spec = importlib.util.spec_from_file_location("unneeded_rules", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    sys.path.remove(str(SCRIPT.parent))
    return module


def test_every_rule_is_needed_by_its_sample(script: ModuleType) -> None:
    assert list(script.unneeded()) == []


def test_a_rule_without_a_sample_is_found(script: ModuleType) -> None:
    rule = script.all_rules()[0]
    sample = rule.sample
    rule.sample = "no-such-sample"
    try:
        assert [unneeded.sample for unneeded in script.unneeded()] == ["no-such-sample"]
    finally:
        rule.sample = sample
