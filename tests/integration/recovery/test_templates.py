"""A project's own fix tasks and prompts, by kind of failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.recovery.conftest import Project

FIX_IT = 'Path("parser.txt").write_text("fixed\\n"); Path("prompt.txt").write_text(prompt)'
FIX_TASK = """\
- [ ] {{ id }} [FIX {{ task }}] Ask Ada about the {{ kind }}
  - **Do**: Read the house rules, then: {{ error }}
  - **Verify**: {{ verify }}
"""


@pytest.fixture
def templates(one_task: Project) -> Path:
    """Where the project keeps its templates; task 1.3 fails with a test_failure."""
    (one_task.pytester.path / "parser.txt").write_text("AssertionError: broken\n")
    one_task.spec("- [ ] 1.3 Parse\n  - **Verify**: `cat parser.txt; grep -q fixed parser.txt`\n")
    one_task.pytester.makeini("[pytest]\nralph_templates = templates")
    return one_task.pytester.mkdir("templates")


def test_the_templates_for_a_kind_are_used_for_it(one_task: Project, templates: Path) -> None:
    (templates / "fixtask.test_failure.md.j2").write_text(FIX_TASK)
    (templates / "fix.test_failure.md.j2").write_text(
        '{% extends "ralph/fix.md.j2" %}{% block intro %}House rule one.\n'
        "{{ super() }}{% endblock %}"
    )
    (templates / "fixtask.lint_error.md.j2").write_text("not for this one")
    result = one_task.run(executor=one_task.executor(FIX_IT))

    assert result.ret == 0
    text = one_task.tasks.read_text()
    assert "- [x] 1.3.1 [FIX 1.3] Ask Ada about the test_failure\n" in text
    assert "  - **Do**: Read the house rules, then: AssertionError: broken\n" in text
    prompt = (one_task.pytester.path / "prompt.txt").read_text()
    assert prompt.index("House rule one.") < prompt.index("Find and fix the cause")


@pytest.mark.parametrize("kind", ["", ".timeout"])
def test_others_are_for_all_kinds_or_for_none(
    one_task: Project, templates: Path, kind: str
) -> None:
    (templates / f"fixtask{kind}.md.j2").write_text(FIX_TASK)
    one_task.run(executor=one_task.executor(FIX_IT))
    assert ("Ask Ada" in one_task.tasks.read_text()) is (kind == "")


def test_a_template_with_a_mistake_is_one_line_before_anything_runs(
    one_task: Project, templates: Path
) -> None:
    (templates / "fix.test_failure.md.j2").write_text("Hello\n{% block intro %}")
    result = one_task.run(executor=one_task.executor(FIX_IT))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = (line for line in result.errlines if line)
    assert line.startswith("ERROR: templates/fix.test_failure.md.j2:2: Unexpected end of template")
    assert one_task.calls == []


def test_a_template_for_an_unknown_kind_is_a_note(one_task: Project, templates: Path) -> None:
    (templates / "fix.test_failures.md.j2").write_text("Hello")
    one_task.run(executor=one_task.executor(FIX_IT)).stdout.fnmatch_lines(
        [
            "ralph: templates/fix.test_failures.md.j2: never used: "
            "no failure kind is named test_failures"
        ]
    )


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("fixtask", "{{ nothing_such }}", "*fixtask.md.j2:1: 'nothing_such' is undefined"),
        ("fixtask", "Fix it!", "fix task template: must start with `- [[] ] 1.3.1 [[]FIX 1.3]`"),
        ("fix", "{{ task.nothing_such }}", "*fix.md.j2:1: *has no attribute 'nothing_such'"),
    ],
)
def test_what_goes_wrong_only_when_it_is_used_is_one_line_of_the_task(
    one_task: Project, templates: Path, name: str, text: str, message: str
) -> None:
    (templates / f"{name}.md.j2").write_text(text)
    result = one_task.run(executor=one_task.executor(FIX_IT))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([f"*{message}*"])
    assert "Traceback" not in str(result.stdout)
