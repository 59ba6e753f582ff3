"""The order of a spec's tasks: who runs with whom, who waits for whom, and what makes a plan impossible."""

from __future__ import annotations

import heapq
import posixpath
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence

    from pytest_ralph.spec.task import Task

Group = tuple["Task", ...]

_DEPENDS_FIELDS = ("depends on", "depends", "depends-on", "dependencies")
_NOTHING = regex(r"(?:none|nothing|no|n/?a|[-–—]|∅)\b.*|[-–—]|∅", re.IGNORECASE)
_IN_TITLE = regex(r"\((?:depends on|after):?\s+([^()]+)\)", re.IGNORECASE)
_PHASE = regex(r"\bphases?\s+\S+", re.IGNORECASE)
_BETWEEN = regex(r"[,;&+\n]|\band\b", re.IGNORECASE)
_DRESSING = regex(r"^(?:[-*]\s+)?(?:\[.\]\s+)?(?:tasks?\s+)?|\s*\(.*\)\s*$|[`*_\"']", re.IGNORECASE)
_WORD = regex(r"[^\s,;`'\"()\[\]*&+]+")
# What can only be meant as the id of a task: a number with dots, or capitals with a number.
_LOOKS_LIKE_ID = regex(r"\d+(?:\.\w+)+|[A-Z]{1,3}-?[A-Z]?\d+(?:\.\d+)*[A-Z]?")
_ROLE = regex(
    r"\be2e\b.*?\b(start-?up|start|set-?up|check|test|verif\w*|clean-?up|tear-?down)\b",
    re.IGNORECASE,
)
_STARTUP_ID = regex(r"(?:.*\.)?VE-?1", re.IGNORECASE)
_CLEANUP_ID = regex(r"(?:.*\.)?VE-?3", re.IGNORECASE)


class PlanProblem(NamedTuple):
    """Why a plan cannot be carried out: what was found, how to resolve it, and the verdict."""

    kind: str
    message: str
    tasks: tuple[str, ...]
    line: int
    facts: tuple[str, ...]
    resolution: tuple[str, ...]
    verdict: str


@dataclass(frozen=True)
class Plan:
    """Tasks in the order they run. A task is known by its name, which unlike its id is never given twice."""

    tasks: tuple[Task, ...]
    order: tuple[Task, ...]
    groups: tuple[Group, ...]
    problems: tuple[PlanProblem, ...]
    # Only tasks that say what they depend on; all others depend on everything before them.
    explicit: Mapping[str, tuple[str, ...]]

    def group_of(self, task: Task) -> Group:
        return self.groups[self._place[task.name]]

    def blocker(
        self,
        task: Task,
        failed: Collection[str],
        *,
        keep_going: bool = False,
        recovery: bool = True,
    ) -> str | None:
        """The failed task that `task` cannot run without, or None.

        A run that only verifies, or that was told to keep going, respects what a task says it depends on and no more.
        """
        if not failed or is_e2e_cleanup(task):
            return None
        stopped = self._stopped.by(failed)
        if (name := stopped.get(task.name)) is not None:
            return name
        if keep_going or not recovery:
            return None
        return self._first_before(self._reach[task.name], failed, task)

    def _first_before(self, place: int, failed: Iterable[str], task: Task) -> str | None:
        places = (
            (self._place[name], name)
            for name in failed
            if name in self._place and name != task.name
        )
        at, name = min(places, default=(place, ""))
        return name if at < place else None

    @cached_property
    def _place(self) -> dict[str, int]:
        return {task.name: at for at, group in enumerate(self.groups) for task in group}

    @cached_property
    def _reach(self) -> dict[str, int]:
        """Per task, the place before which every task matters: its own, or the last one that what it names reaches."""
        reach: dict[str, int] = {}
        for task in self.order:
            needs = self.explicit.get(task.name)
            own = self._place[task.name]
            reach[task.name] = (
                own if needs is None else max((reach.get(need, 0) for need in needs), default=0)
            )
        return reach

    @cached_property
    def _stopped(self) -> _Stopped:
        return _Stopped(_reversed(self.explicit))


class _Stopped:
    """What a growing set of failures stops through explicit dependencies.

    Each dependency is followed once in a whole run, however many tasks fail and however often it is asked.
    """

    def __init__(self, dependents: Mapping[str, Sequence[str]]) -> None:
        self._dependents = dependents
        self._seen: set[str] = set()
        self._cause: dict[str, str] = {}

    def by(self, failed: Collection[str]) -> Mapping[str, str]:
        if not self._seen.issubset(failed):
            self._seen.clear()
            self._cause.clear()
        if len(self._seen) != len(failed):
            for name in failed:
                if name not in self._seen:
                    self._seen.add(name)
                    self._spread(name)
        return self._cause

    def _spread(self, failed: str) -> None:
        waiting = [failed]
        while waiting:
            for name in self._dependents.get(waiting.pop(), ()):
                if name not in self._cause and name != failed:
                    self._cause[name] = failed
                    waiting.append(name)


