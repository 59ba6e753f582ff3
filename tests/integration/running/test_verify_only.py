"""A run without recovery verifies and does nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker


def files(pytester: pytest.Pytester) -> dict[str, bytes]:
    directory = pytester.path / "specs"
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_nothing_is_written_into_the_spec(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(t1_1="true", t1_2="false")
    before = files(pytester)
    pytester.runpytest("--ralph", "specs").assert_outcomes(passed=1, failed=1)
    assert files(pytester) == before


@pytest.mark.parametrize("asked", ["recovery", "execute"])
@pytest.mark.parametrize("args", [("--ralph",), ("--ralph", "--no-ralph-recovery")])
def test_front_matter_starts_no_executor(
    pytester: pytest.Pytester, make_spec: SpecMaker, asked: str, args: tuple[str, ...]
) -> None:
    settings = f"executor: touch made\n  {asked}: true\n  fresh: true\n  commit: auto"
    task = "- [ ] 1.1 It\n  - **Verify**: `test -e made`\n"
    make_spec(f"---\nralph:\n  {settings}\n---\n{task}")
    before = files(pytester)
    result = pytester.runpytest(*args, "specs")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "ralph: verify only",
            f"ralph: specs/demo/tasks.md: {asked} is off although the front matter says "
            f"{asked}: true (turn it on with --ralph-{asked})",
        ]
    )
    assert files(pytester) == before
    assert not (pytester.path / "made").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"recoveryMode": true}'])
def test_the_state_file_is_no_obstacle(
    pytester: pytest.Pytester, make_spec: SpecMaker, text: str
) -> None:
    spec = make_spec(t1_1="true")
    (spec.parent / ".ralph-state.json").write_text(text)
    before = files(pytester)
    pytester.runpytest("--ralph", "specs").assert_outcomes(passed=1)
    assert files(pytester) == before


def test_no_agent_needs_to_be_installed(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_spec(t1_1="true")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    args = ("--ralph-executor=goose", "specs")
    pytester.runpytest("--ralph", *args).assert_outcomes(passed=1)
    # An agent is looked up only when a task needs it.
    pytester.runpytest("--ralph-recovery", *args).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("args", "header"),
    [
        (["--ralph"], "ralph: verify only"),
        (["--ralph-recovery"], "ralph: recovery, executor repair, at most 100 runs"),
        (
            ["--ralph-execute", "--ralph-executor=true", "--ralph-budget=5"],
            "ralph: execute, executor true, at most 5 runs",
        ),
        (
            ["--ralph-recovery", "--ralph-budget=1"],
            "ralph: recovery, executor repair, at most 1 run",
        ),
    ],
)
def test_the_header_says_the_mode(
    pytester: pytest.Pytester, make_spec: SpecMaker, args: list[str], header: str
) -> None:
    make_spec(t1_1="true")
    result = pytester.runpytest(*args, "specs")
    result.stdout.fnmatch_lines([header])
    result.assert_outcomes(passed=1)
