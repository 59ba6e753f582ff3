"""Which files are specs: every tasks.md below the given paths, any Markdown file by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

TASK = "- [ ] 1.1 Do it\n  - **Verify**: `true`\n"


def collected(result: pytest.RunResult) -> list[str]:
    assert result.ret == pytest.ExitCode.OK
    return [line for line in result.outlines if "::" in line]


def test_several_specs_in_the_order_given(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    for name in ("a", "b", "c"):
        make_spec(TASK, name=name)
    result = pytester.runpytest("--ralph", "--co", "-q", "specs/c", "specs/a/tasks.md")
    assert collected(result) == ["specs/c/tasks.md::1.1", "specs/a/tasks.md::1.1"]
    result = pytester.runpytest("--ralph", "-v", "specs")
    result.assert_outcomes(passed=3)


def test_python_tests_beside_the_spec_run_too(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(TASK)
    pytester.makepyfile(test_it="def test_one(): pass")
    pytester.runpytest("--ralph", "-v").assert_outcomes(passed=2)
    pytester.runpytest("-v").assert_outcomes(passed=1)


def test_any_other_markdown_file_given_by_name(pytester: pytest.Pytester) -> None:
    plan = pytester.path / "PLAN.md"
    plan.write_text(TASK)
    (pytester.path / "OTHER.md").write_text(TASK)
    result = pytester.runpytest("--ralph", "--co", "-q", "PLAN.md")
    assert collected(result) == ["PLAN.md::1.1"]
    assert pytester.runpytest("--ralph", "--co", "-q").ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.parametrize("key", ["ralph", "ralph_recovery"])
def test_the_ini_file_can_ask_for_it(
    pytester: pytest.Pytester, make_spec: SpecMaker, key: str
) -> None:
    make_spec(TASK)
    pytester.makeini(f"[pytest]\n{key} = true\n")
    pytester.runpytest("specs").assert_outcomes(passed=1)


def test_the_ini_file_can_say_no(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(TASK)
    pytester.makeini("[pytest]\nralph = false\nralph_recovery = false\n")
    assert pytester.runpytest("specs").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_without_a_path_the_testpaths_of_the_project_hold(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(TASK)
    (pytester.mkdir("elsewhere") / "tasks.md").write_text(TASK)
    pytester.makeini("[pytest]\ntestpaths = specs\n")
    assert collected(pytester.runpytest("--ralph", "--co", "-q")) == ["specs/demo/tasks.md::1.1"]


def test_a_hidden_directory_is_looked_into_when_it_is_named(pytester: pytest.Pytester) -> None:
    hidden = pytester.path / ".kiro" / "specs" / "demo"
    hidden.mkdir(parents=True)
    (hidden / "tasks.md").write_text(TASK)
    assert collected(pytester.runpytest("--ralph", "--co", "-q", ".kiro/specs")) == [
        ".kiro/specs/demo/tasks.md::1.1"
    ]
    assert pytester.runpytest("--ralph", "--co", "-q").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_spec_can_be_run_from_another_directory(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_spec("- [ ] 1.1 Root\n  - **Verify**: `test -d specs`\n")
    pytester.makeini("[pytest]\n")
    monkeypatch.chdir(pytester.path / "specs")
    pytester.runpytest("--ralph", "demo", "-v").assert_outcomes(passed=1)


def test_items_run_in_file_order_also_when_a_plugin_mixes_them(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(
        "".join(f"- [ ] 1.{n} Step\n  - **Verify**: `echo {n} >> order`\n" for n in (1, 3, 2))
    )
    pytester.makeconftest("def pytest_collection_modifyitems(items): items.reverse()")
    pytester.runpytest("--ralph", "specs").assert_outcomes(passed=3)
    assert (pytester.path / "order").read_text().split() == ["1", "3", "2"]


@pytest.mark.parametrize("value", ["", "=github"])
def test_the_option_to_lint_does_not_swallow_the_path(
    pytester: pytest.Pytester, make_spec: SpecMaker, value: str
) -> None:
    make_spec("- [ ] 1.1 Do it\n  - **Verify**: `touch ran`\n")
    result = pytester.runpytest(f"--ralph-lint{value}", "specs/demo")
    assert result.ret == pytest.ExitCode.OK
    assert not (pytester.path / "ran").exists()
    result.stdout.fnmatch_lines(["1 spec*"])


def test_a_path_to_lint_that_is_not_there_is_a_usage_error(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--ralph-lint", "nowhere")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: file or directory not found: nowhere"])


@pytest.mark.parametrize(
    "arguments",
    [
        ("specs",),
        ("specs/a", "specs/link"),
        ("specs/a", "./specs/a/../a"),
        ("specs/a/tasks.md", "specs/link/tasks.md"),
        ("specs/a/tasks.md::1.1", "specs/link/tasks.md::1.1"),
        ("specs/a", "specs/other/tasks.md"),
    ],
)
def test_a_spec_reached_twice_is_collected_once(
    pytester: pytest.Pytester, make_spec: SpecMaker, arguments: tuple[str, ...]
) -> None:
    make_spec(TASK, name="a")
    (pytester.path / "specs" / "link").symlink_to("a")
    (pytester.path / "specs" / "0-link").symlink_to("a")
    (pytester.path / "specs" / "other").mkdir()
    (pytester.path / "specs" / "other" / "tasks.md").symlink_to("../a/tasks.md")
    result = pytester.runpytest("--ralph-recovery", "-v", *arguments)

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["specs/a/tasks.md::1.1 PASSED*"])


def test_a_link_alone_keeps_its_path(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(TASK, name="a")
    (pytester.path / "specs" / "link").symlink_to("a")
    result = pytester.runpytest("--ralph", "--co", "-q", "specs/link")

    assert collected(result) == ["specs/link/tasks.md::1.1"]


def test_workers_run_a_spec_that_is_reached_by_two_paths_once(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    pytest.importorskip("xdist")
    make_spec(TASK.replace("true", "echo x >> ran.txt"), name="a")
    (pytester.path / "specs" / "link").symlink_to("a")
    result = pytester.runpytest_subprocess("--ralph-recovery", "-n2", "specs/link", "specs/a")

    result.assert_outcomes(passed=1)
    assert (pytester.path / "ran.txt").read_text() == "x\n"


def test_tasks_of_one_spec_by_two_paths(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(TASK + TASK.replace("1.1", "1.2"), name="a")
    (pytester.path / "specs" / "link").symlink_to("a")
    arguments = ("specs/link/tasks.md::1.1", "specs/a/tasks.md::1.2")
    result = pytester.runpytest("--ralph", "--co", "-q", *arguments)

    assert collected(result) == ["specs/link/tasks.md::1.1", "specs/link/tasks.md::1.2"]


def test_a_spec_in_a_linked_directory_is_found(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(TASK)
    pytester.path.joinpath("specs/demo").rename(pytester.path / "shared")
    pytester.path.joinpath("specs/demo").symlink_to("../shared")
    pytester.path.joinpath("specs/up").symlink_to("..")

    for path in ("specs", "."):
        result = pytester.runpytest("--ralph-lint", path)
        result.stdout.fnmatch_lines(["1 spec, *"])


def test_an_error_in_a_spec_with_a_name_in_capitals_keeps_no_other_from_running(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(TASK)
    pytester.path.joinpath("PLAN.MD").write_text(f"---\nralph:\n  timeout: x\n---\n{TASK}")

    result = pytester.runpytest("--ralph", "PLAN.MD", "specs")
    result.assert_outcomes(passed=1, errors=1)
