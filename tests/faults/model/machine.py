"""A state machine of a user, an executor, pytest and kills, in one repository.

`python -m tests.faults.model` runs it for many thousand steps.
"""

from __future__ import annotations

from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.faults.forkserver import ForkServer
from tests.faults.model.agent import ACTIONS, GOOD, SLOW
from tests.faults.model.promises import check, check_bytes_kept, look
from tests.faults.model.world import FILES, IGNORED, TRACKED, UNTRACKED, RunPlan, World
from tests.faults.remains import BrokenError

FAST_ACTIONS = sorted(set(ACTIONS) - set(SLOW))
EDITABLE = sorted({*FILES.values(), "src/old.txt", "src/mixed.txt", "notes.txt", "build.sh"})
COMMITTED = sorted(path for path in TRACKED if not path.startswith("specs/"))
WORDS = ("fixed", "to do", "BROKEN")

TARGETS = st.sampled_from(["specs", "specs", "specs/a", "specs/b", "specs/a/tasks.md::1.1"])
OPTIONS = st.tuples(
    st.sampled_from(["none", "auto", "auto", "message-only"]),
    st.booleans(),
    st.sampled_from(["report", "refuse", "off"]),
    st.sampled_from(["none", "none", "worktree"]),
)
GOOD_ENDS = st.sampled_from(GOOD)
DEEDS = st.lists(st.sampled_from(FAST_ACTIONS), max_size=2)
ACTIONS_OF_TASK = st.one_of(
    GOOD_ENDS.map(lambda end: (end,)),
    st.tuples(DEEDS, GOOD_ENDS).map(lambda both: (*both[0], both[1])),
    DEEDS.map(tuple),
)
ACTIONS_OF_RUN = st.fixed_dictionaries(dict.fromkeys(FILES, ACTIONS_OF_TASK))


def options(chosen: tuple[str, bool, str, str], time_limit: int = 20) -> tuple[str, ...]:
    commit, rollback, guard, isolate = chosen
    words = ["--ralph-commit", commit, f"--ralph-guard={guard}", f"--ralph-isolate={isolate}"]
    if rollback:
        words.append("--ralph-rollback")
    words.append(f"--ralph-executor-timeout={time_limit}")
    return (*words, "--ralph-jobs=2", "--ralph-max-fixes=2")


