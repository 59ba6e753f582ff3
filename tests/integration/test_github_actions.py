"""A run inside GitHub Actions: its failures are annotations, its end is on the page of the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from tests.conftest import SpecMaker


def test_failures_are_annotated_and_summed_up(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_spec(t1_1="true", t1_2="echo 'a%b'; exit 3")
    page = pytester.path / "page.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    result = pytester.runpytest("--ralph", "specs")
    result.stdout.fnmatch_lines(
        ["::error file=specs/demo/tasks.md,line=8,title=1.2 Task 1.2%3A failed::*a%25b*"]
    )
    assert not any("1.1" in line for line in result.outlines if line.startswith("::"))
    assert "1.2 Task 1.2" in page.read_text()


def test_it_is_told_without_a_terminal_too(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_spec(t1_1="false")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = pytester.runpytest("--ralph", "specs", "-p", "no:terminal")
    result.stdout.fnmatch_lines(["::error file=specs/demo/tasks.md,line=3,*"])


def test_failures_are_annotated_once(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pytest-github-actions-annotate-failures annotates failed items, and we then do not."""
    make_spec(t1_1="false")
    name = "pytest_github_actions_annotate_failures"
    # It takes the message from pytest's own representations, and from a str.
    annotates = """
        def pytest_runtest_logreport(report):
            if report.failed and isinstance(report.longrepr, str):
                print("::annotated", str(report.longrepr).splitlines()[0])
    """
    pytester.makepyfile(**{name: annotates})
    monkeypatch.syspath_prepend(pytester.path)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert "::error file=" in pytester.runpytest("--ralph", "specs").stdout.str()
    result = pytester.runpytest("--ralph", "specs", "-p", name, "-s")
    assert "::error" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*::annotated false: expected exit status 0, got 1"])


def test_elsewhere_nothing_is_annotated(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(t1_1="false")
    result = pytester.runpytest("--ralph", "specs")
    assert not any(line.startswith("::") for line in result.outlines)
