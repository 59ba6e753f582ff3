"""The same approach again, or the same error on an unchanged tree, escalates to a person."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

APPROACHES = (
    "Using async await for fetch",
    "Using async/await with try-catch",
    "Using async await pattern",
)


def test_three_similar_approaches_are_one_too_many(one_task: Project) -> None:
    for number, approach in enumerate(APPROACHES, 1):
        one_task.write(f"approach.{number}", f"Approach: {approach}\n")
    result = one_task.run(
        "--ralph-max-fixes",
        "9",
        "--junitxml",
        "junit.xml",
        executor=one_task.shell("cat approach.$call; echo $task > parser.txt"),
    )

    assert result.ret == 1
    assert one_task.calls == ["1.3.1", "1.3.2", "1.3.3"]
    result.stdout.fnmatch_lines(["*given up: the same approach was tried before without success"])
    assert (
        "- Task 1.3: 3 fixes attempted (1.3.1, 1.3.2, 1.3.3) - Final: FAIL (circular)"
        in one_task.progress
    )
    junit = (one_task.root / "junit.xml").read_text()
    assert '<property name="ralph.failure.type" value="CIRCULAR_FIX"' in junit


def test_different_approaches_go_on_to_the_limit(one_task: Project) -> None:
    one_task.run(
        executor=one_task.shell("""\
            case $call in
                1) echo "Approach: rewrite the parser by hand";;
                2) echo "Approach: update dependency versions";;
                *) echo "Approach: disable caching layer";;
            esac
            echo $task > parser.txt
        """)
    )

    assert "Final: FAIL (max limit)" in one_task.progress


def test_the_same_error_over_an_unchanged_tree_is_a_circle(one_task: Project) -> None:
    one_task.write(".gitignore", "calls.txt\nprompt.*\n")
    one_task.shell("true")
    one_task.repository()
    result = one_task.run("--junitxml", "junit.xml", executor="sh executor.sh")

    assert result.ret == 1
    assert one_task.calls == ["1.3.1"]
    result.stdout.fnmatch_lines(["*given up: same error again, no file changed"])
    assert "Final: FAIL (circular)" in one_task.progress
    types = re.findall(
        r'name="ralph.failure.type" value="(\w+)"', (one_task.root / "junit.xml").read_text()
    )
    assert types == ["CIRCULAR_FIX"]


def test_the_same_error_over_a_changed_tree_is_none(one_task: Project) -> None:
    one_task.shell("echo $task > parser.txt")
    one_task.repository()
    one_task.run(executor="sh executor.sh")

    assert one_task.calls == ["1.3.1", "1.3.2", "1.3.3"]


def test_a_task_that_is_continued_has_one_approach(one_task: Project) -> None:
    result = one_task.run(
        executor=one_task.shell("""\
            echo "Approach: rewrite the parser by hand"
            echo $call > parser.txt
            [ $call -lt 3 ] && { echo "Error: Maximum context length (128k) exceeded"; exit 1; }
            [ $call = 4 ] && echo fixed > parser.txt
            echo TASK_COMPLETE
        """)
    )

    assert result.ret == 0
    assert one_task.calls == ["1.3.1", "1.3.1", "1.3.1", "1.3.2"]


def test_carrying_out_the_original_in_vain_is_no_circle(one_task: Project) -> None:
    one_task.write(".gitignore", "calls.txt\nprompt.*\n")
    one_task.shell("""\
        [ $task = 1.3 ] || echo $task > note.txt
        [ $task = 1.3.2 ] && echo fixed > parser.txt
        echo TASK_COMPLETE
    """)
    one_task.repository()
    result = one_task.run("--ralph-execute", executor="sh executor.sh")

    assert result.ret == 0
    assert one_task.calls[:4] == ["1.3", "1.3.1", "1.3", "1.3.2"]
