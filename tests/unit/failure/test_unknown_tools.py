"""What is read where nobody knows the tool: by names, by the shape of its lines, by its words."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from pytest_ralph import classify

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("command", "output", "kind"),
    [
        ("node tools/lint.js src", "console.log in src/a.js\n", "lint_error"),
        ("python tools/fmt.py --check", "src/a.py is too wide\n", "format_error"),
        ("node check-types.mjs", "a is a number, b wants text\n", "typecheck_error"),
        ("python bench.py", "render  48.9 ms  too slow\n", "test_failure"),
        ("bash ci/smoke.sh", "GET /users is 500\n", "test_failure"),
        ("node scripts/bundle.mjs", "src/a.js wants ./b.js\n", "build_error"),
        ("python tools/check_bundle.py dist", "1 bundle is over its budget\n", "test_failure"),
        ("python report.py", "no orders this month\n", "unknown"),
    ],
)
def test_the_name_of_a_script_says_what_it_is_for(command: str, output: str, kind: str) -> None:
    assert classify(output, 1, command).kind == kind


def test_a_program_serves_the_target_it_is_run_for() -> None:
    output = "> build\n> node make.js\n\nmake: src/index.js wants ./gone.js\n"
    assert classify(output, 1, "npm run build").kind == "build_error"
    assert classify(output.replace("build", "start"), 1, "npm run start").kind == "unknown"


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        ("Error: rule 'expr' has no body\n", "build_error"),
        ("a.gram: rule 'expr' is never used, too many rules\n", "lint_error"),
        ("read a.gram\n", "unknown"),
    ],
)
def test_an_error_of_an_unknown_tool_stopped_it_a_remark_did_not(
    output: str, kind: str, tmp_path: Path
) -> None:
    (tmp_path / "a.gram").touch()
    assert classify(output, 1, "grammatic a.gram", root=tmp_path).kind == kind


def test_the_first_line_that_disapproves_is_quoted() -> None:
    output = """\
        preflight
          [ok] PORT is set, no change
          [x] DB_URL is not configured
          [x] API_TOKEN is not configured
        2 of 3 settings are wrong
    """
    failure = classify(dedent(output), 1, "bash scripts/preflight.sh")
    assert failure.error == "[x] DB_URL is not configured"


def test_a_mark_with_an_expectation_below_it_is_a_test() -> None:
    failure = classify("✗ total\n    expected 6, got 5\n", 1, "npx unheard-of t.js")
    assert (failure.kind, failure.failed_tests) == ("test_failure", ("total",))
    assert classify("✗ total\n    has no doc\n", 1, "npx unheard-of t.js").failed_tests == ()


def test_words_of_a_formatter_outweigh_a_guessed_role() -> None:
    assert classify("would reformat a.x\n", 1, "unheard-of check a.x").kind == "format_error"


def test_an_error_thrown_inside_a_tool_is_no_crash_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "a.tpl").touch()
    output = """\
        /opt/node_modules/tool/lib/parse.js:28
            throw new Error('unclosed block')
            ^

        Error: unclosed block
            at parse (/opt/node_modules/tool/lib/parse.js:28:11)

        Node.js v20.20.2
    """
    assert classify(dedent(output), 1, "npx unheard-of a.tpl", root=tmp_path).kind == "build_error"
