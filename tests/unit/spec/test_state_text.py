"""The text of a state is the JSON of it, however often and wherever it was changed in between."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ralph.files import STATE_NAME
from pytest_ralph.spec.state import State
from pytest_ralph.spec.state_text import StateText

if TYPE_CHECKING:
    from pathlib import Path

KEYS = st.sampled_from(["a", "b", 'c"\n', "é"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(states=st.lists(st.dictionaries(KEYS, VALUES, max_size=4), max_size=5))
def test_each_state_in_turn_is_written_as_if_it_were_the_first(
    states: list[dict[str, Any]],
) -> None:
    text = StateText()
    for state in states:
        assert (
            text.written(state).decode() == json.dumps(state, indent=2, ensure_ascii=False) + "\n"
        )
        assert text.copy() == state


def test_what_is_changed_deep_inside_is_written() -> None:
    text, state = (
        StateText(),
        {"taskResults": {"1.1": {"error": {"attempt_1": {"message": "one"}}}, "1.2": {}}},
    )
    text.written(state)
    before = deepcopy(text.copy())
    state["taskResults"]["1.1"]["error"]["attempt_1"]["message"] = "other"
    assert text.copy() == before
    assert b'"message": "other"' in text.written(state)


def test_an_entry_that_somebody_else_put_in_can_be_changed(tmp_path: Path) -> None:
    path = tmp_path / STATE_NAME
    path.write_text('{"taskResults": {}}')
    state = State.load(path)
    path.write_text(
        '{"taskResults": {}, "fixTaskMap": {"1.1": {"attempts": 1, "fixTaskIds": ["1.1.1"]}}}'
    )
    state.set_status("1.2", "running")
    state.save()
    state.record_fix("1.1", "1.1.2", "it")
    state.save()
    assert json.loads(path.read_text())["fixTaskMap"]["1.1"]["fixTaskIds"] == ["1.1.1", "1.1.2"]


@pytest.mark.parametrize(
    ("before", "after"),
    [(False, 0), (1, True), (1, 1.0), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ([0], [False])],
)
def test_a_value_that_only_equals_the_one_before_is_written_anew(before: Any, after: Any) -> None:
    text = StateText()
    for value in (before, after):
        state = {"field": value, "map": {"entry": {"inner": value}}}
        assert text.written(state).decode() == json.dumps(state, indent=2) + "\n"
