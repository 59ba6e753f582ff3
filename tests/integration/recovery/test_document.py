"""What recovery writes into a tasks.md, whatever it looks like; every other byte stays."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.integration.processes import run

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

FIX_IT = "echo fixed > parser.txt"


def without_fixes(text: str) -> str:
    """What is left of a spec when our own additions are taken out again."""
    return re.sub(
        r"(?m)^.*\[FIX .*\n(?:[ \t]+.*\n|[-*] \*\*.*\n)*\n", "", text.replace("[x]", "[ ]")
    )


def test_the_inserted_block_is_that_of_the_guide(one_task: Project) -> None:
    one_task.spec("""\
        # Tasks

        - [ ] 1.3 Add failure parser
          - **Do**: Add parsing logic
          - **Files**: implement.md
          - **Verify**: `sh check.sh`
          - **Commit**: feat: add parser

        - [ ] 1.4 Next task
    """)
    one_task.write(
        "check.sh",
        """\
        echo "Task 1.3: Add failure parser FAILED"
        echo "- Error: File not found: src/parser.ts"
        echo "- Attempted fix: CheckResult alternate paths"
        echo "- Status: Blocked, needs manual intervention"
        exit 1
    """,
    )
    one_task.run("--ralph-executor", "none")

    assert one_task.tasks.read_text() == (
        "# Tasks\n"
        "\n"
        "- [ ] 1.3 Add failure parser\n"
        "  - **Do**: Add parsing logic\n"
        "  - **Files**: implement.md\n"
        "  - **Verify**: `sh check.sh`\n"
        "  - **Commit**: feat: add parser\n"
        "\n"
        "- [ ] 1.3.1 [FIX 1.3] Fix: File not found: src/parser.ts\n"
        "  - **Do**: Address the error: File not found: src/parser.ts\n"
        "    1. Analyze the failure: CheckResult alternate paths\n"
        "    2. Review related code in Files list\n"
        "    3. Implement fix for: File not found: src/parser.ts\n"
        "  - **Files**: implement.md\n"
        '  - **Done when**: Error "File not found: src/parser.ts" no longer occurs\n'
        "  - **Verify**: `sh check.sh`\n"
        "  - **Commit**: `fix(demo): address missing file from task 1.3`\n"
        "\n"
        "- [ ] 1.4 Next task\n"
    )


@pytest.mark.parametrize(
    ("printed", "error", "analyze"),
    [
        ("Task 1.3: It FAILED", "Task execution failed", "No previous fix attempted"),
        (
            "Task 1.3: It FAILED\n- Error: no such table",
            "no such table",
            "No previous fix attempted",
        ),
        ("Task 1.3: It FAILED\n- Attempted fix: Made one", "Task execution failed", "Made one"),
        (
            "Task V4: FAILED\n- Error: bad port\n- Attempted fix: No fix attempted",
            "bad port",
            "No previous fix attempted",
        ),
    ],
)
def test_a_failed_block_of_a_verify_command_is_read_with_every_fallback(
    one_task: Project, printed: str, error: str, analyze: str
) -> None:
    one_task.write("out.txt", printed + "\n")
    one_task.tasks.write_text(
        one_task.tasks.read_text().replace("grep -q fixed parser.txt", "cat out.txt; false")
    )
    one_task.run("--ralph-executor", "none")

    text = one_task.tasks.read_text()
    assert f"- **Do**: Address the error: {error}\n" in text
    assert f"1. Analyze the failure: {analyze}\n" in text


def test_a_verify_in_a_fence_is_kept_byte_for_byte(project: Project) -> None:
    script = (
        'set -e\n\n    grep -q "fixed  it" parser.txt   # two spaces\n'
        "\tprintf '%s\\n' \"- [ ] not a task\""
    )
    verify = f"```bash\n    {script}\n    ```"
    project.tasks.write_text(
        f"- [ ] 1.1 Fence\n  - **Do**: it\n  - **Verify**:\n    {verify}\n"
        "  - **Commit**: fix: it\n\n- [ ] 1.2 Next\n"
    )
    project.write("parser.txt", "broken\n")
    project.run(
        executor=project.shell(
            "[ $task = 1.1.2 ] && echo 'fixed  it' > parser.txt || echo $task > parser.txt"
        )
    )

    text = project.tasks.read_text()
    assert text.count(verify) == 3
    assert re.findall(r"(?m)^- \[(.)\] (\S+)", text) == [
        ("x", "1.1"),
        ("x", "1.1.1"),
        ("x", "1.1.2"),
        (" ", "1.2"),
    ]


def test_crlf_stays_crlf(one_task: Project) -> None:
    before = one_task.tasks.read_text()
    one_task.tasks.write_bytes(b"\xef\xbb\xbf" + before.replace("\n", "\r\n").encode())
    result = one_task.run(executor=one_task.shell(FIX_IT))

    data = one_task.tasks.read_bytes()
    assert result.ret == 0
    assert data.startswith(b"\xef\xbb\xbf# Tasks\r\n")
    assert data.count(b"\n") == data.count(b"\r\n")
    assert without_fixes(data.decode("utf-8-sig").replace("\r\n", "\n")) == before


def test_every_other_byte_stays(project: Project) -> None:
    before = (
        "---\ntitle: 'Ünïcode — ✓'\n---\n\n# Tasks  \n\n<!-- - [ ] 9.9 no task -->\n\n"
        "*  [ ]   1.1   Odd   spacing \n"
        "   *  **Do**:   it\n   *  **Verify**:   `grep -q fixed parser.txt`\n\n\n\n## Phase 2\n\n"
        "+ [ ] 2.1 Plus — das Größte\n\t+ **Verify**: `true`\n\n| a | b |\n|---|---|\n\n"
        "    - [ ] 3.3 in code\n\nlast line"
    )
    project.tasks.write_text(before)
    project.write("parser.txt", "broken\n")
    result = project.run(executor=project.shell(FIX_IT))

    after = project.tasks.read_text()
    assert result.ret == 0
    assert without_fixes(after) == before
    assert after.count("[x]") == 3


def test_a_spec_of_headings_is_fixed_and_completed(project: Project) -> None:
    project.spec("""\
        # Plan

        ### Task 1.1: Other

        - **Verify**: `true`

        ### Task 1.2: Parser

        - **Do**: it
        - **Verify**: `grep -q fixed parser.txt`
    """)
    project.write("parser.txt", "broken\n")
    result = project.run(executor=project.shell(FIX_IT))

    assert result.ret == 0
    text = project.tasks.read_text()
    assert "### [x] 1.2.1 [FIX 1.2] Fix: " in text
    assert "### Task 1.2: Parser\n" in text
    assert "- [x] 1.1 Other\n- [x] 1.2 Parser\n" in project.progress
    result.stdout.fnmatch_lines(["ALL_TASKS_COMPLETE: demo"])
    assert project.state["taskIndex"] == 3

    again = project.run("--ralph-pending")
    again.assert_outcomes(skipped=2)
    again.stdout.fnmatch_lines(["ALL_TASKS_COMPLETE: demo"])


def test_a_spec_of_headings_is_not_complete_while_one_fails(project: Project) -> None:
    project.spec("""\
        ### Task 1.1: Parser
        - **Verify**: `true`

        ### Task 1.2: Other
        - **Verify**: `false`
    """)
    result = project.run()

    assert result.ret == 1
    assert "ALL_TASKS_COMPLETE" not in result.stdout.str()
    assert project.state["taskIndex"] == 1


def test_an_id_given_twice_is_two_tasks_with_two_counts(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 First
          - **Verify**: `grep -q fixed one.txt`

        - [ ] 1.1 Second
          - **Verify**: `grep -q fixed two.txt`
    """)
    project.write("one.txt", "broken\n")
    project.write("two.txt", "broken\n")
    result = project.run(
        "-W",
        "default",
        executor=project.shell("""\
        case $task in
            1.1.1) echo fixed > one.txt;;
            1.1.2) echo nearly > two.txt;;
            *) echo fixed > two.txt;;
        esac
    """),
    )

    assert result.ret == 0
    found = re.findall(r"(?m)^- \[(.)\] (\S+ \S+)", project.tasks.read_text())
    assert found == [
        ("x", "1.1 First"),
        ("x", "1.1.1 [FIX"),
        ("x", "1.1 Second"),
        ("x", "1.1.2 [FIX"),
        ("x", "1.1.3 [FIX"),
    ]
    attempts = {name: entry["attempts"] for name, entry in project.state["fixTaskMap"].items()}
    assert attempts == {"1.1": 1, "1.1~2": 2}
    assert project.run("-W", "default").ret == 0
    assert {name: entry["fixTaskIds"] for name, entry in project.state["fixTaskMap"].items()} == {
        "1.1": ["1.1.1"],
        "1.1~2": ["1.1.2", "1.1.3"],
    }


