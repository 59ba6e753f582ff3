"""A task is known by its id alone: in the node id, on the command line, in the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

EVERY_FORM = """
    # Tasks

    ## Phase 1: Make it work

    - [ ] 1.1 Dotted
      - **Verify**: `true`
    - [x] 1.3.1 Three numbers
      - **Verify**: `true`
    * [ ] V4 A checkpoint with a star
      - **Verify**: `true`
    + [ ] V-P1 A checkpoint with a plus
      - **Verify**: `true`
    - [ ] VE1 E2E startup
      - **Verify**: `true`
    - [ ] VF Final
      - **Verify**: `true`
    - [X] T001 A number with a letter
      - **Verify**: `true`
    - [ ] T001A And one behind it
      - **Verify**: `true`
    - [ ] 7. A number with a dot
      - **Verify**: `true`
    - [ ] 3.X A letter after the dot
      - **Verify**: `true`
    - [ ] 6.B.7 A letter between dots
      - **Verify**: `true`
    - [ ] 6.0b A letter behind
      - **Verify**: `true`
    - [ ] Q1.1 A letter before
      - **Verify**: `true`
    - [ ] No id but a field
      - **Verify**: `true`
    - [ ] just a criterion

    ### Task 8.1: A heading
    - **Verify**: `true`

    ```
    - [ ] 9.9 In a code block
      - **Verify**: `true`
    ```
"""
IDS = [
    *(
        "1.1",
        "1.3.1",
        "V4",
        "V-P1",
        "VE1",
        "VF",
        "T001",
        "T001A",
        "7.",
        "3.X",
        "6.B.7",
        "6.0b",
        "Q1.1",
    ),
    *("no-id-but-a-field", "8.1"),
]


def node_ids(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "tasks.md::" in line]


def test_ids_of_every_form_are_names_and_other_checkboxes_are_not(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(EVERY_FORM)
    result = pytester.runpytest("--ralph", "--co", "-q", "specs")
    assert node_ids(result) == [f"specs/demo/tasks.md::{name}" for name in IDS]
    assert result.ret == pytest.ExitCode.OK


@pytest.mark.parametrize("name", IDS)
def test_each_of_them_can_be_given_on_the_command_line(
    pytester: pytest.Pytester, make_spec: SpecMaker, name: str
) -> None:
    make_spec(EVERY_FORM)
    result = pytester.runpytest("--ralph", "--co", "-q", f"specs/demo/tasks.md::{name}")
    assert node_ids(result) == [f"specs/demo/tasks.md::{name}"]


def test_the_second_task_with_an_id_gets_a_name_of_its_own_and_a_warning(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec("""
        - [ ] 1.3 First
          - **Verify**: `true`
        - [ ] 1.3 Second
          - **Verify**: `false`
        - [ ] 1.3 Third
          - **Verify**: `true`
    """)
    result = pytester.runpytest("--ralph", "-v", "specs", "-W", "always")
    result.assert_outcomes(passed=2, failed=1, warnings=2)
    result.stdout.fnmatch_lines(
        [
            "specs/demo/tasks.md::1.3 PASSED*",
            "specs/demo/tasks.md::1.3~2 FAILED*",
            "specs/demo/tasks.md::1.3~3 PASSED*",
            "*specs/demo/tasks.md:4: RalphWarning: duplicate id 1.3: first used on line 2",
            "*specs/demo/tasks.md:6: RalphWarning: duplicate id 1.3: first used on line 2",
        ]
    )
    again = pytester.runpytest("--ralph", "-v", "specs/demo/tasks.md::1.3~2", "-W", "always")
    again.assert_outcomes(failed=1, warnings=2)


def test_where_warnings_are_errors_a_duplicate_id_is_one_line_without_a_traceback(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec("- [ ] 1.3 First\n  - **Verify**: `true`\n- [ ] 1.3 Second\n  - **Verify**: `true`\n")
    result = pytester.runpytest("--ralph", "specs", "-W", "error")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["specs/demo/tasks.md:3: duplicate id 1.3: first used on line 1"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_duplicate_ids_are_warned_about_once_with_many_workers(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    pytest.importorskip("xdist")
    make_spec("- [ ] 1.3 First\n  - **Verify**: `true`\n- [ ] 1.3 Second\n  - **Verify**: `true`\n")
    result = pytester.runpytest_subprocess("--ralph", "-n2", "specs")
    result.assert_outcomes(passed=2, warnings=1)


def test_the_location_is_file_line_and_heading(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec("# Tasks\n\n- [ ] 1.2 Add the parser\n  - **Verify**: `false`\n")
    pytester.makeconftest("""
        def pytest_collection_modifyitems(items):
            for item in items:
                print("LOCATION", item.location, item.name, item.reportinfo()[0] == item.path)
    """)
    result = pytester.runpytest("--ralph", "specs", "--co", "-s")
    result.stdout.fnmatch_lines(
        ["LOCATION ('specs/demo/tasks.md', 2, '1.2 Add the parser') 1.2 True"]
    )


def test_a_task_without_a_title_keeps_its_node_id(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec("- [ ] 1.2\n  - **Verify**: `true`\n")
    pytester.runpytest("--ralph", "specs", "-v").stdout.fnmatch_lines(
        ["specs/demo/tasks.md::1.2 PASSED*"]
    )


@pytest.mark.parametrize(
    "text", ["{}", "\ufeff{}", "---\nspec: x\n---\n\n{}"], ids=["plain", "bom", "front matter"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_line_ends_and_marks_change_nothing(
    pytester: pytest.Pytester, make_spec: SpecMaker, text: str, end: str
) -> None:
    spec = make_spec()
    task = "# Tasks\n\n- [ ] 1.1 Do\n\t- **Verify**: `true`\n- [ ] 1.2 It\n\t- **Verify**: `true`"
    spec.write_bytes(text.format(task).replace("\n", end).encode())
    before = spec.read_bytes()
    result = pytester.runpytest("--ralph", "specs", "-v")
    result.assert_outcomes(passed=2)
    assert spec.read_bytes() == before
