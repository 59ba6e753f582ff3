"""What an executor is told, in every way in which a prompt is made."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

SPEC = """\
    # Tasks

    - [x] 1.1 Lay the ground
      - **Do**: Write ground.txt
      - **Files**: `ground.txt`
      - **Verify**: `test -e ground.txt`

    - [ ] 1.2 Add the parser
      - **Do**:
        1. Read the grammar
        2. Write the parser
      - **Files**: `src/parser.txt`
      - **Done when**: The parser knows numbers
      - **Verify**: `sh check.sh`
      - **Expect**: stdout contains "all good"
"""
ERROR = "AssertionError: expected numbers but found letters"
CHECK = f"""\
    grep -q numbers src/parser.txt && {{ echo all good; exit 0; }}
    i=0; while [ $i -lt 900 ]; do i=$((i + 1)); echo "progress line $i of the build"; done
    echo "$PWD/src/parser.txt:1: {ERROR}"
    while [ $i -lt 1800 ]; do i=$((i + 1)); echo "progress line $i of the build"; done
    exit 1
"""
HEAD = """\
    call=$(($(ls "$MAIN/prompts" | wc -l) + 1))
    cp "$RALPH_PROMPT_FILE" "$MAIN/prompts/$call.md"
"""
# A task whose fix breaks the parser.
LATER = """
    - [ ] 1.3 Add more
      - **Do**: Write more.txt
      - **Verify**: `test -e more.txt`
