"""Templates of a project: found by kind, and a mistake in one is one clear line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph.fixing.errors import TemplatesError
from pytest_ralph.fixing.templating import Templates

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "fixtask.lint_error.md.j2").write_text("- [ ] {{ id }} lint\n")
    (tmp_path / "note.md.j2").write_text("note of {{ id }}\n")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("fixtask", "lint_error", "- [ ] 1.1 lint\n"),
        ("fixtask", "test_failure", None),
        ("fixtask", "", None),
        ("note", "lint_error", "note of 1.1\n"),
        ("note", "../../etc/passwd", "note of 1.1\n"),
        ("absent", "lint_error", None),
    ],
)
def test_the_template_of_the_kind_comes_first(
    directory: Path, name: str, kind: str, expected: str | None
) -> None:
    assert Templates(directory).render(name, kind, id="1.1") == expected


def test_a_kind_is_a_name_and_no_path(directory: Path) -> None:
    (directory / "note.x").mkdir()
    (directory / "note.x" / "y.md.j2").write_text("elsewhere")

    assert Templates(directory).render("note", "x/y", id="1.1") == "note of 1.1\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a\n{{ missing }}\n", 2, "'missing' is undefined"),
        ("a\n\n{% if %}\n", 3, "Expected an expression"),
        ("{{ 1 / 0 }}\n", 1, "division"),
        ("{{ ().__class__ }}\n", 1, "__class__"),
        ("a\n{% include 'fix.md.j2' %}\n", 2, "recursion"),
    ],
)
def test_a_mistake_is_told_with_file_and_line(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    (tmp_path / "fix.md.j2").write_text(text)

    with pytest.raises(TemplatesError) as caught:
        Templates(tmp_path).render("fix")

    assert str(caught.value).startswith(f"{tmp_path / 'fix.md.j2'}:{line}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TemplatesError, match="no such directory"):
        Templates(tmp_path / "absent")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "fix.md.j2",
            b"fine\n{% if %}",
            ":2: Expected an expression, got 'end of statement block'",
        ),
        (
            "fixtask.lint_error.md.j2",
            b"{{ id",
            ":1: unexpected end of template, expected 'end of print statement'.",
        ),
        (
            "any.md.j2",
            b"\xff\xfe",
            ":1: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        ),
    ],
)
def test_a_broken_template_is_named_with_line(
    directory: Path, name: str, content: bytes, message: str
) -> None:
    (directory / name).write_bytes(content)
    with pytest.raises(TemplatesError) as caught:
        Templates(directory).check(("lint_error",))
    assert str(caught.value) == f"{directory / name}{message}"


def test_a_template_that_is_no_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "fix.md.j2").mkdir()
    with pytest.raises(TemplatesError, match=r"fix\.md\.j2: Is a directory"):
        Templates(tmp_path).check(())


def test_a_template_of_unknown_kind_is_reported(directory: Path) -> None:
    for name in ("fix.lint_eror.md.j2", "fix.lint_error.md.j2", "part.of.mine.md.j2"):
        (directory / name).write_text("text")
    assert Templates(directory).check(("lint_error",)) == (
        f"{directory / 'fix.lint_eror.md.j2'}: never used: no failure kind is named lint_eror",
    )
    assert Templates().check(()) == ()
