"""A spec is loaded, looked up and complained about."""

from __future__ import annotations

import os
import pickle
import sys
from typing import TYPE_CHECKING

import pytest

from pytest_ralph import Spec
from pytest_ralph.spec import document
from pytest_ralph.spec.document import SpecError
from pytest_ralph.spec.edit import insertion

if TYPE_CHECKING:
    from pathlib import Path

ONE = "- [ ] 1.1 a\n  - **Verify**: `true`\n"


@pytest.fixture
def spec_dir(tmp_path: Path) -> Path:
    directory = tmp_path / "specs" / "greeter"
    directory.mkdir(parents=True)
    (directory / "tasks.md").write_text(ONE)
    (directory / "plan.md").write_text(ONE.replace("1.1", "2.1"))
    return directory


def test_a_directory_its_tasks_file_and_any_other_markdown_file_can_be_loaded(
    spec_dir: Path,
) -> None:
    by_directory, by_file, other = (
        Spec.load(spec_dir / part) for part in ("", "tasks.md", "plan.md")
    )
    assert by_directory == by_file
    assert (by_directory.name, by_directory.path, by_directory.directory) == (
        "greeter",
        spec_dir / "tasks.md",
        spec_dir,
    )
    assert (other.name, other.tasks[0].id) == ("plan", "2.1")


def test_a_spec_in_the_working_directory_is_named_after_it(
    spec_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(spec_dir)
    assert Spec.load("tasks.md").name == "greeter"


def test_tasks_are_found_by_id_by_node_name_and_with_or_without_the_last_dot() -> None:
    spec = Spec.parse("- [ ] 1. a\n- [ ] 1.1 b\n- [ ] 1.1 c\n")
    assert spec["1."] is spec["1"] is spec.tasks[0]
    assert spec["1.1"] is spec.tasks[1]
    assert spec["1.1~2"] is spec.tasks[2]
    both = Spec.parse("- [ ] 1. a\n- [ ] Task 1: b\n")
    assert (both["1."].title, both["1"].title) == ("a", "b")
    assert "1.1" in spec
    assert "9.9" not in spec
    assert spec.get("9.9") is None
    with pytest.raises(KeyError, match=r"9\.9"):
        spec["9.9"]


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"a\nb\n\xff\xfe\n", 3, "not UTF-8 (byte 0xff)"),
        ("- [ ] 1.1 a\n".encode("utf-16"), 1, "not a text file (it contains NUL bytes)"),
        (b"a\n\x00\n", 2, "not a text file (it contains NUL bytes)"),
        (b"- [ ] 1.1 a\r- [ ] 1.2 b\r", 1, "its lines end with a carriage return alone"),
    ],
)
def test_a_file_that_is_no_spec_gets_one_line_with_file_and_line(
    tmp_path: Path, data: bytes, line: int, message: str
) -> None:
    file = write(tmp_path / "tasks.md", data)
    with pytest.raises(SpecError) as caught:
        Spec.load(file)
    assert str(caught.value) == f"{file}:{line}: {message}"
    assert (caught.value.path, caught.value.line, caught.value.message) == (file, line, message)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    ("front", "line", "message"),
    [
        ("a: [", 2, "malformed front matter: expected the node content, but found '<stream end>'"),
        (
            "ralph:\n  tiemout: 3",
            3,
            "unknown key `tiemout` under `ralph:`; did you mean `timeout`?",
        ),
    ],
)
def test_a_spec_with_unusable_front_matter_can_be_read_but_not_run(
    front: str, line: int, message: str
) -> None:
    spec = Spec.parse(f"---\n{front}\n---\n- [ ] 1.1 a\n")
    assert [task.id for task in spec.tasks] == ["1.1"]
    with pytest.raises(SpecError) as caught:
        spec.require_settings()
    assert str(caught.value) == f"tasks.md:{line}: {message}"


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path, f"{tmp_path / 'tasks.md'}:1: no tasks.md in this directory"),
        (tmp_path / "x.md", f"{tmp_path / 'x.md'}:1: no such file"),
        (tmp_path / "no" / "tasks.md", f"{tmp_path / 'no' / 'tasks.md'}:1: no such file"),
    ):
        with pytest.raises(SpecError) as caught:
            Spec.load(path)
        assert str(caught.value) == message


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="needs a file this user cannot read"
)
def test_a_file_that_may_not_be_read_is_said_to_be_so(tmp_path: Path) -> None:
    file = write(tmp_path / "tasks.md", b"x")
    file.chmod(0)
    with pytest.raises(SpecError, match="cannot be read: Permission denied"):
        Spec.load(file)