class Machine(RuleBasedStateMachine):
    """Every rule is one step; after each run all promises are checked.

    Runs with workers, with an executor that hangs and in a new process instead of a forked one
    take so long that a repository has at most one of them.
    rare: Which of these runs a repository may have.
    """

    server: ClassVar[ForkServer | None] = None
    steps: ClassVar[int] = 0
    runs: ClassVar[int] = 0
    rare: ClassVar[tuple[str, ...]] = ("workers", "hang", "new process")

    @initialize(number=st.integers(0, 2))
    def begin(self, number: int) -> None:
        if Machine.server is None:
            Machine.server = ForkServer()
        self.world = World(Machine.server)
        # The rare run that is still to come.
        self.rare_run = self.rare[number] if self.rare else ""

    @classmethod
    def stop_server(cls) -> None:
        if Machine.server is not None:
            Machine.server.close()
            Machine.server = None

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.close()

    # The user

    @rule(path=st.sampled_from(EDITABLE), word=st.sampled_from(WORDS))
    def edit(self, path: str, word: str) -> None:
        Machine.steps += 1
        text = self.world.text(word)
        if path == "build.sh":
            text = f"true # {text}"
        if path == "src/mixed.txt":
            text += "more\r\nmixed\n"
        self.world.write(path, text)

    @rule(paths=st.sets(st.sampled_from(sorted(FILES.values())), min_size=1))
    def append(self, paths: set[str]) -> None:
        Machine.steps += 1
        for path in sorted(paths):
            self.world.append(path, self.world.text("remark"))

    @rule()
    def break_build(self) -> None:
        Machine.steps += 1
        self.world.write("build.sh", f"if then fi ( # {self.world.text('broken')}")

    @rule(path=st.sampled_from([*UNTRACKED, *IGNORED]))
    def create(self, path: str) -> None:
        Machine.steps += 1
        self.world.write(path, self.world.text("new"))

    @rule(path=st.sampled_from([*EDITABLE, *UNTRACKED]))
    def remove(self, path: str) -> None:
        Machine.steps += 1
        self.world.remove(path)

    @rule()
    def edit_plan(self) -> None:
        Machine.steps += 1
        path = self.world.project / "specs/a/tasks.md"
        if path.exists():
            text = path.read_text().replace("[x]", "[ ]")
            path.write_text(f"{text}\n<!-- {self.world.text('remark').strip()} -->\n")

    @rule(path=st.sampled_from([*COMMITTED, *UNTRACKED]))
    def git_add(self, path: str) -> None:
        Machine.steps += 1
        self.world.git("add", "--", path)

    @rule(path=st.sampled_from(COMMITTED))
    def git_rm_cached(self, path: str) -> None:
        Machine.steps += 1
        self.world.git("rm", "-q", "--cached", "--", path)

    @rule(everything=st.booleans())
    def git_commit(self, everything: bool) -> None:
        Machine.steps += 1
        self.world.git("commit", "-q", "-m", "the user", *(["-a"] if everything else []))

    @rule()
    def git_stash(self) -> None:
        Machine.steps += 1
        self.world.git("stash", "-q")

    @rule()
    def git_stash_pop(self) -> None:
        Machine.steps += 1
        self.world.git("stash", "pop", "-q")
        # A conflict would only keep git from doing anything more.
        self.world.git("checkout", "-q", "--theirs", "--", ".")
        self.world.git("reset", "-q")

    @rule(name=st.sampled_from(["main", "topic", "other"]))
    def git_switch(self, name: str) -> None:
        Machine.steps += 1
        self.world.git("switch", "-q", "-c", name)
        self.world.git("switch", "-q", name)

    @rule(mode=st.sampled_from(["--mixed", "--soft"]))
    def git_reset(self, mode: str) -> None:
        Machine.steps += 1
        self.world.git("reset", "-q", mode, "HEAD~1")

    @rule(
        path=st.sampled_from(EDITABLE),
        flag=st.sampled_from(["skip-worktree", "assume-unchanged"]),
        on=st.booleans(),
    )
    def git_flag(self, path: str, flag: str, on: bool) -> None:
        Machine.steps += 1
        self.world.git("update-index", f"--{flag}" if on else f"--no-{flag}", "--", path)

    # pytest

    @rule(chosen=OPTIONS, actions=ACTIONS_OF_RUN, where=TARGETS)
    def run(
        self, chosen: tuple[str, bool, str, str], actions: dict[str, tuple[str, ...]], where: str
    ) -> None:
        self._run(RunPlan(options(chosen), actions, target=where))

    @rule(chosen=OPTIONS, actions=ACTIONS_OF_RUN, where=TARGETS, kill_at=st.integers(1, 400))
    def run_and_kill(
        self,
        chosen: tuple[str, bool, str, str],
        actions: dict[str, tuple[str, ...]],
        where: str,
        kill_at: int,
    ) -> None:
        self._run(RunPlan(options(chosen), actions, kill_at=kill_at, target=where))

    @precondition(lambda self: self.rare_run == "workers")
    @rule(chosen=OPTIONS, actions=ACTIONS_OF_RUN, kill_at=st.sampled_from([0, 0, 80, 160, 320]))
    def run_workers(
        self, chosen: tuple[str, bool, str, str], actions: dict[str, tuple[str, ...]], kill_at: int
    ) -> None:
        self.rare_run = ""
        self._run(RunPlan(options(chosen), actions, kill_at=kill_at, workers=2))

    @precondition(lambda self: self.rare_run == "new process")
    @rule(chosen=OPTIONS, actions=ACTIONS_OF_RUN, kill_at=st.sampled_from([0, 0, 40, 80, 160]))
    def run_new_process(
        self, chosen: tuple[str, bool, str, str], actions: dict[str, tuple[str, ...]], kill_at: int
    ) -> None:
        self.rare_run = ""
        self._run(RunPlan(options(chosen), actions, kill_at=kill_at, forked=False))

    @precondition(lambda self: self.rare_run == "hang")
    @rule(chosen=OPTIONS, key=st.sampled_from(sorted(FILES)), deeds=DEEDS)
    def run_hanging_executor(
        self, chosen: tuple[str, bool, str, str], key: str, deeds: list[str]
    ) -> None:
        self.rare_run = ""
        actions = {**dict.fromkeys(FILES, ("fix",)), key: (*deeds, "hang")}
        self._run(RunPlan(options(chosen, time_limit=1), actions))

    @rule()
    def undo(self) -> None:
        Machine.steps += 1
        before = look(self.world)
        output = self.world.undo()
        try:
            # Also what executors wrote: undoing can be undone.
            check_bytes_kept(self.world, before)
        except BrokenError as error:
            raise BrokenError(f"{error}\n{output}") from None

    def _run(self, plan: RunPlan) -> None:
        Machine.steps += 1
        Machine.runs += 1
        before = look(self.world)
        ended = self.world.run(plan)
        try:
            check(self.world, before, plan, ended)
        except BrokenError as error:
            raise BrokenError(f"{error}\n{ended.output}") from None
