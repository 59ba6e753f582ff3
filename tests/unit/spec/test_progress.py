"""What is written into .progress.md, and that nothing else of it changes."""

from __future__ import annotations

from itertools import takewhile
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ralph.spec import progress

BEFORE = dedent("""\
    ## Completed Tasks
    - [x] 1.1 Task A - abc123
    - [x] 1.2 Task B - def456

    ## Learnings
    - Some learning
    """)

AFTER = dedent("""\
    ## Completed Tasks
    - [x] 1.1 Task A - abc123
    - [x] 1.2 Task B - def456

    ## Fix Task History
    - Task 1.2: 2 fixes attempted (1.2.1, 1.2.2) - Final: PASS

    ## Learnings
    - Some learning
    """)

HISTORY = dedent("""\
    ## Fix Task History
    - Task 1.3: 2 fixes attempted (1.3.1, 1.3.2) - Final: PASS
    - Task 2.1: 1 fix attempted (2.1.1) - Final: PASS
    - Task 3.4: 3 fixes attempted (3.4.1, 3.4.2, 3.4.3) - Final: FAIL (max limit)
    """)


def test_the_history_section_is_created_before_the_learnings() -> None:
    assert progress.fixes(BEFORE, "1.2", ["1.2.1", "1.2.2"], "PASS") == AFTER


def test_every_line_of_the_guides_history_comes_out_as_shown() -> None:
    text = "## Fix Task History\n"
    text = progress.fixes(text, "1.3", ["1.3.1", "1.3.2"], "PASS")
    text = progress.fixes(text, "2.1", ["2.1.1"], "PASS")
    text = progress.fixes(text, "3.4", ["3.4.1", "3.4.2", "3.4.3"], "FAIL (max limit)")
    assert text == HISTORY


def test_an_entry_ends_with_its_final_result() -> None:
    text = progress.fixes(BEFORE, "1.2", ["1.2.1"], "FAIL (not retryable)")
    assert "(1.2.1) - Final: FAIL (not retryable)\n" in text


def test_a_task_has_one_entry_that_is_updated() -> None:
    text = progress.fixes(BEFORE, "1.2", ["1.2.1"], "FAIL (max depth)")
    text = progress.fixes(text, "1.2", ["1.2.1", "1.2.2"], "PASS")
    assert text == AFTER


def test_an_entry_of_a_task_with_a_longer_id_is_another_one() -> None:
    text = progress.fixes(HISTORY, "1.3.1", ["1.3.1.1"], "PASS")
    assert text.count("- Task 1.3") == 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "# Progress\n\n## Completed Tasks\n- [x] 1.1 Task A - abc123\n"),
        (
            "# Notes\n\nmine  \n",
            "# Notes\n\nmine  \n\n## Completed Tasks\n- [x] 1.1 Task A - abc123\n",
        ),
        ("# Notes", "# Notes\n\n## Completed Tasks\n- [x] 1.1 Task A - abc123"),
        (
            "## Learnings\n- x\n",
            "## Completed Tasks\n- [x] 1.1 Task A - abc123\n\n## Learnings\n- x\n",
        ),
        (
            "\ufeff## Learnings\r\n- x\r\n",
            "\ufeff## Completed Tasks\r\n- [x] 1.1 Task A - abc123\r\n\r\n## Learnings\r\n- x\r\n",
        ),
        (
            "a\n## Fix Task History\n\n## Learnings\n",
            (
                "a\n\n## Completed Tasks\n- [x] 1.1 Task A - abc123\n\n## Fix Task History\n\n"
                "## Learnings\n"
            ),
        ),
        (
            "## completed tasks ##\n- [x] 1.0 Z\n\n\n# End\n",
            "## completed tasks ##\n- [x] 1.0 Z\n- [x] 1.1 Task A - abc123\n\n\n# End\n",
        ),
        (
            "## Completed Tasks\n\n## Learnings\n",
            "## Completed Tasks\n- [x] 1.1 Task A - abc123\n\n## Learnings\n",
        ),
        (
            "```\n## Completed Tasks\n```\n## Completed Tasks\n",
            "```\n## Completed Tasks\n```\n## Completed Tasks\n- [x] 1.1 Task A - abc123\n",
        ),
        (
            "~~~~\n## Completed Tasks\n~~~\n# No\n~~~~\n",
            (
                "~~~~\n## Completed Tasks\n~~~\n# No\n~~~~\n\n## Completed Tasks\n"
                "- [x] 1.1 Task A - abc123\n"
            ),
        ),
    ],
)
def test_a_completed_task_is_noted_where_a_person_would_note_it(before: str, after: str) -> None:
    assert progress.completed(before, "1.1", "Task A", "abc123") == after


