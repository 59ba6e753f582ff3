"""The state of a spec between runs, kept in `.ralph-state.json`.

Fields that this package does not know belong to other programs and stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ralph.spec.completion import current_index
from pytest_ralph.spec.fix_tree import FixTree
from pytest_ralph.spec.state_file import DEFAULTS
from pytest_ralph.spec.stored_state import StoredState
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_ralph.spec.task import Task

# The run whose executor is at work, and whether `quickMode` is on again after it.
HOLD = "heldByRun"
HELD_QUICK_MODE = "heldQuickMode"
FAILED_AFTER_RETRIES = "Failed after maximum retries"
_ADDRESSED_ERROR = regex(r"Address the error:\s*(.+)")


class State(StoredState):
    """What the fields of a state file say about a spec and its tasks.

    Tasks are known by their names, which are unique. `fixTaskMap` holds the fixes of each task,
    `splitTaskMap` the parts it was split into, `taskResults` its attempts.
    """

    @classmethod
    def load(cls, path: Path) -> State:
        """Read the file. Without one, the state has every default and `exists` is false."""
        state = cls(path)
        state.read()
        return state

    def create(self, *, name: str, base_path: str, tasks: Sequence[Task]) -> None:
        """Fill in the fields that every reader of a new state file expects."""
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

    # Fields of the whole spec

    @property
    def recovery_mode(self) -> bool:
        """Only an explicit true turns recovery on."""
        return self.data.get("recoveryMode") is True

    @recovery_mode.setter
    def recovery_mode(self, on: bool) -> None:
        self.data["recoveryMode"] = on

    @property
    def awaits_approval(self) -> bool:
        """Whether a person has to approve the plan first. What `hold` wrote does not count."""
        return self.data.get("awaitingApproval") is True and HOLD not in self.data

    def hold(self, run_id: str) -> None:
        """Keep smart-ralph's Stop hook from taking over an agent until `release`.

        The hook lets an agent end its session while the spec awaits approval, but before its
        execution only without `quickMode`.
        """
        self.data[HOLD] = run_id
        self.data["awaitingApproval"] = True
        if self.data.get("quickMode") is True:
            self.data["quickMode"] = False
            self.data[HELD_QUICK_MODE] = True

    def release(self) -> None:
        """Undo `hold`, also that of a run that was killed."""
        if self.data.pop(HOLD, None) is not None:
            self.data["awaitingApproval"] = False
        if self.data.pop(HELD_QUICK_MODE, None) is not None:
            self.data["quickMode"] = True

    def number(self, field: str) -> int:
        value = self.data.get(field)
        return DEFAULTS[field] if value is None else int(value)

    def set_index(self, index: int) -> None:
        self.data["taskIndex"] = index

    # Fixes and parts of a task

    def fixes_attempted(self, task_id: str) -> int:
        """Return how many fixes this run attempted; `fix_ids` has those of all runs."""
        return int(self.entry("fixTaskMap", task_id).get("attempts") or 0)

    def fix_ids(self, task_id: str) -> tuple[str, ...]:
        return tuple(self.entry("fixTaskMap", task_id).get("fixTaskIds") or ())

    def part_ids(self, task_id: str) -> tuple[str, ...]:
        """Return the ids of the parts a task was split into, in this or any other run."""
        return tuple(self.entry("splitTaskMap", task_id).get("partIds") or ())

    def current_fixes(self, task_id: str) -> tuple[str, ...]:
        """Return the fixes of this run, and of an interrupted one that this run continues."""
        count = self.fixes_attempted(task_id)
        return self.fix_ids(task_id)[-count:] if count else ()

    def used_ids(self) -> tuple[str, ...]:
        """Return every id that a fix or part ever had; none of them is given again."""
        used: list[str] = []
        for task_id in self.entries("fixTaskMap"):
            used += self.fix_ids(task_id)
        for task_id in self.entries("splitTaskMap"):
            used += self.part_ids(task_id)
        return tuple(used)

    def record_fix(self, task_id: str, fix_id: str, error: str) -> None:
        """Record that a fix task was inserted, as the next attempt."""
        self._add_fix(task_id, fix_id, error)
        self.own_entry("fixTaskMap", task_id)["attempts"] += 1
        self._add_to_total(1)

    def forget_fix(self, task_id: str, fix_id: str) -> None:
        """Undo `record_fix` for a fix task that was removed again."""
        entry = self.own_entry("fixTaskMap", task_id)
        entry["fixTaskIds"] = _without(self.fix_ids(task_id), fix_id)
        entry["attempts"] = max(0, self.fixes_attempted(task_id) - 1)
        if not entry["fixTaskIds"]:
            del self.data["fixTaskMap"][task_id]
        self._add_to_total(-1)

    def record_part(self, task_id: str, part_id: str) -> None:
        """Record that a part of a task was inserted."""
        self._add_part(task_id, part_id)
        self._add_to_total(1)

    def modifications(self, task_id: str) -> int:
        """Return how often executors had tasks added on account of a task."""
        return int(self.entry("modificationMap", task_id).get("count") or 0)

    def record_modification(
        self, task_id: str, added: Sequence[str], kind: str, reason: str
    ) -> None:
        """Record that tasks were inserted because an executor asked for them."""
        entry = self.own_entry("modificationMap", task_id)
        entry["count"] = self.modifications(task_id) + 1
        earlier = entry.get("modifications") or []
        new = [{"id": new_id, "type": kind, "reason": reason} for new_id in added]
        entry["modifications"] = [*earlier, *new]
        self._add_to_total(len(added))

    def use_again(self, task_id: str, fix_id: str) -> None:
        """Count an open fix task of an earlier run as the latest one of this run."""
        entry = self.own_entry("fixTaskMap", task_id)
        entry["fixTaskIds"] = [*_without(self.fix_ids(task_id), fix_id), fix_id]
        entry["attempts"] = self.fixes_attempted(task_id) + 1

    def _add_fix(self, task_id: str, fix_id: str, error: str) -> None:
        entry = self.own_entry("fixTaskMap", task_id)
        entry["attempts"] = self.fixes_attempted(task_id)
        entry["fixTaskIds"] = [*self.fix_ids(task_id), fix_id]
        entry["lastError"] = error

    def _add_part(self, task_id: str, part_id: str) -> None:
        entry = self.own_entry("splitTaskMap", task_id)
        entry["partIds"] = [*self.part_ids(task_id), part_id]

    def _add_to_total(self, count: int) -> None:
        self.data["totalTasks"] = self.number("totalTasks") + count

    def _owners(self) -> dict[str, str]:
        """Return the task that each fix was made for."""
        owners: dict[str, str] = {}
        for owner in self.entries("fixTaskMap"):
            for fix_id in self.fix_ids(owner):
                owners[fix_id] = owner
        return owners

    # Attempts of a task

    def status(self, task_id: str) -> str:
        return str(self.entry("taskResults", task_id).get("status") or "pending")

    def set_status(self, task_id: str, status: str) -> None:
        self.own_entry("taskResults", task_id)["status"] = status

    def begin_attempt(self, task_id: str, max_attempts: int, number: int | None = None) -> int:
        """Record that attempt `number`, or else the next one, starts; return its number."""
        entry = self.own_entry("taskResults", task_id)
        attempt = number or _attempts_made(entry) + 1
        entry["status"] = "running"
        entry["attempt"] = attempt
        entry["max_attempts"] = max(max_attempts, attempt)
        return attempt

    def attempt_failed(self, task_id: str, kind: str, message: str) -> None:
        entry = self.own_entry("taskResults", task_id)
        number = max(_attempts_made(entry), 1)
        _own_errors(entry)[f"attempt_{number}"] = {"type": kind, "message": message}

    def task_passed(self, task_id: str) -> None:
        """Record that a task passed; one that never failed needs no record."""
        if self.entry("taskResults", task_id).get("error"):
            entry = self.own_entry("taskResults", task_id)
            entry["status"] = "complete"
            errors = _own_errors(entry)
            errors.pop("final", None)
            errors["resolved_on_retry"] = True
        elif task_id in self.entries("taskResults"):
            self.remove_entry("taskResults", task_id)

    def task_failed(self, task_id: str) -> None:
        """Record that no further attempt is made."""
        entry = self.own_entry("taskResults", task_id)
        entry["status"] = "failed"
        errors = _own_errors(entry)
        errors.pop("resolved_on_retry", None)
        errors["final"] = FAILED_AFTER_RETRIES

    # Commits

    def uncommitted(self) -> tuple[str, ...]:
        """Return the tasks that passed and whose commit has still to be made."""
        return tuple(self.data.get("uncommittedTasks") or ())

    def set_uncommitted(self, task_id: str, waits: bool) -> None:
        waiting = _without(self.uncommitted(), task_id)
        if waits:
            waiting.append(task_id)
        self.data["uncommittedTasks"] = waiting
        if not waiting:
            del self.data["uncommittedTasks"]

    # Starting a run

    def start_run(self) -> list[str]:
        """Reset the counters of all tasks but those of an interrupted run; return messages."""
        self.release()
        interrupted = []
        for task_id in self.entries("taskResults"):
            status = self.status(task_id)
            entry = self.own_entry("taskResults", task_id)
            if status == "running":
                interrupted.append(task_id)
                _repeat_unfinished_attempt(entry)
            elif status == "failed":
                entry["status"] = "pending"
                entry["attempt"] = 0
                entry.pop("error", None)

        owners = self._owners()
        for task_id in self.entries("fixTaskMap"):
            if self.fixes_attempted(task_id) and _original(task_id, owners) not in interrupted:
                self.own_entry("fixTaskMap", task_id)["attempts"] = 0
        if interrupted:
            return [f"continuing where {', '.join(interrupted)} stopped in an interrupted run"]
        if "globalIteration" in self.data:
            self.data["globalIteration"] = 1
        return []

    def reconcile(self, tasks: Sequence[Task]) -> list[str]:
        """Bring the state in line with tasks.md, which is always right; return messages."""
        messages = [*self._reconcile_fixes(tasks), *self._reconcile_results(tasks)]
        self.data["totalTasks"] = len(tasks)
        self.data["taskIndex"] = current_index(tasks)
        return messages

    def _reconcile_fixes(self, tasks: Sequence[Task]) -> Iterator[str]:
        """Add the fixes and parts that the state lacks, and yield a message for each."""
        tree = FixTree(tasks)
        owners = self._owners()
        for task in tasks:
            if task.fix_for is None:
                continue
            original = tree.owner_of(task.name)
            owner = task.fix_for if original is None else original.name
            if task.id in (*self.fix_ids(owner), *self.part_ids(owner)):
                continue
            if task.has_marker("SPLIT"):
                self._add_part(owner, task.id)
                yield f"{task.id}, a part of {owner} in tasks.md, was missing in the state file"
                continue

            self._add_fix(owner, task.id, _addressed_error(task))
            owners[task.id] = owner
            # An interrupted run inserted it but could not count it.
            if self.status(_original(owner, owners)) == "running":
                self.own_entry("fixTaskMap", owner)["attempts"] += 1
            yield f"{task.id}, a fix of {owner} in tasks.md, was missing in the state file"

    def _reconcile_results(self, tasks: Sequence[Task]) -> Iterator[str]:
        """Correct the results that contradict the boxes, and yield a message for each."""
        for task in tasks:
            status = self.status(task.name)
            state_file = f"the state file said {status}"
            if task.checked and status in ("failed", "running"):
                self.task_passed(task.name)
                yield f"{task.name} counts as done, as in tasks.md; {state_file}"
            if not task.checked and status in ("complete", "success"):
                self.remove_entry("taskResults", task.name)
                yield f"{task.name} counts as open, as in tasks.md; {state_file}"


def _without(ids: Sequence[str], one: str) -> list[str]:
    return [other for other in ids if other != one]


def _original(task_id: str, owners: Mapping[str, str]) -> str:
    """Return the task that a fix, or a fix of a fix, was made for."""
    seen: set[str] = set()
    while task_id in owners and task_id not in seen:
        seen.add(task_id)
        task_id = owners[task_id]
    return task_id


def _attempts_made(entry: dict[str, Any]) -> int:
    return int(entry.get("attempt") or 0)


def _own_errors(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the errors of a task to write into; a plain message becomes one of them."""
    errors = entry.get("error")
    if not isinstance(errors, dict):
        errors = {"message": errors} if errors else {}
        entry["error"] = errors
    return errors


def _repeat_unfinished_attempt(entry: dict[str, Any]) -> None:
    """Make the next attempt have the number of the one that was interrupted."""
    number = _attempts_made(entry)
    errors = entry.get("error") or {}
    if number and f"attempt_{number}" not in errors:
        entry["attempt"] = number - 1


def _addressed_error(fix: Task) -> str:
    """Return the error that a fix task was written for."""
    do = fix.fields.get("Do", "").strip()
    addressed = _ADDRESSED_ERROR.match(do)
    if addressed is None:
        return fix.title.removeprefix("Fix: ")
    return addressed[1].strip()
