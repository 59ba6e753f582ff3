"""What is wrong with a spec is told with its line, without running anything."""

from __future__ import annotations

import time
from textwrap import dedent

import pytest

from pytest_ralph.spec.document import Spec
from pytest_ralph.spec.lint import (
    LintFinding,
    format_github,
    format_text,
    lint,
    lint_syntax,
    misspelt_fields,
)


def findings(source: str) -> list[tuple[int, str, str]]:
    return [
        (found.line, found.code, found.severity)
        for found in lint(Spec.parse(dedent(source).lstrip("\n"), "specs/foo/tasks.md"))
    ]


def test_a_sound_spec_has_no_findings() -> None:
    assert (
        findings("""
        ---
        total_tasks: 2
        ---
        - [x] 1.1 First
          - **Files**: src/a.py
          - **Verify**: `pytest -q`
        - [ ] 1.2 Second
          - **Depends on**: 1.1
          - **Verify**: `ruff check .`
    """)
        == []
    )


def test_a_table_beside_tasks_is_reported_once() -> None:
    table = "\n| ID | Task | Verify |\n|---|---|---|\n| {} | B | `make` |\n| {} | C | `make` |\n"
    task = "- [ ] 1.1 A\n  - **Verify**: `make`\n"
    assert findings(task + table.format("1.2", "1.3")) == [(6, "not-a-task", "warning")]
    assert findings(task + table.format("1.1", "AC-1.1")) == []
    assert findings(f"{task}\n```{table.format('1.2', '1.3')}```\n") == []
    assert findings(table.format("1.2", "1.3")) == []


@pytest.mark.parametrize(("opening", "closing"), [("<!--", "-->"), ("```", "```")])
def test_a_checkbox_in_a_comment_or_code_is_no_finding(opening: str, closing: str) -> None:
    task = "- [ ] 1.1 A\n  - **Verify**: `make`\n"
    box = "- [ ] Not now\n"
    assert findings(f"{task}\n---\n\n{box}") == [(6, "not-a-task", "warning")]
    assert findings(f"{task}\n---\n\n{opening}\n{box}{closing}\n") == []


def test_an_expect_field_needs_a_command() -> None:
    (finding,) = lint(Spec.parse("- [ ] 1.1 A\n  - **Expect**: exit 2\n"))
    assert (finding.code, finding.line) == ("no-verify", 2)
    assert "Expect" in finding.message


