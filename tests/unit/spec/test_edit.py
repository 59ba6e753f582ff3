"""The three edits of a tasks.md, and that every other byte stays."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ralph.spec.document import Spec
from pytest_ralph.spec.edit import (
    insertion,
    insertion_before,
    set_total,
    shifted,
    ticked_line,
)
from pytest_ralph.spec.edit import (
    next_id as next_id_of,
)
from pytest_ralph.spec.fix_tree import FixTree

if TYPE_CHECKING:
    from pytest_ralph.spec.task import Task

BEFORE = """\
- [ ] 1.3 Add failure parser
  - **Do**: Add parsing logic
  - **Files**: implement.md
  - **Verify**: grep pattern
  - **Commit**: feat: add parser

- [ ] 1.4 Next task
"""

FIX = """\
- [ ] 1.3.1 [FIX 1.3] Fix: File not found error
  - **Do**: Address the error: File not found
    1. Analyze the failure: CheckResult alternate paths
    2. Review related code in Files list
    3. Implement fix for: File not found
  - **Files**: implement.md
  - **Done when**: Error "File not found" no longer occurs
  - **Verify**: grep pattern
  - **Commit**: `fix(recovery): address missing file from task 1.3`
"""

AFTER = """\
- [ ] 1.3 Add failure parser
  - **Do**: Add parsing logic
  - **Files**: implement.md
  - **Verify**: grep pattern
  - **Commit**: feat: add parser

- [ ] 1.3.1 [FIX 1.3] Fix: File not found error
  - **Do**: Address the error: File not found
    1. Analyze the failure: CheckResult alternate paths
    2. Review related code in Files list
    3. Implement fix for: File not found
  - **Files**: implement.md
  - **Done when**: Error "File not found" no longer occurs
  - **Verify**: grep pattern
  - **Commit**: `fix(recovery): address missing file from task 1.3`

