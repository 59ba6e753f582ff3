"""A Verify command that changes something outside this machine needs a permission."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from tests.conftest import SpecMaker

SPEC = """
    # Tasks

    - [ ] 1.1 Publish
      - **Verify**: `echo before && npm publish --access public`

    - [ ] 1.2 Ship
      - **Verify**: `make ship`

    - [ ] 1.3 Look
      - **Verify**: `true`
"""


def fake(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, *programs: str) -> None:
    """Put programs on PATH that only write their name into the file `called`."""
    directory = pytester.mkdir("fake")
    for program in programs:
        script = directory / program
        script.write_text(f"#!/bin/sh\necho {program} >> {pytester.path}/called\n")
        script.chmod(0o755)
    monkeypatch.setenv("PATH", str(directory), prepend=":")


def test_what_changes_the_outside_is_skipped(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(pytester, monkeypatch, "npm", "make")
    make_spec(SPEC)
    result = pytester.runpytest("--ralph", "-v", "-rs", "specs")
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(["*changes something outside: npm publish --access public"])
    assert (pytester.path / "called").read_text() == "make\n"


def test_allowed_changes_are_made(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(pytester, monkeypatch, "npm", "make")
    make_spec(SPEC)
    pytester.runpytest("--ralph", "--ralph-allow=remote", "specs").assert_outcomes(passed=3)
    assert (pytester.path / "called").read_text() == "npm\nmake\n"


def test_a_project_names_calls_of_its_own(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(pytester, monkeypatch, "npm", "make")
    make_spec(SPEC)
    pytester.makeini("[pytest]\nralph_remote =\n    make ship\n")
    pytester.runpytest("--ralph", "specs").assert_outcomes(passed=1, skipped=2)


def test_an_unknown_permission_is_a_usage_error(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(SPEC)
    result = pytester.runpytest("--ralph", "--ralph-allow=everything", "specs")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--ralph-allow: expected none or some of remote*"])


def test_a_spec_cannot_allow_itself_anything(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(pytester, monkeypatch, "npm", "make")
    make_spec("---\nralph:\n  allow: remote\n---\n\n- [ ] 1.1 A\n  - **Verify**: `npm publish`\n")
    pytester.runpytest("--ralph", "specs")
    assert not (pytester.path / "called").exists()
