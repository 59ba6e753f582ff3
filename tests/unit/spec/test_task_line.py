"""One line says id, markers, title and whether it is done."""

from __future__ import annotations

import pytest

from pytest_ralph.spec.task_line import (
    TaskLine,
    boxed_heading_level,
    read_checkbox,
    read_heading,
    slug,
)


@pytest.mark.parametrize(
    ("line", "task_id", "markers", "title"),
    [
        ("- [ ] 1.1 Add it", "1.1", (), "Add it"),
        ("* [x] 1.3.1 [FIX 1.3] Fix: it broke", "1.3.1", ("FIX 1.3",), "Fix: it broke"),
        ("+ [X] V4 [VERIFY] Check it", "V4", ("VERIFY",), "Check it"),
        ("- [ ] V-P1 [VERIFY] Check it", "V-P1", ("VERIFY",), "Check it"),
        ("- [ ] VE1 [VERIFY] E2E startup", "VE1", ("VERIFY",), "E2E startup"),
        ("- [ ] VF [VERIFY] Final", "VF", ("VERIFY",), "Final"),
        ("- [ ] T001 [P] [US1] Create x", "T001", ("P", "US1"), "Create x"),
        ("- [ ] T001A Create x", "T001A", (), "Create x"),
        ("- [ ] TXXX Polish", "TXXX", (), "Polish"),
        ("- [ ] 1. Start", "1.", (), "Start"),
        ("- [ ] 3.X Checkpoint", "3.X", (), "Checkpoint"),
        ("- [ ] 6.B.7 Odd", "6.B.7", (), "Odd"),
        ("- [ ] 6.0b Odd", "6.0b", (), "Odd"),
        ("- [ ] Q1.1 Odd", "Q1.1", (), "Odd"),
        ("- [ ] 2.1.fix1 Odd", "2.1.fix1", (), "Odd"),
        ("- [ ] A.1 Section", "A.1", (), "Section"),
        ("- [ ] **B.2.3**: Section", "B.2.3", (), "Section"),
        ("- [ ] V_last_a [VERIFY] V4 Check", "V_last_a", ("VERIFY",), "V4 Check"),
        ("- [ ] TASK-08: Dashed", "TASK-08", (), "Dashed"),
        ("- [ ] M31-T03 — Two parts", "M31-T03", (), "Two parts"),
        ("- [ ] US1-T03 — Of a story", "US1-T03", (), "Of a story"),
        ("- [ ] Story US1: Of users", "US1", (), "Of users"),
        ("- [ ] T007 [US1] In one", "T007", ("US1",), "In one"),
        ("- [ ] [US1] T007 In one", "T007", ("US1",), "In one"),
        ("- [ ] 1.3-fix Suffix", "1.3-fix", (), "Suffix"),
        ("- [ ] VE-cleanup [VERIFY] Stop", "VE-cleanup", ("VERIFY",), "Stop"),
        ("-[x] 1.2 Tight", "1.2", (), "Tight"),
        ("- [x]1.2 Tight", "1.2", (), "Tight"),
        ("- [ ]* 2.2 Optional", "2.2", (), "Optional"),
        ("- [ ] [T005][P] Bracketed", "T005", ("P",), "Bracketed"),
        ("- [ ] [P] 1.1 Marker first", "1.1", ("P",), "Marker first"),
        ("- [ ] 1.2 Marker last [P]", "1.2", ("P",), "Marker last"),
        ("- [ ] 4.5 V1 [VERIFY] Two names", "4.5", ("VERIFY",), "V1 Two names"),
        ("- [ ] 4.6 VE-LOGIN [VERIFY] Two names", "4.6", ("VERIFY",), "VE-LOGIN Two names"),
        ("- [ ] 1.6 Support [P] in the parser", "1.6", (), "Support [P] in the parser"),
        ("- [ ] **T001** [P] Bold id", "T001", ("P",), "Bold id"),
        ("- [ ] **1.4 All bold**", "1.4", (), "All bold"),
        ("- [x] **B1: All bold, letter**", "B1", (), "All bold, letter"),
        ("- [ ] **Task 2**: Bold task", "2", (), "Bold task"),
        ("- [ ] Task 3: Named", "3", (), "Named"),
        ("- [ ] Task 3. Named", "3", (), "Named"),
        ("- [ ] Task-4: Hyphen", "Task-4", (), "Hyphen"),
        ("- [x] ✅ 1.2 Emoji", "1.2", (), "Emoji"),
        ("- [ ] ~~1.4 Dropped~~", "1.4", (), "Dropped"),
        ("- [ ] 1.5 `code` first", "1.5", (), "`code` first"),
        ("- [ ] 1.5 __init__.py first", "1.5", (), "__init__.py first"),
        ("- [x] 1.1 .gitignore has dist", "1.1", (), ".gitignore has dist"),
        ("- [ ] 1.30 ./deploy.sh runs", "1.30", (), "./deploy.sh runs"),
        ("- [ ] `AB12-T001` Add it | Verify: `x`", "AB12-T001", (), "Add it | Verify: `x`"),
        ("- [ ] **T001** - ../shared is linked", "T001", (), "../shared is linked"),
        ("- [ ] 1.6: **.env** is read", "1.6", (), ".env is read"),
        ("- [ ] 1.7 --verbose prints more", "1.7", (), "--verbose prints more"),
        ("- [ ] 1.8 -- Two dashes", "1.8", (), "Two dashes"),
        ("- [ ] 1.9. Dot behind the id", "1.9", (), "Dot behind the id"),
    ],
)
def test_a_numbered_checkbox_is_a_task(
    line: str, task_id: str, markers: tuple[str, ...], title: str
) -> None:
    named = read_checkbox(line)
    assert named is not None
    assert (named.id, named.markers, named.title, named.certain) == (task_id, markers, title, True)


