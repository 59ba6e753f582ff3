"""A temporary repository with two specs, its user, and runs of pytest in it."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree

from tests.faults.forkserver import ROOT, ForkServer, Job
from tests.faults.killing import memory
from tests.faults.model.agent import read_touched, write_agent

if TYPE_CHECKING:
    from collections.abc import Mapping

SPEC_A = """\
# Tasks

- [ ] 1.1 One
  - **Files**: `src/one.txt`
  - **Verify**: `grep -q fixed src/one.txt`
  - **Commit**: `feat: a:1.1`

- [ ] 1.2 [P] Two
  - **Files**: `src/two.txt`
  - **Verify**: `grep -q fixed src/two.txt`
  - **Commit**: `feat: a:1.2`

- [ ] 1.3 [P] Three
  - **Files**: `src/three.txt`
  - **Verify**: `grep -q fixed src/three.txt`
  - **Commit**: `feat: a:1.3`

- [ ] 1.4 It builds
  - **Files**: `build.sh`, `src/four.txt`
  - **Verify**: `sh build.sh && grep -q fixed src/four.txt`
  - **Commit**: `feat: a:1.4`

- [ ] 1.5 Nothing is broken
  - **Verify**: `! grep -rq BROKEN src`
  - **Commit**: `feat: a:1.5`
"""
SPEC_B = """\
# Tasks

- [ ] 1.1 Five
  - **Files**: `src/five.txt`
  - **Verify**: `grep -q fixed src/five.txt`
  - **Commit**: `feat: b:1.1`