def test_what_somebody_else_writes_meanwhile_is_kept(one_task: Project) -> None:
    # The executor stands for another person: without the guard its edits are kept.
    result = one_task.run(
        "--ralph-guard=off",
        executor=one_task.shell("""\
        sed -i 's/^# Tasks$/# Tasks\\n\\nA note by somebody else./' specs/demo/tasks.md
        printf -- '\\n- [ ] 1.5 A task by somebody else\\n' >> specs/demo/tasks.md
        printf -- '  - **Verify**: `true`\\n' >> specs/demo/tasks.md
        printf -- '## Learnings\\n- tea helps\\n' > specs/demo/.progress.md
        echo fixed > parser.txt
    """),
    )

    text = one_task.tasks.read_text()
    assert result.ret == 0
    assert one_task.boxes == {"1.3": True, "1.3.1": True, "1.4": True, "1.5": False}
    assert "# Tasks\n\nA note by somebody else.\n" in text
    assert one_task.progress.endswith("\n## Learnings\n- tea helps\n")
    assert "ALL_TASKS_COMPLETE" not in result.stdout.str()


def test_a_task_taken_out_meanwhile_is_not_ticked_anywhere(one_task: Project) -> None:
    result = one_task.run(
        "--ralph-guard=off",
        executor=one_task.shell("""\
        sed -i '/1.3 Add/,/Commit/d' specs/demo/tasks.md
        echo fixed > parser.txt
    """),
    )

    assert result.ret == 0
    assert one_task.boxes["1.4"] is True
    assert "1.3 Add" not in one_task.tasks.read_text()