def plan(tasks: Iterable[Task]) -> Plan:
    tasks = tuple(tasks)
    explicit, unknown = _dependencies(tasks)
    needs = _needs(tasks, explicit)
    order, stuck = _in_order(tasks, needs)
    groups = tuple(_groups(order, explicit))
    problems = (*unknown, *_cycles(stuck, needs), *_conflicts(groups))
    return Plan(tasks, order, groups, problems, explicit)


def is_e2e_startup(task: Task) -> bool:
    """Whether what this task starts must live on for the tasks after it."""
    role = _role(task)
    return role == "start" or (role == "" and bool(_STARTUP_ID.fullmatch(task.id)))


def is_e2e_cleanup(task: Task) -> bool:
    """Whether this task must run whatever failed before it."""
    if task.has_marker("CLEANUP"):
        return True
    role = _role(task)
    return role == "cleanup" or (role == "" and bool(_CLEANUP_ID.fullmatch(task.id)))


def is_red(task: Task) -> bool:
    """Whether failing was the point of this task (the red of red, green, refactor)."""
    return task.has_marker("RED")


def _role(task: Task) -> str:
    # The title of a fix quotes an error, which may name anything.
    match = _ROLE.search(task.title) if task.fix_for is None else None
    word = match[1].lower().replace("-", "") if match else ""
    if word in ("cleanup", "teardown"):
        return "cleanup"
    if word.startswith(("start", "setup")):
        return "start"
    return "check" if word else ""


def _dependencies(tasks: Sequence[Task]) -> tuple[dict[str, tuple[str, ...]], list[PlanProblem]]:
    names: dict[str, str] = {}
    for task in tasks:
        names.setdefault(task.id, task.name)
        names.setdefault(task.name, task.name)
    explicit: dict[str, tuple[str, ...]] = {}
    problems: list[PlanProblem] = []
    for task in tasks:
        for written in _written_dependencies(task):
            known, unknown = _ids(written, names)
            problems += [_unknown(task, name) for name in unknown]
            if known or (not unknown and _NOTHING.fullmatch(written.strip())):
                explicit[task.name] = known
    return explicit, problems


def _written_dependencies(task: Task) -> Iterator[str]:
    fields = [text for name, text in task.fields.items() if name.strip().lower() in _DEPENDS_FIELDS]
    if fields:
        yield fields[0]
    elif task.fix_for is None and (match := _IN_TITLE.search(task.title)):
        yield match[1]


def _ids(written: str, names: Mapping[str, str]) -> tuple[tuple[str, ...], list[str]]:
    """The tasks a text names, and the ids in it that no task has. All else (`Python 3.12`, `Phase 2`) is prose."""
    known: dict[str, None] = {}
    unknown: list[str] = []
    for part in _BETWEEN.split(_PHASE.sub(" ", written)):
        found = [name for word in _WORD.findall(part) if (name := _named(word, names))]
        known.update(dict.fromkeys(found))
        bare = _DRESSING.sub("", part.strip()).strip().rstrip(".:")
        if not found and _LOOKS_LIKE_ID.fullmatch(bare):
            unknown.append(bare)
    return tuple(known), unknown


def _named(word: str, names: Mapping[str, str]) -> str | None:
    bare = word.rstrip(".:")
    return names.get(word) or names.get(bare) or names.get(f"{bare}.")