"""
TEMPORARY = re.compile(r"\..+\.\d+-[0-9a-f]+\.tmp")
SPEC_PATHS = ("specs/a/tasks.md", "specs/b/tasks.md")
# The file that the executor writes for each task.
FILES = {
    "a:1.1": "src/one.txt",
    "a:1.2": "src/two.txt",
    "a:1.3": "src/three.txt",
    "a:1.4": "src/four.txt",
    "a:1.5": "src/six.txt",
    "b:1.1": "src/five.txt",
}
# What the fields of the tasks name beyond that.
ALSO_NAMED = {"a:1.4": {"build.sh"}}
# Between what an executor writes and what the user appends, so that the two can be told apart.
LINES_BETWEEN = "between\n" * 8
TRACKED = {
    **{path: f"to do {key}\n{LINES_BETWEEN}" for key, path in FILES.items()},
    "src/old.txt": "old\n",
    "src/mixed.txt": "one\r\ntwo\nthree\r\n",
    "build.sh": "true\n",
    "tests/test_it.py": "def test_it(): pass\n",
    "pytest.ini": "[pytest]\n",
    "notes.txt": "notes\n",
    ".gitignore": "*.log\nsecret.env\n",
    ".gitattributes": "src/mixed.txt text=auto\n",
    "specs/a/tasks.md": SPEC_A,
    "specs/b/tasks.md": SPEC_B,
}
UNTRACKED = ("draft.txt", "src/draft.txt", "deep/er/draft.txt")
IGNORED = ("secret.env", "src/debug.log")
NEW_PROCESS_TIMEOUT = 120


class IndexEntry(NamedTuple):
    """One path in the index: object, and the letter of `git ls-files -v`."""

    blob: str
    tag: str


@dataclass(frozen=True)
class RunPlan:
    """How pytest is run: its options, what the executor does, and when pytest is killed.

    kill_at: The point (see `tests.faults.faults`) at which it is killed; 0 for never. In a process
        that is not forked, the hundredths of a second after which it is killed.
    forked: Whether pytest runs in a fork of a process that has imported everything. Workers cannot.
    target: What is run: all specs, one of them, or a single task.
    """

    options: tuple[str, ...] = ()
    actions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kill_at: int = 0
    workers: int = 0
    forked: bool = True
    target: str = "specs"

    @property
    def commits(self) -> bool:
        """Whether tasks that pass are committed, or commits of them are written down."""
        return "auto" in self.options or "message-only" in self.options

    @property
    def all_actions(self) -> set[str]:
        return {action for actions in self.actions.values() for action in actions}


@dataclass(frozen=True)
class Ended:
    """How a run ended: -9 after a kill; the outcome of each task it reported."""

    status: int
    output: str
    outcomes: Mapping[str, str]
    touched: Mapping[str, set[str]]
    # The same for all runs so far: a commit may hold work of an earlier run.
    touched_ever: Mapping[str, set[str]]
    after_kill: bool = False

    @property
    def killed(self) -> bool:
        return self.status == -signal.SIGKILL


@cache
def template() -> Path:
    """Make the repository that all worlds are copies of."""
    top = Path(tempfile.mkdtemp(dir=memory(), prefix="ralph-model-template-"))
    atexit.register(shutil.rmtree, top, ignore_errors=True)
    project = top / "project"
    for name, text in TRACKED.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_bytes(text.encode())
    for words in (
        ("init", "-q", "--template=", "-b", "main"),
        ("config", "user.name", "A Person"),
        ("config", "user.email", "person@example.org"),
        ("config", "gc.auto", "0"),
        ("add", "-A"),
        ("commit", "-q", "-m", "the beginning"),
    ):
        git(project, *words)
    return project


def git(project: Path, *words: str, check: bool = True) -> str:
    """Run git in a project and return what it printed."""
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", *words], cwd=project, capture_output=True, check=False, env=environ
    )
    if check and done.returncode != 0:
        raise RuntimeError(f"git {' '.join(words)}: {done.stderr.decode()}")
    return done.stdout.decode("utf-8", "surrogateescape")


class World:
    """One copy of the repository, in a directory of its own."""

    def __init__(self, server: ForkServer) -> None:
        self._server = server
        self.top = Path(tempfile.mkdtemp(dir=memory(), prefix="ralph-model-"))
        self.project = self.top / "project"
        shutil.copytree(template(), self.project, symlinks=True)
        self._texts = 0
        self._was_killed = False
        self._touched: dict[str, set[str]] = {}

    def close(self) -> None:
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        for record in self.project.glob(".git/ralph/worktrees/*.lock"):
            # A run that was killed leaves its worktrees to the next run, and there is none.
            for container in record.read_text().splitlines():
                shutil.rmtree(container, ignore_errors=True)
        shutil.rmtree(self.top, ignore_errors=True)

    # The user

    def text(self, word: str) -> str:
        """Return a text that no file had before."""
        self._texts += 1
        return f"{word} by the user, {self._texts}\n"

    def write(self, path: str, text: str) -> None:
        file = self.project / path
        if file.is_symlink() or file.is_dir():
            return
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            return
        file.write_bytes(text.encode())

    def append(self, path: str, text: str) -> None:
        file = self.project / path
        if file.is_file():
            self.write(path, file.read_text() + text)

    def remove(self, path: str) -> None:
        file = self.project / path
        if file.is_file():
            file.unlink()

    def git(self, *words: str) -> None:
        """Do what the user asks of git, which may refuse."""
        git(self.project, *words, check=False)

    # Looking at it

    def files(self) -> dict[str, bytes]:
        """Return the content of every file that is neither git's nor ours, spec files aside.

        A killed run may leave a file that it was writing.
        """
        found = {}
        for directory, names, files in os.walk(self.project):
            relative = os.path.relpath(directory, self.project)
            if relative == ".":
                names[:] = [name for name in names if name not in (".git", ".ralph")]
            for name in files:
                if TEMPORARY.fullmatch(name):
                    continue
                path = os.path.normpath(os.path.join(relative, name))  # noqa: PTH118 - fast
                if not path.startswith("specs/"):
                    found[path] = Path(directory, name).read_bytes()
        return found

    def ignored(self) -> set[str]:
        """Return the files that git ignores."""
        listed = git(self.project, "ls-files", "-o", "-i", "-z", "--exclude-standard")
        return set(filter(None, listed.split("\0")))

    def index(self) -> dict[str, IndexEntry]:
        entries = {}
        for line in git(self.project, "ls-files", "-v", "--stage", "-z").split("\0"):
            about, _, path = line.partition("\t")
            if path:
                tag, _, blob, _ = about.split(" ")
                entries[path] = IndexEntry(blob, tag)
        return entries

    def refs(self) -> dict[str, str]:
        listed = git(self.project, "for-each-ref", "--format=%(refname) %(objectname)")
        refs = dict(line.split(" ") for line in listed.splitlines())
        refs["HEAD"] = git(self.project, "rev-parse", "HEAD").strip()
        return refs

    def processes(self) -> list[int]:
        """Return the processes that work inside the world."""
        found = []
        for name in os.listdir("/proc"):  # noqa: PTH208 - names
            if not name.isdigit():
                continue
            try:
                directory = os.readlink(f"/proc/{name}/cwd")  # noqa: PTH115 - may be "(deleted)"
            except OSError:
                continue
            if directory.startswith(f"{self.top}/"):
                found.append(int(name))
        return found

    # Running pytest

    def run(self, plan: RunPlan) -> Ended:
        log = self.top / "touched"
        junit = self.top / "junit.xml"
        agent = self.top / "agent.sh"
        for path in (junit, *self.top.glob("agent.sh.*")):
            path.unlink(missing_ok=True)
        if not self._was_killed:
            # The work of a run that was killed is committed by the next one.
            log.unlink(missing_ok=True)
        write_agent(agent, log, FILES, plan.actions)
        args = (
            "--ralph-recovery",
            f"--ralph-executor=sh {agent}",
            f"--junitxml={junit}",
            *plan.options,
            plan.target,
        )
        if plan.forked and not plan.workers:
            ran = self._server.run(Job(str(self.project), args, at=plan.kill_at))
            status, output = ran.status, ran.output
        else:
            status, output = self._run_new_process(args, plan)
        outcomes = read_outcomes(junit)
        touched = read_touched(log)
        for key, paths in touched.items():
            self._touched.setdefault(key, set()).update(paths)
        ended = Ended(status, output, outcomes, touched, self._touched, self._was_killed)
        self._was_killed = ended.killed
        return ended

    def _run_new_process(self, args: tuple[str, ...], plan: RunPlan) -> tuple[int, str]:
        """Run pytest as a user does, in a process of its own."""
        command = [sys.executable, "-m", "pytest", "-p", "pytest_ralph.plugin"]
        if plan.workers:
            command += ["-p", "xdist", f"-n{plan.workers}"]
        environ = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTEST")
        }
        environ.update(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTHONPATH=str(ROOT))
        process = subprocess.Popen(
            [*command, "-p", "no:cacheprovider", *args],
            cwd=self.project,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if plan.kill_at:
            time.sleep(plan.kill_at / 100)
            process.kill()
        output, _ = process.communicate(timeout=NEW_PROCESS_TIMEOUT)
        return process.returncode, output.decode("utf-8", "replace")

    def undo(self) -> str:
        """Run `pytest --ralph-undo`."""
        return self._server.run(Job(str(self.project), ("--ralph-undo",))).output


def read_outcomes(junit: Path) -> dict[str, str]:
    """Return `spec:task` → passed, failed or skipped, from a JUnit file."""
    if not junit.exists():
        return {}
    outcomes = {}
    for case in ElementTree.parse(junit).iter("testcase"):
        properties = {one.get("name"): one.get("value") for one in case.iter("property")}
        if "ralph.task" not in properties:
            continue
        outcome = "passed"
        if case.find("failure") is not None or case.find("error") is not None:
            outcome = "failed"
        elif case.find("skipped") is not None:
            outcome = "skipped"
        outcomes[f"{properties['ralph.spec']}:{properties['ralph.task']}"] = outcome
    return outcomes
