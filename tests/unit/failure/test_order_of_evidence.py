"""Exit status weighs most, then tests, then diagnostics; words last, quoted words not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph import classify
from pytest_ralph.failure.classify import classify_evidence
from pytest_ralph.failure.evidence import Evidence
from pytest_ralph.failure.kinds import Kinds

if TYPE_CHECKING:
    from pathlib import Path

PASSED = "1 passed in 0.1s\nconnection refused, syntax error, out of memory\n"


@pytest.mark.parametrize(
    ("more", "kind", "type_"),
    [
        ({"timed_out": True, "timeout": 3.0}, "timeout", "UNKNOWN"),
        ({"exit_code": 124, "command": "timeout 3 make"}, "timeout", "UNKNOWN"),
        ({"exit_code": 137, "command": "timeout -s KILL 3 make"}, "timeout", "UNKNOWN"),
    ],
)
def test_a_time_limit_weighs_more_than_any_word(
    more: dict[str, object], kind: str, type_: str
) -> None:
    failure = classify(PASSED, **more)  # type: ignore[arg-type]
    assert (failure.kind, failure.type) == (kind, type_)


@pytest.mark.parametrize(
    ("code", "kind", "type_"),
    [
        (126, "permission_denied", "UNKNOWN"),
        (127, "command_not_found", "BROKEN_BUILD"),
        (132, "crash", "BROKEN_BUILD"),
        (134, "crash", "BROKEN_BUILD"),
        (137, "crash", "UNKNOWN"),
        (139, "crash", "BROKEN_BUILD"),
        (143, "crash", "UNKNOWN"),
    ],
)
def test_an_exit_status_speaks_where_nothing_was_printed(code: int, kind: str, type_: str) -> None:
    failure = classify("", code, "frobnicate")
    assert (failure.kind, failure.type) == (kind, type_)


FAILED = "FAILED a.py::test_a - assert 1 == 2\n"
NOT_FOUND = "bash: line 1: deploy: command not found\n"
C_ASSERTION = "not ok 1 - wraps\nt: t.c:7: main: Assertion `next(3) == 0' failed.\n"


@pytest.mark.parametrize(
    ("output", "code", "command", "kind", "error"),
    [
        (FAILED, 126, "pytest", "permission_denied", "cannot execute (exit status 126)"),
        (FAILED, 127, "pytest", "command_not_found", "command not found (exit status 127)"),
        (FAILED + NOT_FOUND, 127, "pytest; deploy", "command_not_found", NOT_FOUND.strip()),
        (FAILED, 134, "pytest", "crash", "Aborted (exit status 134)"),
        (FAILED, 137, "pytest", "crash", "Killed (exit status 137)"),
        (FAILED, 139, "pytest", "crash", "Segmentation fault (exit status 139)"),
        (FAILED, 139, "python run_all.py", "crash", "Segmentation fault (exit status 139)"),
        (FAILED, -9, "pytest", "crash", "Killed (exit status 137)"),
        (FAILED, -11, "pytest", "crash", "Segmentation fault (exit status 139)"),
        # Only the end of the command itself counts, not that of one inside a script.
        (FAILED, 139, "npm test", "test_failure", FAILED.strip()),
        (FAILED, 127, "./check.sh", "test_failure", FAILED.strip()),
        (C_ASSERTION, 134, "./unit_tests", "test_failure", None),
    ],
)
def test_how_a_test_run_ended_comes_first(
    output: str, code: int, command: str, kind: str, error: str | None
) -> None:
    failure = classify(output, code, command)

    assert failure.kind == kind
    assert failure.error == error or error is None
    assert len(failure.failed_tests) == 1


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        ("a.py:1:1: F401 'os' imported but unused\n", "crash"),
        ("FATAL ERROR: Reached heap limit - JavaScript heap out of memory\n", "resource_exhausted"),
    ],
)
def test_a_linter_that_a_signal_ended_crashed(output: str, kind: str) -> None:
    assert classify(output, 139, "flake8 src").kind == kind


def test_a_time_limit_keeps_the_failed_tests() -> None:
    output = "test_a.py::test_x FAILED   [ 33%]\ntest_a.py::test_y PASSED   [ 66%]\n"
    failure = classify(output, 124, "timeout 5 pytest -v")
    assert (failure.kind, failure.failed_tests) == ("timeout", ("test_a.py::test_x",))
    assert classify(FAILED, 124, "timeout 5 pytest").failed_tests == ("a.py::test_a",)


def test_the_line_of_a_test_stands_below_its_error(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").touch()
    block = (
        "____ test_x ____\n>   assert 1 == 2\nE   assert 1 == 2\n\ntest_a.py:7: AssertionError\n"
    )
    summary = "FAILED test_a.py::test_x - assert 1 == 2\nFAILED test_a.py::test_y - assert 3\n"
    failure = classify(block + summary, 1, "pytest", root=tmp_path)
    assert (failure.error, failure.line) == ("assert 1 == 2", 7)
    assert classify("FAILED test_a.py::test_x\n", 1, "pytest", root=tmp_path).line is None


def test_a_command_need_not_be_known() -> None:
    assert classify(FAILED, 1, None).failed_tests == ("a.py::test_a",)


def test_the_number_of_failed_tests_is_no_signal() -> None:
    output = "".join(f"FAILED a.py::test_{number} - assert 1 == 2\n" for number in range(139))
    assert classify(output, 139, "mocha").kind == "test_failure"


@pytest.mark.parametrize(
    ("command", "code", "kind"),
    [
        ("grep -q x a.txt", 1, "task_incomplete"),
        ("test -f dist/a.js", 1, "task_incomplete"),
        ("[ -x bin/cli ] && bin/cli --version >/dev/null", 1, "task_incomplete"),
        ("git diff --quiet", 1, "task_incomplete"),
        ("jq -e .a package.json", 1, "task_incomplete"),
        ("black -q --check .", 1, "format_error"),
        ("flake8 -q .", 1, "lint_error"),
        ("curl -s http://localhost:1/", 7, "service_unavailable"),
        ("curl -s --max-time 1 http://localhost:1/", 28, "timeout"),
        ("curl -sf http://localhost/x", 22, "test_failure"),
        ("false", 1, "unknown"),
        ("exit 3", 3, "unknown"),
    ],
)
def test_what_a_silent_command_is_for_decides(command: str, code: int, kind: str) -> None:
    assert classify("", code, command).kind == kind


@pytest.mark.parametrize(
    "error",
    [
        "AssertionError: assert 'bash: foo: command not found' == 'foo: not found'",
        "AssertionError: assert 'Connection refused' in ''",
        "assert 'SyntaxError: invalid syntax' == ''",
        "Failed: DID NOT RAISE ModuleNotFoundError",
        "AssertionError: No module named 'x'",
        "KeyError: 'context'",
    ],
)
def test_the_values_of_an_assertion_are_no_evidence(error: str) -> None:
    output = (
        f"=== FAILURES ===\n__ test_a __\n\nE   {error}\n=== short test summary info ===\n"
        "FAILED a.py::test_a - x\n"
    )
    failure = classify(output, 1, "pytest")
    assert (failure.kind, failure.error, failure.failed_tests) == (
        "test_failure",
        error,
        ("a.py::test_a",),
    )


@pytest.mark.parametrize(
    ("error", "kind", "type_"),
    [
        (
            "ConnectionRefusedError: [Errno 111] Connection refused",
            "service_unavailable",
            "UNKNOWN",
        ),
        ("OSError: [Errno 28] No space left on device", "resource_exhausted", "UNKNOWN"),
        ("PermissionError: [Errno 13] Permission denied: '/data'", "permission_denied", "UNKNOWN"),
        ("ModuleNotFoundError: No module named 'pandas'", "dependency_missing", "BROKEN_BUILD"),
        ("Failed: Timeout (>1.0s) from pytest-timeout.", "timeout", "VERIFICATION_FAILED"),
        ("ValueError: bad", "test_failure", "VERIFICATION_FAILED"),
    ],
)
def test_a_cause_outside_the_code_keeps_its_name_inside_a_test(
    error: str, kind: str, type_: str
) -> None:
    output = (
        f"=== FAILURES ===\n__ test_a __\n\nE   {error}\n=== short test summary info ===\n"
        "FAILED a.py::test_a - x\n"
    )
    failure = classify(output, 1, "pytest")
    assert (failure.kind, failure.type) == (kind, type_)


def test_one_plain_failure_outweighs_the_environment_of_others() -> None:
    blocks = (
        "__ test_a __\n\nE   ConnectionRefusedError: [Errno 111] refused\n__ test_b __\n\n"
        "E   assert 1 == 2\n"
    )
    summary = "=== short test summary info ===\nFAILED a.py::test_a - x\nFAILED a.py::test_b - y\n"
    failure = classify(f"=== FAILURES ===\n{blocks}{summary}", 1, "pytest")
    assert (failure.kind, failure.error) == ("test_failure", "assert 1 == 2")
    # The title names the first test: that is the one whose error is quoted.
    assert failure.failed_tests == ("a.py::test_b", "a.py::test_a")


LONG_DIFFERENCE = "@@ -1,90 +1 @@\n" + " same\n" * 80


@pytest.mark.parametrize(
    ("command", "output", "error"),
    [
        ("diff a.sh b.sh", "1c1\n< set -eu\n---\n> set -e\n", "a.sh and b.sh differ: < set -eu"),
        ("diff -U 3 a.sh b.sh", "--- a.sh\n+++ b.sh\n@@ -1 +1 @@\n-set -eu\n+set -e\n",
         "a.sh and b.sh differ: -set -eu"),
        ("diff <(sort a) <(sort b)", "1c1\n< a\n---\n> b\n", "both sides differ: < a"),
        ("diff -q a.sh b.sh", "Files a.sh and b.sh differ\n", "Files a.sh and b.sh differ"),
        ("git diff --exit-code",
         f"diff --git a/log.txt b/log.txt\n--- a/log.txt\n+++ b/log.txt\n{LONG_DIFFERENCE}"
         "-./run.sh: Permission denied\n+FAILED: test_total (cart.CartTest)\n"
         " Traceback (most recent call last):\n   File \"a.py\", line 1\n KeyError: 'a'\n"
         "+  1) adds the prices:\n+     Error: refused\n+not ok 1 - adds\n"
         "-src/a.c:3:5: error: expected ';'\n",
         "log.txt differs: -./run.sh: Permission denied"),
    ],
)  # fmt: skip
def test_the_lines_of_a_difference_are_data(command: str, output: str, error: str) -> None:
    failure = classify(output, 1, command)
    assert (failure.kind, failure.error) == ("test_failure", error)


@pytest.mark.parametrize(
    ("command", "output", "error"),
    [
        ('grep -c "class Foo" a.py', "0\n", '`grep -c "class Foo" a.py` printed 0'),
        (
            "! grep -n denied a.sh",
            "3:echo Permission denied\n",
            "`! grep -n denied a.sh` found a match: 3:echo Permission denied",
        ),
    ],
)
def test_what_a_search_prints_is_quoted_with_its_command(
    command: str, output: str, error: str
) -> None:
    failure = classify(output, 1, command)
    assert (failure.kind, failure.error) == ("task_incomplete", error)


@pytest.mark.parametrize(
    "noise",
    [
        "parser test: unexpected token handled, 0 errors",
        "✓ explains a missing module: command not found",
        "ok 3 - says permission denied",
        "tests/test_a.py::test_connection_refused PASSED",
        "INFO: retrying, connection refused",
        "2026-01-01 10:00:00 INFO no space left on device",
        "  12 | raise SyntaxError('x')",
        "+ echo 'syntax error'",
        "note: try pip install foo",
    ],
)
def test_words_of_what_passed_or_was_only_shown_are_no_evidence(noise: str) -> None:
    failure = classify(
        f"{noise}\nwould reformat a.py\n1 file would be reformatted.\n", 1, "black --check ."
    )
    assert (failure.kind, failure.error) == ("format_error", "would reformat a.py")


def test_what_make_ignores_is_ignored() -> None:
    output = (
        "false\nmake: [Makefile:2: ci] Error 1 (ignored)\nflake8 a.py\n"
        "a.py:1:1: F401 'os' imported but unused\n"
    )
    failure = classify(
        f"bash: foo: command not found\n{output}make: *** [Makefile:3: ci] Error 1\n", 2, "make ci"
    )
    assert (failure.kind, failure.error) == (
        "lint_error",
        "a.py:1:1: F401 'os' imported but unused",
    )
    last = "make: *** [Makefile:11: ci] Error 4"
    failure = classify(f"false\nmake: [Makefile:10: ci] Error 1 (ignored)\n{last}\n", 2, "make ci")
    assert failure.error == last


@pytest.mark.parametrize(
    ("tree", "name", "kind"),
    [
        (["src/shop/__init__.py"], "shop", "build_error"),
        (["shop/cart.py"], "shop.pricing", "build_error"),
        (["a.py"], "shop", "dependency_missing"),
    ],
)
def test_a_module_is_the_projects_own_if_it_is_in_the_tree(
    tree: list[str], name: str, kind: str, tmp_path: Path
) -> None:
    for file in tree:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    failure = classify(
        f"ModuleNotFoundError: No module named '{name}'\n", 1, "python main.py", root=tmp_path
    )
    assert (failure.kind, failure.missing) == (kind, name)


@pytest.mark.parametrize(
    ("example", "type_"),
    [
        ("Error: Cannot find module './utils' from 'src/index.js'", "BROKEN_BUILD"),
        ("AssertionError: Expected 200 but got 404", "VERIFICATION_FAILED"),
        ("Error: Maximum context length (128k tokens) exceeded", "CONTEXT_EXHAUSTED"),
        ("Error: Connection refused to database server", "UNKNOWN"),
        ("compilation error", "BROKEN_BUILD"),
        ("test failed", "VERIFICATION_FAILED"),
        ("verification failed", "VERIFICATION_FAILED"),
        ("token limit", "CONTEXT_EXHAUSTED"),
        ("maximum length", "CONTEXT_EXHAUSTED"),
        ("something else", "UNKNOWN"),
    ],
)
def test_the_examples_and_indicators_of_the_types(example: str, type_: str) -> None:
    assert classify(example, 1).type == type_


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("the import error again", "build_error"),
        ("what we expected", "test_failure"),
        ("bad status code", "test_failure"),
        ("lost in context", "unknown"),
        ("unexpectedly fine", "unknown"),
    ],
)
def test_indicators_of_the_table_are_the_last_resort(line: str, kind: str) -> None:
    assert classify(f"{line}\n", 1, "./frobnicate").kind == kind


def test_an_indicator_of_the_project_comes_before_our_own_reading(tmp_path: Path) -> None:
    table = tmp_path / "kinds.yaml"
    table.write_text(
        "flaky_device:\n  type: UNKNOWN\n  category: tool_error\n  indicators: [device lost]\n"
    )
    evidence = Evidence("FAILED a.py::test_a - OSError: device lost\n", 1, "pytest")
    failure = classify_evidence(evidence, Kinds.load(table))
    assert (failure.kind, failure.category) == ("flaky_device", "tool_error")
    assert classify_evidence(evidence, Kinds.load()).kind == "test_failure"


def test_evidence_needs_nothing_but_its_defaults() -> None:
    assert Evidence().source == "verify"


def test_ruff_behind_a_task_runner_wants_formatting() -> None:
    output = (
        "unformatted: File would be reformatted\n --> a.py:1:6\n  |\n  - x = {  'a':1 }\n"
        '1 + x = {"a": 1}\n  |\n\n1 file would be reformatted\n'
    )
    failure = classify(output, 1, "just check")

    assert failure.kind == "format_error"
    assert failure.files == ("a.py",)


def test_tests_that_a_difference_shows_have_not_failed() -> None:
    difference = """\
