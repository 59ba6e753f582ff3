"""What may happen while an agent fixes a task, and the result that a user wants in each case."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import psutil

from tests.integration.executors.agents import AiderAgent
from tests.integration.executors.model_server import (
    Call,
    Decline,
    Hang,
    ModelServer,
    Refuse,
    Say,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.integration.executors.agents import RealAgent
    from tests.integration.executors.model_server import Turn

TASKS = """# Sums

- [ ] 1.1 Make add() add
  - **Do**: Write add() in app.py
  - **Files**: `app.py`, `test_app.py`
  - **Done when**: The test passes
  - **Verify**: `python3 -m unittest -q test_app`
"""
APP = "def add(a, b):\n    return a - b\n"
TEST = """import unittest

from app import add


class TestAdd(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(add(2, 3), 5)
"""
WRONG = "    return a - b"
STILL_WRONG = "    return a - b - b"
RIGHT = "    return a + b"

# A third of it is the time without progress after which an agent counts as hung.
TIME_LIMIT = "180"
LONGEST_RUN = 600

RATE_LIMIT = Refuse(429, "rate_limit_error", "Rate limit reached for requests")
OVERLOADED = Refuse(529, "overloaded_error", "Overloaded")
LOGIN = Refuse(401, "authentication_error", "Incorrect API key provided")
CONTEXT = Refuse(
    400,
    "context_length_exceeded",
    "prompt is too long: maximum context length is 2000 tokens, you asked for 3000",
)
DECLINED = Decline("I can't help with that.")

# Words of agents and their services that must not become the title of a fix task.
NOT_OF_THE_PROJECT = re.compile(
    r"rate limit|api key|overloaded|context|can't help|time limit|timed out|no progress"
    r"|content filter|executor|exit(?:ed)? (?:with )?3|not complete|TASK_COMPLETE|requires",
    re.IGNORECASE,
)


@dataclass
class Project:
    """A project with one wrong function, a test for it, a spec and a git history."""

    root: Path
    agent: RealAgent
    environ: dict[str, str]

    @property
    def app(self) -> Path:
        return self.root / "app.py"

    @property
    def test(self) -> Path:
        return self.root / "test_app.py"

    @property
    def tasks(self) -> Path:
        return self.root / "specs" / "sums" / "tasks.md"

    def create(self) -> None:
        self.tasks.parent.mkdir(parents=True)
        self.app.write_text(APP)
        self.test.write_text(TEST)
        self.tasks.write_text(TASKS)
        (self.root / ".gitignore").write_text("__pycache__/\n.ralph/\npytest.ini\n")
        self.git("init", "-q", "-b", "main")
        # For the commits of pytest-ralph itself.
        self.git("config", "user.name", "t")
        self.git("config", "user.email", "t@example.org")
        self.git("add", "-A")
        self.git("commit", "-qm", "start")

    def git(self, *words: str) -> str:
        user = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        ran = subprocess.run(
            ["git", *user, *words], cwd=self.root, check=True, capture_output=True, text=True
        )
        return ran.stdout.strip()

    def repair(self) -> tuple[Turn, ...]:
        """The turns that make add() right."""
        return self.agent.edit(self.app, WRONG, RIGHT)

    def runs_so_far(self) -> int:
        """Each executor run has its prompt in a file of its own."""
        return len(list((self.root / ".ralph" / "logs").rglob("*.prompt")))

    def write_ini(self, url: str, program: str) -> None:
        options = {"program": program, **self.agent.options(url)}
        lines = [f"ralph_executor_{name} = {value}\n" for name, value in options.items()]
        (self.root / "pytest.ini").write_text("[pytest]\n" + "".join(lines))

    def in_worktree(self, turn: Turn) -> Turn:
        """Lead a turn that names files of the project to the worktree of the agent."""
        pattern = f"ralph-worktree-*/{self.root.name}"
        worktrees = list(Path(self.environ["TMPDIR"]).glob(pattern))
        if not worktrees:
            return turn
        paths = (str(self.root), str(worktrees[0]))
        if isinstance(turn, Say):
            return Say(turn.text.replace(*paths))
        if isinstance(turn, Call):
            given = turn.arguments.items()
            return replace(turn, arguments={name: value.replace(*paths) for name, value in given})
        return turn

    def processes(self) -> list[str]:
        """The command lines of the processes that work in the project."""
        running = psutil.process_iter(["cmdline"])
        return [" ".join(one.info["cmdline"] or ()) for one in running if self._works_here(one)]

    def _works_here(self, process: psutil.Process) -> bool:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            return Path(process.cwd()).is_relative_to(self.root)
        except (psutil.Error, OSError):
            return False


@dataclass
class Result:
    """A finished run of pytest on a project."""

    project: Project
    status: int
    terminal: str
    runs: int
    prompts: str
    properties: dict[str, str] = field(default_factory=dict)
    html: str = ""

    @property
    def outcome(self) -> str:
        return self.properties.get("ralph.outcome", "")

    @property
    def tasks(self) -> str:
        return self.project.tasks.read_text()

    @property
    def fixes(self) -> list[str]:
        """The titles of the fix tasks in tasks.md."""
        return re.findall(r"^\s*- \[.\] \S+ \[FIX \S+\] (.*)$", self.tasks, re.MULTILINE)

    @property
    def unavailable(self) -> str:
        """The reason that the terminal gives for using no executor any more."""
        line = re.search(r"^.*executor .+? is unavailable .*?: (.*)$", self.terminal, re.MULTILINE)
        return line[1] if line else ""


def run_pytest(
    project: Project,
    server: ModelServer,
    options: Sequence[str] = (),
    *,
    program: str = "",
    interrupt: bool = False,
) -> Result:
    """Run recovery on the project with the agent; with `interrupt`, press Ctrl-C when it asks."""
    project.write_ini(server.url, program or str(project.agent.program))
    junit = project.root / ".ralph" / "junit.xml"
    report = project.root / ".ralph" / "report.html"
    command = [
        *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider"),
        *("--ralph-recovery", f"--ralph-executor={project.agent.name}", "specs"),
        *(f"--ralph-executor-timeout={TIME_LIMIT}", f"--junitxml={junit}"),
        *(f"--ralph-report={report}", *options),
    ]
    environ = {
        **project.environ,
        **project.agent.environ(server.url),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{project.environ['PATH']}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLUMNS": "200",
    }
    with subprocess.Popen(
        command,
        cwd=project.root,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        if interrupt:
            assert server.asked.wait(LONGEST_RUN)
            process.send_signal(signal.SIGINT)
        try:
            terminal, _ = process.communicate(timeout=LONGEST_RUN)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            terminal, _ = process.communicate(timeout=60)
    result = Result(project, process.returncode, terminal, project.runs_so_far(), server.prompts())
    if junit.exists():
        root = ET.parse(junit).getroot()
        for one in root.iter("property"):
            result.properties[str(one.get("name"))] = str(one.get("value"))
    if report.exists():
        result.html = report.read_text()
    return result


@dataclass(frozen=True)
class Scenario:
    """One row of the table.

    `scripts` returns the turns of the model for each run of the agent. `check` asserts that the
    result is what a user wants, and `cell` describes it in a few words.
    """

    title: str
    scripts: Callable[[Project], Sequence[Sequence[Turn]]]
    check: Callable[[Result], None]
    options: tuple[str, ...] = ()
    exits_with: int | None = None
    interrupt: bool = False

    def play(self, project: Project) -> str:
        """Run the scenario, check its result, and return the cell of the table."""
        program = self._wrapped(project) if self.exits_with is not None else ""
        scripts = self.scripts(project)
        with ModelServer(
            *scripts, current_run=project.runs_so_far, adapt=project.in_worktree
        ) as server:
            result = run_pytest(
                project, server, self.options, program=program, interrupt=self.interrupt
            )
        try:
            check_always(result)
            self.check(result)
        except AssertionError as error:
            seen = f"{error}\n{result.terminal}\n{result.tasks}\nruns: {result.runs}"
            raise AssertionError(seen) from None
        return cell(result)

    def _wrapped(self, project: Project) -> str:
        """A program that runs the agent and exits with another status."""
        wrapper = project.root.parent / "wrapper.sh"
        wrapper.write_text(f'#!/bin/sh\n"{project.agent.program}" "$@"\nexit {self.exits_with}\n')
        wrapper.chmod(0o755)
        return str(wrapper)


def check_always(result: Result) -> None:
    """What must hold in every scenario: no junk in tasks.md, nothing left running."""
    for title in result.fixes:
        assert not NOT_OF_THE_PROJECT.search(title), title
    for _ in range(50):
        if not result.project.processes():
            break
        time.sleep(0.1)
    assert not result.project.processes()
    assert "INTERNALERROR" not in result.terminal


def cell(result: Result) -> str:
    """Describe a result in a few words."""
    words = [result.outcome.upper() or "interrupted, RECOVERED by the next run"]
    if result.unavailable:
        words.append(result.unavailable.partition(":")[0])
    findings = re.findall(
        r"[\d.]+ (changed tests|changed Verify of [\d.]+|switched from main)",
        result.terminal,
        re.MULTILINE,
    )
    words += dict.fromkeys(findings)
    if len(result.fixes) > 1:
        words.append(f"{len(result.fixes)} fixes")
    return ", ".join(words)


# Checks


def recovered(result: Result) -> None:
    assert result.status == 0, result.outcome
    assert result.outcome == "recovered"
    assert RIGHT in result.project.app.read_text()
    assert result.tasks.count("- [x] ") == 1 + len(result.fixes)


def healed(result: Result) -> None:
    """The one fix, its files, its cost and its transcript are in all reports."""
    recovered(result)
    assert len(result.fixes) == 1
    assert result.runs == 1
    assert "FAIL: test_sum" in result.prompts or "AssertionError" in result.prompts
    assert result.properties["ralph.changed"] == "app.py"
    assert "app.py" in result.terminal
    assert '"changed":["app.py"]' in result.html
    assert '"transcript":"' in result.html
    assert '"tokens":' in result.html
    if result.project.agent.prints_cost:
        assert float(result.properties["ralph.cost"]) > 0
        assert "cost" in result.terminal
        assert '"cost":' in result.html


def healed_in_worktree(result: Result) -> None:
    """The repair was merged, is committed, and nothing is left of the worktree."""
    healed(result)
    project = result.project
    assert project.git("status", "--porcelain", "app.py") == ""
    assert "app.py" in project.git("show", "--stat", "--format=%s", "HEAD")
    assert len(project.git("worktree", "list").splitlines()) == 1
    assert project.git("branch", "--show-current") == "main"


def kept_out(result: Result) -> None:
    """What the agent did in its worktree and did not pass never reached the project."""
    assert result.outcome == "failed"
    assert result.project.app.read_text() == APP
    assert len(result.project.git("worktree", "list").splitlines()) == 1


def healed_by_second_fix(result: Result) -> None:
    recovered(result)
    assert len(result.fixes) == 2
    assert result.runs == 2


def failed_with_own_failure(result: Result) -> None:
    assert result.status == 1
    assert result.outcome == "failed"
    assert "add" in result.terminal
    assert "5" in result.terminal
    assert "- [x]" not in result.tasks.splitlines()[2]


def did_nothing(result: Result) -> None:
    failed_with_own_failure(result)
    assert not result.unavailable
    assert result.runs <= 3


def gave_up(result: Result) -> None:
    failed_with_own_failure(result)
    assert result.runs <= 3


def unavailable(*reasons: str) -> Callable[[Result], None]:
    """No executor is used any more for one of these reasons, and no fix task is left."""

    def check(result: Result) -> None:
        failed_with_own_failure(result)
        assert result.unavailable.startswith(reasons), result.unavailable
        assert result.fixes == []
        assert result.runs <= 2

    return check


def reported_test(result: Result) -> None:
    """The default guard accepts the fix and names the changed test everywhere."""
    assert result.outcome in ("recovered", "failed")
    if result.outcome == "recovered":
        assert "changed tests: test_app.py" in result.terminal
        assert "test_app.py" in result.properties["ralph.changed"]
        assert "changed tests: test_app.py" in result.html
    else:
        assert result.project.test.read_text() == TEST


def refused_test(result: Result) -> None:
    assert result.outcome == "failed"
    assert result.project.test.read_text() == TEST
    assert result.status == 1
    assert "Fix: refused" not in result.tasks


def kept_verify(result: Result) -> None:
    """The edit of tasks.md is undone, and the repair counts."""
    recovered(result)
    assert "- **Verify**: `python3 -m unittest -q test_app`" in result.tasks
    assert "- **Verify**: `true`" not in result.tasks
    assert "changed Verify of 1.1" in result.terminal


def reported_branch(result: Result) -> None:
    recovered(result)
    branch = result.project.git("branch", "--show-current")
    if branch != "main":
        assert "switched from main to other" in result.terminal
        assert "switched from main to other" in result.html


def interrupted(result: Result) -> None:
    """Ctrl-C leaves no process and no half-written spec, and the next run heals the task."""
    project = result.project
    assert result.status == 2, result.status
    assert "- [x]" not in result.tasks
    server = ModelServer(project.agent.script(project.repair()), current_run=lambda: 1)
    with server:
        again = run_pytest(project, server)
    recovered(again)
    assert len(again.fixes) == 1


# Scripts


def heals(project: Project) -> Sequence[Sequence[Turn]]:
    return [project.agent.script(project.repair())]


def repairs_then(turn: Turn) -> Callable[[Project], Sequence[Sequence[Turn]]]:
    """The agent repairs the file, and its next request gets `turn`."""

    def scripts(project: Project) -> Sequence[Sequence[Turn]]:
        agent = project.agent
        if isinstance(agent, AiderAgent):
            # aider asks again only if a file that it wrote does not compile.
            broken = agent.write(project.root / "notes.py", "def (:\n")
            return [[*agent.script(project.repair(), broken), turn]]
        return [[*project.repair(), turn]]

    return scripts


def always(turn: Turn) -> Callable[[Project], Sequence[Sequence[Turn]]]:
    return lambda _: [[turn]]


def twice(project: Project) -> Sequence[Sequence[Turn]]:
    agent = project.agent
    first = agent.script(
        agent.edit(project.app, WRONG, STILL_WRONG), last="Approach: subtract twice\nTASK_COMPLETE"
    )
    second = agent.script(agent.edit(project.app, STILL_WRONG, RIGHT))
    return [first, second]


def after_context_error(project: Project) -> Sequence[Sequence[Turn]]:
    return [[CONTEXT], project.agent.script(project.repair())]


def edits_test(project: Project) -> Sequence[Sequence[Turn]]:
    agent = project.agent
    old = "        self.assertEqual(add(2, 3), 5)"
    return [agent.script(agent.edit(project.test, old, old.replace("5", "-1")))]


def edits_wrongly(project: Project) -> Sequence[Sequence[Turn]]:
    agent = project.agent
    return [agent.script(agent.edit(project.app, WRONG, STILL_WRONG))]


def edits_verify(project: Project) -> Sequence[Sequence[Turn]]:
    agent = project.agent
    # The Verify field alone would not be unique: the fix task has the same.
    before = "  - **Done when**: The test passes\n"
    old = f"{before}  - **Verify**: `python3 -m unittest -q test_app`"
    edit = agent.edit(project.tasks, old, f"{before}  - **Verify**: `true`")
    return [agent.script(edit, project.repair())]


def changes_branch(project: Project) -> Sequence[Sequence[Turn]]:
    agent = project.agent
    return [agent.script(agent.run("git checkout -q -b other"), project.repair())]


def leaves_server(project: Project) -> Sequence[Sequence[Turn]]:
    agent = project.agent
    command = "nohup setsid python3 -m http.server 0 --bind 127.0.0.1 >/dev/null 2>&1 &"
    return [agent.script(agent.run(command), project.repair())]


def runs_verify(project: Project) -> Sequence[Sequence[Turn]]:
    agent = project.agent
    verify = "python3 -m unittest -q test_app"
    return [agent.script(project.repair(), agent.run(verify))]


SCENARIOS = {
    "heal": Scenario("repairs the file", heals, healed),
    "second-fix": Scenario("needs a second fix", twice, healed_by_second_fix),
    "nothing": Scenario(
        "says done, did nothing", always(Say("Approach: none\nTASK_COMPLETE")), did_nothing
    ),
    "login": Scenario("HTTP 401", always(LOGIN), unavailable("not logged in")),
    "rate-limit": Scenario("HTTP 429", always(RATE_LIMIT), unavailable("rate limit")),
    "rate-limit-after": Scenario("HTTP 429 after the repair", repairs_then(RATE_LIMIT), recovered),
    "overload": Scenario("HTTP 529", always(OVERLOADED), unavailable("service overloaded")),
    "context": Scenario("context is full", after_context_error, recovered),
    "refusal": Scenario("model refuses", always(DECLINED), gave_up),
    "empty": Scenario("empty answer", always(Say("")), gave_up),
    "hang": Scenario("hangs", always(Hang()), unavailable("no progress")),
    "hang-after": Scenario("hangs after the repair", repairs_then(Hang()), recovered),
    "exit-3": Scenario("exit status 3 after the repair", heals, recovered, exits_with=3),
    "edits-test": Scenario("edits the test", edits_test, reported_test),
    "edits-test-refused": Scenario(
        "edits the test, `--ralph-guard=refuse`",
        edits_test,
        refused_test,
        ("--ralph-guard=refuse", "--ralph-max-fixes=1"),
    ),
    "edits-verify": Scenario("edits the Verify field", edits_verify, kept_verify),
    "branch": Scenario("switches the branch", changes_branch, reported_branch),
    "server": Scenario("leaves a server running", leaves_server, recovered),
    "verify": Scenario("runs the Verify command", runs_verify, recovered),
    "worktree": Scenario(
        "repairs the file in a worktree",
        heals,
        healed_in_worktree,
        ("--ralph-isolate=worktree", "--ralph-commit=auto"),
    ),
    "worktree-wrong": Scenario(
        "edits wrongly in a worktree",
        edits_wrongly,
        kept_out,
        ("--ralph-isolate=worktree", "--ralph-max-fixes=1"),
    ),
    "ctrl-c": Scenario("Ctrl-C", always(Hang()), interrupted, interrupt=True),
}
