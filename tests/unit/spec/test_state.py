"""What a state file says, what is written into it, and which files are refused."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ralph.files import STATE_NAME
from pytest_ralph.spec.completion import current_index
from pytest_ralph.spec.state import State
from pytest_ralph.spec.state_file import DEFAULTS, StateError, set_aside
from pytest_ralph.spec.task import Task

if TYPE_CHECKING:
    from pathlib import Path

GUIDE = {
    "phase": "execution",
    "taskIndex": 2,
    "totalTasks": 10,
    "recoveryMode": True,
    "maxFixTasksPerOriginal": 3,
    "fixTaskMap": {
        "1.3": {
            "attempts": 2,
            "fixTaskIds": ["1.3.1", "1.3.2"],
            "lastError": "Syntax error in parser.ts line 42",
        }
    },
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".ralph-state.json"


def loaded(path: Path, data: Any) -> State:
    path.write_text(json.dumps(data))
    return State.load(path)


def fix(fix_id: str, original: str, *, checked: bool = False, do: str = "") -> Task:
    return Task(
        fix_id, f"Fix: {do}", checked, markers=(f"FIX {original}",), fields={"Do": do} if do else {}
    )


def test_tasks_that_executors_ask_for_are_counted(path: Path) -> None:
    state = loaded(path, {"totalTasks": 3})
    state.record_modification("1.3", ["1.3.1", "1.3.2"], "SPLIT_TASK", "too large")
    state.record_modification("1.3", ["1.3.3"], "ADD_FOLLOWUP", "forgotten")
    state.record_modification("1.4", ["1.4.1"], "ADD_FOLLOWUP", "forgotten")
    assert state.modifications("1.3") == 2
    assert state.modifications("1.5") == 0
    assert state.number("totalTasks") == 7
    ids = [entry["id"] for entry in state.data["modificationMap"]["1.3"]["modifications"]]
    assert ids == ["1.3.1", "1.3.2", "1.3.3"]


def test_the_guides_example_is_read(path: Path) -> None:
    state = loaded(path, GUIDE)
    assert state.exists
    assert state.recovery_mode
    assert state.number("taskIndex") == 2
    assert state.number("maxFixTasksPerOriginal") == 3
    assert state.fixes_attempted("1.3") == 2
    assert state.fix_ids("1.3") == ("1.3.1", "1.3.2")


@pytest.mark.parametrize("value", [False, None, "true", 1, "yes", {}])
def test_only_an_explicit_true_turns_recovery_on(path: Path, value: Any) -> None:
    assert not loaded(path, {"recoveryMode": value}).recovery_mode
    assert not loaded(path, {}).recovery_mode


def test_a_generated_fix_updates_the_map_as_in_the_guide(path: Path) -> None:
    state = loaded(path, {"totalTasks": 10})
    state.record_fix("1.3", "1.3.1", "syntax error in parser.ts")
    assert state.data == {
        "totalTasks": 11,
        "fixTaskMap": {
            "1.3": {
                "attempts": 1,
                "fixTaskIds": ["1.3.1"],
                "lastError": "syntax error in parser.ts",
            }
        },
    }
    state.record_fix("1.3", "1.3.2", "still")
    state.record_fix("2.1", "2.1.1", "other")
    assert state.fix_ids("1.3") == ("1.3.1", "1.3.2")
    assert (state.fixes_attempted("1.3"), state.fixes_attempted("2.1")) == (2, 1)
    assert state.used_ids() == ("1.3.1", "1.3.2", "2.1.1")
    assert state.number("totalTasks") == 13


def test_a_null_map_is_an_absent_one(path: Path) -> None:
    state = loaded(path, {"fixTaskMap": None, "taskResults": None, "totalTasks": None})
    state.record_fix("1.3", "1.3.1", "e")
    state.begin_attempt("1.3", 2)
    assert state.fixes_attempted("1.3") == 1
    assert state.number("totalTasks") == 1


def test_fields_of_others_stay_in_their_order(path: Path) -> None:
    data = {
        "zeta": [1, {"b": 2, "a": 1}],
        "taskIndex": 0,
        "name": "é✓",
        "alpha": 1.5,
        "fixTaskMap": {"1.1": {"x": 1}},
    }
    state = loaded(path, data)
    state.record_fix("1.1", "1.1.1", "e")
    state.save()
    written = path.read_text(encoding="utf-8")
    assert list(json.loads(written)) == [
        "zeta",
        "taskIndex",
        "name",
        "alpha",
        "fixTaskMap",
        "totalTasks",
    ]
    assert list(json.loads(written)["zeta"][1]) == ["b", "a"]
    assert json.loads(written)["fixTaskMap"]["1.1"]["x"] == 1
    assert '\n  "name": "é✓",\n' in written
    assert written.endswith("}\n")


def test_an_unchanged_state_keeps_its_bytes(path: Path) -> None:
    path.write_text('{"taskIndex":0,  "x": [1,2]}')
    State.load(path).save()
    assert path.read_text() == '{"taskIndex":0,  "x": [1,2]}'


def test_a_state_that_cannot_be_encoded_is_still_kept(path: Path) -> None:
    path.write_text('{"theirs": "\\ud800 and \\u00e9"}')
    state = State.load(path)
    state.recovery_mode = True
    state.save()
    assert State.load(path).data == {"theirs": "\ud800 and é", "recoveryMode": True}


CORRUPT = [
    ("", "Expecting value"),
    ("{", "Expecting property name"),
    ("[]", "not a JSON object"),
    ("null", "not a JSON object"),
    ('{"taskIndex": 1} trailing', "Extra data"),
    ('{"taskResults": {"1.3": {"attempt": -1}}}', "attempt of 1.3 is not a count"),
    ('{"fixTaskMap": {"1.3": {"attempts": -1}}}', "attempts of 1.3 is not a count"),
    ('{"taskIndex": "2"}', "taskIndex is not a count"),
    ('{"totalTasks": -1}', "totalTasks is not a count"),
    ('{"totalTasks": true}', "totalTasks is not a count"),
    ('{"fixTaskMap": []}', "fixTaskMap is not an object"),
    ('{"fixTaskMap": {"1.3": 2}}', "fixTaskMap contains something that is not an object"),
    ('{"fixTaskMap": {"1.3": {"attempts": "2"}}}', "attempts of 1.3 is not a count"),
    ('{"fixTaskMap": {"1.3": {"fixTaskIds": "1.3.1"}}}', "fixTaskIds of 1.3 is not a list"),
    ('{"fixTaskMap": {"1.3": {"fixTaskIds": [1.3]}}}', "fixTaskIds of 1.3 is not a list"),
    ('{"taskResults": {"1.3": {"error": [1]}}}', "error of 1.3 is neither an object nor"),
    ('{"taskIndex": 1.5}', "taskIndex is not a count"),
    ('{"taskResults": {"1.3": {"attempt": "1"}}}', "attempt of 1.3 is not a count"),
    ('{"splitTaskMap": []}', "splitTaskMap is not an object"),
    ('{"splitTaskMap": {"1.3": 2}}', "splitTaskMap contains something that is not an object"),
    ('{"splitTaskMap": {"1.3": {"partIds": [1]}}}', "partIds of 1.3 is not a list of ids"),
    ('{"taskResults": 1}', "taskResults is not an object"),
    ('{"uncommittedTasks": "1.3"}', "uncommittedTasks is not a list of ids"),
    ("[" * 100_000, "nested too deeply"),
    ("\x00\x00", "Expecting value"),
]


@pytest.mark.parametrize(("text", "reason"), CORRUPT)
def test_a_corrupt_state_is_named_and_never_overwritten(path: Path, text: str, reason: str) -> None:
    path.write_text(text)
    with pytest.raises(StateError) as error:
        State.load(path)
    assert str(error.value) == f"ERROR: State file missing or corrupt at {path}"
    assert reason.lower() in error.value.reason.lower()
    assert "\n" not in error.value.reason
    assert path.read_text() == text


SMART_RALPH = {
    "source": "plan",
    "name": "user-auth",
    "basePath": "./specs/user-auth",
    "phase": "execution",
    "taskIndex": 1.0,
    "maxTaskIterations": 5,
    "parallelGroup": {"startIndex": 0, "endIndex": 1, "taskIndices": [0, 1]},
    "taskResults": {
        "1.1": {"status": "success"},
        "1.2": {"status": "failed", "error": "3 tests failing"},
        "1.3": {"status": "pending", "error": ""},
    },
    "fixTaskMap": {"1.2": {"attempts": 0, "fixTaskIds": []}},
    "modificationMap": {
        "1.1": {"count": 1, "modifications": [{"id": "1.1.1", "type": "SPLIT_TASK"}]}
    },
    "nativeTaskMap": {"0": "17"},
    "circuitBreaker": {"state": None, "consecutiveFailures": 0},
}


def test_a_state_of_smart_ralph_is_accepted(path: Path) -> None:
    state = loaded(path, SMART_RALPH)
    assert state.number("taskIndex") == 1
    state.attempt_failed("1.2", "test_failure", "2 tests failing")
    assert state.data["taskResults"]["1.2"]["error"] == {
        "message": "3 tests failing",
        "attempt_1": {"type": "test_failure", "message": "2 tests failing"},
    }
    state.task_passed("1.2")
    assert state.status("1.2") == "complete"


def test_fields_of_smart_ralph_survive_a_run(path: Path) -> None:
    state = loaded(path, SMART_RALPH)
    tasks = [Task("1.1", "a", checked=True), Task("1.2", "b"), Task("1.3", "c")]
    assert state.start_run() == []
    state.reconcile(tasks)
    state.save()
    written = json.loads(path.read_text())
    for field in ("parallelGroup", "modificationMap", "nativeTaskMap", "circuitBreaker"):
        assert written[field] == SMART_RALPH[field]
    assert written["taskResults"]["1.1"] == {"status": "success"}


def test_a_state_that_is_no_text_or_no_file_is_corrupt(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(StateError):
        State.load(path)
    with pytest.raises(StateError, match="missing or corrupt"):
        State.load(tmp_path)


def test_a_byte_order_mark_does_no_harm(path: Path) -> None:
    path.write_bytes(b'\xef\xbb\xbf{"taskIndex": 4}')
    assert State.load(path).number("taskIndex") == 4


def test_an_absent_state_has_every_default_and_is_created_with_all_fields(path: Path) -> None:
    state = State.load(path)
    assert not state.exists
    assert not state.recovery_mode
    assert state.number("maxFixTasksPerOriginal") == state.number("maxFixTaskDepth") == 3
    assert state.number("maxGlobalIterations") == 100
    state.create(
        name="foo",
        base_path="./specs/foo",
        tasks=[Task("1.1", "a", checked=True), Task("1.2", "b")],
    )
    state.save()
    assert State.load(path).data == {
        "source": "spec",
        "name": "foo",
        "basePath": "./specs/foo",
        "phase": "execution",
        "taskIndex": 1,
        "totalTasks": 2,
        "taskIteration": 1,
        "maxTaskIterations": 2,
        "recoveryMode": True,
        "maxFixTasksPerOriginal": 3,
        "maxFixTaskDepth": 3,
        "globalIteration": 1,
        "maxGlobalIterations": 100,
        "fixTaskMap": {},
    }


def test_nothing_is_written_before_save(path: Path) -> None:
    state = State.load(path)
    state.record_fix("1.1", "1.1.1", "e")
    assert not path.exists()


# The three displayed states of a retry


def retried(path: Path) -> State:
    state = State.load(path)
    assert state.begin_attempt("2.1", max_attempts=2) == 1
    state.attempt_failed("2.1", "test_failure", "3 tests failing")
    assert state.begin_attempt("2.1", max_attempts=2) == 2
    return state


def test_before_a_retry_the_first_attempt_is_on_record(path: Path) -> None:
    assert retried(path).data["taskResults"]["2.1"] == {
        "status": "running",
        "attempt": 2,
        "max_attempts": 2,
        "error": {"attempt_1": {"type": "test_failure", "message": "3 tests failing"}},
    }


def test_after_a_retry_that_passed_the_record_says_so(path: Path) -> None:
    state = retried(path)
    state.task_passed("2.1")
    assert state.data["taskResults"]["2.1"] == {
        "status": "complete",
        "attempt": 2,
        "max_attempts": 2,
        "error": {
            "attempt_1": {"type": "test_failure", "message": "3 tests failing"},
            "resolved_on_retry": True,
        },
    }


def test_after_a_retry_that_failed_the_record_is_final(path: Path) -> None:
    state = retried(path)
    state.attempt_failed("2.1", "test_failure", "3 tests still failing")
    state.task_failed("2.1")
    assert state.data["taskResults"]["2.1"] == {
        "status": "failed",
        "attempt": 2,
        "max_attempts": 2,
        "error": {
            "attempt_1": {"type": "test_failure", "message": "3 tests failing"},
            "attempt_2": {"type": "test_failure", "message": "3 tests still failing"},
            "final": "Failed after maximum retries",
        },
    }


def test_a_task_that_passes_at_once_leaves_no_record(path: Path) -> None:
    state = State.load(path)
    state.begin_attempt("1.1", 2)
    state.task_passed("1.1")
    state.task_passed("1.2")
    assert state.data == {}


def test_a_new_run_resets_the_counters_of_failed_tasks_and_keeps_the_ids(path: Path) -> None:
    state = loaded(path, {**GUIDE, "globalIteration": 40})
    state.begin_attempt("1.3", 4)
    state.attempt_failed("1.3", "test_failure", "no")
    state.task_failed("1.3")
    assert state.start_run() == []
    assert state.fixes_attempted("1.3") == 0
    assert state.fix_ids("1.3") == ("1.3.1", "1.3.2")
    assert state.data["taskResults"]["1.3"] == {
        "status": "pending",
        "attempt": 0,
        "max_attempts": 4,
    }
    assert state.number("globalIteration") == 1
    assert state.begin_attempt("1.3", 4) == 1


def test_a_cut_off_run_goes_on_with_its_counters(path: Path) -> None:
    state = loaded(path, {**GUIDE, "globalIteration": 7})
    state.data["fixTaskMap"]["1.3.2"] = {"attempts": 1, "fixTaskIds": ["1.3.2.1"], "lastError": ""}
    state.data["fixTaskMap"]["9.9"] = {"attempts": 1, "fixTaskIds": ["9.9.1"], "lastError": ""}
    state.begin_attempt("1.3", 4)
    state.attempt_failed("1.3", "test_failure", "no")
    state.begin_attempt("1.3", 4)
    assert state.start_run() == ["continuing where 1.3 stopped in an interrupted run"]
    assert [state.fixes_attempted(task_id) for task_id in ("1.3", "1.3.2", "9.9")] == [2, 1, 0]
    assert [state.current_fixes(task_id) for task_id in ("1.3", "9.9")] == [("1.3.1", "1.3.2"), ()]
    assert state.number("globalIteration") == 7
    assert state.begin_attempt("1.3", 4) == 2


# The document is the truth


def test_a_state_that_agrees_with_the_document_is_left_alone(path: Path) -> None:
    tasks = [Task("1.1", "a", checked=True), Task("1.2", "b"), fix("1.2.1", "1.2")]
    data = {
        "taskIndex": 1,
        "totalTasks": 3,
        "fixTaskMap": {"1.2": {"attempts": 1, "fixTaskIds": ["1.2.1"]}},
    }
    state = loaded(path, data)
    assert state.reconcile(tasks) == []
    assert state.data == data


def test_totals_fixes_and_results_are_rebuilt_from_the_document(path: Path) -> None:
    state = loaded(path, {"taskIndex": 0, "totalTasks": 9, "fixTaskMap": {}})
    state.begin_attempt("1.1", 2)
    state.attempt_failed("1.1", "timeout", "slow")
    state.data["taskResults"]["1.2"] = {"status": "complete"}
    tasks = [
        Task("1.1", "a", checked=True),
        Task("1.2", "b"),
        fix(
            "1.2.1", "1.2", do="Address the error: File not found: a.py\n1. Analyze the failure: x"
        ),
    ]
    assert state.reconcile(tasks) == [
        "1.2.1, a fix of 1.2 in tasks.md, was missing in the state file",
        "1.1 counts as done, as in tasks.md; the state file said running",
        "1.2 counts as open, as in tasks.md; the state file said complete",
    ]
    assert (state.data["taskIndex"], state.data["totalTasks"]) == (1, 3)
    assert state.data["fixTaskMap"] == {
        "1.2": {"attempts": 0, "fixTaskIds": ["1.2.1"], "lastError": "File not found: a.py"}
    }
    assert state.status("1.1") == "complete"
    assert state.status("1.2") == "pending"
    assert state.reconcile(tasks) == []


def test_a_fix_inserted_by_a_run_that_was_cut_off_then_counts(path: Path) -> None:
    state = State.load(path)
    state.begin_attempt("1.2", 4)
    tasks = [
        Task("1.2", "b"),
        fix("1.2.1", "1.2", do="Address the error: x"),
        Task("1.2.2", "part", markers=("SPLIT 1.2",)),
        fix("1.2.1.1", "1.2.1"),
    ]
    for order in (
        (state.start_run, lambda: state.reconcile(tasks)),
        (lambda: state.reconcile(tasks), state.start_run),
    ):
        for one in order:
            one()
        assert state.fixes_attempted("1.2") == state.fixes_attempted("1.2.1") == 1
        assert state.fix_ids("1.2") == ("1.2.1",)
        assert state.part_ids("1.2") == ("1.2.2",)


def test_a_fix_a_person_deleted_keeps_its_id(path: Path) -> None:
    state = loaded(path, GUIDE)
    state.reconcile([Task("1.3", "a")])
    assert state.fix_ids("1.3") == ("1.3.1", "1.3.2")


@pytest.mark.parametrize(
    ("tasks", "index"),
    [
        ([], 0),
        ([Task("1.1", "", checked=True), Task("1.2", "")], 1),
        ([Task("1.1", "", checked=True)], 1),
        ([Task("1.1", ""), fix("1.1.1", "1.1"), Task("1.2", "")], 0),
        ([Task("1.1", "", checked=True), fix("1.1.1", "1.1"), Task("1.2", "")], 2),
        ([Task("1.1", "", checked=True), fix("1.1.1", "1.1")], 1),
    ],
)
def test_the_index_is_that_of_the_first_open_original(tasks: list[Task], index: int) -> None:
    assert current_index(tasks) == index


def test_a_fresh_start_moves_the_state_aside_even_if_corrupt(path: Path) -> None:
    now = datetime(2025, 3, 1, 12, 30, 5, tzinfo=timezone.utc)
    assert set_aside(path, now) is None
    path.write_text("{corrupt")
    first = set_aside(path, now)
    path.write_text("{again")
    second = set_aside(path, now)
    assert first is not None
    assert second is not None
    assert (first.name, first.read_text()) == (".ralph-state.json.20250301T123005Z", "{corrupt")
    assert (second.name, second.read_text()) == (".ralph-state.json.20250301T123005Z-2", "{again")
    assert not path.exists()


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


OWN_FIELDS = {
    *DEFAULTS,
    "recoveryMode",
    "uncommittedTasks",
    "fixTaskMap",
    "splitTaskMap",
    "modificationMap",
    "taskResults",
}


@settings(max_examples=25)
@given(
    st.dictionaries(
        st.text().filter(lambda key: key not in OWN_FIELDS),
        json_values,
    )
)
def test_whatever_others_write_is_kept(
    tmp_path_factory: pytest.TempPathFactory, theirs: dict[str, Any]
) -> None:
    state = loaded(tmp_path_factory.getbasetemp() / "state.json", theirs)
    state.recovery_mode = True
    state.save()
    assert State.load(state.path).data == {**theirs, "recoveryMode": True}


@pytest.mark.parametrize(
    ("theirs", "kept"),
    [
        (
            {"a": 1, "mine": 0, "map": {"x": 1}, "new": 5},
            {"a": 1, "mine": 2, "map": {"x": 1, "y": 2}, "new": 5},
        ),
        ({"a": 9, "mine": 7, "map": {"x": 8}}, {"a": 9, "mine": 2, "map": {"x": 8, "y": 2}}),
        ({"mine": 0, "map": {"y": 9}}, {"mine": 2, "map": {"y": 2}}),
    ],
)
def test_what_somebody_else_writes_during_a_run_stays(
    tmp_path: Path, theirs: dict[str, object], kept: dict[str, object]
) -> None:
    path = tmp_path / STATE_NAME
    path.write_text(json.dumps({"a": 1, "mine": 0, "map": {"x": 1}, "gone": True}))
    state = State.load(path)
    state.data |= {"mine": 2, "map": {"x": 1, "y": 2}}
    del state.data["gone"]
    path.write_text(json.dumps({**theirs, "gone": True, "pad": "to another size"}))
    state.save()
    assert json.loads(path.read_text()) == {**kept, "pad": "to another size"}
    assert state.data == {**kept, "pad": "to another size"}


def test_a_state_that_vanished_is_written_again_whole(tmp_path: Path) -> None:
    path = tmp_path / STATE_NAME
    path.write_text('{"a": 1}')
    state = State.load(path)
    state.data["b"] = 2
    path.unlink()
    state.save()
    assert json.loads(path.read_text()) == {"a": 1, "b": 2}


def test_a_state_that_was_ruined_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / STATE_NAME
    path.write_text('{"a": 1}')
    state = State.load(path)
    state.data["b"] = 2
    path.write_text('{"a": 1, "c"')
    with pytest.raises(StateError):
        state.save()
    assert path.read_text() == '{"a": 1, "c"'


def test_an_open_fix_that_is_used_again_is_the_latest_and_counts(path: Path) -> None:
    state = loaded(path, GUIDE)
    state.start_run()
    assert (state.fixes_attempted("1.3"), state.data["fixTaskMap"]["1.3"]["attempts"]) == (0, 0)
    state.use_again("1.3", "1.3.1")
    assert (state.fix_ids("1.3"), state.fixes_attempted("1.3")) == (("1.3.2", "1.3.1"), 1)
    assert state.current_fixes("1.3") == ("1.3.1",)


def test_parts_are_counted_as_tasks_and_their_ids_are_taken(path: Path) -> None:
    state = loaded(path, GUIDE)
    assert state.part_ids("1.3") == ()
    state.record_part("1.3", "1.3.3")
    state.record_part("1.3", "1.3.4")
    assert state.part_ids("1.3") == ("1.3.3", "1.3.4")
    assert state.number("totalTasks") == 12
    assert state.used_ids() == ("1.3.1", "1.3.2", "1.3.3", "1.3.4")
    state.save()
    assert path.read_text().startswith('{\n  "phase": "execution",\n')
    assert State.load(path).data["splitTaskMap"] == {"1.3": {"partIds": ["1.3.3", "1.3.4"]}}


def test_tasks_that_wait_for_their_commit_are_remembered_once_each(path: Path) -> None:
    state = loaded(path, GUIDE)
    assert state.uncommitted() == ()
    for task_id in ("1.3", "1.4", "1.3"):
        state.set_uncommitted(task_id, waits=True)
    assert state.uncommitted() == ("1.4", "1.3")
    state.set_uncommitted("1.3", waits=False)
    state.set_uncommitted("9.9", waits=False)
    assert state.uncommitted() == ("1.4",)
