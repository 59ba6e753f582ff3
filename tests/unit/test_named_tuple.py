"""Named tuples that are created faster than those of `typing`."""

from __future__ import annotations

import pickle

from pytest_ralph.results import Attempt, FixResult


def test_fields_have_defaults_and_classes_methods() -> None:
    fix = FixResult("1.1.1", title="Fix it")
    assert list(fix) == ["1.1.1", "", "Fix it", "", "", ()]
    assert list(fix.walk()) == [(0, fix)]
    assert FixResult.__doc__ is not None
    assert FixResult.__doc__.startswith("A fix task and its own fixes.")


def test_a_tuple_survives_pickling() -> None:
    attempt = Attempt(number=2, changed=("a.py",))
    assert pickle.loads(pickle.dumps(attempt)) == attempt
    assert repr(attempt).startswith("Attempt(number=2, what='verify'")