def test_a_directory_in_place_of_the_file_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "tasks.md").mkdir()
    with pytest.raises(SpecError, match="cannot be read: Is a directory"):
        Spec.load(tmp_path)


def test_a_file_too_large_is_not_even_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tasks.md"
    with file.open("wb") as stream:
        stream.truncate(50 * 1000 * 1000 + 1)
    with pytest.raises(SpecError, match=r":1: too large for a spec: 50 MB, at most 50 MB$"):
        Spec.load(file)
    monkeypatch.setattr(document, "MAX_BYTES", 10)
    with pytest.raises(SpecError, match="too large"):
        Spec.load(write(file, b"x" * 11))


def test_a_lone_surrogate_is_no_text() -> None:
    with pytest.raises(SpecError, match=r"tasks\.md:2: not valid Unicode text"):
        Spec.parse("\n\ud800")


@pytest.mark.parametrize(
    ("source", "line", "code", "message"),
    [
        (
            "# T\n",
            1,
            "no-tasks",
            "no tasks found: write each task as `- [ ] 1.1 Title` with a `**Verify**:` field",
        ),
        (ONE + ONE, 3, "duplicate-id", "duplicate id 1.1: first used on line 1"),
        (
            "---\nspec: a\ntotal_tasks: 3\n---\n" + ONE,
            3,
            "wrong-total",
            "total_tasks is 3, but there are 1 tasks",
        ),
        (ONE + "```bash\nx\n", 3, "unclosed-fence", "unclosed fence"),
    ],
)
def test_what_is_wrong_but_usable_is_a_problem_with_its_line(
    source: str, line: int, code: str, message: str
) -> None:
    (problem,) = Spec.parse(source).problems
    assert (problem.line, problem.code) == (line, code)
    assert problem.message.startswith(message)


def test_a_spec_in_order_has_no_problems() -> None:
    assert Spec.parse("---\ntotal_tasks: 1\n---\n" + ONE).problems == ()


@pytest.mark.parametrize(
    ("mapping", "commands"),
    [
        ({"T001": "by id", "[US1]": "by marker", "Phase 2": "by phase"}, ["by id"]),
        ({"[US1]": "by marker", "Phase 2": "by phase"}, ["by marker"]),
        ({"US1": "by marker"}, ["by marker"]),
        ({"phase 2": "by phase"}, ["by phase"]),
        ({"Phase 2: Core": "by phase"}, ["by phase"]),
        ({"Phase": "too vague is still a phase"}, ["too vague is still a phase"]),
        ({"Phas": "half a word"}, []),
        ({"[US2]": "another", "T002": "another", "Phase 22": "another"}, []),
        ({"T001": ["first", "second"]}, ["first", "second"]),
    ],
)
def test_a_task_without_verify_takes_its_command_from_the_mapping(
    mapping: dict[str, str], commands: list[str]
) -> None:
    spec = Spec.parse("## Phase 2: Core\n- [ ] T001 [US1] a\n", verify=mapping)
    assert [check.command for check in spec["T001"].verify.checks] == commands


def test_a_verify_field_and_the_front_matter_win_over_the_mapping() -> None:
    source = (
        "---\nralph:\n  verify:\n    T002: mine\n---\n- [ ] T001 a\n  - **Verify**: look\n"
        "- [ ] T002 b\n"
    )
    spec = Spec.parse(source, verify={"T001": "x", "T002": "y"})
    assert spec["T001"].verify.manual == "look"
    assert [check.command for check in spec["T002"].verify.checks] == ["mine"]


def test_the_text_of_verify_is_kept_as_written() -> None:
    body = "\n    ```bash\n    make\n      all\n    ```\n    Expected: 3"
    task = Spec.parse(f"- [ ] 1.1 a\n  - **Verify**:{body}\n  - **Commit**: x\n")["1.1"]
    assert task.verify.text == body
    assert task.fields["Verify"] == "```bash\nmake\n  all\n```\nExpected: 3"


