"""An Expect field states exactly what a command must do, and nothing else counts."""

from __future__ import annotations

import pytest

from pytest_ralph.spec.document import Spec
from pytest_ralph.spec.lint import lint
from pytest_ralph.verify.expect_field import ExpectFieldError, parse_expect_field
from pytest_ralph.verify.model import Expect


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("exit 2", Expect("exit", "==", 2)),
        ("Exits 2", Expect("exit", "==", 2)),
        ("exit code: 2", Expect("exit", "==", 2)),
        ("exit != 0", Expect("exit", "nonzero")),
        ("exit non-zero", Expect("exit", "nonzero")),
        ("stdout == 3", Expect("stdout", "==", 3)),
        ("stdout == 3.5", Expect("stdout", "==", 3.5)),
        ("stdout == ready", Expect("stdout", "==", "ready")),
        ('stdout == "all good"', Expect("stdout", "==", "all good")),
        ("stdout == 'all good'", Expect("stdout", "==", "all good")),
        ("stdout contains 'x; y'", Expect("stdout", "contains", "x; y")),
        ("stdout != 0", Expect("stdout", "!=", 0)),
        ("stdout >= 2", Expect("stdout", ">=", 2)),
        ("stdout > 2", Expect("stdout", ">", 2)),
        ("stdout <= 2", Expect("stdout", "<=", 2)),
        ("stdout < 2", Expect("stdout", "<", 2)),
        ("stdout>=2", Expect("stdout", ">=", 2)),
        ('stdout contains "x; y"', Expect("stdout", "contains", "x; y")),
        (r'stdout contains "a \"b\""', Expect("stdout", "contains", 'a "b"')),
        ('stdout not contains "x"', Expect("stdout", "not_contains", "x")),
        ("stdout empty", Expect("stdout", "empty")),
        (r"stdout matches /v\d+; ok/", Expect("stdout", "matches", r"v\d+; ok")),
        (r"stdout matches /a\/b/", Expect("stdout", "matches", "a/b")),
        ("stderr empty", Expect("stderr", "empty")),
        ("`exit 2`", Expect("exit", "==", 2)),
    ],
)
def test_one_expectation_is_read(text: str, wanted: Expect) -> None:
    assert parse_expect_field(text) == ((wanted,), ())


@pytest.mark.parametrize(
    "text",
    [
        'exit 2; stdout contains "usage";\n  file out/a.txt exists',
        '- exit 2\n- stdout contains "usage"\n- `file out/a.txt exists`',
        'exit 2\nstdout contains\n  "usage"; file out/a.txt exists',
    ],
)
def test_semicolons_or_lines_join_several(text: str) -> None:
    stated = parse_expect_field(text)
    assert stated.expect == (Expect("exit", "==", 2), Expect("stdout", "contains", "usage"))
    assert stated.files == ("out/a.txt",)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("stdout is 3", "`stdout is 3` is not an expectation"),
        ("stdout contains x", "`stdout contains x` is not an expectation"),
        ('stdout contains "x', "is not an expectation"),
        ("stdout >= many", "not a number"),
        ('stdout == "x', "quotation mark"),
        ("stdout matches /(/", "is not a regular expression"),
        ("exit 0; nonsense", "`nonsense` is not an expectation"),
        ("file exists", "`file exists` is not an expectation"),
    ],
)
def test_a_malformed_field_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ExpectFieldError) as error:
        parse_expect_field(text)
    assert reason in str(error.value)


def spec_with(verify: str, expect: str) -> Spec:
    return Spec.parse(f"- [ ] 1.1 Add\n  - **Verify**: {verify}\n  - **Expect**: {expect}\n")


def test_the_field_overrides_the_prose() -> None:
    spec = spec_with("`./a.sh` exits 0 and looks right", "exit 2; file out.txt exists")
    verify = spec.tasks[0].verify
    (check,) = verify.checks
    assert check.expect == (Expect("exit", "==", 2),)
    assert check.files == ("out.txt",)
    assert verify.unread == ()


def test_the_field_is_about_the_last_command() -> None:
    verify = spec_with("`./a.sh` exits 3 and `./b.sh`", "stdout == 1").tasks[0].verify
    assert [check.expect for check in verify.checks] == [(), (Expect("stdout", "==", 1),)]


def test_the_field_is_about_each_alternative() -> None:
    verify = spec_with("`./a.sh` or `./b.sh`", "stdout == 1").tasks[0].verify
    assert [check.expect for check in verify.checks] == [(Expect("stdout", "==", 1),)] * 2


@pytest.mark.parametrize("label", ["- **Expect**", "- Expect", "- **expect**", "- _Expect_"])
def test_the_label_may_be_plain(label: str) -> None:
    spec = Spec.parse(f"- [ ] 1.1 Add\n  - **Verify**: `./a.sh` is fine\n  {label}: exit 2\n")
    assert spec.tasks[0].verify.describe() == "./a.sh, exit status == 2"


def test_a_malformed_field_makes_the_task_invalid() -> None:
    spec = spec_with("`./a.sh`", "stdout is nice")
    verify = spec.tasks[0].verify
    assert verify.checks == ()
    assert (verify.invalid or "").startswith("Expect field: `stdout is nice` is not")
    found = [(finding.line, finding.code, finding.severity) for finding in lint(spec)]
    assert found == [(3, "expect-field", "error")]


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("All tests pass", "./a.sh"),
        ("prints `ok`", "./a.sh, stdout contains 'ok'"),
        ("Exit 0", "./a.sh, exit status == 0"),
        ("failure", "./a.sh, exit status nonzero"),
        ("a lovely shade of blue", "manual: Expect field: a lovely shade of blue"),
    ],
)
def test_prose_is_read_like_words_behind_a_command(text: str, reading: str) -> None:
    assert spec_with("`./a.sh`", text).tasks[0].verify.describe() == reading


def test_prose_that_is_read_in_part_is_reported() -> None:
    verify = spec_with("`./a.sh`", "Exit code 0, JSON printed to stdout").tasks[0].verify
    assert verify.describe() == "./a.sh, exit status == 0"
    assert verify.unread == ("JSON printed to stdout",)
