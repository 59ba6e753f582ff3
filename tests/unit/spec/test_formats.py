"""Tasks and checks in formats other than fields below a checkbox."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.spec.document import Spec

if TYPE_CHECKING:
    from pytest_ralph.verify.model import Verify


def commands(source: str) -> list[str]:
    return [check.command for task in Spec.parse(source).tasks for check in task.verify.checks]


@pytest.mark.parametrize(
    "expected",
    [
        'FAIL with "no module"',
        "FAILED (ImportError)",
        "Tests fail because the function is missing",
        "The new test fails",
        "2 failed, 1 passed",
        "**FAIL**",
        "compilation error",
        "`ModuleNotFoundError`: No module named x",
        "should fail",
    ],
)
def test_a_step_that_has_to_fail_is_no_check(expected: str) -> None:
    assert commands(f"### Task 1: A\n\nRun: `pytest -q`\nExpected: {expected}\n") == []


@pytest.mark.parametrize(
    "expected", ["PASS", "no errors", "0 failures", "All tests pass", "3 passed", "0 failed", "ok"]
)
def test_a_step_that_has_to_succeed_is_a_check(expected: str) -> None:
    assert commands(f"### Task 1: A\n\nRun: `pytest -q`\nExpected: {expected}\n") == ["pytest -q"]


@pytest.mark.parametrize(
    "step",
    [
        "Run: `make`\n\nExpected: PASS",
        "- Run: `make`\n- Expected: PASS",
        "**Run:** `make`\n**Expected:** PASS",
        "**Run**: `make`\n**Expected**: PASS",
        "Run: make\nExpected: exit 0",
        "- **Run:** make\n- **Expected:** PASS",
        "**Run**: make\n\n**Expected**: PASS",
        "Run:\n\n```bash\nmake\n```\n\nExpected: PASS",
        "Run the tests:\n```\nmake\n```\nExpected output: PASS",
        "```sh\nmake\n```\n\n**Expected**: PASS",
        "Run (no network needed, bash):\n`make`\nExpected: PASS",
        "Run:\n`make`\n\nExpected: PASS",
        "Run (bash): `make`\nExpected (after step 2): PASS",
        "**Run (bash):** `make`\n**Expected (after step 2):** PASS",
        "**Run** (bash): `make`\n**Expected** (after step 2): PASS",
        "Run (bash): make\nExpected output (stdout): PASS",
    ],
)
def test_a_step_is_written_in_many_ways(step: str) -> None:
    assert commands(f"## Task 1: A\n\nDo it.\n\n{step}\n") == ["make"]


@pytest.mark.parametrize(
    "run",
    [
        "Run (by hand): `make`",
        "Run (optional): `make`",
        "Run (if there is a phone):\n`make`",
        "Run this only if there is a phone:\n\n```bash\nmake\n```",
    ],
)
def test_a_step_that_is_left_to_a_person_is_reported(run: str) -> None:
    (task,) = Spec.parse(f"### Task 1: A\n\n{run}\nExpected: PASS\n").tasks
    assert task.verify.manual
    assert task.verify.checks == ()


def test_a_step_that_commits_behind_a_check_is_reported() -> None:
    steps = "Run: `make`\nExpected: PASS\n\nRun: `git commit -am x`\nExpected: one commit\n"
    (task,) = Spec.parse(f"### Task 1: A\n\n{steps}").tasks
    assert task.verify.describe() == "make"
    assert "`git commit -am x`" in task.verify.unread


@pytest.mark.parametrize("run", ["the whole suite", "it again", "all of the tests above"])
def test_a_step_in_prose_is_no_check(run: str) -> None:
    (task,) = Spec.parse(f"### Task 1: A\n\nRun: {run}\nExpected: PASS\n").tasks
    assert task.verify.describe() == "no Verify field"


def test_a_step_with_a_placeholder_is_reported() -> None:
    steps = "Run: `make`\nExpected: PASS\n\nRun: `cat test_<name>.py`\nExpected: PASS\n"
    (task,) = Spec.parse(f"### Task 1: A\n\n{steps}").tasks
    assert task.verify.describe() == "make"
    assert task.verify.unread == ("`cat test_<name>.py`",)


@pytest.mark.parametrize(
    "task",
    [
        "- [ ] 1.1 A\n  <verify>make</verify>\n",
        "- [ ] 1.1 A\n  - **Do**: Write it.\n  - <verify>make</verify>\n",
        "### Task 1: A\n\n<verify>make</verify>\n",
        "### Task 1: A\n\nWrite it.\n\n<verify>\n  `make`\n</verify>\n\nMore.\n",
        "### Task 1: A\n\n<verify>\n```bash\nmake\n```\n</verify>\n",
        "### Task 1: A\n\n<verify><automated>make</automated></verify>\n",
        "### Task 1: A\n\n```xml\n<verify>ls</verify>\n```\n\n<verify>make</verify>\n",
    ],
)
def test_a_verify_field_may_be_an_element(task: str) -> None:
    assert commands(task) == ["make"]


@pytest.mark.parametrize(
    "text",
    [
        "```xml\n<verify>make</verify>\n```",
        "<!--\n<verify>make</verify>\n-->",
        "Put `<verify>make</verify>` into the page.",
        "<verify>make",
    ],
)
def test_an_example_of_a_verify_element_is_none(text: str) -> None:
    assert commands(f"### Task 1: A\n\n{text}\n") == []


def test_a_verify_field_beats_a_verify_element() -> None:
    assert commands("- [ ] 1.1 A\n  - **Verify**: `make`\n  <verify>ls</verify>\n") == ["make"]


@pytest.mark.parametrize(
    "task",
    [
        "- [ ] 1.1 A\n\n  > **Verify**: `make`\n",
        "- [ ] T001 A\n  > Verify: `make`\n",
        "### Task 1: A\n\n> Write it.\n>\n> **Verify**: `make`\n\nMore.\n",
    ],
)
def test_a_verify_field_may_be_quoted(task: str) -> None:
    assert commands(task) == ["make"]


@pytest.mark.parametrize(
    "step",
    [
        "Run: `make`",
        "```python\nmake()\n```\n\nExpected: PASS",
        "Run: `make`\n\nThen look.\n\nExpected: PASS",
        "Expected: PASS",
    ],
)
def test_a_command_without_expectation_is_no_check(step: str) -> None:
    assert commands(f"## Task 1: A\n\n{step}\n") == []


def test_a_verify_field_beats_the_steps() -> None:
    source = "### Task 1: A\n\nRun: `a.sh`\nExpected: PASS\n\n**Verify**: `make check`\n"
    assert commands(source) == ["make check"]


def test_a_file_that_is_to_be_verified_hides_no_steps() -> None:
    files = "**Files:**\n- Modify: `src/main.ts`\n- Verify: `src/menu.ts`\n"
    assert commands(f"### Task 3: Prices\n\n{files}\nRun: `npm test`\nExpected: PASS\n") == [
        "npm test"
    ]


@pytest.mark.parametrize(
    ("column", "text"), [("Expect", "stdout == 3"), ("Expected", "3"), ("Expected output", "`3`")]
)
def test_a_column_may_state_the_expectation(column: str, text: str) -> None:
    rows = f"| # | Verify | {column} |\n|---|---|---|\n| 1 | `make n` | {text} |\n"
    other = "| 2 | `make m` | – |\n"
    first, second = Spec.parse(rows + other).tasks
    assert first.verify.describe() == "make n, stdout == 3"
    assert second.verify.describe() == "make m"


@pytest.mark.parametrize(
    "table",
    [
        "| Tool | Verify |\n|---|---|\n| rg | `rg --version` |\n",
        "| # | Task |\n|---|---|\n| 1 | A |\n",
        "```\n| # | Verify |\n|---|---|\n| 1 | `make` |\n```\n",
        "| # | Verify |\n| 1 | `make` |\n",
        "- [ ] 1.1 A\n  - **Verify**: `true`\n\n| # | Verify |\n|---|---|\n| 1 | `make` |\n",
    ],
)
def test_other_tables_hold_no_tasks(table: str) -> None:
    assert "make" not in commands(table)
    assert len(Spec.parse(table).tasks) == table.count("- [ ]")


TABLE = (
    "| # | Step | Verify |\n|---|---|---|\n| 1.1 | Mix | `mix.sh` |\n| 1.2 | Bake | `bake.sh` |\n"
)


def test_a_table_below_a_task_heading_holds_tasks() -> None:
    tasks = Spec.parse(
        f"### Task 1: Bread\n\nTwo steps.\n\n{TABLE}\n### Task 2: Tea\n\nBrew.\n"
    ).tasks
    assert [task.id for task in tasks] == ["1.1", "1.2", "2"]
    assert [check.command for task in tasks for check in task.verify.checks] == [
        "mix.sh",
        "bake.sh",
    ]


def test_a_table_below_a_verified_task_holds_none() -> None:
    tasks = Spec.parse(f"### Task 1: Bread\n\n**Verify**: `eat.sh`\n\n{TABLE}").tasks
    assert [task.id for task in tasks] == ["1"]


def test_a_row_of_a_small_table_is_a_verify_field() -> None:
    table = "| Field | Value |\n|---|---|\n| **Verify** | `ls \\| wc -l` returns 3 |\n"
    assert commands(f"### Task 1: Bread\n\n{table}") == ["ls | wc -l"]


def test_phases_with_tasks_are_no_tasks() -> None:
    source = "## Phase 1: A\n\n- [ ] 1.1 B\n  - **Verify**: `true`\n\n**Verify**: `make`\n"
    assert [task.id for task in Spec.parse(source).tasks] == ["1.1"]


def test_an_xml_task_has_its_id_attribute_or_number() -> None:
    verify = "<verify>`make`</verify>\n</task>\n"
    source = f'<task id="01-02">\n{verify}\n<task>\n<name>Add it</name>\n{verify}'
    tasks = Spec.parse(source).tasks
    assert [(task.id, task.title) for task in tasks] == [("01-02", ""), ("2", "Add it")]


def test_a_box_in_an_xml_task_is_part_of_it() -> None:
    element = (
        "<task>\n<action>\n\n- [ ] 1.1 Add it\n\n</action>\n<verify>`make`</verify>\n</task>\n"
    )

    assert [task.id for task in Spec.parse(element).tasks] == ["1"]


def test_an_example_of_an_xml_task_is_no_task() -> None:
    assert commands("```xml\n<task>\n<verify>`make`</verify>\n</task>\n```\n") == []


@pytest.mark.parametrize(
    ("verify", "found"),
    [
        ("All commands exit 0", ["make lint && make test"]),
        ("Every command passes", ["make lint && make test"]),
        ("All checks pass", []),
    ],
)
def test_a_checkpoint_names_commands_in_its_title(verify: str, found: list[str]) -> None:
    title = "- [ ] 1.3 [VERIFY] Quality checkpoint: make lint && make test"
    fields = f"  - **Do**: Run all of it\n  - **Verify**: {verify}"
    assert commands(f"# Tasks\n\n{title}\n{fields}\n") == found


def checkpoint(verify: str, do: str, title: str = "Local quality check") -> Verify:
    source = f"- [ ] 4.1 {title}\n  - **Do**: {do}\n  - **Verify**: {verify}\n"
    [task] = Spec.parse(source).tasks
    return task.verify


@pytest.mark.parametrize(
    ("verify", "found"),
    [
        ("All commands pass with no errors", 2),
        ("All commands above exit 0", 2),
        ("both commands must exit with code 0.", 2),
        ("All two of the commands succeed ✅", 2),
        ("The commands above all pass", 2),
        ("Run all 2 commands and check their exit codes", 2),
        ("All 3 commands exit 0", 0),
        ("All commands pass, and the page loads", 0),
        ("All scripts pass", 0),
    ],
)
def test_a_checkpoint_names_commands_in_its_do_field(verify: str, found: int) -> None:
    read = checkpoint(verify, "Run `make lint`, `make test`. Fix any issues.")
    assert [check.command for check in read.checks] == ["make lint", "make test"][:found]


def test_what_a_checkpoint_says_further_is_unread() -> None:
    read = checkpoint("All commands exit 0; one known warning", "Run `make lint`")
    assert (read.describe(), read.unread) == ("make lint", ("one known warning",))


def test_expected_output_of_a_checkpoint_is_that_of_its_steps() -> None:
    do = """
    1. Count: `grep -c Pass log.txt` -- returns 3
    2. `./total.sh` returns ~203
    3. Reject: `./total.sh --bogus` exits non-zero"""
    read = checkpoint("All commands pass with expected output", do)
    assert read.describe() == (
        "grep -c Pass log.txt, stdout == 3 and ./total.sh and "
        "./total.sh --bogus, exit status nonzero"
    )
    assert read.unread == ("returns ~203",)


def test_a_step_that_changes_something_is_no_check_of_a_checkpoint() -> None:
    do = """
    1. `npm ci`
    2. `mkdir -p out && cp a.txt out`
    3. `sed -i s/a/b/ out/a.txt`
    4. `cd web && npm run lint`
    5. `git add . && git commit -m "done"`
    6. `git diff --exit-code`
    7. `git push`
    8. `git tag v1.0.0`
    9. `pnpm lint`"""
    read = checkpoint("All commands exit 0", do)
    assert read.describe() == "cd web && npm run lint and git diff --exit-code and pnpm lint"


@pytest.mark.parametrize(
    ("do", "found"),
    [
        ("`pytest -k new` fails; write it; `pytest -k new` passes", "pytest -k new"),
        ("Run `npx eslint . --fix`, then `npm run lint`", "npm run lint"),
        ("Run `cargo fmt`", "cargo fmt"),
        ("Replace `pytest -q` with `pytest -n 2` in `tox.ini`", "manual: All commands pass"),
        ("Add a script that runs `npm test` to `ci.yml`", "manual: All commands pass"),
    ],
)
def test_only_what_checks_something_counts_for_a_checkpoint(do: str, found: str) -> None:
    assert checkpoint("All commands pass", do).describe() == found


def test_a_checkpoint_that_counts_its_commands_counts_formatters() -> None:
    read = checkpoint("Both commands pass", "Run `cargo fmt` and `cargo test`")
    assert read.describe() == "cargo fmt and cargo test"


def test_the_commands_of_a_checklist_of_criteria_are_run() -> None:
    read = checkpoint("All commands above exit 0", "AC-1.1: `make test`", "AC checklist")
    assert read.describe() == "make test"


def test_a_checkpoint_without_a_do_field_names_the_items_above_its_fields() -> None:
    source = (
        "- [x] **T-03** Quality gates\n"
        "  - `make lint` — zero lints\n"
        "  - `make test` — all 204 tests pass\n"
        "  - **Progress**: `make slow` was run\n"
        "  - **Verify**: all two commands exit 0\n"
    )
    assert commands(source) == ["make lint", "make test"]


@pytest.mark.parametrize(
    ("verify", "unread"),
    [
        ("Exit code is `0`.", ()),
        ("exit status 0", ()),
        ("exits with 0", ()),
        ("выход 0", ()),
        ("Exit code 0; no new findings", ("no new findings",)),
    ],
)
def test_an_exit_status_alone_is_that_of_the_title(verify: str, unread: tuple[str, ...]) -> None:
    [task] = Spec.parse(f"- [ ] 1.1 Run `make lint`\n  - **Verify**: {verify}\n").tasks
    assert [check.command for check in task.verify.checks] == ["make lint"]
    assert task.verify.unread == unread


@pytest.mark.parametrize(
    ("headings", "found"),
    [
        (("### V-T1: Run lint", "### V-T2: Look", "### V-T3: Check"), ["V-T1", "V-T2", "V-T3"]),
        (("### US2-T1: A", "### US2-T2: B", "### US3-T1: C"), ["US2-T1", "US2-T2", "US3-T1"]),
        (("#### V-T1: A", "### V-T2: B", "### V-T3: C"), ["V-T2", "V-T3"]),
        (("### FR-1: A", "### V-A1: B", "### V-T3: C"), ["V-T3"]),
        (("### 1. Overview", "### Notes", "### V-T3: C"), ["V-T3"]),
    ],
)
def test_headings_beside_tasks_with_the_same_kind_of_id_are_tasks(
    headings: tuple[str, str, str], found: list[str]
) -> None:
    first, second, third = headings
    source = (
        "## Archive\n\n"
        f"{first}\n- Command: `make lint`\n\n{second}\n- Run `make docs`\n\n"
        f"{third}\n- Verify: `make test`\n"
    )
    tasks = Spec.parse(source).tasks
    assert [task.id for task in tasks] == found
    assert [task.verify.describe() for task in tasks] == [
        *["no Verify field"] * (len(found) - 1),
        "make test",
    ]


def test_a_heading_and_its_only_box_are_one_task() -> None:
    source = (
        "### Task 1: Read\n\n- [ ] Read the rows\n  - **Verify**: `make a`\n\n"
        "### Task 2: Write\n\n- [ ] Write the rows\n  - **Verify**: `make b`\n"
    )
    found = [(task.id, task.title, task.verify.describe()) for task in Spec.parse(source).tasks]
    assert found == [("1", "Read", "make a"), ("2", "Write", "make b")]


def test_two_boxes_below_a_heading_are_tasks() -> None:
    boxes = "- [ ] Read\n  - **Verify**: `make a`\n- [ ] Write\n  - **Verify**: `make b`\n"
    tasks = Spec.parse(f"### Task 1: Copy\n\n{boxes}").tasks
    assert [task.title for task in tasks][-2:] == ["Read", "Write"]


@pytest.mark.parametrize(
    ("title", "found"),
    [
        ("Add it. Verify: it compiles (`make a`).", "make a"),
        ("Add it to the\n  list. Verify: `make a` passes.", "make a"),
        ("Add it to the\n  list. **Verify**: `make a`.", "make a"),
        ("Add it\n  - and say so. Verify: `make a` passes.", "no Verify field"),
        ("Add it. Verify: the page loads", "manual: the page loads"),
        ("Verify: the page loads", "manual: the page loads"),
        ("验证:`make a` 通过", "make a"),
        ("Verify the page", "no Verify field"),
    ],
)
def test_a_title_may_end_with_its_verify(title: str, found: str) -> None:
    [task] = Spec.parse(f"- [ ] 1.1 {title}\n").tasks
    assert task.verify.describe() == found


def test_a_mapped_command_wins_over_words_in_a_title() -> None:
    source = "- [ ] T001 Verify: the page loads\n- [ ] T002 Verify: `make b`\n"
    tasks = Spec.parse(source, verify={"T001": "make a", "T002": "make a"}).tasks
    assert [task.verify.describe() for task in tasks] == ["make a", "make b"]


def test_words_behind_a_title_do_not_make_a_box_a_task() -> None:
    source = "- [ ] Add the guide. Verify: it reads well\n- [ ] 1.1 Go on\n"
    assert [task.id for task in Spec.parse(source).tasks] == ["1.1"]


@pytest.mark.parametrize("word", ["Slice", "Checkpoint", "Fix", "Tarea", "Micro-Task"])
def test_numbered_headings_with_verify_are_tasks(word: str) -> None:
    source = (
        "# Plan 7\n\n## Phase 1\n\n"
        f"### {word} B1: Read\n\n**Verify**: `make a`\n\n"
        f"### {word} 1.2 — Write\n\n**Verify**: `make b`\n"
    )
    found = [(task.id, task.title, task.verify.describe()) for task in Spec.parse(source).tasks]
    assert found == [("B1", "Read", "make a"), ("1.2", "Write", "make b")]


def test_the_title_of_a_document_may_be_its_only_task() -> None:
    source = "# Micro-Job 1.3: Write it\n\n## Info\n- **Verify**: `make a`\n\n- [ ] It is there\n"
    [task] = Spec.parse(source).tasks
    assert (task.id, task.title, task.verify.describe()) == ("1.3", "Write it", "make a")


@pytest.mark.parametrize(
    ("items", "found"),
    [
        ("1. Read → verify: `make a`\n2. Write\n   **Verify**: `make b`\n", ["1.", "2."]),
        ("1) Read\n   - Verify: `make a`\n", ["1"]),
        ("- **T1** Read\n  - Verify: `make a`\n- ✅ 1.2 Write → verify: it is\n", ["T1", "1.2"]),
        ("1. Read\n2. Write\n3. Look → verify: `make a`\n", []),
        ("1. Read\n2. Write\n\n**Verify**: `make a`\n", []),
        ("1. Read\n2. Verify: `make a`\n", []),
        ("- FR-1 Read\n  - Verify: `make a`\n", []),
        ("- Read\n  - Verify: `make a`\n", []),
        ("```\n1. Read → verify: `make a`\n```\n", []),
        ("- [ ] 1.1 Go\n\n## Steps\n\n1. Read → verify: `make a`\n", ["1.1"]),
        ("### Task 7: Go\n\n1. Read → verify: `make a`\n", ["7"]),
        ("### Step 7: Go\n\n1. Read\n   - Verify: `make a`\n", ["7"]),
    ],
)
def test_list_items_with_verify_are_tasks_if_there_are_no_others(
    items: str, found: list[str]
) -> None:
    assert [task.id for task in Spec.parse(f"# Plan\n\n{items}").tasks] == found


@pytest.mark.parametrize(
    ("numbers", "own", "found"),
    [
        ((1, 2), "", ["1.", "2."]),
        # A fix has the id of its task, so ids should not be used twice.
        ((1, 1), "", ["4", "5"]),
        ((1, 2), "**Verify**: `make c`\n\n", ["4", "5"]),
    ],
)
@pytest.mark.parametrize("heading", ["## Phase", "### P"])
def test_headings_over_verified_items_only_group_them(
    heading: str, numbers: tuple[int, int], own: str, found: list[str]
) -> None:
    heading = heading + " " if heading.endswith("Phase") else heading
    source = (
        f"{heading}4: Read\n\n{own}{numbers[0]}. Go\n   - Verify: `make a`\n\n"
        f"{heading}5: Write\n\n{numbers[1]}. Stop\n   - Verify: `make b`\n"
    )
    ids = [task.id.removeprefix("P") for task in Spec.parse(source).tasks]
    assert ids == found


def test_headings_with_ids_of_tasks_need_no_fields_if_there_are_no_others() -> None:
    source = "# Work\n\n## T1 — Read\n\n**Output**: a\n\n## T2 — Write\n\n## Notes\n"
    assert [task.id for task in Spec.parse(source).tasks] == ["T1", "T2"]
    assert not Spec.parse(source.replace("T2", "On")).tasks


def test_verify_fields_may_stand_below_the_criteria_of_a_task() -> None:
    source = (
        "### Task 1: Guide\n"
        "- **Acceptance**:\n"
        "  - **Names the unit**\n"
        "    - **verify**: `grep -c pound guide.md`\n"
        "    - **expected**: `>=1`\n"
        "  - **Names the date**\n"
        "    - **verify**: `grep -c 1986 guide.md`\n"
        "    - **expected**: 2\n"
        "- **Risk**: none\n"
    )
    [task] = Spec.parse(source).tasks
    assert task.verify.describe() == (
        "grep -c pound guide.md, stdout >= 1 and grep -c 1986 guide.md, stdout == 2"
    )
    assert task.verify.unread == ()


def test_words_of_one_verify_field_are_not_about_another() -> None:
    fields = "  - **Verify**: `make a` passes\n  - **Verify**: the page looks good\n"
    [task] = Spec.parse(f"- [ ] 1.1 a\n{fields}").tasks
    assert task.verify.describe() == "make a"
    assert task.verify.unread == ("the page looks good",)


def test_alternatives_among_other_verify_fields_are_reported() -> None:
    fields = "  - **Verify**: `make a` or `make b`\n  - **Verify**: `make c`\n  - **Expected**: 0\n"
    [task] = Spec.parse(f"- [ ] 1.1 a\n{fields}").tasks
    assert task.verify.describe() == "make c, exit status == 0"
    assert task.verify.unread == ("make a or make b",)


@pytest.mark.parametrize("label", ["Done when", "Do"])
def test_a_verify_in_another_field_is_found(label: str) -> None:
    field = f"  - **{label}**: It is there. Verify with: `grep -c a f` returning at least 3.\n"
    [task] = Spec.parse(f"- [ ] 1.1 a\n{field}").tasks
    assert task.verify.describe() == "grep -c a f, stdout >= 3"


def test_a_box_with_a_verify_on_its_line_is_a_task() -> None:
    [task] = Spec.parse("- [ ] Add the guide | Verify: `make docs`\n- [ ] Add more\n").tasks
    assert (task.id, task.verify.describe()) == ("add-the-guide-verify-make-docs", "make docs")


def test_a_nested_box_with_a_verify_label_is_a_field() -> None:
    boxes = "- [ ] Read\n  - [ ] Write the reader\n  - [ ] **Verify:** `make a` passes\n"
    [task] = Spec.parse(f"## Slice 1\n\n{boxes}").tasks
    assert (task.title, task.verify.describe()) == ("Read", "make a")


@pytest.mark.parametrize(
    "source",
    [
        f"<task>\n<name>Task 1: A</name>\n<verify>x</verify>\n{'<done>' * 50_000}\n</task>\n",
        f"<task>\n<verify>{'<automated>' * 20_000}</verify>\n</task>\n",
        f"- [ ] 1.1 A\n\n{'  <!-- ' * 20_000}\n  <verify>`x`</verify>\n",
        f"| id | verify |\n|---|---|\n{' ' * 50_000}\n",
        "".join(
            f"### 1.{n} A\n\n| id | verify |\n|---|---|\n| T{n} | `x` |\n\n" for n in range(3_000)
        ),
    ],
    ids=["elements", "commands", "comments", "separator", "tables"],
)
def test_repetition_is_read_in_linear_time(source: str) -> None:
    started = time.process_time()
    Spec.parse(source)
    assert time.process_time() - started < 3
