"""Many specs at once with failing tasks, dying workers and bad fixes, all by a seed."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import sqlite3
import threading
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

from pytest_ralph.files import is_temporary
from pytest_ralph.spec.document import Spec
from pytest_ralph.spec.order import plan
from tests.integration.blocks import spec as document
from tests.integration.blocks import task as block
from tests.integration.processes import left_in, start

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.spec.task import Task

# What a task is like, and how often of a hundred.
KINDS = {
    "good": 62,
    "broken": 14,
    "stubborn": 6,
    "hopeless": 8,
    "deadly": 5,
    "cursed": 3,
    "manual": 2,
}
GOOD = ("passed", "recovered")
FIXABLE = ("broken", "stubborn", "hopeless")
MAX_FIXES = 2
# How often a Verify may run: at first, once more in case the failure is transient, and after each
# executor run that changed a file or ended well. A cursed one kills its worker before that.
MOST_RUNS = {"broken": 3, "stubborn": 4, "hopeless": 2 + MAX_FIXES, "cursed": 2}

CHECK = """\
echo "$RALPH_SPEC $RALPH_TASK_ID" >> ran.txt
echo $PPID >> workers.txt
test -e calm && exit 0
case $1 in
    good) exit 0;;
    hopeless) exit 1;;
    deadly) kill -9 $PPID; sleep 60;;
    *) test -e "fixed/$RALPH_SPEC-$RALPH_TASK_ID";;
esac
"""
FIX = """\
spec=$(basename "$RALPH_SPEC_PATH")
original=$(echo "$RALPH_FIX_FOR" | cut -d. -f1,2)
kind=$(grep -A9 -- "- \\[.\\] $original " "$RALPH_SPEC_PATH/tasks.md" |
    grep -o 'check.sh [a-z]*' | head -1 | cut -d' ' -f2)
if [ "$kind" = stubborn ] && [ ! -e "tried/$spec-$original" ]; then
  touch "tried/$spec-$original"
  exit 1