@pytest.mark.parametrize(
    ("source", "ids"),
    [
        ("## Task 1: Group\n- [ ] 1.1 a\n- [ ] 1.2 b\n", ["1.1", "1.2"]),
        ("## Task 1: Group\n**Verify**: `x`\n- [ ] 1.1 a\n", ["1", "1.1"]),
        ("## 1. Section\ntext\n## 2. Section\n**Verify**: `x`\n", ["2."]),
        ("### Task 1: a\n- [ ] **Step 1: b**\n- [ ] Step 2: c\n### Task 2: d\n", ["1", "2"]),
        ("- [ ] 1. a\n  - [ ] 1.1 b\n    - **Verify**: `x`\n  - [ ] done\n", ["1.", "1.1"]),
        ("- [ ] SC-1 is met\n  - **Verify**: `x`\n- [ ] SC-2 is met\n", ["SC-1"]),
        ("- [ ] Just a title\n  - **Do**: it\n", ["just-a-title"]),
        (
            (
                "**Task 1.1: a**\n- **Verify**: `x`\n\n**Task 1.2: b** ✅\n- **Do**: y\n\n"
                "**Task 2: c**\ntext\n"
            ),
            ["1.1", "1.2"],
        ),
        (
            (
                "*   **Task 1.1: a**\n    *   **Verify:** `x`\n*   **Task 1.2: b**\n"
                "    *   **Do:** y\n"
            ),
            ["1.1", "1.2"],
        ),
        ("**Task 1: a group**\n- [ ] 1.1 b\n  - **Verify**: `x`\n", ["1.1"]),
        ("### 1.1 a\n**Do**: x\n**Task 2 is about** it\n**Verify**: `y`\n", ["1.1"]),
        ("**Task 1.1: a**\n---\n- **Verify**: `x`\n", ["1.1"]),
        (
            "### 0.3 a group\n- [ ] **one**\n  - Verify: `x`\n- [ ] **two**\n  - Verify: `y`\n",
            ["one", "two"],
        ),
        ("### 0.3 a task\n- [ ] a criterion\n\n**Verify**: `x`\n", ["0.3"]),
        (
            "### [01-02] a\n**Verify**: `x`\n\n### [P7-001] b\n- **Verify**: `y`\n",
            ["01-02", "P7-001"],
        ),
        ("- [ ] [P1] a wish\n- [ ] [US2] another\n", []),
        (
            "## A\n### T5.4 a\n**Verify**: `x`\n### T5.5 b\n- [ ] run it\n## B\n### T9 c\ntext\n",
            ["T5.4", "T5.5"],
        ),
        (
            "## A\n### Step 1: a\n**Verify**: `x`\n### Step 2: b\ntext\n## B\n### Step 1: c\n",
            ["1", "2"],
        ),
        ("## 1. Overview\ntext\n## 2. Work\n**Verify**: `x`\n", ["2."]),
        (
            "### Task 1: a\n#### Step 1: b\n- [ ] note\n#### Step 2: c\n**Verify**: `x`\n",
            ["1"],
        ),
        ("### 1.2 a\n- [ ] b\n- [ ] **Verify:** `x`\n", ["1.2"]),
        ("- [ ] 1.1 a\n  - [ ] b — verify: `x`\n- [ ] c — verify: `y`\n", ["1.1", "c-verify-y"]),
        ("# Task 014: a plan\n## Task 7: b\n- [ ] **Step 1: c**\n## Task 8: d\n", ["7", "8"]),
        (
            "# S1: a\n## Verify\nc\n\n<tasks>\n- [ ] **T1**: b\n  - Verify: `x`\n</tasks>",
            ["T1"],
        ),
        ("# M1 · a plan\n**Depends on:** -\n### T01 · b\n- Verify: `x`\n", ["T01"]),
        ("# Task 1: a\n**Verify**: `x`\n- [ ] b\n", ["1"]),
        ("### Task 1: a\n#### Steps\n- [ ] b\n- [ ] c\n**Verify**: `x`\n", ["1"]),
        (
            "## T0 — A\n### T0.1 · b\n**Do:** x\n### T0.2 · c\n## T1 — d\n**Verify**: `x`\n",
            ["T0.1", "T0.2", "T1"],
        ),
    ],
)
def test_what_counts_as_a_task(source: str, ids: list[str]) -> None:
    assert [task.id for task in Spec.parse(source).tasks] == ids