def test_one_alternative_may_always_fail() -> None:
    spec = Spec.parse("- [ ] 1.1 A\n  - **Verify**: `exit 1` or `make check`\n")
    assert lint(spec) == ()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("- [ ] 1.1 A\n  - **Do**: x\n", (1, "no-verify", "warning")),
        ("- [ ] 1.1 A\n  - **Verfy**: `make`\n", (2, "misspelt-field", "warning")),
        (
            "- [ ] 1.1 A\n  - **Verify**: `make`\n  - **Timout**: 5\n",
            (3, "misspelt-field", "warning"),
        ),
        (
            "- [ ] 1.1 A\n  - **Do**: x\n  - **Verify**: Manually look at the page\n",
            (3, "manual", "warning"),
        ),
        (
            "- [ ] 1.1 A\n  - **Verify**: `make`\n- [ ] 1.1 B\n  - **Verify**: `make`\n",
            (3, "duplicate-id", "error"),
        ),
        (
            "---\ntotal_tasks: 9\n---\n- [ ] 1.1 A\n  - **Verify**: `make`\n",
            (2, "wrong-total", "warning"),
        ),
        (
            "- [ ] 1.1 A\n  - **Do**: x\n  - **Verify**: `make || true`\n",
            (3, "always-true", "error"),
        ),
        (
            "- [ ] 1.1 A\n  - **Verify**: `make`\n  - **Depends on**: 1.7\n",
            (1, "unknown-dependency", "error"),
        ),
        (
            "- [ ] 1.1 A\n  - **Verify**:\n    ```bash\n    make\n    npm test | tail\n    ```\n",
            (4, "pipe-hides-status", "warning"),
        ),
        (
            "- [ ] 1.1 A\n  - **Timeout**: 40\n  - **Verify**: `sleep 20 && sleep 25 && make`\n",
            (3, "short-timeout", "error"),
        ),
        (
            "- [ ] 1.1 A\n  - **Do**: x\n  - **Verify**: `sleep 900 && make`\n",
            (3, "short-timeout", "error"),
        ),
        (
            "- [ ] 1.1 A\n  - **Timeout**: 60\n  - **Verify**: `timeout -k 5 600 ./soak.sh`\n",
            (3, "short-timeout", "warning"),
        ),
        (
            "- [ ] 1.1 A\n  - **Timeout**: 5m\n  - **Verify**: `./soak.sh --duration 10m`\n",
            (3, "short-timeout", "warning"),
        ),
        (
            "- [ ] 1.1 A\n  - **Verify**: `make`, output should be pretty\n",
            (2, "unread-words", "warning"),
        ),
        ("- [ ] 1.1 A\n  - **Verify**: `cargo fmt`\n", (2, "changes-tree", "warning")),
        ("- [ ] 1.1 A\n  - **Verify**: `prettier --write .`\n", (2, "changes-tree", "warning")),
        ("- [ ] 1.1 A\n  - **Verify**: `go test -run X`\n", (2, "may-match-nothing", "warning")),
        (
            "- [ ] 1.1 A\n  - **Verify**: `pytest | grep -q ok`\n",
            (2, "grep-hides-status", "warning"),
        ),
        (
            "- [ ] 1.1 A\n  - **Verify**: `python -c 'raise ValueError'`\n",
            (2, "never-passes", "error"),
        ),
        ("no tasks here\n", (1, "no-tasks", "error")),
        (
            "- [ ] 1.1 A\n  - **Depends on**: 1.2\n  - **Verify**: `make`\n"
            "- [ ] 1.2 B\n  - **Depends on**: 1.1\n  - **Verify**: `make`\n",
            (1, "cycle", "error"),
        ),
        (
            "- [ ] 1.1 [P] A\n  - **Files**: a.py\n  - **Verify**: `make`\n"
            "- [ ] 1.2 [P] B\n  - **Files**: ./a.py\n  - **Verify**: `make`\n",
            (1, "shared-file", "error"),
        ),
    ],
)
def test_each_defect_is_found_at_its_line(source: str, expected: tuple[int, str, str]) -> None:
    assert findings(source) == [expected]


def test_a_path_that_stays_inside_is_no_finding() -> None:
    assert (
        findings("- [ ] 1.1 A\n  - **Files**: src/../a.py, ..b/c.py\n  - **Verify**: `make`\n")
        == []
    )


def test_the_verify_of_a_fix_is_judged_once_at_its_original() -> None:
    assert findings("""
        - [ ] 1.1 A
          - **Verify**: `make || true`
        - [ ] 1.1.1 [FIX 1.1] Fix: x
          - **Verify**: `make || true`
    """) == [(2, "always-true", "error")]


def test_findings_come_by_line_whatever_found_them() -> None:
    found = findings("""
        - [ ] 1.1 A
          - **Verify**: `git push`
        - [ ] 1.2 B
        - [ ] 1.3 C
          - **Depends on**: 9.9
          - **Verify**: `npm start`
    """)
    assert [(line, code) for line, code, _ in found] == [
        (2, "remote"),
        (3, "no-verify"),
        (4, "unknown-dependency"),
        (6, "never-ends"),
    ]


def test_text_names_file_line_severity_and_code() -> None:
    finding = LintFinding(12, "no-verify", "1.3: no Verify field", "warning")
    assert (
        format_text(finding, "specs/foo/tasks.md")
        == "specs/foo/tasks.md:12: warning: 1.3: no Verify field [no-verify]"
    )