@pytest.mark.parametrize(
    ("ruin", "said"),
    [
        ("rm specs/demo/tasks.md", "*tasks.md*No such file*"),
        ("printf '\\377\\376' > specs/demo/tasks.md", "*tasks.md:1: not UTF-8*"),
    ],
)
def test_a_spec_ruined_meanwhile_is_one_clear_failure(
    one_task: Project, ruin: str, said: str
) -> None:
    result = one_task.run("--ralph-guard=off", executor=one_task.shell(f"{ruin}; {FIX_IT}"))

    assert result.ret == 1
    result.stdout.fnmatch_lines([said])
    assert "Traceback" not in result.stdout.str()
    assert "INTERNALERROR" not in result.stdout.str()


def test_a_verify_rewritten_by_the_executor_decides_nothing(one_task: Project) -> None:
    result = one_task.run(
        "--ralph-max-fixes",
        "1",
        executor=one_task.shell(
            "sed -i 's/grep -q fixed parser.txt/true/' specs/demo/tasks.md; echo no > parser.txt"
        ),
    )

    assert result.ret == 1
    assert one_task.boxes["1.3"] is False


def test_nothing_is_inserted_behind_an_unclosed_fence(
    one_task: Project,
) -> None:
    text = "# Tasks\n\n### Task 1.1: It\n\n**Verify**: `test -e done`\n\n```text\nnever closed\n"
    one_task.tasks.write_text(text)

    told = one_task.run("--ralph-executor", "touch done", "-W", "ignore:unclosed fence")

    told.stdout.fnmatch_lines(
        [
            "*demo/tasks.md:3: cannot insert a task after 1.1; is a code fence not closed?",
            "*1 failed*",
        ]
    )
    assert one_task.tasks.read_text() == text


def test_a_second_fix_names_the_first(one_task: Project) -> None:
    fixes = "echo 'Approach: guessed the word'; [ $task = 1.3.2 ] && echo fixed > parser.txt; true"
    one_task.run(executor=one_task.shell(f"echo $task >> notes.txt; {fixes}"))

    text = one_task.tasks.read_text()
    assert "1. Analyze the failure: No previous fix attempted\n" in text
    assert "1. Analyze the failure: fix 1.3.1 did not help: guessed the word\n" in text


def test_a_fix_of_a_fix_names_the_fix(one_task: Project) -> None:
    fails = "echo 'Task 1.3.1: Fix FAILED'; echo '- Error: no such table'; exit 1"
    one_task.run(
        executor=one_task.shell(f"[ $task = 1.3.1 ] && {{ {fails}; }}; echo fixed > parser.txt")
    )

    text = one_task.tasks.read_text()
    assert text.count("1. Analyze the failure: No previous fix attempted\n") == 1
    assert "1. Analyze the failure: fix 1.3.1 did not help\n" in text