"""
# What the first call does → the prompt of the second call.
HALF = "echo halfway > src/parser.txt; echo 'Approach: guess the grammar'"
SUCCEEDS = "echo numbers > src/parser.txt"


@dataclass(frozen=True)
class Way:
    """One way in which a prompt is made: what the first call does, and which call is looked at."""

    first: str = SUCCEEDS
    call: int = 2
    options: tuple[str, ...] = ()
    heading: str = ""
    evidence: bool = True
    diff: str = "\n-letters\n+halfway\n"
    check: str = CHECK
    says: str = ""
    git: bool = False
    spec: str = SPEC
    parser: str = "letters\n"


FAILED_BLOCK = """
echo "Task $RALPH_TASK_ID: Fix FAILED"
echo "- Error: the grammar has two meanings"
echo "- Attempted fix: read it backwards"
exit 1
"""
LACKS_CONTEXT = """
echo "Task $RALPH_TASK_ID: Fix FAILED"
echo "- Error: Cannot find 'the grammar' mentioned in prompt"
exit 1
"""
OUT_OF_CONTEXT = """
echo "Error: prompt is too long: 250000 tokens > 200000 maximum"
exit 1
"""
OVERLOADED = "echo 'API Error: 529 Overloaded'"
SLOW_CHECK = "grep -q numbers src/parser.txt && { echo all good; exit 0; }; sleep 30"

WAYS = {
    "fix": Way(call=1, heading="# Task 1.2.1: fix task 1.2 (Add the parser)", diff=""),
    "second fix": Way(first=HALF, heading="# Task 1.2.2: fix task 1.2 (Add the parser)"),
    "fix of a fix": Way(
        first=HALF + FAILED_BLOCK, heading="# Task 1.2.1.1: fix task 1.2 (Add the parser)"
    ),
    "continue": Way(first=HALF + OUT_OF_CONTEXT, heading="# Continue task 1.2.1: Add the parser"),
    "after a refused fix": Way(
        first=f"echo changed > tests/test_parser.txt; {HALF}",
        options=("--ralph-guard=refuse",),
        heading="# Task 1.2.2: fix task 1.2 (Add the parser)",
        says="guess the grammar → refused and undone: 1.2.1 changed tests: tests/test_parser.txt\n",
        git=True,
    ),
    "regression": Way(
        first="echo spoiled > src/parser.txt; touch more.txt",
        heading="# Task 1.2.1: fix task 1.2 (Add the parser)",
        diff="\n-numbers\n+spoiled\n",
        says="1.2 no longer passes since 1.3 changed more.txt, src/parser.txt. It passed until",
        git=True,
        spec=SPEC + LATER,
        parser="numbers\n",
    ),
    "isolated conflict": Way(
        first='echo numbers > src/parser.txt; echo words > "$MAIN/src/parser.txt"',
        options=("--ralph-isolate=worktree",),
        heading="# Task 1.2.1: fix task 1.2 (Add the parser)",
        diff="\n-letters\n+numbers\n",
        says="approach not reported → it passed but could not be merged; make the changes again",
        git=True,
    ),
    "execute again": Way(
        first=HALF,
        call=3,
        options=("--ralph-execute",),
        heading="# Retry of task 1.2: Add the parser",
        says="This task was carried out and then fixed, but its Verify still fails.",
    ),
    "enrich": Way(
        first=HALF + LACKS_CONTEXT, heading="# Task 1.2.1: fix task 1.2 (Add the parser)"
    ),
    "after an outage": Way(
        first=OVERLOADED,
        options=("--ralph-wait", "30"),
        heading="# Task 1.2.1: fix task 1.2 (Add the parser)",
        diff="",
    ),
    "split": Way(
        first=HALF,
        options=("--ralph-timeout", "1"),
        heading="# Task 1.2.2: Write the parser",
        evidence=False,
        check=SLOW_CHECK,
    ),
    "execute": Way(
        call=1,
        options=("--ralph-execute",),
        heading="# Task 1.2: Add the parser",
        evidence=False,
        diff="",
    ),
    "retry": Way(
        first=HALF,
        options=("--ralph-execute", "--no-ralph-recovery"),
        heading="# Retry of task 1.2: Add the parser",
    ),
}


@pytest.fixture
def parser(project: Project) -> Project:
    """Task 1.2 fails until src/parser.txt says `numbers`; 1.1 is done."""
    project.write("ground.txt", "ground\n")
    project.write("tests/test_parser.txt", "wants numbers\n")
    project.write("specs/demo/requirements.md", "# Requirements\n")
    project.write("specs/demo/design.md", "# Design\n")
    project.write(".gitignore", "prompts/\n.ralph/\n")
    (project.root / "prompts").mkdir()
    return project


def prompt_of(project: Project, way: Way) -> str:
    project.spec(way.spec)
    project.write("src/parser.txt", way.parser)
    project.write("check.sh", way.check)
    main = f"MAIN={shlex.quote(str(project.root))}\n"
    first = f"if [ $call = 1 ]; then\n{way.first}\nexit 0\nfi\n"
    last = f"[ $call -lt {way.call} ] || {SUCCEEDS}\n"
    project.write("executor.sh", main + dedent(HEAD) + first + last)
    if way.git:
        project.repository()
    project.run(*way.options, executor="sh executor.sh")
    return (project.root / "prompts" / f"{way.call}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", WAYS)
def test_every_prompt_is_complete_and_misleads_nobody(parser: Project, name: str) -> None:
    way = WAYS[name]
    prompt = prompt_of(parser, way)

    assert prompt.splitlines()[0] == way.heading
    for part in (
        # The task that failed
        "## Task 1.2: Add the parser",
        "1. Read the grammar\n",
        "2. Write the parser\n",
        "- **Files**: `src/parser.txt`",
        "- **Done when**: The parser knows numbers",
        "- **Verify**: `sh check.sh`",
        '- **Expect**: stdout contains "all good"',
        # What surrounds it
        "- specs/demo/design.md\n- specs/demo/requirements.md\n",
        "- 1.1 Lay the ground (ground.txt)",
        # The rules
        "Tests state what is wanted.",
        "Do not edit, weaken, skip or delete a test",
        "Do not edit tasks.md (no task, no Verify, Done when or Expect field)",
        "Do not commit, stash or switch branches.",
        "Start with these files: src/parser.txt. They are where to start, not a limit",
        "its result alone decides: `sh check.sh`",
    ):
        assert part in prompt, part

    assert way.says in prompt
    assert (f"src/parser.txt:1: {ERROR}\n" in prompt) is way.evidence
    assert way.diff in prompt
    assert ("diff --git a/src/parser.txt b/src/parser.txt\n" in prompt) is bool(way.diff)
    if "halfway" in way.diff:
        assert "guess the grammar →" in prompt or "read it backwards →" in prompt
    assert_nothing_misleads(prompt, parser)


def assert_nothing_misleads(prompt: str, project: Project) -> None:
    # The message of the error before is asked for, which its output shows as well.
    most = 2 if "# Retry of" in prompt else 1
    assert prompt.count(ERROR) <= most
    assert str(project.root) not in prompt
    assert not re.search(r"\{[A-Z_{%]", prompt), "a placeholder is left"
    for phrase in ("Change only", "No previous fix", "No fix attempted", "incorrect assertion"):
        assert phrase not in prompt
    assert not re.search(r"\bNone\b", prompt)
    assert "prompts/1.md" not in prompt, "a copy of the prompt before is no work"
    assert len(prompt.encode()) <= 24_000


def test_fix_task_is_complete_and_portable(parser: Project) -> None:
    prompt_of(parser, WAYS["fix"])
    text = parser.tasks.read_text()

    assert text.count('- **Expect**: stdout contains "all good"') == 2
    assert str(parser.root) not in text
    assert parser.boxes == {"1.1": True, "1.2": True, "1.2.1": True}
