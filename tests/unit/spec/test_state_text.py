"""The text of a state is its JSON, however often and wherever it was changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ralph.files import STATE_NAME
from pytest_ralph.spec.state import State
from pytest_ralph.spec.state_text import StateText

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

KEYS = st.sampled_from(["a", "b", 'c"\n', "é"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


IDS = st.sampled_from(["1.1", "1.2"])
CHANGES = st.one_of(
    st.tuples(st.just("record_fix"), IDS, st.sampled_from(["1.1.1", "1.2.1"]), st.text(max_size=3)),
    st.tuples(st.just("forget_fix"), IDS, st.sampled_from(["1.1.1", "1.2.1"])),
    st.tuples(st.just("use_again"), IDS, st.just("1.1.1")),
    st.tuples(st.just("record_part"), IDS, st.just("1.1.2")),
    st.tuples(st.just("set_status"), IDS, st.sampled_from(["running", "executed"])),
    st.tuples(st.just("begin_attempt"), IDS, st.just(4)),
    st.tuples(st.just("attempt_failed"), IDS, st.just("timeout"), st.text(max_size=3)),
    st.tuples(st.sampled_from(["task_passed", "task_failed"]), IDS),
    st.tuples(st.sampled_from(["start_run", "release"])),
    st.tuples(st.just("hold"), st.just("run")),
)


@given(state=st.dictionaries(KEYS, VALUES, max_size=4))
def test_a_state_is_encoded_as_json(state: dict[str, Any]) -> None:
    expected = json.dumps(state, indent=2, ensure_ascii=False) + "\n"
    assert StateText().encoded(state).decode() == expected


@settings(max_examples=40)
@given(changes=st.lists(CHANGES, max_size=12))
def test_every_change_reaches_the_file(
    changes: list[tuple[Any, ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("state") / STATE_NAME
    path.write_text('{"fixTaskMap": {}}')
    state = State.load(path)
    for name, *arguments in changes:
        getattr(state, name)(*arguments)
        state.save()
        assert json.loads(path.read_text(encoding="utf-8")) == state.data


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