def test_fields_set_apart_from_their_box_by_a_paragraph_are_still_its_own() -> None:
    one = (
        "- [ ] T1.{0} a\n\nWhy it is done.\n\n  - **Exit criterion**: x\n"
        "  - **Verify**: `make {0}`\n\n"
    )
    tasks = Spec.parse(one.format(1) + one.format(2)).tasks
    assert [[check.command for check in task.verify.checks] for task in tasks] == [
        ["make 1"],
        ["make 2"],
    ]


@pytest.mark.parametrize("label", ["  - **Verify**:", "\n**Verify**:"])
def test_a_fence_at_the_margin_belongs_to_the_field_above(label: str) -> None:
    spec = Spec.parse(f"- [ ] 1.1 a\n{label}\n\n```bash\n# both\nmake a b\n```\n\nProse\n")

    (check,) = spec["1.1"].verify.checks
    assert check.command == "# both\nmake a b"


def test_a_result_beside_the_verify_field_is_about_it() -> None:
    spec = Spec.parse("- [ ] 1.1 a\n  - **Verify**: `grep -c x f`\n  - Expected: 3\n")

    (check,) = spec["1.1"].verify.checks
    assert check.expect


@pytest.mark.parametrize("between", ["## End\n\n", "- other\n\n", "| a |\n", "1. other\n\n"])
def test_fields_past_something_else_are_not_those_of_the_task_above(between: str) -> None:
    assert (
        Spec.parse(f"- [ ] 1.1 a\n\n{between}  - **Verify**: `make`\n")["1.1"].verify.checks == ()
    )


def test_a_parent_keeps_its_own_fields_and_spans_its_children() -> None:
    spec = Spec.parse(
        "- [ ] 1. a\n  - **Verify**: `p`\n  - [ ] 1.1 b\n    - **Verify**: `c`\n\n- [ ] 2. c\n"
    )
    assert [check.command for task in spec.tasks for check in task.verify.checks] == ["p", "c"]
    assert [(task.line, task.end_line) for task in spec.tasks] == [(1, 4), (3, 4), (6, 6)]


def test_bold_task_keeps_its_fields_after_a_fix() -> None:
    source = (
        "## Phase 2\n\n**Task 1.1: a** ✅\n- **Verify**: `x`\n\n**Task 1.2: b**\n"
        "- **Verify**: `y`\n\n## End\n"
    )
    first, second = Spec.parse(source).tasks
    assert (first.title, first.checked, first.phase, second.checked) == (
        "a",
        True,
        "Phase 2",
        False,
    )
    block = "- [ ] 1.1.1 [FIX 1.1] Fix: it\n  - **Verify**: `x`"
    fixed = insertion(Spec.parse(source), first, block).into(source)
    assert [(task.id, task.verify.text) for task in Spec.parse(fixed).tasks] == [
        ("1.1", "`x`"),
        ("1.1.1", "`x`"),
        ("1.2", "`y`"),
    ]


@pytest.mark.parametrize(
    "head", ["- [x] ### Task {}: a", "- ### [x] {} a", "### [x] {} a", "### Task {}: a ✓"]
)
def test_a_section_is_a_task_however_its_heading_is_boxed(head: str) -> None:
    body = (
        "\n\n**Steps to do**:\n1. one\n\n**Verify**: all pass:\n- `make {}`\n- `make check`\n\n"
        "---\n\n"
    )
    source = "## Phase 1\n\n" + "".join(
        f"{head}{body}".format(number, number) for number in ("1.1", "1.2")
    )
    tasks = Spec.parse(source).tasks
    assert [(task.id, task.title, task.checked) for task in tasks] == [
        ("1.1", "a", True),
        ("1.2", "a", True),
    ]
    assert [[check.command for check in task.verify.checks] for task in tasks] == [
        ["make 1.1", "make check"],
        ["make 1.2", "make check"],
    ]