- [ ] 1.4 Next task
"""


def next_id(spec: Spec, original: str, used: tuple[str, ...] = ()) -> str:
    return next_id_of(original, [*(task.id for task in spec.tasks), *used])


def insert_task(spec: Spec, original: Task, block: str) -> str:
    return insertion(spec, original, block).into(spec.source)


def tick(source: str, task: Task) -> str:
    lines = source.split("\n")
    lines[task.line - 1] = ticked_line(lines[task.line - 1]) or lines[task.line - 1]
    return "\n".join(lines)


def inserted(source: str, original: str = "1.3", block: str = FIX) -> str:
    spec = Spec.parse(source)
    return insert_task(spec, spec[original], block)


def small(fix_id: str, original: str) -> str:
    return f"- [ ] {fix_id} [FIX {original}] Fix: x\n  - **Verify**: `true`\n"


def ids(source: str) -> str:
    return " ".join(task.name for task in Spec.parse(source).tasks)


def test_the_guides_example_comes_out_byte_for_byte() -> None:
    assert inserted(BEFORE) == AFTER


def test_line_ends_of_the_file_are_those_of_the_fix() -> None:
    assert inserted(BEFORE.replace("\n", "\r\n")) == AFTER.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# T\n\n- [ ] 1.3 A\n", "# T\n\n@\n\n- [ ] 1.3 A\n"),
        ("- [ ] 1.2 A\r\n- [ ] 1.3 B\r\n", "- [ ] 1.2 A\r\n@\r\n\r\n- [ ] 1.3 B\r\n"),
        ("\ufeff- [ ] 1.3 A\n", "\ufeff@\n\n- [ ] 1.3 A\n"),
    ],
)
def test_a_task_can_be_put_before_another(before: str, after: str) -> None:
    spec = Spec.parse(before)
    new = "- [ ] 1.9 New\n  - **Verify**: `true`"
    eol = "\r\n" if "\r" in before else "\n"
    text = insertion_before(spec, spec["1.3"], f"{new}\n").into(before)
    assert text == after.replace("@", new.replace("\n", eol))


def test_a_second_fix_goes_below_the_first_and_a_nested_one_below_its_own() -> None:
    source = inserted(inserted(BEFORE), "1.3", small("1.3.2", "1.3"))
    assert ids(source) == "1.3 1.3.1 1.3.2 1.4"
    source = inserted(source, "1.3.1", small("1.3.1.1", "1.3.1"))
    assert ids(source) == "1.3 1.3.1 1.3.1.1 1.3.2 1.4"
    source = inserted(source, "1.3", small("1.3.3", "1.3"))
    assert ids(source) == "1.3 1.3.1 1.3.1.1 1.3.2 1.3.3 1.4"


PLACES = {
    "before the next task": (
        "- [ ] 1.3 A\n  - **Verify**: x\n- [x] 1.4 B\n",
        "  - **Verify**: x\n\n@\n\n- [x] 1.4 B\n",
    ),
    "before the next phase": (
        "- [ ] 1.3 A\n\n\n## Phase 2\n- [ ] 2.1 B\n",
        "- [ ] 1.3 A\n\n@\n\n\n## Phase 2\n",
    ),
    "before prose that follows": (
        "- [ ] 1.3 A\n\nText of the phase.\n",
        "- [ ] 1.3 A\n\n@\n\nText of the phase.\n",
    ),
    "at the end of the file": ("- [ ] 1.3 A\n", "- [ ] 1.3 A\n\n@\n"),
    "at an end without newline": ("- [ ] 1.3 A", "- [ ] 1.3 A\n\n@"),
    "before blank lines at the end": ("- [ ] 1.3 A\n \n\n", "- [ ] 1.3 A\n\n@\n \n\n"),
    "after trailing spaces": (
        "- [ ] 1.3 A  \n- [ ] 1.4 B\n",
        "- [ ] 1.3 A  \n\n@\n\n- [ ] 1.4 B\n",
    ),
    "after a fence that looks like tasks": (
        "- [ ] 1.3 A\n  - **Verify**:\n    ```bash\n    cat <<'EOF'\n- [ ] no task\n## Phase 9\n"
        "EOF\n    ```\n"
        "- [ ] 1.4 B\n",
        "EOF\n    ```\n\n@\n\n- [ ] 1.4 B\n",
    ),
    "after nested lists": (
        "- [ ] 1.3 A\n  - **Do**:\n    1. one\n       - [ ] a criterion\n- [ ] 1.4 B\n",
        "       - [ ] a criterion\n\n@\n\n- [ ] 1.4 B\n",
    ),
    "after the tasks nested in it": (
        "- [ ] 1.3 A\n  - [ ] 1.3.7 B\n- [ ] 1.4 C\n",
        "  - [ ] 1.3.7 B\n\n@\n\n- [ ] 1.4 C\n",
    ),
    "below a byte order mark": (
        "\ufeff- [ ] 1.3 A\n- [ ] 1.4 B\n",
        "\ufeff- [ ] 1.3 A\n\n@\n\n- [ ] 1.4 B\n",
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_fix_is_put(place: str) -> None:
    source, expected = PLACES[place]
    block = small("1.3.99", "1.3")
    assert expected.replace("@", block.rstrip("\n")) in inserted(source, "1.3", block)


STYLES = {
    "star bullets": (
        "* [ ] 1.3 A\n  * **Verify**: x\n",
        "* [ ] 1.3.1 [FIX 1.3] Fix: x\n  * **Verify**: `true`",
    ),
    "indented": (
        "- [ ] 1. A\n  - [ ] 1.3 B\n",
        "  - [ ] 1.3.1 [FIX 1.3] Fix: x\n    - **Verify**: `true`",
    ),
    "headings with a box": (
        "### [ ] 1.3 A\n- **Verify**: `x`\n\n### [ ] 1.4 B\n",
        "### [ ] 1.3.1 [FIX 1.3] Fix: x\n- **Verify**: `true`\n\n### [ ] 1.4 B",
    ),
    "headings without": (
        "### Task 1.3: A\n\n**Verify**: `x`\n\n## End\n",
        "### [ ] 1.3.1 [FIX 1.3] Fix: x\n- **Verify**: `true`\n\n## End",
    ),
    "numbered": (
        "1. [ ] 1.3 A\n   - **Verify**: x\n",
        "- [ ] 1.3.1 [FIX 1.3] Fix: x\n  - **Verify**: `true`",
    ),
    "headings behind a box": (
        "- [ ] ### 1.3 A\n  - **Verify**: x\n",
        "- [ ] ### 1.3.1 [FIX 1.3] Fix: x\n  - **Verify**: `true`",
    ),
    "headings around a box": (
        "- ### [ ] 1.3 A\n  - **Verify**: x\n",
        "- ### [ ] 1.3.1 [FIX 1.3] Fix: x\n  - **Verify**: `true`",
    ),
}


@pytest.mark.parametrize("style", STYLES)
def test_a_fix_takes_on_the_form_of_its_original(style: str) -> None:
    source, expected = STYLES[style]
    after = inserted(source, "1.3", small("1.3.1", "1.3"))
    assert expected in after
    found = Spec.parse(after)["1.3.1"]
    assert found.fix_for == "1.3"
    assert found.verify.text == "`true`"
    assert Spec.parse(tick(after, found))["1.3.1"].checked


@pytest.mark.parametrize(
    ("line", "columns", "moved"),
    [
        ("    a", -2, "  a"),
        (" a", -2, "a"),
        ("a", -2, "a"),
        ("\ta", -4, "a"),
        ("\t\ta", -4, "\ta"),
        ("  \ta", -4, "a"),
        ("    \ta", -4, "\ta"),
        ("  a", 2, "    a"),
        ("\ta", 2, "      a"),
        ("a\tb", 1, " a\tb"),
        ("  ", 2, "  "),
    ],
)
def test_lines_are_moved_by_columns(line: str, columns: int, moved: str) -> None:
    assert shifted([line], columns) == [moved]


def test_below_a_heading_the_fields_stand_at_the_margin() -> None:
    after = inserted("### [ ] 1.3 A\n")
    assert (
        "\n- **Do**: Address the error: File not found\n  1. Analyze the failure: CheckResult"
        in after
    )


@pytest.mark.parametrize(
    "original",
    [
        "1.3",
        "1.3.1",
        "V4",
        "V-P1",
        "VE1",
        "VF",
        "T001",
        "T001A",
        "1.",
        "3.X",
        "6.B.7",
        "6.0b",
        "Q1.1",
        "2.1.fix1",
    ],
)
def test_a_fix_of_any_id_is_found_again(original: str) -> None:
    source = f"- [ ] {original} Title\n  - **Verify**: `x`\n"
    spec = Spec.parse(source)
    fix_id = next_id(spec, original)
    after = Spec.parse(insert_task(spec, spec[original], small(fix_id, original)))
    assert [(task.id, task.fix_for) for task in after.tasks] == [
        (original, None),
        (fix_id, original),
    ]
    assert FixTree(after.tasks).descendants_of(original) == {after.tasks[1].name}


def test_a_task_without_an_id_is_fixed_under_its_slug() -> None:
    spec = Spec.parse("- [ ] Wire it up\n  - **Verify**: `x`\n")
    (task,) = spec.tasks
    fix_id = next_id(spec, task.id)
    after = Spec.parse(insert_task(spec, task, small(fix_id, task.id)))
    assert [task.id for task in after.tasks] == ["wire-it-up", "wire-it-up.1"]
    assert after.tasks[1].fix_for == "wire-it-up"


@pytest.mark.parametrize(
    ("source", "used", "expected"),
    [
        ("- [ ] 1.3 A\n", (), "1.3.1"),
        ("- [ ] 1.3 A\n" + small("1.3.1", "1.3"), (), "1.3.2"),
        ("- [ ] 1.3 A\n", ("1.3.1", "1.3.2"), "1.3.3"),
        ("- [ ] 1.3 A\n" + small("1.3.1", "1.3"), ("1.3.4",), "1.3.5"),
        ("- [ ] 1.3 A\n- [ ] 1.3.7 not a fix\n", (), "1.3.8"),
        ("- [ ] 1.3 A\n- [ ] 1.30 B\n- [ ] 11.3.5 C\n", ("1.30.2",), "1.3.1"),
        ("- [ ] 1.3 A\n", ("1.3.1.4",), "1.3.2"),
    ],
)
def test_an_id_is_never_given_twice(source: str, used: tuple[str, ...], expected: str) -> None:
    assert next_id(Spec.parse(source), "1.3", used) == expected


@pytest.mark.parametrize(
    "first_line",
    [
        "- [ ] TASK-08 Add it",
        "- [ ] 1.3-fix Add it",
        "- [ ] 12 Add it",
        "- [ ] ### 12 Add it",
        "- [ ] Tasks are listed",
        "- [ ] Itemize the bill",
        "### [ ] Step by step",
        "<task id='Add the parser'>",
    ],
)
def test_fixes_of_fixes_are_read_back_whatever_the_id(first_line: str) -> None:
    source = f"{first_line}\n  - **Verify**: `x`\n"
    if first_line.startswith("<"):
        source = f"{first_line}\n<verify>`x`</verify>\n</task>\n"
    spec = Spec.parse(source)
    lineage = [*spec.tasks]
    while len(lineage) < 4:
        original = lineage[-1]
        fix_id = next_id(spec, original.id)
        spec = Spec.parse(insert_task(spec, original, small(fix_id, original.id)))
        assert len(spec.tasks) == len(lineage) + 1
        lineage.append(spec[fix_id])
    assert [task.fix_for for task in lineage[1:]] == [task.id for task in lineage[:-1]]


def test_where_an_id_is_given_twice_each_has_its_own_fixes() -> None:
    source = "- [ ] 1.3 A\n- [ ] 1.4 B\n- [ ] 1.3 C\n- [ ] 1.5 D\n"
    source = inserted(source, "1.3~2", small("1.3.1", "1.3"))
    source = inserted(source, "1.3", small("1.3.2", "1.3"))
    assert ids(source) == "1.3 1.3.2 1.4 1.3~2 1.3.1 1.5"
    spec = Spec.parse(source)
    assert FixTree(spec.tasks).descendants_of("1.3") == {"1.3.2"}
    assert FixTree(spec.tasks).descendants_of("1.3~2") == {"1.3.1"}
    assert FixTree(spec.tasks).descendants_of("8.8") == set()


@pytest.mark.parametrize(
    ("line", "ticked"),
    [
        ("- [ ] 1.3 A [ ] b", "- [x] 1.3 A [ ] b"),
        ("-[ ] 1.3 A", "-[x] 1.3 A"),
        ("- x\n\t* [ ] 1.3 A", "- x\n\t* [x] 1.3 A"),
        ("\ufeff+ [ ] 1.3 A", "\ufeff+ [x] 1.3 A"),
        ("- [ ]1.3 A\r", "- [x]1.3 A\r"),
        ("### [ ] 1.3 A", "### [x] 1.3 A"),
        ("### - [ ] 1.3 A", "### - [x] 1.3 A"),
        ("- ### [ ] 1.3 A", "- ### [x] 1.3 A"),
        ("- [ ] ### 1.3 A", "- [x] ### 1.3 A"),
        ("### 1.3 [P] A [ ]", "### 1.3 [P] A [x]"),
        ("### 1.3: [ ] A", "### 1.3: [x] A"),
        ("### 1.3 `[ ]` A", "### 1.3 `[x]` A"),
        ("- [x] 1.3 A [ ]", "- [x] 1.3 A [ ]"),
        ("- [X] 1.3 A", "- [X] 1.3 A"),
        ("### Task 1.3: A", "### Task 1.3: A"),
    ],
)
def test_ticking_changes_the_box_and_nothing_else(line: str, ticked: str) -> None:
    source = f"{line}\n  - **Verify**: `x` [ ]\n"
    assert tick(source, Spec.parse(source)["1.3"]) == f"{ticked}\n  - **Verify**: `x` [ ]\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("---\ntotal_tasks: 3\n---\n", "---\ntotal_tasks: 12\n---\n"),
        ("\ufeff---\r\na: 1\r\ntotal_tasks:   3   # kept\r\n---\r\n", None),
        ("---\ntotal_tasks: '3'\n...\n", "---\ntotal_tasks: '12'\n...\n"),
        ("---\ntotal_tasks: {{n}}\n---\n", "---\ntotal_tasks: {{n}}\n---\n"),
        ("---\nx:\n  total_tasks: 3\n---\n", "---\nx:\n  total_tasks: 3\n---\n"),
        ("---\na: 1\n---\ntotal_tasks: 3\n", "---\na: 1\n---\ntotal_tasks: 3\n"),
        ("---\ntotal_tasks: 3\n", "---\ntotal_tasks: 3\n"),
        ("text\n---\ntotal_tasks: 3\n---\n", "text\n---\ntotal_tasks: 3\n---\n"),
        ("", ""),
    ],
)
def test_the_total_of_the_front_matter_is_set_in_place(before: str, after: str | None) -> None:
    assert set_total(before, 12) == (before.replace("3 ", "12 ") if after is None else after)


TASK_BODIES = [
    "",
    "  - **Verify**: `true`\n",
    "  - **Do**:\n    1. one\n    2. two\n  - **Verify**: `a` and `b`\n",
    "  - **Verify**:\n    ```bash\n    cat > f <<'EOF'\n    - [ ] 7.7 text\n    EOF\n    ```\n",
    "  - **Files**: `a.py`\t\n  - **Done when**: é ✓ \u2028 done\n",
    (
        "  - **Verify**:\n    ```bash\n    cat <<'EOF'\n## Summary\n- [ ] at the margin\nEOF\n"
        "    ```\n"
    ),
    "\n  A paragraph of the task.\n\n  - **Verify**: `true`\n",
    "  - [ ] not a task, a criterion\n",
    "  <!--\n  - [ ] 9.9 hidden\n  -->\n",
]
BETWEEN = [
    "",
    "\n",
    "\n\n",
    "\n## Phase 2: More\n\n",
    "\nSome text.\n\n",
    "\n---\n\n",
    "\n<!-- [ ] 5.5 -->\n\n",
    " \n",
]
documents = st.lists(
    st.tuples(
        st.sampled_from(["[ ]", "[x]"]), st.sampled_from(TASK_BODIES), st.sampled_from(BETWEEN)
    ),
    min_size=1,
    max_size=6,
)


def written(parts: list[tuple[str, str, str]], eol: str, ends: bool) -> str:
    text = "---\ntotal_tasks: 1\n---\n# Tasks\n\n" + "".join(
        f"- {box} 1.{number} Task {number}\n{body}{between}"
        for number, (box, body, between) in enumerate(parts, 1)
    )
    return (text if ends else text.rstrip("\n")).replace("\n", eol)


@settings(max_examples=200, deadline=None)
@given(documents, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.data())
def test_inserting_adds_one_task_and_changes_nothing_else(
    parts: list[tuple[str, str, str]], eol: str, ends: bool, data: st.DataObject
) -> None:
    spec = Spec.parse(written(parts, eol, ends))
    original = data.draw(st.sampled_from(spec.tasks))
    fix_id = next_id(spec, original.id)
    source = insert_task(spec, original, small(fix_id, original.id))
    after = Spec.parse(source)

    assert [task.id for task in after.tasks if task.id != fix_id] == [
        task.id for task in spec.tasks
    ]
    for task in spec.tasks:
        assert after[task.id].fields == task.fields
        assert after[task.id].phase == task.phase
    assert after[fix_id].phase == original.phase
    added = len(source) - len(spec.source)
    cut = next(at for at in range(len(source)) if source[:at] + source[at + added :] == spec.source)
    assert dedent(source[cut : cut + added]).count("- [ ]") == 1
    assert source[cut : cut + added].count("\n") == source[cut : cut + added].count(eol)


@settings(max_examples=100, deadline=None)
@given(documents, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.data())
def test_ticking_flips_one_character(
    parts: list[tuple[str, str, str]], eol: str, ends: bool, data: st.DataObject
) -> None:
    spec = Spec.parse(written(parts, eol, ends))
    task = data.draw(st.sampled_from(spec.tasks))
    source = tick(spec.source, task)
    changed = [(a, b) for a, b in zip(spec.source, source, strict=True) if a != b]
    assert changed == ([] if task.checked else [(" ", "x")])
    assert Spec.parse(source)[task.id].checked


def test_a_fix_with_the_verify_of_its_original_is_recognized() -> None:
    source = (
        "- [ ] 1.1 A\n  - **Verify**: `a`\n"
        "- [ ] 1.1.1 [FIX 1.1] Fix: x\n  - **Verify**: `a`\n"
        "- [ ] 1.1.2 [FIX 1.1] Fix: y\n  - **Verify**: `b`\n"
        "- [ ] 1.1.1.1 [FIX 1.1.1] Fix: z\n  - **Verify**: `a`\n"
        "- [ ] 9.1 [FIX 9] Fix: of nothing\n  - **Verify**: `a`\n"
    )
    tasks = Spec.parse(source).tasks
    tree = FixTree(tasks)
    assert [task.id for task in tasks if tree.shares_verify(task)] == ["1.1.1", "1.1.1.1"]


FORMATS = {
    "xml": "<task>\n  <name>Task 1: A</name>\n  <verify>`a`</verify>\n</task>\n\n"
    "<task>\n  <name>Task 2: B</name>\n  <verify>`b`</verify>\n</task>\n",
    "table": (
        "| # | Task | Verify |\n|---|---|---|\n| 1 | A | `make a` |\n| 2 | B | `make b` |\n\nEnd.\n"
    ),
    "bold lines": "**Task 1: A**\n- **Do**: a\n\n**Task 2: B**\n- **Verify**: `make b`\n",
    "phases": "## Phase 1: A\n\n**Verify**: `make a`\n\n## Phase 2: B\n\n**Verify**: `make b`\n",
    "numbers": "# Plan 7\n\n1) A\n   - Verify: `make a`\n2) B → verify: `make b`\n\n## End\n",
    "numbers below headings": (
        "## Phase 7\n\n1) A\n   - Verify: `make a`\n\n## Phase 8\n\n2) B → verify: `make b`\n"
    ),
}


def test_lines_indented_with_tabs_move_with_a_fix_that_is_nested() -> None:
    source = "- [ ] 1. A\n\t- [ ] 1.3 B\n\t\t- **Verify**: `x`\n"
    block = "- [ ] 1.3.1 [FIX 1.3] Fix: x\n  - **Verify**:\n\t```bash\n\tmake\n\t```\n"
    spec = Spec.parse(inserted(source, "1.3", block))
    assert [task.id for task in spec.tasks] == ["1.", "1.3", "1.3.1"]
    assert [check.command for check in spec["1.3.1"].verify.checks] == ["make"]


@pytest.mark.parametrize("name", FORMATS)
def test_a_fix_fits_into_every_format(name: str) -> None:
    spec = Spec.parse(FORMATS[name])
    assert [task.id for task in spec.tasks] == ["1", "2"]
    after = Spec.parse(insert_task(spec, spec["1"], small("1.1", "1")))
    assert sorted(task.id for task in after.tasks) == ["1", "1.1", "2"]
    assert after["2"].verify == spec["2"].verify
    assert after["1.1"].verify.text == "`true`"
    assert [task.phase for task in after.tasks] == [spec.tasks[0].phase] * 2 + [spec.tasks[1].phase]
