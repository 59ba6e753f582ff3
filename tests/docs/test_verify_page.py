"""The tables about Verify fields say what the reader and the linter do."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.running.expectations import in_words
from pytest_ralph.session import linting
from pytest_ralph.spec import document, lint
from pytest_ralph.verify import hazards
from pytest_ralph.verify.model import Check
from pytest_ralph.verify.read import read_verify
from tests.docs.literal import DOCS, blocks, write
from tests.docs.tables import code, rows

if TYPE_CHECKING:
    from pathlib import Path

PAGE = DOCS / "verify.md"
READ = [(code(written)[0], code(run), passes) for written, run, passes in rows(PAGE, "written")]
HAZARDS = [
    (code(name)[0], "error" in name, code(example)[0]) for name, example, _ in rows(PAGE, "code")
]
PHRASES = [(code(cells[0])[0], *cells[1:]) for cells in rows(PAGE, "phrase")]
PLAIN = {"it exits with 0", "all exit with 0", "one exits with 0", "reported as MANUAL"}


@pytest.mark.parametrize(("written", "commands", "passes"), READ)
def test_a_field_is_read_as_the_page_says(written: str, commands: list[str], passes: str) -> None:
    verify = read_verify(written)

    assert [check.command for check in verify.checks] == commands
    assert [in_words(expect) for check in verify.checks for expect in check.expect] == (
        [] if passes in PLAIN else [passes]
    )
    assert verify.mode == ("any" if passes.startswith("one ") else "all")
    assert bool(verify.manual) == (passes == "reported as MANUAL")


@pytest.mark.parametrize(("phrase", "run", "asked", "not_checked"), PHRASES)
def test_a_phrase_from_practice_is_read_as_shown(
    phrase: str, run: str, asked: str, not_checked: str
) -> None:
    verify = read_verify(phrase)
    expected: list[str] = []
    for check in verify.checks:
        expected += [in_words(expect) for expect in check.expect]
        expected += [f"file {file} exists" for file in check.files]

    assert code(run) == [check.command for check in verify.checks]
    assert list(dict.fromkeys(expected)) == ([] if asked in PLAIN else asked.split("; "))
    assert bool(verify.manual) == (asked == "reported as MANUAL")
    assert (verify.mode == "any") == asked.startswith("one ")
    assert ("; ".join(verify.unread) or "–") == not_checked


def test_sixty_phrases_are_shown() -> None:
    assert len(PHRASES) >= 60


@pytest.mark.parametrize(("name", "severe", "example"), HAZARDS)
def test_a_hazard_is_seen_as_the_page_says(name: str, severe: bool, example: str) -> None:
    assert (name, severe) in [
        (hazard.code, hazard.severe) for hazard in hazards.hazards(Check(example))
    ]


def test_every_code_is_on_the_page() -> None:
    sources = "".join(map(inspect.getsource, (hazards, lint, document, linting)))
    known = set(re.findall(r'(?:Hazard|[Ff]inding)\(\s*(?:[\w.()]+,\s*)?"([a-z-]+)"', sources))
    known |= set(re.findall(r'(?s)Problem\(.*?,\s*"([a-z-]+)",?\s*\)', sources))
    known |= set(lint._PLAN_CODES.values())

    told = {
        name
        for heading in ("code", "finding")
        for cells in rows(PAGE, heading)
        for name in code(cells[0])
    }

    assert known <= told
    assert told <= known


def test_the_example_that_shows_how_a_spec_is_read_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "specs" / "foo" / "tasks.md", "- [ ] 1.1 A\n  - **Verify**: `make` exits 0\n")
    (example,) = [block.text for block in blocks(PAGE) if block.language == "python"]

    exec(example, {})

    assert capsys.readouterr().out.startswith(
        "1.1 [('make', (Expect(stream='exit', op='==', value=0),))]"
    )
