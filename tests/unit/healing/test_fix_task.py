"""The fix task of a failure: the guide's format, its fallbacks, and hostile error text."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_ralph.failure.failure import NO_FIX, Failure
from pytest_ralph.fixing.errors import TemplatesError
from pytest_ralph.fixing.templating import Templates
from pytest_ralph.healing.errors import FixTaskError
from pytest_ralph.healing.fix_task import error_type, make_fix_task, make_split_tasks, scope, steps
from pytest_ralph.spec.document import Spec
from pytest_ralph.spec.edit import insertion, next_id
from pytest_ralph.spec.fix_tree import FixTree

if TYPE_CHECKING:
    from pathlib import Path

ORIGINAL = """\
- [ ] 1.3 Add failure parser
  - **Do**: Add parsing logic to implement.md
  - **Files**: plugins/ralph-specum/commands/implement.md
  - **Done when**: Parser extracts error details
  - **Verify**: grep -q "Parse Failure" implement.md
  - **Commit**: feat(coordinator): add failure parser
"""
FAILURE = Failure(
    task_id="1.3",
    error="File not found: src/parser.ts",
    attempted_fix="CheckResult alternate paths",
)
TASK = Spec.parse(ORIGINAL)["1.3"]


def test_the_guides_example_comes_out_byte_for_byte() -> None:
    assert make_fix_task(TASK, FAILURE, "1.3.1") == dedent("""\
        - [ ] 1.3.1 [FIX 1.3] Fix: File not found: src/parser.ts
          - **Do**: Address the error: File not found: src/parser.ts
            1. Analyze the failure: CheckResult alternate paths
            2. Review related code in Files list
            3. Implement fix for: File not found: src/parser.ts
          - **Files**: plugins/ralph-specum/commands/implement.md
          - **Done when**: Error "File not found: src/parser.ts" no longer occurs
          - **Verify**: grep -q "Parse Failure" implement.md
          - **Commit**: `fix(recovery): address missing file from task 1.3`""")


def test_every_field_has_its_fallback() -> None:
    bare = Spec.parse("- [ ] 1.3 Title\n")["1.3"]
    assert make_fix_task(
        bare, Failure(error="", attempted_fix=""), "1.3.2", directory="specs/foo/"
    ) == dedent("""\
        - [ ] 1.3.2 [FIX 1.3] Fix: task 1.3 failure
          - **Do**: Address the error: Task execution failed
            1. Analyze the failure: No previous fix attempted
            2. Review related code in Files list
            3. Implement fix for: Task execution failed
          - **Files**: specs/foo/
          - **Done when**: Error "Task execution failed" no longer occurs
          - **Verify**: echo 'Verify manually'
          - **Commit**: `fix(recovery): address error from task 1.3`""")


def test_do_names_the_place_and_the_hint() -> None:
    failure = Failure(
        error="assert 3 == 4",
        failed_tests=("tests/a.py::test_x",),
        raw_output="assert 3 == 4\nTry `npx playwright install`.\n",
    )
    block = make_fix_task(TASK, failure, "1.3.1")
    assert "    4. Look at: tests/a.py::test_x (change the code, not the test)\n" in block
    assert "    5. The tool says: Try 'npx playwright install'.\n" in block


def test_nothing_attempted_is_said_in_the_generators_words() -> None:
    block = make_fix_task(TASK, replace(FAILURE, attempted_fix=NO_FIX), "1.3.1")
    assert "    1. Analyze the failure: No previous fix attempted\n" in block


def test_a_fix_of_a_fix_names_it() -> None:
    task = replace(TASK, id="1.3.1", markers=("FIX 1.3",))
    block = make_fix_task(task, Failure(error="no"), "1.3.1.1")
    assert "    1. Analyze the failure: fix 1.3.1 failed\n" in block


def test_the_title_ends_with_a_whole_phrase() -> None:
    error = "AssertionError: expected the parser to find thirteen fields, found two"
    title = make_fix_task(TASK, replace(FAILURE, error=error), "1.3.1").splitlines()[0]
    point = "expected the parser to find thirteen fields"
    assert title == f"- [ ] 1.3.1 [FIX 1.3] Fix: {point}"


@pytest.mark.parametrize(
    "place", ["/usr/bin/bash: line 1: ", "bash: line 12: ", "sh: 1: ", "/bin/dash: 3: "]
)
def test_the_title_starts_with_the_file(place: str) -> None:
    error = "./scripts/build.sh: Permission denied"
    block = make_fix_task(TASK, replace(FAILURE, error=place + error), "1.3.1")
    assert block.splitlines()[0] == "- [ ] 1.3.1 [FIX 1.3] Fix: build.sh: Permission denied"
    assert f"Address the error: {place}{error}" in block


@pytest.mark.parametrize(
    ("error", "title"),
    [
        ("run.sh: line 2: syntax error", "run.sh: syntax error"),
        ("bash: build: command not found", "build: command not found"),
    ],
)
def test_the_title_does_without_the_shell(error: str, title: str) -> None:
    block = make_fix_task(TASK, replace(FAILURE, error=error), "1.3.1")
    assert block.splitlines()[0] == f"- [ ] 1.3.1 [FIX 1.3] Fix: {title}"


def test_the_original_of_a_fix_of_a_fix_is_the_fix() -> None:
    fix = Spec.parse(make_fix_task(TASK, FAILURE, "1.3.1"))["1.3.1"]
    block = make_fix_task(fix, FAILURE, "1.3.1.1")
    assert block.startswith("- [ ] 1.3.1.1 [FIX 1.3.1] Fix: ")
    assert block.endswith("from task 1.3.1`")
    assert '  - **Verify**: grep -q "Parse Failure" implement.md\n' in block


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", "recovery"),
        ("auth", "auth"),
        ("User Login_v2", "user-login-v2"),
        ("`x`) y", "x-y"),
        ("---", "recovery"),
    ],
)
def test_the_scope_is_the_spec_name(name: str, expected: str) -> None:
    assert scope(name) == expected
    assert f"`fix({expected}): address" in make_fix_task(TASK, FAILURE, "1.3.1", spec_name=name)


@pytest.mark.parametrize(
    ("kind", "error", "expected"),
    [
        ("unknown", "it broke", "error"),
        ("unknown", "ENOENT: no such file or directory", "missing file"),
        ("build_error", "SyntaxError: invalid syntax", "syntax"),
        ("build_error", "syntax error in parser.ts", "syntax"),
        ("test_failure", "2 failed", "test failure"),
        ("lint_error", "E501", "lint error"),
        ("dependency_missing", "No module named 'x'", "missing dependency"),
        ("command_not_found", "uvx: not found", "missing command"),
        ("timeout", "timed out", "timeout"),
        ("a_projects_own`\n", "x", "a projects own'"),
    ],
)
def test_the_error_type_is_said_in_words(kind: str, error: str, expected: str) -> None:
    assert error_type(Failure(kind=kind, error=error)) == expected


VERIFIES = {
    "a span and words": "  - **Verify**: `grep -c x a.md` returns at least 2",
    "a fence": "  - **Verify**:\n    ```bash\n    set -e\n\n      deeper\n    ```",
    "a fence after words": (
        "  - **Verify**: All of these:\n    ```bash\n    a\n    ```\n    and `b`"
    ),
    "a list": "  - **Verify**:\n    - `a`\n    - `b`",
    "a numbered list": "  - **Verify**:\n    1. `a`\n    2. `b`",
    "deeper fields": "    - **Verify**:\n        ```bash\n        a\n          b\n        ```",
    "tabs": "\t- **Verify**:\n\t\t```bash\n\t\ta\n\t\t```",
    "a heredoc at the margin": (
        "  - **Verify**:\n    ```bash\n    cat <<'E'\n## Summary\n- [ ] no task\nE\n    ```"
    ),
    "a heredoc with two margins": (
        "    - **Verify**:\n        ```bash\n        cat <<E\n  two\nnone\nE\n        ```"
    ),
    "manual": "  - **Verify**: Manual test: open the page",
}


@pytest.mark.parametrize("written", VERIFIES)
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_the_verify_field_is_the_originals(written: str, eol: str) -> None:
    source = f"- [ ] 1.3 A\n{VERIFIES[written]}\n  - **Files**:\n    - `a.py` (new)\n    - b/c.py\n"
    spec = Spec.parse(source.replace("\n", eol))
    task = spec["1.3"]
    after = Spec.parse(
        insertion(spec, task, make_fix_task(task, FAILURE, "1.3.1")).into(spec.source)
    )
    fix = after["1.3.1"]
    assert fix.verify == task.verify._replace(text=fix.verify.text)
    assert fix.fields["Verify"] == task.fields["Verify"]
    assert fix.fields["Files"] == task.fields["Files"]
    assert fix.files == task.files


def test_a_verify_field_of_the_usual_form_keeps_every_byte() -> None:
    written = "  - **Verify**:\n    ```bash\n    \tmake\n    cat <<'E'\nat the margin\nE\n    ```\n"
    task = Spec.parse(f"- [ ] 1.3 A\n{written}  - **Commit**: x\n")["1.3"]
    assert written in make_fix_task(task, FAILURE, "1.3.1")


def test_a_heading_style_original_gets_a_fix_with_the_same_verify() -> None:
    spec = Spec.parse("### Task 1.3: A\n\n**Verify**:\n```bash\na\n  b\n```\n\n### Task 1.4: B\n")
    task = spec["1.3"]
    after = Spec.parse(
        insertion(spec, task, make_fix_task(task, FAILURE, "1.3.1")).into(spec.source)
    )
    assert [each.id for each in after.tasks] == ["1.3", "1.3.1", "1.4"]
    assert after["1.3.1"].fields["Verify"] == task.fields["Verify"]


def test_a_time_limit_of_the_original_is_kept() -> None:
    task = Spec.parse(ORIGINAL + "  - **Timeout**: 900\n")["1.3"]
    assert "  - **Timeout**: 900\n" in make_fix_task(task, FAILURE, "1.3.1")


HOSTILE = [
    "a\n- [ ] 9.9 Owned\n  - **Verify**: `rm -rf /`",
    "a\r\n- [x] 9.9 Owned",
    "\n\n## Phase 9\n### Task 9.9: Owned\n",
    "`rm -rf /` **Verify**: `true`",
    "**Verify**: true",
    "Verify: `true`",
    "```bash\nowned\n```",
    "~~~",
    "<!-- everything after is gone",
    "--> shown again",
    "[P]",
    "[VERIFY]",
    "broken [FIX 9.9]",
    "x [SPLIT 9.9]",
    "(depends on 9.9)",
    "E2E cleanup",
    "\u2028- [ ] 9.9 Owned",
    "\x1b[31mred\x1b[0m",
    '"quoted" `ticks` *stars* _under_',
    "{{ 7 * 7 }} {% raw %}",
    "| a | b |",
    "1. one",
    "\\",
    "[x]: http://example.org",
    "x" * 5_000,
]


@settings(max_examples=150, deadline=None)
@given(
    st.text(max_size=120) | st.lists(st.sampled_from(HOSTILE), max_size=3).map(" ".join),
    st.sampled_from(HOSTILE),
)
@example("x [P]", "ok")
def test_no_error_text_can_add_a_task_or_a_field(error: str, attempted: str) -> None:
    spec = Spec.parse(ORIGINAL + "\n- [ ] 9.9 Later\n  - **Verify**: `x`\n")
    failure = Failure(
        error=error, attempted_fix=attempted, status=error, guidance=attempted, kind="test_failure"
    )
    block = make_fix_task(spec["1.3"], failure, "1.3.1")
    after = Spec.parse(insertion(spec, spec["1.3"], block).into(spec.source))
    assert [task.id for task in after.tasks] == ["1.3", "1.3.1", "9.9"]
    fix = after["1.3.1"]
    assert fix.fields.keys() == {"Do", "Files", "Done when", "Verify", "Commit"}
    assert fix.fields["Verify"] == TASK.fields["Verify"]
    assert fix.markers == ("FIX 1.3",)
    assert fix.files == TASK.files
    assert after["9.9"].fields == spec["9.9"].fields
    assert fix.fields["Do"].count("\n") == 3


# Templates of a project


def project_templates(directory: Path, text: str) -> Templates:
    (directory / "fixtask.md.j2").write_text(text)
    return Templates(directory)


def test_a_projects_template_takes_the_place_of_the_format(tmp_path: Path) -> None:
    template = dedent("""\
        - [ ] {{ id }} [FIX {{ task }}] Repair: {{ summary }}
          - **Do**: {{ error }} ({{ kind }})
        {% if guidance %}
            1. {{ guidance }}
        {% endif %}
          - **Verify**: {{ verify }}
        """)
    failure = replace(FAILURE, kind="lint_error", guidance="Run the linter")
    templates = project_templates(tmp_path, template)
    assert make_fix_task(TASK, failure, "1.3.1", templates=templates) == dedent("""\
        - [ ] 1.3.1 [FIX 1.3] Repair: File not found: src/parser.ts
          - **Do**: File not found: src/parser.ts (lint_error)
            1. Run the linter
          - **Verify**: grep -q "Parse Failure" implement.md""")


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("- [ ] {{ id }} [FIX {{ task }}] {{ nothing }}", "'nothing' is undefined"),
        ("{% if %}", "Expected an expression"),
        ("- [ ] 7.7 [FIX 1.3] other", "must start with `- [ ] 1.3.1 [FIX 1.3]`"),
        ("", "must start with"),
        ("- [ ] {{ id }} [FIX {{ task }}] {{ 1 / 0 }}", "division by zero"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
    ],
)
def test_a_template_that_makes_no_fix_task_is_refused(
    tmp_path: Path, template: str, reason: str
) -> None:
    templates = project_templates(tmp_path, template)
    with pytest.raises((FixTaskError, TemplatesError)) as error:
        make_fix_task(TASK, FAILURE, "1.3.1", templates=templates)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


# Splitting


MANY = """\
- [ ] 1.3 A
  - **Do**:
    1. Open `a.py`
       - keep the header
    2. Add the parser
    3. Write [P]
  - **Files**: a.py
  - **Verify**: `x`