python gen.py > docs.md
diff --git a/docs.md b/docs.md
--- a/docs.md
+++ b/docs.md
@@ -1,5 +1,5 @@
 ## tests
 not ok 1 - total
 FAIL TestTotal
 2 failed, 1 passed
-old
+new
"""
    failure = classify(difference, 1, "make gen && git diff --exit-code")
    assert (failure.kind, failure.failed_tests) == ("test_failure", ())
    assert failure.error == "docs.md differs: -old"


@pytest.mark.parametrize(
    "error",
    [
        "AssertionError: expected 'No module named x' to equal 'ok'",
        "AssertionError: assert 'ModuleNotFoundError: No module named x' == 'ok'",
    ],
)
def test_values_behind_an_assertion_are_no_cause(error: str) -> None:
    failure = classify(f"{error}\n", 1, "node app.js")
    assert (failure.kind, failure.retryable, failure.missing) == ("test_failure", True, None)


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("make test", "test_failure"),
        ("make lint", "lint_error"),
        ("just test", "test_failure"),
        ("bun run test", "test_failure"),
        ("npm test", "test_failure"),
        ("make app", "build_error"),
    ],
)
def test_a_target_that_builds_nothing_does_not_break_the_build(command: str, kind: str) -> None:
    assert classify("error: the total is wrong\n", 1, command).kind == kind


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (130, "Interrupted (exit status 130)"),
        (-2, "Interrupted (exit status 130)"),
        (-15, "Terminated (exit status 143)"),
    ],
)
def test_the_signal_that_ended_a_silent_command_is_its_error(status: int, error: str) -> None:
    assert classify("", status, "./run.sh").error == error


@pytest.mark.parametrize("mark", ["[✓]", "[ok]", "[PASS]", "[  OK  ]"])
def test_what_is_marked_as_passed_in_brackets_is_no_cause(mark: str) -> None:
    output = f"{mark} connection refused is handled\n[✗] the total is wrong\n"
    assert classify(output, 1, "bash check.sh").kind == "test_failure"


@pytest.mark.parametrize(
    "output",
    [
        "Makefile:3: *** REGION is not set, use make check REGION=eu-1.  Stop.\n",
        "tools/check.sh: line 3: API_TOKEN: API_TOKEN must be set to reach the API\n",
    ],
)
def test_what_a_check_needs_of_its_caller_is_no_finding(output: str) -> None:
    failure = classify(output, 1, "bash tools/check.sh")
    assert (failure.kind, failure.retryable) == ("unknown", False)