@pytest.mark.parametrize(
    ("head", "checked"), [("### [ ] 1.1 a", False), ("### 1.1 a [ ]", False), ("### 1.1 a", True)]
)
def test_ticked_boxes_below_a_heading_count_only_where_it_has_none(
    head: str, *, checked: bool
) -> None:
    (task,) = Spec.parse(f"{head}\n\n- **Verify**: `x`\n\n- [x] one\n- [x] two\n").tasks
    assert task.checked is checked


def test_a_task_under_a_heading_is_in_the_phase_above_it() -> None:
    source = (
        "# Plan\n\n## Overview\n\nWords.\n\n## Phase 1: A\n\n### 1 First\n\n- **Verify**: `a`\n\n"
        "### 2 Second\n\n- **Verify**: `b`\n\n## [ ] 3 Third\n\n- **Verify**: `c`\n"
    )
    assert [(task.id, task.phase) for task in Spec.parse(source).tasks] == [
        ("1", "Phase 1: A"),
        ("2", "Phase 1: A"),
        ("3", ""),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n"])
def test_a_carriage_return_within_a_line_does_not_end_it(end: str) -> None:
    lines = ["- [ ] 1.1 a\r- [ ] 1.2 b", "  - **Verify**: `a`", "- [ ] 1.3 c", ""]
    tasks = Spec.parse(end.join(lines)).tasks
    assert [(task.name, task.line, task.end_line) for task in tasks] == [
        ("1.1", 1, 2),
        ("1.3", 3, 3),
    ]


def test_ticking_a_heading_makes_no_other_heading_a_task() -> None:
    source = "### T1 a\n\n### [{}] T2 b\n\n- **Verify**: `b`\n"
    names = [[task.id for task in Spec.parse(source.format(mark)).tasks] for mark in " x"]
    assert names == [["T1", "T2"], ["T1", "T2"]]


@pytest.mark.parametrize("indent", ["    ", "\t"])
def test_a_here_document_at_the_margin_stays_in_its_fence(indent: str) -> None:
    source = (
        "- [ ] 1.1 a\n@- **Verify**:\n\n@@```sh\n@@cat <<EOF\n# text\nEOF\n@@```\n\n- [ ] 1.2 b\n"
    )
    first, second = Spec.parse(source.replace("@", indent)).tasks
    assert first.end_line == 8
    assert second.id == "1.2"


def test_the_verify_of_a_child_is_not_that_of_its_parent() -> None:
    source = "- [ ] T1 a\n\n  - [ ] AC-1 b\n    - **Verify**: `x`\n\n- [ ] T2 c\n"
    assert [(task.id, task.verify.text) for task in Spec.parse(source).tasks] == [
        ("T1", ""),
        ("AC-1", "`x`"),
        ("T2", ""),
    ]


def test_a_field_behind_the_last_child_beside_the_children_is_that_of_the_parent() -> None:
    source = "- [ ] Task {0}: a\n  - [ ] {0}.1 b\n  - [ ] {0}.2 c\n  - **Verify**: `make {0}`\n\n"
    tasks = Spec.parse(source.format(1) + source.format(2)).tasks
    assert [(task.id, [check.command for check in task.verify.checks]) for task in tasks] == [
        ("1", ["make 1"]),
        ("1.1", []),
        ("1.2", []),
        ("2", ["make 2"]),
        ("2.1", []),
        ("2.2", []),
    ]


def test_fields_behind_each_child_beside_it_are_its_own() -> None:
    source = "- [ ] 1. a\n  - [ ] 1.1 b\n  - **Verify**: `x`\n  - [ ] 1.2 c\n  - **Verify**: `y`\n"
    assert [
        [check.command for check in task.verify.checks] for task in Spec.parse(source).tasks
    ] == [[], ["x"], ["y"]]


@pytest.mark.parametrize("title", ["Dependencies", "Verification", "Files"])
def test_a_section_behind_the_last_task_is_no_field(title: str) -> None:
    spec = Spec.parse(f"## Phase 1\n\n{ONE}\n## {title}\n\n```text\n1.1 -> 1.2\n```\n")
    assert spec["1.1"].fields == {"Verify": "`true`"}