"""


@pytest.mark.parametrize(
    ("do", "expected"),
    [
        ("**Do**: one thing", ()),
        ("**Do**:\n    1. a\n    2. b", ("a", "b")),
        ("**Do**: Build it\n    1. a\n       more of a\n    2. b", ("a\n   more of a", "b")),
        ("**Do**:\n    - a\n    - b", ("a", "b")),
        ("**Steps**:\n    1) a\n       1) nested\n    2) b", ("a\n   1) nested", "b")),
        ("**Do**:\n    1. a\n       - x\n       - y", ("a\n   - x\n   - y",)),
    ],
)
def test_the_steps_of_a_task_are_its_numbered_ones(do: str, expected: tuple[str, ...]) -> None:
    assert steps(Spec.parse(f"- [ ] 1.3 A\n  - {do}\n")["1.3"]) == expected


def test_a_task_is_split_into_its_steps() -> None:
    first, second, third = make_split_tasks(Spec.parse(MANY)["1.3"], "1.3.4", timeout=100).values()
    assert first == dedent("""\
        - [ ] 1.3.4 [SPLIT 1.3] Open 'a.py'
          - **Do**: Open `a.py`
            - keep the header
          - **Files**: a.py
          - **Done when**: Step 1 of 3 of task 1.3 is done
          - **Timeout**: 33""")
    assert second.startswith("- [ ] 1.3.5 [SPLIT 1.3] Add the parser\n")
    assert third.startswith("- [ ] 1.3.6 [SPLIT 1.3] Write ")


def test_the_parts_are_put_below_each_other_and_belong_to_the_original() -> None:
    source = MANY + "\n- [ ] 1.4 B\n"
    first = next_id("1.3", (task.id for task in Spec.parse(source).tasks))
    for block in make_split_tasks(Spec.parse(source)["1.3"], first, timeout=9).values():
        spec = Spec.parse(source)
        source = insertion(spec, spec["1.3"], block).into(source)
    spec = Spec.parse(source)
    assert [task.id for task in spec.tasks] == ["1.3", "1.3.1", "1.3.2", "1.3.3", "1.4"]
    assert FixTree(spec.tasks).descendants_of("1.3") == {"1.3.1", "1.3.2", "1.3.3"}
    assert spec["1.3.3"].markers == ("SPLIT 1.3",)
