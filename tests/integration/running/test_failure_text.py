"""What a person reads when a task fails, in the situations that differ."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker


def failure(
    pytester: pytest.Pytester, make_spec: SpecMaker, verify: str, *args: str, more: str = ""
) -> str:
    """The text between the heading of the failure and the summary."""
    make_spec(f"# Tasks\n\n- [ ] 1.1 Sum the prices\n  - **Verify**: {verify}\n{more}")
    result = pytester.runpytest("--ralph", "specs", *args)
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert "Traceback" not in text.replace("| Traceback", "")
    return text.partition("1.1 Sum the prices __")[2].partition("\n")[2].partition("\n====")[0]


def test_command_ending_expectation_output_and_place(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    text = failure(pytester, make_spec, "`echo adding; echo 'ERROR: sum is wrong' >&2; exit 3`")
    lines = text.splitlines()
    assert lines[0].endswith("ERROR: sum is wrong")
    assert lines[1] == "  $ echo adding; echo 'ERROR: sum is wrong' >&2; exit 3"
    assert lines[2].startswith("  exited with 3 after ")
    assert lines[2].endswith(", expected exit status 0")
    assert lines[3:] == ["  | adding", "  | ERROR: sum is wrong", "specs/demo/tasks.md:3"]


def test_an_expectation_on_the_output_is_told_with_what_came(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    text = failure(pytester, make_spec, "`printf 'a\\nb\\n' | wc -l` returns at least 5")
    assert text.splitlines()[0].endswith("expected stdout >= 5, got '2'")
    assert text.count("expected stdout >= 5") == 1


def test_the_log_is_named_if_output_is_hidden(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    text = failure(pytester, make_spec, "`echo oops >&2` returns 3", "-q")
    (line,) = (line for line in text.splitlines() if "full output:" in line)
    assert (pytester.path / line.split()[-1]).read_text() == "oops\n"


def test_a_timeout_says_so_and_shows_what_was_printed(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    text = failure(pytester, make_spec, "`echo waiting; sleep 30`", "--ralph-timeout=0.3")
    assert text.startswith("Timed out after 0.3s\n  $ echo waiting; sleep 30\n  | waiting\n")


def test_a_signal_is_named(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    text = failure(pytester, make_spec, "`kill -SEGV $$`")
    assert "  exited with 139 (SIGSEGV) after " in text


def test_one_of_several_commands_is_placed(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    text = failure(pytester, make_spec, "`test -d specs` and `ls nowhere` and `test -d specs`")
    assert "  $ ls nowhere\n" in text
    assert "  command 2 of 3\n" in text


def test_of_two_alternatives_both_are_told(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    text = failure(pytester, make_spec, "`test -e here` or `test -e there`")
    assert "  $ test -e there\n" in text
    assert "  `test -e here` did not pass either: expected exit status 0, got 1\n" in text


def test_a_script_is_shown_line_by_line_and_not_without_end(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    script = "\n".join(f"    echo line {number}" for number in range(30))
    text = failure(pytester, make_spec, f"\n    ```bash\n{script}\n    exit 1\n    ```")
    assert "  $ echo line 0\n  > echo line 1\n" in text
    assert "  > … 28 more lines …\n" in text


def test_of_a_huge_output_the_lines_that_matter_are_shown(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    text = failure(
        pytester, make_spec, "`seq 300000 400000; echo 'ERROR: it broke' >&2; seq 1 30; exit 3`"
    )
    lines = text.splitlines()
    assert lines[0].endswith("ERROR: it broke")
    assert len(lines) < 80
    assert "  | ERROR: it broke" in lines
    assert "  | 400000" in lines
    assert "  | 30" in lines
    assert "  | 350000" not in lines


def test_what_surrounds_the_error_is_shown_wherever_it_stands(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    text = failure(
        pytester, make_spec, "`seq 3000 6000; echo 'ERROR: it broke'; seq 20000 90000; exit 3`"
    )
    assert "  | …\n" in text
    assert "  | 6000\n  | ERROR: it broke\n  | 20000\n" in text
    assert "  | 90000\n  full output: " in text
    assert ".log (0.4 MB)\n" in text


def test_control_sequences_of_a_command_do_not_reach_the_terminal(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    text = failure(pytester, make_spec, "`printf '\\033]0;owned\\007\\033[2Jcleared\\n'; false`")
    assert "\x1b" not in text
    assert ": cleared\n" in text


def test_secrets_of_the_environment_are_masked(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "tok-1234567890abcdef")
    text = failure(pytester, make_spec, '`echo "using $API_TOKEN"; false`')
    assert "tok-1234567890abcdef" not in text
    assert "using " in text


@pytest.mark.parametrize("option", ["-v", "--collect-only"])
def test_secrets_in_a_reading_are_masked(
    pytester: pytest.Pytester, make_spec: SpecMaker, option: str
) -> None:
    pytester.makeini("[pytest]\nralph_secrets = ACME-\\d+\n")
    make_spec(t1_1="echo ACME-12345")
    result = pytester.runpytest("--ralph", option, "specs")
    result.stdout.fnmatch_lines(["*Task 1.1: echo [*][*][*]*"])
    result.stdout.no_fnmatch_line("*ACME-12345*")


def test_a_log_that_could_not_be_written_is_not_named(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    (pytester.path / ".ralph").write_text("in the way")
    text = failure(pytester, make_spec, "`echo all is lost; false`")
    assert ": all is lost\n" in text
    assert "full output" not in text


def test_nothing_printed_still_says_what_was_expected(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    text = failure(pytester, make_spec, "`false`")
    assert "full output" not in text
    assert text.splitlines()[1:3] == ["  $ false", text.splitlines()[2]]
    assert ", expected exit status 0\n" in text


def test_a_fault_of_a_hook_is_shown_as_what_it_is(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    pytester.makeconftest(
        dedent("""
        def pytest_ralph_failed(task):
            raise RuntimeError("in my hook")
    """)
    )
    make_spec(t1_1="false", t1_2="true")
    result = pytester.runpytest("--ralph", "specs")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*RuntimeError: in my hook*"])
