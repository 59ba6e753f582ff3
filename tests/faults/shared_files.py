"""Specs that share files, healed at once by an executor that edits at random moments.

`python -m tests.faults.shared_files --rounds 50` runs it again and again, each time with another
seed, with isolated executors and without. In the end every task that was reported as passed or
recovered must pass in the final tree.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import NamedTuple

from tests.integration.blocks import spec as document
from tests.integration.blocks import task as block
from tests.integration.processes import run
from tests.worktrees import worktrees_of

SPECS = 12
TASKS = 2
FILES = 4
WORKERS = 4
MODES = ("worktree", "none")

# Takes a while to read, to think and to write, now and then gives up, and counts in the first file:
# two edits that do not know of each other merge without a conflict, and yet the sum is wrong.
EXECUTOR = """\
import os, random, re, sys, time
spec = int(os.environ["RALPH_SPEC_PATH"][-2:])
task = int(os.environ["RALPH_FIX_FOR"].split(".")[1])
slot = spec * TASKS + task - 1
chance = random.Random(f"{SEED} {slot} {time.time()}")
path = f"shared{slot % FILES}.txt"
time.sleep(chance.uniform(0, 0.3))
text = open(path).read()
time.sleep(chance.uniform(0, 0.3))
if chance.random() < 0.1:
    sys.exit(1)
text = text.replace(f"slot {slot}: open", f"slot {slot}: done")
total = text.count(": done")
text = re.sub("total: [0-9]+", f"total: {total}", text)
with open(path, "w") as file:
    for line in text.splitlines(keepends=True):
        file.write(line)
        file.flush()
        time.sleep(chance.uniform(0, 0.004))
"""


class Ended(NamedTuple):
    """How a round ended: the outcome of each slot, and what is wrong with that."""

    outcomes: dict[int, str]
    problems: list[str]
    output: str

    @property
    def good(self) -> int:
        return sum(outcome in ("passed", "recovered") for outcome in self.outcomes.values())


def verify_of(slot: int) -> str:
    """The Verify command of a slot: its line is there once, and the total is right."""
    path = f"shared{slot % FILES}.txt"
    own = f"test $(grep -cx 'slot {slot}: done' {path}) = 1"
    return f"{own} && test $(grep -c ': done' {path}) = $(sed -n 's/^total: //p' {path})"


def make_project(root: Path, seed: int, specs: int) -> None:
    """Write the shared files, the specs and the executor, and commit them."""
    root.mkdir(parents=True)
    for number in range(FILES):
        slots = [slot for slot in range(specs * TASKS) if slot % FILES == number]
        lines = ["total: 0", *(f"slot {slot}: open\n\n--\n" for slot in slots)]
        (root / f"shared{number}.txt").write_text("\n".join(lines) + "\n")
    for number in range(specs):
        tasks = []
        for at in range(TASKS):
            slot = number * TASKS + at
            heading = f"1.{at + 1} Do slot {slot}"
            tasks.append(block(heading, verify_of(slot), files=f"`shared{slot % FILES}.txt`"))
        directory = root / "specs" / f"s{number:02}"
        directory.mkdir(parents=True)
        (directory / "tasks.md").write_text(document(*tasks))
    numbers = f"TASKS, FILES, SEED = {TASKS}, {FILES}, {seed}\n"
    (root / "agent.py").write_text(numbers + EXECUTOR)
    for words in (
        ("init", "-q", "--template="),
        ("add", "-A"),
        ("-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "-m", "begin"),
    ):
        subprocess.run(["git", *words], cwd=root, check=True)


def heal(root: Path, seed: int, mode: str, *, specs: int = SPECS, workers: int = WORKERS) -> Ended:
    """Heal a new project, and look whether what was reported is true."""
    make_project(root, seed, specs)
    _, output = run(
        root,
        "--ralph-recovery",
        f"--ralph-executor={sys.executable} -S agent.py",
        f"--ralph-isolate={mode}",
        *("--ralph-budget=500", "-n", str(workers), "--junitxml=junit.xml", "specs"),
        timeout=600,
    )
    outcomes = _outcomes(root)
    problems = []
    if len(outcomes) != specs * TASKS:
        problems.append(f"{len(outcomes)} tasks were reported")
    for slot, outcome in outcomes.items():
        passes = subprocess.run(verify_of(slot), shell=True, cwd=root, check=False).returncode == 0
        if outcome in ("passed", "recovered") and not passes:
            problems.append(f"slot {slot} was {outcome}, and does not pass")
    problems += _left_behind(root)
    return Ended(outcomes, problems, output)


def _outcomes(root: Path) -> dict[int, str]:
    outcomes = {}
    for case in ET.parse(root / "junit.xml").iter("testcase"):
        found = {one.get("name"): one.get("value", "") for one in case.iter("property")}
        slot = str(found["ralph.title"]).rpartition(" ")[2]
        outcomes[int(slot)] = str(found["ralph.outcome"])
    return outcomes


def _left_behind(root: Path) -> list[str]:
    """What a run must not leave: worktrees, markers of conflicts, boxes of what does not pass."""
    problems = []
    worktrees = worktrees_of(root)
    if worktrees:
        problems.append(f"worktrees are left: {worktrees}")
    for number in range(FILES):
        text = (root / f"shared{number}.txt").read_text()
        if "<<<<" in text or ">>>>" in text:
            problems.append(f"shared{number}.txt has markers of a conflict")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.shared_files")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mode", choices=MODES)
    options = parser.parse_args()
    wrong = 0
    for number in range(options.seed, options.seed + options.rounds):
        for mode in [options.mode] if options.mode else MODES:
            with tempfile.TemporaryDirectory(prefix="ralph-shared-") as directory:
                began = time.monotonic()
                ended = heal(Path(directory, "project"), number, mode)
            took = time.monotonic() - began
            sys.stdout.write(
                f"seed {number} {mode:<8} {ended.good:>3} of {len(ended.outcomes)} pass, "
                f"{len(ended.problems)} wrong, {took:.0f} s\n"
            )
            for problem in ended.problems:
                sys.stdout.write(f"    {problem}\n")
            if ended.problems:
                sys.stdout.write(ended.output)
            sys.stdout.flush()
            wrong += bool(ended.problems)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