def test_github_annotations_cannot_be_broken_out_of() -> None:
    finding = LintFinding(3, "manual", "100% a, b: c\n::error::d\x1b[31m\r\u2028", "error")
    assert format_github(finding, "a,b:c%\n.md") == (
        "::error file=a%2Cb%3Ac%25%0A.md,line=3,title=ralph%3A manual::100%25 a, b: c ::error::d"
    )


def test_a_long_spec_is_judged_in_linear_time() -> None:
    spec = Spec.parse(
        "".join(f"- [ ] {n}.1 Task\n  - **Verify**: `make t{n} | tail`\n" for n in range(1, 2001))
    )
    started = time.process_time()
    assert len(lint(spec)) == 2000
    assert time.process_time() - started < 2


def test_a_long_table_is_judged_in_linear_time() -> None:
    rows = "".join(f"| T{n} | Do it | `make t{n}` |\n" for n in range(10_000))
    spec = Spec.parse(f"| id | task | verify |\n|---|---|---|\n{rows}")
    started = time.process_time()
    assert lint(spec) == ()
    assert time.process_time() - started < 4


def test_misspelt_fields_are_found_in_linear_time() -> None:
    spec = Spec.parse(
        "".join(f"- [ ] {n}.1 Task {'x' * 500}\n  - **Verfy**: `make`\n" for n in range(1, 2001))
    )
    started = time.process_time()
    for number, task in enumerate(spec.tasks, 1):
        assert misspelt_fields(spec, task)["Verify"].line == 2 * number
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("- **Do**: x", "1.1: no Verify field: add `- **Verify**:` with a command that checks it"),
        (
            "- **Verify**: Look at the page",
            "1.1: cannot be checked automatically: Look at the page",
        ),
        ("- **Verify**: `make || true`", "1.1: `|| true` makes it pass whatever happens"),
        (
            "- **Verify**: `make`\n- [ ] 1.1 B\n  - **Verify**: `make`",
            "duplicate id 1.1: first used on line 1",
        ),
        (
            "- **Verify**: `make`\n  - **Depends on**: 1.7",
            "task 1.1 depends on 1.7, which is not in the plan",
        ),
    ],
)
def test_a_finding_names_the_task_and_what_is_wrong_with_it(block: str, message: str) -> None:
    found = lint(Spec.parse(f"- [ ] 1.1 A\n  {block}\n", "specs/foo/tasks.md"))
    assert [one.message for one in found] == [message]


@pytest.mark.parametrize(
    "command",
    [
        "cargo fmt --check",
        "prettier --check .",
        "black --check src",
        "ruff check .",
        "pytest -k parser",
        "cargo test",
        "cat log | grep -q ok",
        "set -o pipefail; pytest | grep -q ok",
        "python -c 'if x: raise ValueError'",
        "sed -n 1p file",
    ],
)
def test_a_sound_check_has_no_finding(command: str) -> None:
    assert findings(f"- [ ] 1.1 A\n  - **Verify**: `{command}`\n") == []


@pytest.mark.parametrize("command", ["if true; then make", "make 'x", "make $(", "make )", "a && "])
def test_a_check_that_no_shell_can_parse_is_found(command: str) -> None:
    spec = Spec.parse(f"- [ ] 1.1 A\n  - **Verify**:\n    ```bash\n    {command}\n    ```\n")
    (finding,) = lint_syntax(spec)
    assert (finding.line, finding.code, finding.severity) == (4, "shell-syntax", "error")
    assert finding.message.startswith("1.1: the shell cannot parse the Verify field: ")


@pytest.mark.parametrize("command", ["make", "[ -f x ] && ! grep -q 'a|b' x", "f() { a; }; f"])
def test_a_check_that_a_shell_can_parse_is_sound(command: str) -> None:
    spec = Spec.parse(f"- [ ] 1.1 A\n  - **Verify**:\n    ```bash\n    {command}\n    ```\n")
    assert lint_syntax(spec) == []