def test_a_task_completed_again_is_not_repeated_and_keeps_its_commit() -> None:
    assert progress.completed(BEFORE, "1.2", "Task B") == BEFORE
    assert progress.completed(BEFORE, "1.2", "Task B", "feed42") == BEFORE.replace(
        "def456", "feed42"
    )


def test_an_entry_with_an_empty_box_is_ticked() -> None:
    text = "# Progress\n## Completed Tasks\n- [ ] 1.3 Title\n- [x] 1.4 Other\n"
    noted = progress.completed(text, "1.3", "Title")
    assert noted == text.replace("[ ]", "[x]")
    assert progress.completed_tasks(noted) == {"1.3", "1.4"}


def test_a_task_without_commit_is_noted_without_one() -> None:
    assert "- [x] 1.3 Task C\n" in progress.completed(BEFORE, "1.3", "Task C")


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_entry_of_a_reopened_task_is_removed(mark: str) -> None:
    text = f"{mark}## Completed Tasks\n- [x] 1.2 Task B - abc1234\n- [x] 1.20 Task C\n"
    assert progress.reopened(text, "1.2") == f"{mark}## Completed Tasks\n- [x] 1.20 Task C\n"


def test_line_ends_of_the_file_are_kept_when_an_entry_is_replaced() -> None:
    text = "## Fix Task History\r\n- Task 1.2: old\r\n- Task 1.3: old"
    text = progress.fixes(text, "1.2", ["1.2.1"], "PASS")
    text = progress.fixes(text, "1.3", ["1.3.1"], "PASS")
    assert text == (
        "## Fix Task History\r\n- Task 1.2: 1 fix attempted (1.2.1) - Final: PASS\r\n"
        "- Task 1.3: 1 fix attempted (1.3.1) - Final: PASS"
    )


@pytest.mark.parametrize(
    ("text", "learnt"),
    [
        ("", []),
        (BEFORE, ["Some learning"]),
        (
            "## Learnings\n- one\n  goes on\n* two\n\nA paragraph\nof two lines\n\n## Next\n- no\n",
            None,
        ),
        (
            "## Learnings\n<!-- add yours -->\n### From 1.3\n- kept\n  - with a part\n",
            ["kept - with a part"],
        ),
        ("## Learnings\r\n- one\r\n- two", ["one", "two"]),
        (
            "## Learnings\nA paragraph\n  goes on\nand on\n\n  as a part\n",
            ["A paragraph goes on and on as a part"],
        ),
    ],
)
def test_learnings_are_read_one_a_line(text: str, learnt: list[str] | None) -> None:
    assert progress.learnings(text) == (
        ["one goes on", "two", "A paragraph of two lines"] if learnt is None else learnt
    )


lines = st.lists(
    st.sampled_from(
        [
            "",
            "text  ",
            "\ttab",
            "- [x] 0.1 Z",
            "## Completed Tasks",
            "## Learnings",
            "## Other",
            "# Top",
            "- a",
            "```",
            "é\u2028",
        ]
    )
)


@given(lines, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_every_other_line_stays(before: list[str], eol: str, ends: bool) -> None:
    text = eol.join(before) + (eol if ends and before else "")
    after = progress.completed(text, "9.9", "New", "abc")
    assert after.count("- [x] 9.9 New - abc") == 1
    at = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, after, strict=False)))
    assert not text or after.endswith(text[at:]), "more than one stretch of text was put in"
    assert progress.completed(after, "9.9", "New", "abc") == after
