"""`.ralph-state.json`: where a spec stands. Fields we do not know belong to others and stay as they are."""

from __future__ import annotations

import json
import math
from copy import deepcopy
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from pytest_ralph.files import Seen, file_signature, replace_if_unchanged
from pytest_ralph.spec.completion import current_index
from pytest_ralph.spec.fix_tree import FixTree
from pytest_ralph.spec.state_text import StateText
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_ralph.spec.task import Task

FAILED_AFTER_RETRIES = "Failed after maximum retries"

DEFAULTS: Mapping[str, int] = {
    "taskIndex": 0,
    "totalTasks": 0,
    "taskIteration": 1,
    # One try, and one more with the error in hand.
    "maxTaskIterations": 2,
    "globalIteration": 1,
    "maxGlobalIterations": 100,
    "maxFixTasksPerOriginal": 3,
    "maxFixTaskDepth": 3,
}
# Counters beyond this are no counters; readers in other languages would round them.
_LARGEST_INTEGER = 2**53
_ADDRESSED = regex(r"Address the error:\s*(.+)")


class StateError(Exception):
    """The state file cannot be used, and is left as it is. `reason` says what is wrong with it."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"ERROR: State file missing or corrupt at {path}")


class State:
    """The fields of one state file, changed in memory and written whole by `save`."""

    def __init__(self, path: Path, data: dict[str, Any] | None = None, seen: Seen = None) -> None:
        self.path = path
        self._seen = seen
        self.data: dict[str, Any] = {} if data is None else data
        self._saved = None if data is None else deepcopy(data)
        self._text = StateText()

    @classmethod
    def load(cls, path: Path) -> State:
        """What the file says; where there is none, a state with every default that `exists` not."""
        try:
            seen = file_signature(path)
            text = path.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            return cls(path)
        except (OSError, UnicodeDecodeError) as error:
            raise StateError(path, _one_line(error)) from error
        return cls(path, _read(path, text), seen)

    @property
    def exists(self) -> bool:
        return self._saved is not None

    def create(self, *, name: str, base_path: str, tasks: Sequence[Task]) -> None:
        """Fill a state that does not exist yet with the fields every reader of it expects."""
        self.data = {
            "source": "spec",
            "name": name,
            "basePath": base_path,
            "phase": "execution",
            "taskIndex": current_index(tasks),
            "totalTasks": len(tasks),
            "taskIteration": 1,
            "maxTaskIterations": DEFAULTS["maxTaskIterations"],
            "recoveryMode": True,
            "maxFixTasksPerOriginal": DEFAULTS["maxFixTasksPerOriginal"],
            "maxFixTaskDepth": DEFAULTS["maxFixTaskDepth"],
            "globalIteration": 1,
            "maxGlobalIterations": DEFAULTS["maxGlobalIterations"],
            "fixTaskMap": {},
            **self.data,
        }

    def save(self, *, durable: bool = True) -> None:
        """Write the file if anything changed; an untouched one keeps its bytes."""
        while self.data != self._saved:
            if seen := replace_if_unchanged(
                self.path, self._text.written(self.data), self._seen, durable=durable
            ):
                self._saved, self._seen = self._text.copy(), seen
            else:
                self._take_over()

    def _take_over(self) -> None:
        """Somebody else wrote the file: what they changed stays, except where we changed the same."""
        seen = file_signature(self.path)
        theirs = State.load(self.path)
        if theirs.exists:
            self.data = _merged(self._saved or {}, self.data, theirs.data)
        # A copy: what we change from here on is a change.
        self._saved, self._seen = deepcopy(theirs.data) if theirs.exists else None, seen

    # The fields every spec has

    @property
    def recovery_mode(self) -> bool:
        """Only an explicit true turns recovery on."""
        return self.data.get("recoveryMode") is True

    @recovery_mode.setter
    def recovery_mode(self, on: bool) -> None:
        self.data["recoveryMode"] = on

    def number(self, field: str) -> int:
        value = self.data.get(field)
        return DEFAULTS[field] if value is None else int(value)

    def set_number(self, field: str, value: int) -> None:
        assert field in DEFAULTS, field
        self.data[field] = value

    # Fix tasks per original

    def fixes_attempted(self, task_id: str) -> int:
        """Fixes in this run; `fix_ids` are those of all runs."""
        return int(self._fixes(task_id).get("attempts") or 0)

    def fix_ids(self, task_id: str) -> tuple[str, ...]:
        return tuple(self._fixes(task_id).get("fixTaskIds") or ())

    def current_fixes(self, task_id: str) -> tuple[str, ...]:
        """The fixes of this run, or of one that was cut off and that this one goes on with."""
        made = self.fixes_attempted(task_id)
        return self.fix_ids(task_id)[-made:] if made else ()

    def used_ids(self) -> tuple[str, ...]:
        """Every id a fix task or part ever had here: none of them is given again."""
        fixes = (fix_id for task_id in self._map("fixTaskMap") for fix_id in self.fix_ids(task_id))
        return (
            *fixes,
            *(
                part_id
                for task_id in self._map("splitTaskMap")
                for part_id in self.part_ids(task_id)
            ),
        )

    def record_fix(self, task_id: str, fix_id: str, error: str) -> None:
        """A fix task was generated and inserted."""
        self._count_fix(task_id, fix_id, error, counts=True)
        self.data["totalTasks"] = self.number("totalTasks") + 1

    def use_again(self, task_id: str, fix_id: str) -> None:
        """An open fix task of an earlier run is one of this run now, and its latest."""
        entry = self._own("fixTaskMap", task_id)
        entry["fixTaskIds"] = [
            *(known for known in self.fix_ids(task_id) if known != fix_id),
            fix_id,
        ]
        entry["attempts"] = self.fixes_attempted(task_id) + 1

    def part_ids(self, task_id: str) -> tuple[str, ...]:
        """The parts a task was ever split into. They have ids of the same row as fixes, but are none."""
        return tuple(self._map("splitTaskMap").get(task_id, {}).get("partIds") or ())

    def record_part(self, task_id: str, part_id: str) -> None:
        self._own("splitTaskMap", task_id)["partIds"] = [*self.part_ids(task_id), part_id]
        self.data["totalTasks"] = self.number("totalTasks") + 1

    def _count_fix(self, task_id: str, fix_id: str, error: str, *, counts: bool) -> None:
        entry = self._own("fixTaskMap", task_id)
        entry["attempts"] = self.fixes_attempted(task_id) + counts
        entry["fixTaskIds"] = [*self.fix_ids(task_id), fix_id]
        entry["lastError"] = error

    # Attempts per task

    def status(self, task_id: str) -> str:
        return str(self._map("taskResults").get(task_id, {}).get("status") or "pending")

    def set_status(self, task_id: str, status: str) -> None:
        self._own("taskResults", task_id)["status"] = status

    def begin_attempt(self, task_id: str, max_attempts: int, number: int | None = None) -> int:
        """One more attempt starts, or attempt `number` again; its number."""
        entry = self._own("taskResults", task_id)
        entry["status"] = "running"
        entry["attempt"] = number or int(entry.get("attempt") or 0) + 1
        entry["max_attempts"] = max(max_attempts, entry["attempt"])
        return int(entry["attempt"])

    def attempt_failed(self, task_id: str, kind: str, message: str) -> None:
        entry = self._own("taskResults", task_id)
        number = max(int(entry.get("attempt") or 0), 1)
        _errors(entry)[f"attempt_{number}"] = {"type": kind, "message": message}

    def task_passed(self, task_id: str) -> None:
        """Only a task that failed before leaves a record: one that passed at once needs none."""
        results = self._map("taskResults")
        entry = results.get(task_id)
        if entry is None:
            return
        if entry.get("error"):
            entry["status"] = "complete"
            entry["error"].pop("final", None)
            entry["error"]["resolved_on_retry"] = True
        else:
            del results[task_id]
            self._drop_empty("taskResults")

    def task_failed(self, task_id: str, final: str = FAILED_AFTER_RETRIES) -> None:
        entry = self._own("taskResults", task_id)
        entry["status"] = "failed"
        error = _errors(entry)
        error.pop("resolved_on_retry", None)
        error["final"] = final

    # Commits

    def uncommitted(self) -> tuple[str, ...]:
        """Tasks that passed and whose commit was still to be made."""
        return tuple(self.data.get("uncommittedTasks") or ())

    def set_uncommitted(self, task_id: str, waits: bool) -> None:
        others = [one for one in self.uncommitted() if one != task_id]
        self.data["uncommittedTasks"] = [*others, task_id] if waits else others
        if not self.data["uncommittedTasks"]:
            del self.data["uncommittedTasks"]

    # A run begins

    def start_run(self) -> list[str]:
        """Counters start again for every task, except one that a cut-off run was still working on."""
        results = self._map("taskResults")
        cut_off = [task_id for task_id in results if self.status(task_id) == "running"]
        failed = [task_id for task_id in results if self.status(task_id) == "failed"]
        for task_id in cut_off:
            _forget_unfinished(results[task_id])
        for task_id in failed:
            results[task_id] |= {"status": "pending", "attempt": 0}
            results[task_id].pop("error", None)
        for task_id, entry in self._map("fixTaskMap").items():
            if entry.get("attempts") and self._original(task_id) not in cut_off:
                entry["attempts"] = 0
        if not cut_off and "globalIteration" in self.data:
            self.data["globalIteration"] = 1
        return [f"task {task_id} failed before: its attempts start again" for task_id in failed] + [
            f"task {task_id} was cut off: it goes on where it was" for task_id in cut_off
        ]

    def reconcile(self, tasks: Sequence[Task]) -> list[str]:
        """Bring the state in line with the document, which is the truth; what was changed, in words."""
        said = [*self._reconcile_fixes(tasks), *self._reconcile_results(tasks)]
        for field, value in (("totalTasks", len(tasks)), ("taskIndex", current_index(tasks))):
            if field in self.data and self.data[field] != value:
                said.append(f"{field} was {self.data[field]}, tasks.md says {value}")
            self.data[field] = value
        return said

    def _reconcile_fixes(self, tasks: Sequence[Task]) -> Iterator[str]:
        tree = FixTree(tasks)
        for task in tasks:
            if task.fix_for is None:
                continue
            original = tree.owner_of(task.name)
            owner = task.fix_for if original is None else original.name
            if task.has_marker("SPLIT"):
                if task.id not in self.part_ids(owner):
                    self._own("splitTaskMap", owner)["partIds"] = [*self.part_ids(owner), task.id]
                    yield f"splitTaskMap did not have {task.id}, a part of {owner} in tasks.md"
            elif task.id not in self.fix_ids(owner):
                # Counted only for a run that was cut off before it could: for any other, counters start again.
                counts = self.status(self._original(owner)) == "running"
                self._count_fix(owner, task.id, _error_of(task), counts=counts)
                yield f"fixTaskMap did not have {task.id}, a fix of {owner} in tasks.md"

    def _reconcile_results(self, tasks: Iterable[Task]) -> Iterator[str]:
        for task in tasks:
            status = self.status(task.name)
            if task.checked and status in ("failed", "running"):
                self.task_passed(task.name)
                yield f"task {task.name} was {status}, tasks.md says it is done"
            elif not task.checked and status == "complete":
                self._map("taskResults").pop(task.name)
                yield f"task {task.name} was complete, tasks.md says it is not done"
        self._drop_empty("taskResults")

    # Fields as they may be written: absent, null, or without the entry

    def _map(self, field: str) -> dict[str, dict[str, Any]]:
        value = self.data.get(field)
        return {} if value is None else value

    def _fixes(self, task_id: str) -> dict[str, Any]:
        return self._map("fixTaskMap").get(task_id, {})

    def _original(self, task_id: str) -> str:
        """The task that a fix of a fix of … was made for."""
        made_for = {
            fix_id: owner for owner in self._map("fixTaskMap") for fix_id in self.fix_ids(owner)
        }
        seen: set[str] = set()
        while task_id in made_for and task_id not in seen:
            seen.add(task_id)
            task_id = made_for[task_id]
        return task_id

    def _own(self, field: str, task_id: str) -> dict[str, Any]:
        if self.data.get(field) is None:
            self.data[field] = {}
        entry: dict[str, Any] = self.data[field].setdefault(task_id, {})
        return entry

    def _drop_empty(self, field: str) -> None:
        if self.data.get(field) == {}:
            del self.data[field]


def set_aside(path: Path, now: datetime | None = None) -> Path | None:
    """Move a state file, whole or corrupt, out of the way; where it went."""
    stamp = (now or datetime.now(timezone.utc)).strftime("%Y%m%dT%H%M%SZ")
    target = path.with_name(f"{path.name}.{stamp}")
    copy = 1
    while target.exists():
        copy += 1
        target = path.with_name(f"{path.name}.{stamp}-{copy}")
    try:
        return path.rename(target)
    except FileNotFoundError:
        return None


def _merged(base: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """Theirs, with what we changed since both began from `base`; objects are merged field by field."""
    merged = dict(theirs)
    for key in {**base, **ours}:
        before, mine, other = base.get(key), ours.get(key), theirs.get(key)
        if isinstance(mine, dict) and isinstance(other, dict):
            merged[key] = _merged(before if isinstance(before, dict) else {}, mine, other)
        elif key not in ours:
            merged.pop(key, None)
        elif key not in base or mine != before:
            merged[key] = mine
    return merged


def _errors(entry: dict[str, Any]) -> dict[str, Any]:
    if entry.get("error") is None:
        entry["error"] = {}
    errors: dict[str, Any] = entry["error"]
    return errors


def _forget_unfinished(entry: dict[str, Any]) -> None:
    """An attempt whose end nobody saw is made again under its own number."""
    number = int(entry.get("attempt") or 0)
    if number and f"attempt_{number}" not in (entry.get("error") or {}):
        entry["attempt"] = number - 1


def _error_of(fix: Task) -> str:
    match = _ADDRESSED.match(fix.fields.get("Do", "").strip())
    return match[1].strip() if match else fix.title.removeprefix("Fix: ")


def _read(path: Path, text: str) -> dict[str, Any]:
    try:
        data = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse,
            parse_int=_integer,
            parse_float=_finite,
        )
        _check(data)
    except (ValueError, RecursionError) as error:
        raise StateError(path, _one_line(error)) from error
    assert isinstance(data, dict)
    return data


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"{next(key for key in keys if keys.count(key) > 1)!r} is there twice")
    return data


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON number")


def _integer(digits: str) -> int:
    if len(digits) > 17 or abs(int(digits)) > _LARGEST_INTEGER:
        raise ValueError(f"{digits[:20]}… is too large a number")
    return int(digits)


def _finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"{digits[:20]} is too large a number")
    return number


def _check(data: object) -> None:
    _expect(isinstance(data, dict), "not a JSON object")
    assert isinstance(data, dict)
    for field in DEFAULTS:
        value = data.get(field)
        _expect(value is None or (type(value) is int and value >= 0), f"{field} is not a count")
    _expect(_is_list_of_ids(data.get("uncommittedTasks")), "uncommittedTasks is not a list of ids")
    for field in ("fixTaskMap", "splitTaskMap", "taskResults"):
        value = data.get(field)
        entries = value.values() if isinstance(value, dict) else ()
        _expect(value is None or isinstance(value, dict), f"{field} is not an object")
        _expect(
            all(isinstance(entry, dict) for entry in entries),
            f"{field} holds something that is not an object",
        )
    for task_id, entry in (data.get("fixTaskMap") or {}).items():
        _check_fixes(task_id, entry)
    for task_id, entry in (data.get("splitTaskMap") or {}).items():
        _check_parts(task_id, entry)
    for task_id, entry in (data.get("taskResults") or {}).items():
        _check_result(task_id, entry)


def _check_fixes(task_id: str, entry: dict[str, Any]) -> None:
    attempts, ids = entry.get("attempts"), entry.get("fixTaskIds")
    _expect(
        attempts is None or (type(attempts) is int and attempts >= 0),
        f"attempts of {task_id} is not a count",
    )
    _expect(_is_list_of_ids(ids), f"fixTaskIds of {task_id} is not a list of ids")


def _check_parts(task_id: str, entry: dict[str, Any]) -> None:
    _expect(_is_list_of_ids(entry.get("partIds")), f"partIds of {task_id} is not a list of ids")


def _check_result(task_id: str, entry: dict[str, Any]) -> None:
    attempt, error = entry.get("attempt"), entry.get("error")
    _expect(
        attempt is None or (type(attempt) is int and attempt >= 0),
        f"attempt of {task_id} is not a count",
    )
    _expect(error is None or isinstance(error, dict), f"error of {task_id} is not an object")


def _is_list_of_ids(value: object) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def _expect(holds: bool, reason: str) -> None:
    if not holds:
        raise ValueError(reason)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