fi
if [ "$kind" = cursed ] && [ ! -e calm ]; then kill -9 $PPID; sleep 60; fi
test "$kind" = hopeless || touch "fixed/$spec-$original"
"""


@dataclass(frozen=True)
class World:
    """A project of specs made by a seed."""

    root: Path
    texts: dict[str, str]

    @classmethod
    def make(cls, root: Path, specs: int, seed: int) -> World:
        dice = random.Random(seed)
        for name in ("fixed", "tried"):
            (root / name).mkdir()
        (root / "check.sh").write_text(CHECK)
        (root / "fix.sh").write_text(FIX)
        (root / "ran.txt").touch()
        texts = {f"s{number:03}": _spec(dice) for number in range(specs)}
        for name, text in texts.items():
            (root / "specs" / name).mkdir(parents=True)
            (root / "specs" / name / "tasks.md").write_text(text)
        return cls(root, texts)

    def run(
        self, workers: int, *, timeout: float, killer: random.Random | None = None
    ) -> tuple[int, str]:
        process = start(
            self.root,
            *(
                "--ralph-recovery",
                "--ralph-executor=sh fix.sh",
                f"--ralph-max-fixes={MAX_FIXES}",
                "--ralph-jobs=3",
            ),
            *(
                "--ralph-budget=100000",
                f"-n{workers}",
                "--max-worker-restart=100000",
                "--junitxml=junit.xml",
                "-q",
            ),
            "specs",
        )
        over = threading.Event()
        if killer is not None:
            threading.Thread(
                target=_kill_workers, args=(self.root, process.pid, killer, over), daemon=True
            ).start()
        try:
            output, _ = process.communicate(timeout=timeout)
        finally:
            over.set()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        return process.returncode, output

    def reported(self) -> dict[str, str]:
        """`spec task` → outcome. Every test case must be a task, and no task may be there twice."""
        told: dict[str, str] = {}
        for case in ET.parse(self.root / "junit.xml").iter("testcase"):
            properties = {found.get("name"): found.get("value") for found in case.iter("property")}
            name = f"{properties['ralph.spec']} {properties['ralph.task']}"
            assert name not in told, f"{name} is reported twice"
            told[name] = str(properties["ralph.outcome"])
        return told

    def ran(self) -> Counter[str]:
        return Counter((self.root / "ran.txt").read_text().splitlines())

    def tasks(self) -> dict[str, tuple[Task, str]]:
        """`spec task` → the task as it was at the start, and what it is like."""
        return {
            f"{name} {task.id}": (task, _kind(task))
            for name, text in self.texts.items()
            for task in Spec.parse(text).tasks
        }

    def expected(self) -> dict[str, str]:
        """Outcomes, for specs in which no worker dies beside other tasks."""
        found: dict[str, str] = {}
        for name, text in self.texts.items():
            planned = plan(Spec.parse(text).tasks)
            if any(
                len(group) > 1 and {"deadly", "cursed"} & set(map(_kind, group))
                for group in planned.groups
            ):
                continue
            failed: list[str] = []
            for task in planned.order:
                outcome = "blocked" if planned.blocker(task, failed) else OUTCOMES[_kind(task)]
                failed += [task.name] if outcome == "failed" else []
                found[f"{name} {task.id}"] = outcome
        return found


OUTCOMES = {
    "good": "passed",
    "broken": "recovered",
    "stubborn": "recovered",
    "hopeless": "failed",
    "deadly": "failed",
    "cursed": "failed",
    "manual": "manual",
}


def _spec(dice: random.Random) -> str:
    tasks = []
    for number in range(1, dice.randint(3, 7)):
        (kind,) = dice.choices(list(KINDS), weights=list(KINDS.values()))
        marks = "[P] " if dice.random() < 0.4 else ""
        needs = {}
        if dice.random() < 0.25:
            needs["depends_on"] = (
                f"1.{dice.randint(1, number - 1)}" if number > 1 and dice.random() < 0.6 else "none"
            )
        text = block(f"1.{number} {marks}Task {number}", f"sh check.sh {kind}", **needs)
        tasks.append(text.replace("`sh check.sh manual`", "Manual: look at it"))
    return document(*tasks)


def _kind(task: Task) -> str:
    return task.verify.checks[0].command.split()[-1] if task.verify.checks else "manual"


def _kill_workers(root: Path, controller: int, dice: random.Random, over: threading.Event) -> None:
    """From outside, at any moment after their start, in which xdist itself does not survive it."""
    while not over.wait(dice.uniform(0.5, 3)):
        with contextlib.suppress(psutil.Error, IndexError, OSError, ValueError):
            begun = set(map(int, (root / "workers.txt").read_text().split()))
            dice.choice(
                [one for one in psutil.Process(controller).children() if one.pid in begun]
            ).kill()


def check_all_told_once_and_run_once(world: World) -> None:
    told, ran, tasks = world.reported(), world.ran(), world.tasks()
    assert set(told) == set(tasks)
    for name, (_, kind) in tasks.items():
        most = MOST_RUNS.get(kind, 1)
        if told[name] in GOOD:
            # These tasks name no files: one that passed is verified again after each later fix.
            most += _fixed_beside(name, tasks)
        assert ran[name] <= most, f"{name} ({kind}) ran {ran[name]} times"
        if told[name] in ("blocked", "manual"):
            assert ran[name] == 0, name
        if told[name] in GOOD:
            assert ran[name] >= 1, name


def _fixed_beside(name: str, tasks: dict[str, tuple[Task, str]]) -> int:
    """How many other tasks, of any spec, an executor may work on to the end."""
    return sum(kind in FIXABLE for other, (_, kind) in tasks.items() if other != name)


def check_files_are_whole(world: World) -> None:
    told = world.reported()
    for name, text in world.texts.items():
        directory = world.root / "specs" / name
        after = Spec.load(directory)
        ids = [task.id for task in after.tasks]
        assert len(ids) == len(set(ids)), name
        assert _without_fixes(after).replace("- [x]", "- [ ]") == text, name
        for task in Spec.parse(text).tasks:
            outcome = told[f"{name} {task.id}"]
            assert after[task.id].checked == (outcome in GOOD), f"{name} {task.id} {outcome}"
        state = directory / ".ralph-state.json"
        if state.exists():
            assert json.loads(state.read_text())["totalTasks"] <= len(ids), name
        assert _strangers(directory) == [], name
    connection = sqlite3.connect(world.root / ".ralph/history.db")
    assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    connection.close()
    assert list((world.root / ".ralph/runs").iterdir()) == []
    assert left_in(world.root) == []


def _strangers(directory: Path) -> list[str]:
    """Files that nobody asked for.

    What was about to take another's place when its writer died is swept up later.
    """
    known = {"tasks.md", ".ralph-state.json", ".progress.md"}
    return [
        path.name
        for path in directory.iterdir()
        if path.name not in known and not is_temporary(path.name)
    ]


def _without_fixes(spec: Spec) -> str:
    """The document without the lines of its fix tasks."""
    lines = spec.source.splitlines(keepends=True)
    fixes = {
        number
        for task in spec.tasks
        if task.fix_for
        for number in range(task.line - 1, task.end_line)
    }
    kept = "".join(line for number, line in enumerate(lines) if number not in fixes)
    return re.sub(r"\n{3,}", "\n\n", kept)


def check_calm_finishes_everything(world: World, workers: int, *, timeout: float) -> None:
    """After the storm the same command goes on, and completes what is left."""
    (world.root / "calm").touch()
    code, output = world.run(workers, timeout=timeout)
    assert code == 0, output[-4000:]
    for name in world.texts:
        assert not list((world.root / "specs" / name).glob(".*.tmp")), name
        left = [
            task.id for task in Spec.load(world.root / "specs" / name).tasks if not task.checked
        ]
        assert all(world.tasks()[f"{name} {task_id}"][1] == "manual" for task_id in left), (
            name,
            left,
        )
