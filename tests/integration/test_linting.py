"""`--ralph-lint` tells what is wrong with specs and runs nothing; `-v` tells it at collection."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.history.store import History
from tests.records import record_of

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

CARELESS = """\
    ---
    total_tasks: 7
    ---

    - [ ] 1.1 Hides its status
      - **Verify**: `touch ran.txt | tail -1`
    - [ ] 1.2 Checks nothing
      - **Verify**: `touch ran.txt || true`
    - [ ] 1.3 Tells nothing
      - **Do**: Something
    """


@pytest.fixture
def careless(make_spec: SpecMaker) -> None:
    make_spec(CARELESS)


@pytest.mark.usefixtures("careless")
def test_lint_tells_every_finding_with_its_line_and_runs_nothing(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--ralph-lint", "specs")

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            (
                "specs/demo/tasks.md:2: warning: total_tasks is 7, but there are 3 tasks "
                "[[]wrong-total[]]"
            ),
            "specs/demo/tasks.md:6: warning: 1.1: `| tail -1` hides *[[]pipe-hides-status[]]",
            (
                "specs/demo/tasks.md:8: error: 1.2: `|| true` makes it pass whatever happens "
                "[[]always-true[]]"
            ),
            "specs/demo/tasks.md:9: warning: 1.3: no Verify field: *[[]no-verify[]]",
            "1 spec, 1 error, 3 warnings",
        ],
        consecutive=True,
    )
    assert not (pytester.path / "ran.txt").exists()
    assert not (pytester.path / ".ralph").exists()


@pytest.mark.usefixtures("careless")
def test_lint_for_github_writes_annotations(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--ralph-lint=github", "specs", "--color=yes")

    result.stdout.fnmatch_lines(
        [
            (
                "::error file=specs/demo/tasks.md,line=8,title=ralph%3A always-true::1.2: `|| "
                "true` makes *"
            )
        ]
    )
    assert "\x1b[" not in result.stdout.str()


def test_warnings_alone_do_not_fail_a_lint(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(t1_1="make | tail -1", t1_2="make")

    result = pytester.runpytest("--ralph-lint")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["1 spec, 0 errors, 1 warning"])


@pytest.mark.parametrize("form", ["--ralph-lint", "--ralph-lint=github"])
def test_secrets_in_a_plan_are_masked(
    pytester: pytest.Pytester,
    make_spec: SpecMaker,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
) -> None:
    monkeypatch.setenv("SECRETKEY", "tr0ub4dor-7")
    make_spec("- [ ] 1.1 Look\n  - **Verify**: Manual: log in with tr0ub4dor-7\n")
    result = pytester.runpytest(form, "specs")

    assert "log in with ***" in result.stdout.str()
    assert "tr0ub4dor-7" not in result.stdout.str()


def test_a_pattern_for_secrets_that_is_none_is_named(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec("- [ ] 1.1 Look\n  - **Verify**: `true`\n")
    result = pytester.runpytest("--ralph-lint", "-o", "ralph_secrets=(", "specs")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: not a regular expression: (*"])


def test_a_secret_that_names_an_executor_is_masked(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRETKEY", "tr0ub4dor-7")
    make_spec("- [ ] 1.1 Look\n  - **Verify**: `true`\n")
    result = pytester.runpytest("--ralph-recovery", "--ralph-executor=./tr0ub4dor-7", "specs")

    result.stderr.fnmatch_lines(["ERROR: --ralph-executor: no such file: ./***"])


def test_nothing_to_lint_is_nothing_collected(pytester: pytest.Pytester) -> None:
    assert pytester.runpytest("--ralph-lint").ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (
            "---\nralph: [\n---\n- [ ] 1.1 A\n  - **Verify**: `ls`\n",
            "*: error: malformed front matter*[[]front-matter[]]",
        ),
        (
            "---\nralph:\n  tmeout: 3\n---\n- [ ] 1.1 A\n  - **Verify**: `ls`\n",
            "*:3: error: *did you mean `timeout`*",
        ),
        (
            "---\nralph:\n  budget: 3\n  timeout: x\n---\n- [ ] 1.1 A\n",
            "*:3: warning: `budget` applies to the whole run*",
        ),
        (
            "---\nralph:\n  timeout: soon\n---\n- [ ] 1.1 A\n  - **Verify**: `ls`\n",
            "*:3: error: *'soon' [[]setting[]]",
        ),
    ],
)
def test_settings_of_a_spec_are_linted(
    pytester: pytest.Pytester, make_spec: SpecMaker, text: str, finding: str
) -> None:
    make_spec(text)

    result = pytester.runpytest("--ralph-lint")

    assert result.ret == 1
    result.stdout.fnmatch_lines([finding])


def test_a_command_from_the_ini_file_counts_as_verify(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec("- [ ] T001 [US1] Make it so\n")
    pytester.makeini("[pytest]\nralph_verify =\n    [US1]: make\n")

    assert "no-verify" not in pytester.runpytest("--ralph-lint").stdout.str()


@pytest.mark.usefixtures("careless")
@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_with_v_findings_are_told_at_collection(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    if workers:
        pytest.importorskip("xdist")

    result = pytester.runpytest("--ralph", "specs", "-v", *workers)

    result.stdout.fnmatch_lines(
        ["specs/demo/tasks.md:6: warning: 1.1: *pipe-hides-status*", "*PASSED*"]
    )
    assert result.stdout.str().count("pipe-hides-status") == 1


@pytest.mark.usefixtures("careless")
def test_without_v_nothing_is_told(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--ralph", "specs")

    result.stdout.no_fnmatch_line("*[[]*-*[]]")


@pytest.mark.usefixtures("careless")
def test_with_v_only_what_was_chosen_is_told(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--ralph", "specs/demo/tasks.md::1.2", "-v")

    result.stdout.fnmatch_lines(["*wrong-total*", "*always-true*"])
    result.stdout.no_fnmatch_line("*pipe-hides-status*")


def remember(pytester: pytest.Pytester, task: str, outcome: str, duration: float) -> None:
    with History(pytester.path / ".ralph" / "history.db") as history:
        for number in range(6):
            history.record(
                record_of(
                    run=f"r{number}",
                    time=time.time(),
                    spec="demo",
                    task=task,
                    number=1,
                    what="verify",
                    kind="test_failure" if outcome == "failed" else "",
                    outcome=outcome,
                    duration=duration,
                )
            )


def test_with_v_the_history_tells_what_is_likely_to_fail_and_how_long_tasks_take(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="true && ls", t1_2="ls")
    remember(pytester, "1.1", "failed", 1.0)
    remember(pytester, "1.2", "passed", 20.0)

    result = pytester.runpytest("--ralph", "specs", "-v", "--co")

    result.stdout.fnmatch_lines(
        [
            "specs/demo/tasks.md:3: likely to fail: 1.1, 88% (6 of 6 runs, *), mostly: tests *",
            "specs/demo/tasks.md: suggested time limits, from how long these tasks took: 1.2 60 s",
        ]
    )


def test_a_time_limit_that_fits_is_not_talked_about(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec("- [ ] 1.2 A\n  - **Timeout**: 90s\n  - **Verify**: `ls`\n")
    remember(pytester, "1.2", "passed", 20.0)

    assert "time limits" not in pytester.runpytest("--ralph", "specs", "-v", "--co").stdout.str()


def test_findings_of_one_kind_take_one_line(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="make | tail -1", t1_2="make | tail -2", t1_3="make | tail -3")

    brief = pytester.runpytest("--ralph-lint")
    full = pytester.runpytest("--ralph-lint", "-v")

    assert brief.stdout.str().count("[pipe-hides-status]") == 1
    brief.stdout.fnmatch_lines(["*pipe-hides-status* and 2 more (-v lists them)", "1 spec, 0 *"])
    assert full.stdout.str().count("[pipe-hides-status]") == 3


def test_a_command_that_cannot_be_parsed_is_one_finding(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec("- [ ] 1.1 It\n  - **Verify**: `if true; then echo x`\n")
    result = pytester.runpytest("--ralph-lint", "specs")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*[[]shell-syntax[]]", "1 spec, 1 error, 0 warnings"])


def test_lint_finds_specs_beside_testpaths(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    pytester.mkdir("tests")
    pytester.makeini("[pytest]\ntestpaths = tests\n")
    make_spec("- [ ] 1.1 Check\n  - **Verify**: `ls specs`\n")

    result = pytester.runpytest("--ralph-lint")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["1 spec, 0 errors, 0 warnings"])