def test_heading_task_with_a_tab_indented_verify(one_task: Project) -> None:
    one_task.tasks.write_text(
        "# Tasks\n\n### [ ] 1.3 Add it\n\n- **Do**: it\n- **Verify**:\n"
        "\t- `test -e parser.txt`\n\t- `grep -q fixed parser.txt`\n"
    )
    result = one_task.run(executor=one_task.shell(FIX_IT))

    assert result.ret == 0
    text = one_task.tasks.read_text()
    assert "### [x] 1.3 Add it\n" in text
    assert "### [x] 1.3.1 [FIX 1.3] " in text
    assert "\n  - `test -e parser.txt`\n  - `grep -q fixed parser.txt`\n" in text
    result.stdout.fnmatch_lines(["ALL_TASKS_COMPLETE: demo"])


def test_a_verify_changed_while_it_passes(project: Project) -> None:
    project.spec("""\
        # Tasks

        - [ ] 1.1 Write it
          - **Verify**: `sed -i s/one/two/ specs/demo/tasks.md`
    """)
    result = project.run()

    result.stdout.fnmatch_lines(["*1.1 is not ticked: its Verify was changed meanwhile*"])
    assert "s/two/two/" in project.tasks.read_text()
    assert project.boxes == {"1.1": False}
    assert "ALL_TASKS_COMPLETE" not in result.stdout.str()


def test_a_task_removed_while_it_passes_is_reported(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 First
          - **Verify**: `sed -i 1,3d specs/demo/tasks.md`

        - [ ] 1.2 Second
          - **Verify**: `test -d specs`
    """)
    result = project.run()

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1.1 is not ticked: it was removed from tasks.md meanwhile*"])
    assert project.boxes == {"1.2": True}


# Removes task 1.1, whose id 1.2 gets.
REMOVE_FIRST = """\
    from pathlib import Path
    plan = Path("specs/demo/tasks.md")
    tasks = plan.read_text().split("- [ ] ")
    if "1.1 First" in tasks[1]:
        plan.write_text("- [ ] " + tasks[2].replace("1.2", "1.1"))
    raise SystemExit(not Path("fixed.txt").exists())
"""


@pytest.mark.parametrize("second", ["python verify.py", "test -d specs"])
def test_no_fix_is_inserted_into_the_next_task(project: Project, second: str) -> None:
    project.write("verify.py", REMOVE_FIRST)
    project.tasks.write_text(
        "- [ ] 1.1 First\n  - **Verify**: `python verify.py`\n\n"
        f"- [ ] 1.2 Second\n  - **Verify**: `{second}`\n"
    )
    result = project.run(executor=project.shell("touch fixed.txt"))

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*task 1.1 was removed or renumbered during the run*"])
    assert "[FIX" not in project.tasks.read_text()
    assert project.calls == []


def test_a_tick_follows_its_task(project: Project) -> None:
    project.write(
        "verify.py",
        """\
        from pathlib import Path
        plan = Path("specs/demo/tasks.md")
        new = "- [ ] 1.1 New\\n  - **Verify**: `python verify.py`\\n"
        plan.write_text(new + plan.read_text().replace("1.1", "1.2"))
        """,
    )
    project.spec("- [ ] 1.1 First\n  - **Verify**: `python verify.py`\n")

    assert project.run().ret == 0
    assert project.boxes == {"1.1": False, "1.2": True}


# An editor that saves the file whenever it is about to be written.
EDITOR = """\
    import itertools
    from pathlib import Path
    from pytest_ralph import files

    plan = Path("specs/demo/tasks.md")
    saves = itertools.count()

    def save(point):
        if point == "before replace tasks.md":
            plan.write_text(f"{plan.read_text()}<!-- {next(saves)} -->\\n")

    files.on_fault_point = save
"""


def test_an_editor_that_saves_without_pause(one_task: Project) -> None:
    one_task.write("conftest.py", EDITOR)
    before = one_task.tasks.read_text()

    status, output = run(one_task.root, "--ralph-recovery", "--ralph-executor=true", "specs/demo")

    assert status == 1
    assert "demo/tasks.md: another process keeps saving the file" in output
    text = one_task.tasks.read_text()
    assert text.startswith(before)
    assert "[FIX" not in text
