"""A run inside GitHub Actions: its failures are annotations, its end is on the page of the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
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
    pytester.makepyfile(**{name: ""})
    monkeypatch.syspath_prepend(pytester.path)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert "::error file=" in pytester.runpytest("--ralph", "specs").stdout.str()
    result = pytester.runpytest("--ralph", "specs", "-p", name)
    assert "::error" not in result.stdout.str()


@pytest.mark.parametrize("workers", ["", "-n1"])
def test_the_summary_has_one_line_per_failure(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    """In CI, pytest's summary has the whole message of a failure."""
    make_spec(t1_1="false")
    monkeypatch.setenv("CI", "true")
    if workers:
        pytest.importorskip("xdist")
    result = pytester.runpytest("--ralph", "specs", *workers.split())
    failed = "FAILED specs/demo/tasks.md::1.1 - false: expected exit status 0, got 1"
    assert result.outlines.index(failed) == len(result.outlines) - 2


def test_elsewhere_nothing_is_annotated(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(t1_1="false")
    result = pytester.runpytest("--ralph", "specs")
    assert not any(line.startswith("::") for line in result.outlines)
