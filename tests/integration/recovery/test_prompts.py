"""What an executor is told, in every way in which a prompt is made."""

from __future__ import annotations

import re
from dataclasses import dataclass
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
    call=$(($(ls prompts | wc -l) + 1))
    cp "$RALPH_PROMPT_FILE" prompts/$call.md
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
    changes: bool = True
    check: str = CHECK


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
    "fix": Way(call=1, heading="# Task 1.2.1: fix task 1.2 (Add the parser)", changes=False),
    "second fix": Way(first=HALF, heading="# Task 1.2.2: fix task 1.2 (Add the parser)"),
    "fix of a fix": Way(
        first=HALF + FAILED_BLOCK, heading="# Task 1.2.1.1: fix task 1.2 (Add the parser)"
    ),
    "continue": Way(first=HALF + OUT_OF_CONTEXT, heading="# Continue task 1.2.1: Add the parser"),
    "enrich": Way(
        first=HALF + LACKS_CONTEXT, heading="# Task 1.2.1: fix task 1.2 (Add the parser)"
    ),
    "after an outage": Way(
        first=OVERLOADED,
        options=("--ralph-wait", "30"),
        heading="# Task 1.2.1: fix task 1.2 (Add the parser)",
        changes=False,
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
        changes=False,
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
    project.spec(SPEC)
    project.write("ground.txt", "ground\n")
    project.write("src/parser.txt", "letters\n")
    project.write("specs/demo/requirements.md", "# Requirements\n")
    project.write("specs/demo/design.md", "# Design\n")
    (project.root / "prompts").mkdir()
    return project


def prompt_of(project: Project, way: Way) -> str:
    project.write("check.sh", way.check)
    body = HEAD + f"if [ $call = 1 ]; then\n{way.first}\nexit 0\nfi\n{SUCCEEDS}\n"
    project.write("executor.sh", body)
    project.run(*way.options, executor="sh executor.sh")
    return (project.root / "prompts" / f"{way.call}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", WAYS)
def test_every_prompt_is_complete(parser: Project, name: str) -> None:
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
        "Start with these files: src/parser.txt. They are where to start, not a fence",
        "it alone decides: `sh check.sh`",
    ):
        assert part in prompt, part

    assert (f"src/parser.txt:1: {ERROR}\n" in prompt) is way.evidence
    assert ("diff --git a/src/parser.txt b/src/parser.txt\n" in prompt) is way.changes
    assert ("\n-letters\n+halfway\n" in prompt) is way.changes
    assert ("guess the grammar →" in prompt or "read it backwards →" in prompt) is way.changes


@pytest.mark.parametrize("name", WAYS)
def test_no_prompt_misleads(parser: Project, name: str) -> None:
    prompt = prompt_of(parser, WAYS[name])

    assert prompt.count(ERROR) <= 2 if name == "retry" else prompt.count(ERROR) <= 1
    assert str(parser.root) not in prompt
    assert not re.search(r"\{[A-Z_{%]", prompt), "a placeholder is left"
    for phrase in ("Change only", "No previous fix", "No fix attempted", "incorrect assertion"):
        assert phrase not in prompt
    assert not re.search(r"\bNone\b", prompt)
    assert "prompts/1.md" not in prompt, "a copy of the prompt before is no work"
    assert len(prompt.encode()) <= 24_000