@pytest.mark.parametrize(
    "line",
    [
        "- [ ] All tests pass",
        "- [ ] 100% coverage",
        "- [ ] 3 retries at most",
        "- [ ] 1.5x faster than before",
        "- [ ] E2E tests pass",
        "- [ ] AC-1.1 is met",
        "- [ ] CI is green",
        "- [ ] TC-1.1: the form is shown",
        "- [ ] EC-2.1 is handled",
        "- [ ] **Q-3 answered** (2026-07-15): free tier",
        "- [ ] [the docs](docs.md) are updated",
        "- [ ] Step 1.1: Write it",
        "- [ ] SubTask 1.1: Write it",
        "- [ ] 1.1-1.4 are done",
        "- [ ] T001-T004 are done",
        "- [ ] UTF-8 everywhere",
        "- [ ] E.164 numbers are read",
        "- [ ] V_max is kept",
        "1. [ ] Numbered list",
    ],
)
def test_a_criterion_is_no_task_by_its_name_alone(line: str) -> None:
    named = read_checkbox(line)
    assert named is not None
    assert not named.certain


@pytest.mark.parametrize(
    "line", ["- plain item", "text [ ] 1.1", "- [link](x) 1.1", "## 1.1 heading", ""]
)
def test_a_line_without_a_box_is_no_checkbox(line: str) -> None:
    assert read_checkbox(line) is None


@pytest.mark.parametrize(
    ("mark", "checked"), [(" ", False), ("x", True), ("X", True), ("-", False), ("~", False)]
)
def test_only_a_cross_in_the_box_means_done(mark: str, checked: bool) -> None:
    named = read_checkbox(f"- [{mark}] 1.1 a")
    assert named is not None
    assert named.checked is checked


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("### Task 1.1: Foo", TaskLine("1.1", "Foo", certain=True)),
        ("### 1.2 [P] Bar", TaskLine("1.2", "Bar", markers=("P",), certain=True)),
        ("### [x] 3.6 Baz", TaskLine("3.6", "Baz", checked=True, certain=True)),
        ("### [ ] Z2: Baz", TaskLine("Z2", "Baz", certain=True)),
        (
            "### [VERIFY] Task 1.8 — Check",
            TaskLine("1.8", "Check", markers=("VERIFY",), certain=True),
        ),
        ("#### Task 1.9 — Models [x]", TaskLine("1.9", "Models", checked=True, certain=True)),
        ("### - [x] Task 2: Wire it", TaskLine("2", "Wire it", checked=True, certain=True)),
        ("### T2: [x] Wire it", TaskLine("T2", "Wire it", checked=True, certain=True)),
        ("### T-27 `[ ]` Wire it", TaskLine("T-27", "Wire it", certain=True)),
        ("### Task A.1 — Section", TaskLine("A.1", "Section", certain=True)),
        ("## 1. Setup", TaskLine("1.", "Setup")),
        ("### T-101 [M] Table ###", TaskLine("T-101", "Table", markers=("M",))),
        ("### Step 1 — Do", TaskLine("1", "Do")),
        ("### [ ] Wire it up", TaskLine("", "Wire it up")),
        ("### 1.3 [P] Qux ✅", TaskLine("1.3", "Qux", checked=True, markers=("P",), certain=True)),
        ("### Task 1.4: Quux ✔\ufe0f", TaskLine("1.4", "Quux", checked=True, certain=True)),
        ("### ✅ Task 1.4: Quux", TaskLine("1.4", "Quux", checked=True, certain=True)),
    ],
)
def test_a_heading_may_name_a_task(line: str, expected: TaskLine) -> None:
    assert read_heading(line) == expected


@pytest.mark.parametrize(
    "line", ["## Phase 1: Core", "## Tasks", "## Task Dependencies", "# Notes", "not a heading"]
)
def test_other_headings_name_none(line: str) -> None:
    assert read_heading(line) is None


@pytest.mark.parametrize(
    ("title", "expected"),
    [("Wire it up!", "wire-it-up"), ("Étape n° 2", "étape-n-2"), ("[x] :: ?", "x"), ("…", "task")],
)
def test_a_task_without_an_id_gets_a_name_that_can_stand_in_a_node_id(
    title: str, expected: str
) -> None:
    assert slug(title) == expected


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("## a", 0),
        ("- [x] ### Task 2", 3),
        ("- ## [ ] 2.3", 2),
        ("a # b", 0),
        ("- [ ] #1 is done", 0),
    ],
)
def test_a_list_item_may_be_a_heading(line: str, level: int) -> None:
    assert boxed_heading_level(line) == level