def _reversed(edges: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    back: dict[str, list[str]] = defaultdict(list)
    for source, targets in edges.items():
        for target in targets:
            back[target].append(source)
    return back


def _needs(
    tasks: Sequence[Task], explicit: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """What a task names; for a fix its original, which it follows wherever that goes."""
    names = {task.id: task.name for task in reversed(tasks)}
    needs = {task.name: tuple(explicit.get(task.name, ())) for task in tasks}
    for task in tasks:
        original = names.get(task.fix_for or "", task.name)
        if original != task.name and task.name not in needs[original]:
            needs[task.name] = (*dict.fromkeys((*needs[task.name], original)),)
    return needs


def _in_order(
    tasks: Sequence[Task], needs: Mapping[str, Sequence[str]]
) -> tuple[tuple[Task, ...], list[Task]]:
    """File order, except that a task waits for what it needs; and the tasks that wait for ever."""
    place = {task.name: at for at, task in enumerate(tasks)}
    dependents = _reversed(needs)
    missing = {name: len(before) for name, before in needs.items()}
    ready = [place[name] for name, count in missing.items() if count == 0]
    order: list[Task] = []
    while ready:
        task = tasks[heapq.heappop(ready)]
        order.append(task)
        for name in dependents.get(task.name, ()):
            missing[name] -= 1
            if missing[name] == 0:
                heapq.heappush(ready, place[name])
    stuck = [task for task in tasks if missing[task.name] > 0]
    return (*order, *stuck), stuck


def _groups(order: Sequence[Task], explicit: Mapping[str, Sequence[str]]) -> Iterator[Group]:
    """Adjacent [P] tasks of a phase. A fix task stands alone and does not part the tasks around it."""
    group: list[Task] = []
    names: set[str] = set()
    alone: list[Group] = []
    for task in order:
        if task.fix_for is not None and group:
            alone.append((task,))
            continue
        joins = group and group[-1].parallel and task.parallel and task.phase == group[-1].phase
        if not joins or not names.isdisjoint(explicit.get(task.name, ())):
            yield from _closed(group, alone)
            group, names, alone = [], set(), []
        group.append(task)
        names.add(task.name)
    yield from _closed(group, alone)


def _closed(group: Sequence[Task], alone: Sequence[Group]) -> Iterator[Group]:
    if group:
        yield tuple(group)
    yield from alone


def _cycles(stuck: Sequence[Task], needs: Mapping[str, Sequence[str]]) -> Iterator[PlanProblem]:
    by_name = {task.name: task for task in stuck}
    done: set[str] = set()
    for task in stuck:
        path = _walk(task.name, by_name, needs, done)
        if path:
            yield _circular([by_name[name] for name in path])


def _walk(
    start: str, stuck: Container[str], needs: Mapping[str, Sequence[str]], done: set[str]
) -> Sequence[str]:
    """Follow what stuck tasks wait for until one comes up again: the cycle, or nothing if it was found before."""
    path: list[str] = []
    name = start
    while name not in done:
        path.append(name)
        done.add(name)
        name = next(need for need in needs[name] if need in stuck)
    return path[path.index(name) :] if name in path else ()


def _circular(cycle: Sequence[Task]) -> PlanProblem:
    ids = [task.id for task in cycle]
    pairs = zip(ids, [*ids[1:], ids[0]], strict=True)
    return PlanProblem(
        kind="circular_dependency",
        message=f"circular dependency: {' -> '.join([*ids, ids[0]])}",
        tasks=tuple(task.name for task in cycle),
        line=cycle[0].line,
        facts=(
            "Plan contains circular task dependencies:",
            *(f"  Task {first} depends on Task {second}" for first, second in pairs),
        ),
        resolution=(
            "Resolution:",
            '  Fix the plan\'s "Depends on" fields to remove the cycle.',
            "  Ensure dependencies form a directed acyclic graph (DAG).",
        ),
        verdict="Invalid plan",
    )


def _unknown(task: Task, name: str) -> PlanProblem:
    return PlanProblem(
        kind="plan_invalid",
        message=f"task {task.id} depends on {name}, which is not in the plan",
        tasks=(task.name,),
        line=task.line,
        facts=(
            "Plan names a task that does not exist:",
            f"  Task {task.id} depends on Task {name}",
        ),
        resolution=(
            "Resolution:",
            f'  Fix the "Depends on" field of task {task.id} (line {task.line}), or add task {name}.',
        ),
        verdict="Invalid plan",
    )


def _conflicts(groups: Iterable[Group]) -> Iterator[PlanProblem]:
    """Files that two tasks still to be done name, though they may run at once."""
    for group in groups:
        if len(group) == 1:
            continue
        owners: dict[str, dict[str, Task]] = defaultdict(dict)
        for task in group:
            for file in () if task.checked else filter(_is_one_file, task.files):
                owners[posixpath.normpath(file)][task.name] = task
        for file, tasks in owners.items():
            if len(tasks) > 1:
                yield _conflict(file, list(tasks.values()))


def _is_one_file(name: str) -> bool:
    """A directory or a pattern is room for many: tasks that name it need not meet in it."""
    return not name.endswith("/") and "*" not in name


def _conflict(file: str, tasks: Sequence[Task]) -> PlanProblem:
    shown = [f"  Task {task.id} names it (line {task.line})" for task in islice(tasks, 10)]
    more = [f"  … {len(tasks) - 10} more"] if len(tasks) > 10 else []
    ids = [task.id for task in tasks]
    listed = (
        f"{', '.join(ids[:-1])} and {ids[-1]}"
        if len(ids) <= 4
        else f"{ids[0]}, {ids[1]} and {len(ids) - 2} more"
    )
    return PlanProblem(
        kind="file_conflict",
        message=f"parallel tasks {listed} name the same file: {file}",
        tasks=tuple(task.name for task in tasks),
        line=tasks[0].line,
        facts=("Parallel tasks modify the same file:", f"  File: {file}", *shown, *more),
        resolution=(
            "Resolution options:",
            "1. Manually merge the changes",
            "2. Modify plan to make these tasks sequential",
            "3. Split the shared file to avoid conflicts",
        ),
        verdict="Parallel conflict",
    )
